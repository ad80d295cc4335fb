#include "run/losses.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void losses_add(struct losses *losses, struct lost_worker *lost)
{
	ARRAY_GROW(losses->items, losses->count, losses->capacity);
	losses->items[losses->count++] = *lost;
	memset(lost, 0, sizeof(*lost));
}

void losses_attach(struct losses *losses, struct case_result *c)
{
	for (size_t i = 0; i < losses->count; i++)
		case_result_lose(c, &losses->items[i]);
	losses->count = 0;
}

void losses_release(struct losses *losses)
{
	for (size_t i = 0; i < losses->count; i++)
		lost_worker_release(&losses->items[i]);
	free(losses->items);
	memset(losses, 0, sizeof(*losses));
}
