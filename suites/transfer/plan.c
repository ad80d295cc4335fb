/* Cases of a config, with time and memory of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "suites/shared/buffers.h"
#include "suites/transfer/transfer.h"

/* Copies that only keep the other links busy may be smaller: their buffers are ready sooner. */
#define BUSY_BYTES (64u << 20)

bool transfer_plan_by_kernel(const struct plan_case *c)
{
	return strcmp(case_text_or(c, "engines", ""), "sm") == 0;
}

bool transfer_plan_cold(const struct plan_case *c)
{
	return strcmp(case_text_or(c, "states", ""), "cold") == 0;
}

uint64_t transfer_plan_cache(const struct device_info *info, bool host)
{
	bool own = info->capabilities & DEVICE_SHARES_HOST_MEMORY;
	long shared = host && !own ? sysconf(_SC_LEVEL3_CACHE_SIZE) : 0;
	uint64_t cache = buffer_cache_bytes(info);

	return shared > 0 && (uint64_t)shared > cache ? (uint64_t)shared : cache;
}

size_t transfer_plan_slots(enum direction direction, bool cold, size_t bytes,
			   const struct device_info *info)
{
	/* Blocks that need padding are checked one by one. */
	size_t most = bytes % 16 == 0 ? 1 << 20 : 64;

	/* Within a device a cache would determine the result; elsewhere the link does. */
	if (direction != LOCAL && !cold)
		return 1;
	return buffer_rotation(bytes, transfer_plan_cache(info, cold), most);
}

bool transfer_plan_reverses(const struct plan_case *c)
{
	return transfer_plan_by_kernel(c) &&
	       direction_goes_back((enum direction)case_integer(c, "directions"));
}

size_t transfer_plan_route_bytes(const struct plan_case *c, size_t index)
{
	enum direction direction = (enum direction)case_integer(c, "directions");
	size_t bytes = (size_t)case_integer(c, "sizes"), timed = transfer_plan_reverses(c) ? 2 : 1;

	if (direction_info(direction)->timing != TIME_FIRST || index < timed || bytes < BUSY_BYTES)
		return bytes;
	return BUSY_BYTES;
}

/*
 * Memory and set-up time of one case; host memory is page-locked and filled at about 2 GB/s, unless
 * an earlier case has left some.
 */
static void transfer_plan_estimate_case(struct plan_case *point, enum direction direction,
					size_t device_count, const struct device_info *info)
{
	const struct direction_info *d = direction_info(direction);
	size_t bytes = (size_t)case_integer(point, "sizes");
	size_t slots = transfer_plan_slots(direction, transfer_plan_cold(point), bytes, info);
	uint64_t *device_bytes = xcalloc(device_count, sizeof(*device_bytes));
	struct route *routes = xcalloc(ROUTES_MOST(device_count), sizeof(*routes));
	size_t count = direction_routes(direction, device_count, routes);

	point->device_bytes = point->host_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t block = lane_footprint(transfer_plan_route_bytes(point, i), slots);
		int ends[2] = { routes[i].from, routes[i].to };

		for (int k = 0; k < 2; k++)
			*(ends[k] == ROUTE_HOST ? &point->host_bytes : &device_bytes[ends[k]]) +=
				block;
	}
	for (size_t i = 0; i < device_count; i++)
		if (device_bytes[i] > point->device_bytes)
			point->device_bytes = device_bytes[i];
	free(device_bytes);
	free(routes);
	if (d->timing == TIME_CHASE) {
		point->device_bytes = d->host ? 0 : transfer_latency_chase_footprint(bytes);
		point->host_bytes = (d->host ? 2 : 1) * transfer_latency_chase_footprint(bytes);
	}
	point->device_bytes += count * BUFFER_CHECK_BYTES;
	point->setup_seconds =
		0.02 + (double)point->host_bytes / 2e9 + (double)point->device_bytes / 20e9;
}

/* Why the devices of a case cannot run it with direct access; NULL: they can. */
static const char *transfer_plan_unreachable(const struct plan *plan, enum direction direction,
					     const size_t *devices, size_t count, char *reason,
					     size_t size)
{
	struct route *routes = xcalloc(ROUTES_MOST(count), sizeof(*routes));
	size_t route_count = direction_routes(direction, count, routes);
	bool reached = true;

	for (size_t i = 0; i < route_count && reached; i++) {
		const struct device_info *a = &plan->devices[devices[routes[i].issuer]], *b;
		int peer = transfer_direction_route_peer(&routes[i]);

		if (peer < 0)
			continue;
		b = &plan->devices[devices[peer]];
		reached = a->node == b->node && device_bits_has(&a->peers, b->index);
		if (!reached)
			snprintf(reason, size, "%.31s cannot access the memory of %.31s", a->id,
				 b->id);
	}
	free(routes);
	return reached ? NULL : reason;
}

static enum status transfer_plan_case(struct plan *plan, struct plan_case *point,
				      const size_t *devices, size_t count, struct error *err)
{
	enum direction direction = (enum direction)case_integer(point, "directions");
	bool direct = direction_info(direction)->peer &&
		      (direction == LATENCY_P2P || strcmp(case_text(point, "access"), "on") == 0);
	char buffer[128];
	const char *reason = NULL;

	if (direct)
		reason = transfer_plan_unreachable(plan, direction, devices, count, buffer,
						   sizeof(buffer));
	transfer_plan_estimate_case(point, direction, count, &plan->devices[devices[0]]);
	return plan_add(plan, point, devices, count, reason, err);
}

/* Device `first` and then all others of its backend; returns their number. */
static size_t transfer_plan_devices_of_backend(const struct plan *plan, size_t first, size_t *all)
{
	size_t count = 0;

	all[count++] = first;
	for (size_t i = 0; i < plan->device_count && count < NODE_DEVICES_MOST; i++)
		if (i != first &&
		    strcmp(plan->devices[i].backend, plan->devices[first].backend) == 0)
			all[count++] = i;
	return count;
}

/*
 * One round of a round-robin tournament by the circle method: the last device stays, the others
 * rotate. With an odd number the last one is a dummy, and its partner sits out. Fills `pairs`, pair
 * after pair; returns the number of devices.
 */
static size_t transfer_plan_pair_up(const size_t *all, size_t count, size_t round, size_t *pairs)
{
	size_t places = count + count % 2, ring = places - 1, used = 0;

	for (size_t k = 0; k < places / 2; k++) {
		size_t a = k ? (round + k) % ring : round, b = k ? (round + ring - k) % ring : ring;

		if (b >= count || a >= count)
			continue;
		pairs[used++] = all[a < b ? a : b];
		pairs[used++] = all[a < b ? b : a];
	}
	return used;
}

/*
 * Places all pairs of devices, in an order in which consecutive pairs share no device and can be
 * measured together (group.c). With EACH_ROUND, a case has all pairs of a round; with fewer than
 * two pairs there is no disturbance.
 */
static enum status transfer_plan_place_pairs(struct plan *plan, struct plan_case *point,
					     enum placing placing, size_t first, struct error *err)
{
	size_t all[NODE_DEVICES_MOST], pairs[NODE_DEVICES_MOST],
		count = transfer_plan_devices_of_backend(plan, first, all),
		rounds = count < (placing == EACH_ROUND ? 4 : 2) ? 0 : count - 1 + count % 2;

	for (size_t round = 0; round < rounds; round++) {
		size_t used = transfer_plan_pair_up(all, count, round, pairs);

		if (placing == EACH_ROUND &&
		    transfer_plan_case(plan, point, pairs, used, err) != STATUS_OK)
			return err->status;
		for (size_t i = 0; i < used && placing != EACH_ROUND; i += 2)
			if (transfer_plan_case(plan, point, &pairs[i], 2, err) != STATUS_OK)
				return err->status;
		for (size_t i = 0; i < used && placing == EACH_PAIR; i += 2) {
			size_t back[2] = { pairs[i + 1], pairs[i] };

			if (transfer_plan_case(plan, point, back, 2, err) != STATUS_OK)
				return err->status;
		}
	}
	return STATUS_OK;
}

/* Rejects meaningless or duplicate combinations; drops axes without meaning. */
static bool transfer_plan_makes_sense(struct plan_case *point, enum direction direction)
{
	const struct direction_info *d = direction_info(direction);
	bool by_kernel = transfer_plan_by_kernel(point), cold = transfer_plan_cold(point);
	bool pageable = d->host && strcmp(case_text(point, "memories"), "pageable") == 0;
	bool off = d->peer && strcmp(case_text(point, "access"), "off") == 0;

	/*
	 * Copies of pageable memory block, and kernels can access neither it nor memory without
	 * peer access.
	 */
	if (pageable && (by_kernel || (direction != H2D && direction != D2H)))
		return false;
	if (off && (by_kernel || (d->placing != EACH_PAIR && d->placing != EACH_TWO)))
		return false;
	if (d->timing == TIME_CHASE) {
		if (off || !plan_drop_axis(point, "engines") || !plan_drop_axis(point, "states"))
			return false;
		if (d->peer)
			plan_drop_axis(point, "access");
	} else {
		/* Ids leave out default values. Within a device the data are never in a cache. */
		if (!by_kernel)
			plan_drop_axis(point, "engines");
		if ((direction == LOCAL || !cold) && !plan_drop_axis(point, "states") &&
		    direction == LOCAL)
			return false;
	}
	if (!d->host && !plan_drop_axis(point, "memories"))
		return false;
	return d->peer || plan_drop_axis(point, "access");
}

enum status transfer_plan_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum direction direction = (enum direction)case_integer(point, "directions");
	enum placing placing = direction_info(direction)->placing;
	uint64_t largest = 0;

	if (!transfer_plan_makes_sense(point, direction))
		return STATUS_OK;
	/* A cold state exists only where a block could stay in a cache. */
	for (size_t i = 0; i < plan->device_count; i++)
		if (transfer_plan_cache(&plan->devices[i], true) > largest)
			largest = transfer_plan_cache(&plan->devices[i], true);
	if (transfer_plan_cold(point) && (uint64_t)case_integer(point, "sizes") > largest)
		return STATUS_OK;
	for (size_t i = 0; i < plan->device_count && err->status == STATUS_OK; i++) {
		size_t all[NODE_DEVICES_MOST],
			count = transfer_plan_devices_of_backend(plan, i, all);

		if (placing == EACH_DEVICE)
			transfer_plan_case(plan, point, &i, 1, err);
		else if (count < 2 ||
			 (placing != EACH_AMONG_ALL && !plan_first_of_backend(plan, i)))
			continue; /* without another device, or placed with the first one */
		else if (placing == EACH_AMONG_ALL || placing == ALL_DEVICES)
			transfer_plan_case(plan, point, all, count, err);
		else
			transfer_plan_place_pairs(plan, point, placing, i, err);
	}
	return err->status;
}
