/* Valid combinations of the axes, with the time and memory of each case. */
#include "base/memory.h"
#include "plan/plan.h"

#include "suites/alloc/alloc.h"
#include "suites/shared/buffers.h"
#include "suites/shared/estimate.h"

#define UNIT_BYTES ((uint64_t)2 << 20)
/* Largest segment that a caching allocator takes for a smaller request. */
#define SEGMENT_BYTES ((uint64_t)20 << 20)
/* Minimum number of growths per case, for the estimate. */
#define GROWTHS_LOOKED_AT 10
/*
 * Seconds to allocate a block and free another: 0.16 ms on an H200 (0.03 to map one), longer on
 * busy machines.
 */
#define STEP_SECONDS 0.3e-3

/* Axes specific to an operation; the others belong to all operations or are dropped explicitly. */
static const struct {
	const char *axis;
	unsigned operations; /* bits */
} owners[] = {
	{ "states", 1u << OPERATION_ALLOC },
	{ "fills", 1u << OPERATION_ALLOC | 1u << OPERATION_FREE },
	{ "threads", 1u << OPERATION_CONTEND },
	{ "growths", 1u << OPERATION_GROW },
	{ "creations", 1u << OPERATION_CREATE },
	{ "scenarios", 1u << OPERATION_FRAGMENT },
	{ "logical_devices", 1u << OPERATION_FRAGMENT },
	{ "loadings", 1u << OPERATION_START },
	{ "sizes", 1u << OPERATION_ALLOC | 1u << OPERATION_FREE | 1u << OPERATION_CONTEND |
			   1u << OPERATION_COST | 1u << OPERATION_GROW | 1u << OPERATION_CREATE },
	{ "allocators", ~(1u << OPERATION_START | 1u << OPERATION_CREATE) },
};

static bool alloc_plan_drop_axes(struct plan_case *point, enum alloc_operation operation, int kind)
{
	bool pool = kind == ALLOCATOR_POOL || kind == ALLOCATOR_POOL_RELEASE;
	bool planned = true;

	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		if (!(owners[i].operations >> operation & 1) &&
		    !plan_drop_axis(point, owners[i].axis))
			planned = false;
	if ((operation != OPERATION_CONTEND || !pool) && !plan_drop_axis(point, "streams"))
		planned = false;
	return planned;
}

/* Device or host memory of `count` blocks of that size. */
static uint64_t alloc_plan_bytes_taken(int kind, uint64_t count, uint64_t bytes)
{
	if (kind == ALLOCATOR_VMM)
		bytes = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
	/* Doubling regions: at most twice what is needed. */
	if (alloc_blocks_origin_is_own(kind) && kind != ORIGIN_CACHING)
		return 2 * count * bytes + UNIT_BYTES;
	return count * bytes + (kind == ORIGIN_CACHING ? SEGMENT_BYTES : 0);
}

/* The old and the new block; with doubling, the last capacity may exceed the size. */
static uint64_t alloc_plan_growth_need(const struct plan_case *point, int kind, uint64_t bytes)
{
	uint64_t capacity = bytes / (uint64_t)section_integer(point->section, "steps");

	if ((enum alloc_growth)case_integer(point, "growths") != GROWTH_DOUBLE)
		return alloc_plan_bytes_taken(kind, 2, bytes);
	while (capacity && capacity < bytes)
		capacity *= 2;
	return alloc_plan_bytes_taken(kind, 1, capacity) +
	       alloc_plan_bytes_taken(kind, 1, capacity / 2);
}

static uint64_t alloc_plan_bytes_needed(const struct plan_case *point,
					enum alloc_operation operation, int kind)
{
	uint64_t bytes = 0;

	if (operation != OPERATION_FAIL && operation != OPERATION_EXHAUST &&
	    operation != OPERATION_FRAGMENT && operation != OPERATION_START)
		bytes = (uint64_t)case_integer(point, "sizes");
	switch (operation) {
	case OPERATION_CONTEND:
		return alloc_plan_bytes_taken(
			kind, CONTEND_HELD * (uint64_t)case_integer(point, "threads"), bytes);
	case OPERATION_COST:
		return alloc_plan_bytes_taken(kind, cost_blocks(kind, bytes) + 1, bytes);
	case OPERATION_GROW:
		return alloc_plan_growth_need(point, kind, bytes);
	case OPERATION_FRAGMENT:
		return (uint64_t)case_integer(point, "logical_devices") *
		       ((uint64_t)section_integer(point->section, "span") * 9 / 8);
	case OPERATION_FAIL:
	case OPERATION_EXHAUST:
		return alloc_plan_bytes_taken(kind, 1, FAILURE_AFTERWARDS_BYTES) +
		       BUFFER_CHECK_BYTES;
	case OPERATION_CREATE:
		return bytes + BUFFER_CHECK_BYTES;
	case OPERATION_START:
		return UNIT_BYTES;
	default:
		return alloc_plan_bytes_taken(kind, alloc_blocks_held_most(bytes) + 1, bytes);
	}
}

/* Seconds in addition to the samples: memory is written, a device filled, processes started. */
static double alloc_plan_setup_seconds(const struct plan_case *point,
				       enum alloc_operation operation, uint64_t bytes,
				       const struct device_info *device)
{
	double seconds = 0.02 + (double)bytes / 2e9, each = STEP_SECONDS, steps;

	if (operation == OPERATION_START)
		return 8;
	if (operation == OPERATION_EXHAUST || operation == OPERATION_FRAGMENT)
		return seconds + 5;
	if ((operation == OPERATION_ALLOC || operation == OPERATION_FREE) &&
	    case_value(point, "fills")->real > 0)
		return seconds + 3;
	if (operation != OPERATION_GROW)
		return seconds;
	if (device->capabilities & DEVICE_SHARES_HOST_MEMORY) /* the CPU copies */
		each += (double)case_integer(point, "sizes") / PACE_HOST_COPY;
	steps = (double)section_integer(point->section, "steps");
	return seconds + GROWTHS_LOOKED_AT * steps * each;
}

/* Why the case is impossible on any device; NULL: possible. */
static const char *alloc_plan_impossible(const struct plan_case *point,
					 enum alloc_operation operation, int kind,
					 const struct device_info *device)
{
	if (kind == ALLOCATOR_MANAGED &&
	    (operation == OPERATION_FAIL || operation == OPERATION_EXHAUST))
		return "managed memory does not fail at the end of device memory: further pages "
		       "move to the host";
	if (operation == OPERATION_EXHAUST && !alloc_blocks_origin_on_device(kind))
		return "host memory is not exhausted, because the operating system would kill "
		       "processes";
	if (operation == OPERATION_FRAGMENT && !alloc_blocks_origin_is_own(kind) &&
	    case_integer(point, "logical_devices") > 1)
		return "logical devices need an allocator with its own limit: caching, bfc, "
		       "bfc_growth or arena";
	if (!(device->capabilities & DEVICE_SHARES_HOST_MEMORY))
		return NULL;
	if (operation == OPERATION_EXHAUST)
		return "the device shares the host's memory, which is not exhausted, because the "
		       "operating system would kill processes";
	if ((operation == OPERATION_ALLOC || operation == OPERATION_FREE) &&
	    alloc_blocks_origin_on_device(kind) && case_value(point, "fills")->real > 0)
		return "the device shares the host's memory, which is not filled, because other "
		       "processes need it";
	return NULL;
}

/* Operations that are meaningless for an allocator. */
static bool alloc_plan_is_meaningless(const struct plan_case *point, enum alloc_operation operation,
				      int kind)
{
	switch (operation) {
	case OPERATION_GROW:
		return !alloc_blocks_origin_on_device(kind) ||
		       ((enum alloc_growth)case_integer(point, "growths") == GROWTH_MAP &&
			kind != ALLOCATOR_VMM);
	case OPERATION_FRAGMENT:
		return !alloc_blocks_origin_on_device(kind);
	case OPERATION_COST: /* the size of the region is unrelated to its blocks */
		return kind == ORIGIN_BFC || kind == ORIGIN_ARENA;
	case OPERATION_ALLOC:
	case OPERATION_FREE: /* host memory does not fill the device */
		return !alloc_blocks_origin_on_device(kind) && case_value(point, "fills")->real > 0;
	default:
		return false;
	}
}

enum status alloc_plan_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum alloc_operation operation = (enum alloc_operation)case_integer(point, "operations");
	int kind = operation == OPERATION_CREATE
			   ? ALLOCATOR_DEVICE
			   : alloc_blocks_origin_from_name(case_text(point, "allocators"));
	size_t devices = plan->device_count;
	uint64_t bytes;

	if (alloc_plan_is_meaningless(point, operation, kind) ||
	    !alloc_plan_drop_axes(point, operation, kind))
		return STATUS_OK;
	if (operation == OPERATION_ALLOC || operation == OPERATION_FREE)
		plan_unname_usual(point, "fills", "0%");
	if (operation == OPERATION_FRAGMENT)
		plan_unname_usual(point, "logical_devices", "1");
	bytes = alloc_plan_bytes_needed(point, operation, kind);
	if (alloc_blocks_origin_on_device(kind))
		point->device_bytes = bytes;
	if (!alloc_blocks_origin_on_device(kind) || operation == OPERATION_CREATE)
		point->host_bytes = bytes;
	/* Pageable memory is independent of the device: one case is enough. */
	if (kind == ALLOCATOR_PAGEABLE && operation != OPERATION_START && devices > 1)
		devices = 1;
	for (size_t i = 0; i < devices; i++) {
		const struct device_info *info = &plan->devices[i];

		point->setup_seconds = alloc_plan_setup_seconds(point, operation, bytes, info);
		if (plan_add(plan, point, &i, 1,
			     alloc_plan_impossible(point, operation, kind, info), err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}
