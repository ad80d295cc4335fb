#include "suites/trainmem/rulers.h"

#include <string.h>

const char *ruler_name(enum ruler ruler, const struct device_info *device)
{
	static const char *const names[RULER_COUNT] = {
		[RULER_PROCESS] = "the process' memory by NVML",
		[RULER_DEVICE] = "the device's memory by NVML since before the process",
		[RULER_RUNTIME] = "the device's free memory since before the process",
	};

	if (strcmp(device->backend, "host") == 0 && ruler == RULER_PROCESS)
		return "the process' resident memory";
	return names[ruler];
}

enum ruler ruler_choose(const struct memory_view *view)
{
	if (view->process_used)
		return RULER_PROCESS;
	return view->device_used ? RULER_DEVICE : RULER_RUNTIME;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

uint64_t ruler_read(enum ruler ruler, const struct memory_view *now,
		    const struct memory_view *before)
{
	switch (ruler) {
	case RULER_PROCESS:
		return now->process_used;
	case RULER_DEVICE:
		return since(now->device_used, before->device_used);
	default:
		return since(now->runtime_used, before->runtime_used);
	}
}
