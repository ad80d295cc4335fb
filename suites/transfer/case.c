/*
 * One case from its parameters to its outcome; what is timed in between is measure.c's and
 * latency.c's business.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/suite.h"
#include "suites/transfer/access.h"
#include "suites/transfer/transfer.h"

void transfer_note_nodes(struct run *run, const int *nodes, size_t count)
{
	struct text list = TEXT_EMPTY;
	uint64_t seen = 0;
	size_t several = 0;

	for (size_t i = 0; i < count; i++) {
		if (nodes[i] < 0 || nodes[i] > 63 || (seen >> nodes[i] & 1))
			continue;
		seen |= UINT64_C(1) << nodes[i];
		text_addf(&list, "%s%d", several++ ? ", " : "", nodes[i]);
	}
	if (several)
		run_note(run, "Host memory on NUMA node%s %s, the nearest to its device.",
			 several > 1 ? "s" : "", list.data);
	text_release(&list);
}

static void note_nodes(const struct transfer *t)
{
	int *nodes = xcalloc(t->lane_count + 1, sizeof(*nodes));

	for (size_t i = 0; i < t->lane_count; i++)
		nodes[i] = t->lanes[i].node;
	transfer_note_nodes(t->run, nodes, t->lane_count);
	free(nodes);
}

static void note_cache(const struct transfer *t)
{
	const struct device_info *info = &t->run->devices[0]->info;
	uint64_t cache = info->l2_bytes, all = lane_footprint(t->bytes, t->slots);
	char size[32];

	if (t->slots > 1 && all < transfer_cache(info, transfer_cold(t->run->c)))
		run_note(t->run,
			 "Rotates over %zu buffers, which stay in a cache all the same: they have "
			 "%s together.",
			 t->slots, units_size(all, size, sizeof(size)));
	else if (t->slots > 1)
		run_note(t->run,
			 "Rotates over %zu buffers, because one would stay in a cache (%s on the "
			 "device).",
			 t->slots, units_size(cache, size, sizeof(size)));
	else if (t->bytes < cache)
		run_note(t->run, "The data fit in the device's cache (%s).",
			 units_size(cache, size, sizeof(size)));
	/* Small ones then take what a launch takes, many times what they take by themselves. */
	if (t->slots > 1 && transfer_by_kernel(t->run->c))
		run_note(t->run, "Each copy is a launch of its own; of one block all of a sample "
				 "are one launch.");
}

static struct lane_end end_of(const struct transfer *t, int end, int other)
{
	if (end == ROUTE_HOST)
		return (struct lane_end){ t->run->devices[other], t->memory };
	return (struct lane_end){ t->run->devices[end], ALLOCATOR_DEVICE };
}

static enum status open_lane(struct transfer *t, size_t i, struct error *err)
{
	const struct plan_case *c = t->run->c;
	const struct route *route = &t->routes[i];
	const struct transfer_state *state = t->run->suite_state;
	struct lane_plan plan = {
		.pool = state->pool,
		.from = end_of(t, route->from, route->to),
		.to = end_of(t, route->to, route->from),
		.issuer = t->run->devices[route->issuer],
		.by_kernel = transfer_by_kernel(c),
		.bytes = t->rotates ? t->bytes : transfer_route_bytes(c, i),
		.slots = t->slots,
		.seed = t->run->seed + i,
	};

	t->lane_count = i + 1;
	return lane_open(&t->lanes[i], &plan, err);
}

static enum status open_lanes(struct transfer *t, size_t count, struct error *err)
{
	enum status status = STATUS_OK;

	for (size_t i = 0; i < count && status == STATUS_OK; i++)
		status = open_lane(t, i, err);
	for (size_t i = 0; transfer_reverses(t->run->c) && i + 1 < t->lane_count; i += 2)
		lane_join(&t->lanes[i], &t->lanes[i + 1]);
	return status;
}

static const char *end_name(const struct lane_end *end)
{
	return allocator_on_device(end->allocator) ? end->device->info.id : "host";
}

static enum status check_lane(struct transfer *t, size_t i, bool before, struct error *err)
{
	struct transfer_lane *lane = &t->lanes[i];
	const struct lane_plan *plan = &lane->plan;
	enum status status = before ? lane_verify(lane, err) : lane_check(lane, err);

	if (status == STATUS_OK)
		return status;
	return error_prefix(err, "%s%s timing, %s to %s",
			    status == STATUS_MISMATCH ? "corrupt: " : "",
			    before ? "before" : "after", end_name(&plan->from),
			    end_name(&plan->to));
}

enum status transfer_check_lanes(struct transfer *t, size_t first, size_t count, bool before,
				 struct error *err)
{
	enum status status = STATUS_OK;

	for (size_t i = first; i < first + count && status == STATUS_OK; i++)
		status = check_lane(t, i, before, err);
	return status;
}

static enum status set_access(struct transfer *t, size_t count, struct error *err)
{
	const struct transfer_state *state = t->run->suite_state;

	access_turn(state->access);
	for (size_t i = 0; i < count; i++) {
		int peer = route_peer(&t->routes[i]);
		struct device *a = t->run->devices[t->routes[i].issuer];

		if (peer >= 0 && access_set(state->access, a, t->run->devices[peer], !t->staged,
					    err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

void transfer_init(struct transfer *t, struct run *run)
{
	const struct plan_case *c = run->c;
	const size_t most = ROUTES_MOST(run->device_count);

	*t = (struct transfer){ .run = run,
				.routes = xcalloc(most, sizeof(*t->routes)),
				.lanes = xcalloc(most, sizeof(*t->lanes)),
				.streams = xcalloc(most, sizeof(*t->streams)) };
	t->bytes = (size_t)case_integer(c, "sizes");
	t->direction = (enum direction)case_integer(c, "directions");
	t->info = direction_info(t->direction);
	if (t->info->host)
		allocator_from_name(case_text(c, "memories"), &t->memory);
	else if (t->info->peer && t->info->timing != TIME_CHASE)
		t->staged = strcmp(case_text(c, "access"), "off") == 0;
	t->slots = transfer_slots(t->direction, transfer_cold(c), t->bytes, &run->devices[0]->info);
}

enum status transfer_open_lanes(struct transfer *t, struct error *err)
{
	size_t count = direction_routes(t->direction, t->run->device_count, t->routes);

	if (set_access(t, count, err) != STATUS_OK)
		return err->status;
	return t->info->timing == TIME_CHASE ? STATUS_OK : open_lanes(t, count, err);
}

void transfer_note(const struct transfer *t)
{
	note_nodes(t);
	note_cache(t);
}

enum status transfer_open(struct transfer *t, struct run *run, struct error *err)
{
	transfer_init(t, run);
	if (transfer_open_lanes(t, err) != STATUS_OK)
		return err->status;
	if (t->info->timing == TIME_CHASE)
		return chase_open(t, err);
	if (transfer_check_lanes(t, 0, t->lane_count, true, err) != STATUS_OK)
		return err->status;
	transfer_note(t);
	return transfer_plan_timings(t, err);
}

void transfer_verified(struct transfer *t)
{
	run_verified(t->run,
		     t->chase ? "the end of the path against its order, before and after timing"
			      : "every byte against the generator, before and after timing",
		     NAN, NAN);
}

enum status transfer_finish(struct transfer *t, struct error *err)
{
	/* First the numbers: a pair whose data are wrong keeps them. */
	if (t->chase)
		chase_record(t);
	else
		transfer_record(t);
	if ((t->chase ? chase_check(t, "after", err)
		      : transfer_check_lanes(t, 0, t->lane_count, false, err)) == STATUS_OK)
		transfer_verified(t);
	return err->status;
}

void transfer_close(struct transfer *t)
{
	chase_close(t);
	transfer_close_timings(t);
	for (size_t i = 0; i < t->lane_count; i++)
		lane_close(&t->lanes[i]);
	free(t->routes);
	free(t->lanes);
	free(t->streams);
}
