#include "device/ranks/gpudirect.h"

#include <stdlib.h>

void gpudirect_ask(enum gpudirect wanted)
{
	if (wanted != GPUDIRECT_DEFAULT)
		setenv("NCCL_NET_GDR_LEVEL", wanted == GPUDIRECT_ON ? "SYS" : "LOC", 1);
}
