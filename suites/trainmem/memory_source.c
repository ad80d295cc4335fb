#include "suites/trainmem/memory_source.h"

#include <string.h>

const char *memory_source_name(enum memory_source source, const struct device_info *device)
{
	static const char *const names[MEMORY_SOURCE_COUNT] = {
		[MEMORY_SOURCE_PROCESS] = "the process' memory by NVML",
		[MEMORY_SOURCE_DEVICE] = "the device's memory by NVML since before the process",
		[MEMORY_SOURCE_RUNTIME] = "the device's free memory since before the process",
	};

	if (device_is_host(device) && source == MEMORY_SOURCE_PROCESS)
		return "the process' resident memory";
	return names[source];
}

enum memory_source memory_source_choose(const struct memory_view *view)
{
	if (view->process_used)
		return MEMORY_SOURCE_PROCESS;
	return view->device_used ? MEMORY_SOURCE_DEVICE : MEMORY_SOURCE_RUNTIME;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

uint64_t memory_source_read(enum memory_source source, const struct memory_view *now,
			    const struct memory_view *before)
{
	switch (source) {
	case MEMORY_SOURCE_PROCESS:
		return now->process_used;
	case MEMORY_SOURCE_DEVICE:
		return since(now->device_used, before->device_used);
	default:
		return since(now->runtime_used, before->runtime_used);
	}
}
