/*
 * Copies between the host and a device, within a device, and between devices.
 *
 * One way: the copies of a sample run in one stream behind the gate, on the device's clock. Copies
 * of pageable memory block the caller, so they are timed on the host's clock, waiting included.
 * Both ways: each direction is timed while the other one is busy from the first to the last timed
 * byte (it is given twice the work), and the headline is the sum of both.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "measure/run.h"
#include "suites/transfer/lane.h"
#include "suites/suite.h"

enum direction { H2D, D2H, BOTH, LOCAL, P2P, P2P_BOTH };

static const char *const directions[] = { "h2d", "d2h", "both", "local", "p2p", "p2p_both", NULL };
static const char *const memories[] = { "pinned", "pageable", "write_combined", "registered",
					NULL };
static const char *const accesses[] = { "on", "off", NULL };

static const struct key keys[] = {
	{ .name = "directions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "h2d, d2h, both, local, p2p, p2p_both",
	  .choices = directions,
	  .parameter = "direction",
	  .help = "h2d: host to device; d2h: back; both at once; local: within a device; p2p: to "
		  "another device; p2p_both" },
	{ .name = "memories",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "pinned, pageable",
	  .choices = memories,
	  .parameter = "memory",
	  .help = "host memory of h2d, d2h and both (both: not pageable, whose copies block)" },
	{ .name = "access",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "on, off",
	  .choices = accesses,
	  .help = "direct peer access for p2p and p2p_both; off: the driver goes through the "
		  "host" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1KiB..256MiB *4, 512MiB",
	  .min = 1,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of one copy" },
	{ 0 },
};

static const char *const axes[] = { "directions", "memories", "access", "sizes", NULL };

static const struct metric metrics[] = {
	{ "transfer.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "bytes copied per second; each byte counts once, within "
	  "a device as well; both ways: the sum" },
	{ "transfer.time", "s", BETTER_LOWER, 0, "one copy" },
	{ "transfer.bandwidth_h2d", "B/s", BETTER_HIGHER, 0,
	  "host to device while the other way is busy" },
	{ "transfer.bandwidth_d2h", "B/s", BETTER_HIGHER, 0,
	  "device to host while the other way is busy" },
	{ "transfer.bandwidth_forward", "B/s", BETTER_HIGHER, 0,
	  "first to second device while the other way is busy" },
	{ "transfer.bandwidth_backward", "B/s", BETTER_HIGHER, 0,
	  "second to first device while the other way is busy" },
	{ 0 },
};

/*
 * Buffers of a local copy are rotated, since a cache would decide the number; elsewhere the link
 * does.
 */
static size_t slots_for(enum direction direction, size_t bytes, const struct device_info *info)
{
	/* Blocks that need padding are checked one by one. */
	size_t most = bytes % 16 == 0 ? 1 << 20 : 64;

	return direction == LOCAL ? buffer_rotation(bytes, info->l2_bytes, most) : 1;
}

/* Memory and set-up time of one case; host memory is page-locked and filled at about 2 GB/s. */
static void estimate(struct plan_case *point, enum direction direction,
		     const struct device_info *info)
{
	size_t bytes = (size_t)case_integer(point, "sizes");
	uint64_t block = lane_footprint(bytes, slots_for(direction, bytes, info));
	int both = direction == BOTH || direction == P2P_BOTH;

	point->device_bytes = block * (both || direction == LOCAL ? 2 : 1) + BUFFER_CHECK_BYTES;
	point->host_bytes = direction <= BOTH ? block * (both ? 2 : 1) : 0;
	point->setup_seconds =
		0.02 + (double)point->host_bytes / 2e9 + (double)point->device_bytes / 20e9;
}

static bool reaches(const struct device_info *a, const struct device_info *b)
{
	return a->peer_mask >> b->index & 1;
}

static enum status plan_pair(struct plan *plan, const struct plan_case *point, size_t from,
			     size_t to, bool both, struct error *err)
{
	const struct device_info *a = &plan->devices[from], *b = &plan->devices[to];
	size_t pair[2] = { from, to };
	char reason[128];

	if (strcmp(case_text(point, "access"), "off") == 0 ||
	    (reaches(a, b) && (!both || reaches(b, a))))
		return plan_add(plan, point, pair, 2, err);
	snprintf(reason, sizeof(reason), "%s cannot access the memory of %s",
		 reaches(a, b) ? b->id : a->id, reaches(a, b) ? a->id : b->id);
	return plan_add_skipped(plan, point, pair, 2, reason, err);
}

/* Ordered pairs of devices of one backend; unordered ones where both ways run at once. */
static enum status plan_pairs(struct plan *plan, struct plan_case *point, enum direction direction,
			      struct error *err)
{
	for (size_t i = 0; i < plan->device_count; i++) {
		for (size_t j = direction == P2P_BOTH ? i + 1 : 0; j < plan->device_count; j++) {
			if (i == j ||
			    strcmp(plan->devices[i].backend, plan->devices[j].backend) != 0)
				continue;
			estimate(point, direction, &plan->devices[i]);
			if (plan_pair(plan, point, i, j, direction == P2P_BOTH, err) != STATUS_OK)
				return err->status;
		}
	}
	return STATUS_OK;
}

static enum status transfer_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum direction direction = (enum direction)case_integer(point, "directions");
	bool peer = direction == P2P || direction == P2P_BOTH;

	if (direction == BOTH && strcmp(case_text(point, "memories"), "pageable") == 0)
		return STATUS_OK;
	if ((peer || direction == LOCAL) && !plan_drop_axis(point, "memories"))
		return STATUS_OK;
	if (!peer && !plan_drop_axis(point, "access"))
		return STATUS_OK;
	if (peer)
		return plan_pairs(plan, point, direction, err);
	for (size_t i = 0; i < plan->device_count; i++) {
		estimate(point, direction, &plan->devices[i]);
		if (plan_add(plan, point, &i, 1, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

struct transfer {
	struct run *run;
	enum direction direction;
	enum allocator memory; /* host memory */
	bool staged;           /* p2p with access off */
	size_t bytes, slots;
	struct lane lanes[2];
	size_t lane_count;
};

static bool blocks(const struct transfer *t)
{
	return t->direction <= D2H && t->memory == ALLOCATOR_PAGEABLE;
}

static enum status open_lanes(struct transfer *t, struct error *err)
{
	struct device *a = t->run->devices[0],
		      *b = t->run->device_count > 1 ? t->run->devices[1] : a;
	struct lane_end host = { a, t->memory }, near = { a, ALLOCATOR_DEVICE },
			far = { b, ALLOCATOR_DEVICE };
	struct lane_end ends[][2] = {
		[H2D] = { host, near },   [D2H] = { near, host }, [BOTH] = { host, near },
		[LOCAL] = { near, near }, [P2P] = { near, far },  [P2P_BOTH] = { near, far },
	};

	t->lane_count = t->direction == BOTH || t->direction == P2P_BOTH ? 2 : 1;
	for (size_t i = 0; i < t->lane_count; i++)
		if (lane_open(&t->lanes[i], ends[t->direction][i], ends[t->direction][!i], t->bytes,
			      t->slots, t->run->seed + i, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status each_lane(struct transfer *t,
			     enum status (*check)(struct lane *, struct error *), const char *when,
			     struct error *err)
{
	for (size_t i = 0; i < t->lane_count; i++)
		if (check(&t->lanes[i], err) != STATUS_OK)
			return error_prefix(err, "%s timing%s", when,
					    i ? ", second direction" : "");
	return STATUS_OK;
}

static enum status set_access(struct transfer *t, bool on, struct error *err)
{
	struct device **d = t->run->devices;
	enum status status;

	if (t->run->device_count < 2)
		return STATUS_OK;
	status = backend_peer_access(d[0], d[1], on, err);
	return status == STATUS_OK ? backend_peer_access(d[1], d[0], on, err) : status;
}

static enum status launch_lane(void *state, unsigned batch, struct error *err)
{
	return lane_copy(state, batch, err);
}

static enum status launch_and_wait(void *state, unsigned batch, struct error *err)
{
	struct lane *lane = state;

	if (lane_copy(lane, batch, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(lane->stream, err);
}

static enum status measure_one_way(struct transfer *t, struct error *err)
{
	struct lane *lane = &t->lanes[0];
	struct workload w = { .state = lane,
			      .launch = blocks(t) ? launch_and_wait : launch_lane,
			      .clock = blocks(t) ? CLOCK_HOST : CLOCK_DEVICE,
			      .streams = &lane->stream,
			      .stream_count = 1,
			      .no_gate = blocks(t) || t->staged };
	const struct series *time;

	if (run_sample(t->run, &w, "transfer.time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(t->run, "transfer.bandwidth", (double)t->bytes, time);
	run_duration(t->run, "transfer.time", time);
	return STATUS_OK;
}

struct duplex {
	struct lane *timed, *other;
	struct event *start;
};

/*
 * The other direction starts with the first timed copy and has twice the work, so that it ends
 * later.
 */
static enum status launch_duplex(void *state, unsigned batch, struct error *err)
{
	struct duplex *d = state;

	if (backend_event_record(d->start, d->timed->stream, err) != STATUS_OK ||
	    backend_stream_wait(d->other->stream, d->start, err) != STATUS_OK ||
	    lane_copy(d->other, 2 * (uint64_t)batch + 1, err) != STATUS_OK)
		return err->status;
	return lane_copy(d->timed, batch, err);
}

static enum status finish_duplex(void *state, struct error *err)
{
	struct duplex *d = state;

	return backend_stream_synchronize(d->other->stream, err);
}

static enum status sample_duplex(struct transfer *t, size_t timed, const char *name,
				 const struct series **time, struct error *err)
{
	struct duplex d = { &t->lanes[timed], &t->lanes[!timed], NULL };
	struct workload w = { .state = &d,
			      .launch = launch_duplex,
			      .finish = finish_duplex,
			      .clock = CLOCK_DEVICE,
			      .streams = &d.timed->stream,
			      .stream_count = 1,
			      .commands = 4,
			      .no_gate = t->staged };
	struct sampler sampler = t->run->sampler;
	enum status status = backend_event_create(d.timed->from.device, &d.start, err);

	/* The clock is that of the device whose stream is timed. */
	t->run->sampler.device = d.timed->stream->device;
	if (status == STATUS_OK)
		status = run_sample(t->run, &w, name, time, err);
	t->run->sampler = sampler;
	backend_event_destroy(d.start);
	return status;
}

static enum status measure_both_ways(struct transfer *t, struct error *err)
{
	static const char *const series_names[2][2] = {
		{ "transfer.time_h2d", "transfer.time_d2h" },
		{ "transfer.time_forward", "transfer.time_backward" }
	};
	static const char *const metric_names[2][2] = {
		{ "transfer.bandwidth_h2d", "transfer.bandwidth_d2h" },
		{ "transfer.bandwidth_forward", "transfer.bandwidth_backward" }
	};
	bool peer = t->direction == P2P_BOTH;
	double seconds[2] = { 0 };

	for (size_t i = 0; i < 2; i++) {
		const struct series *time;

		if (sample_duplex(t, i, series_names[peer][i], &time, err) != STATUS_OK)
			return err->status;
		seconds[i] = time->statistics.median;
		run_rate(t->run, metric_names[peer][i], (double)t->bytes, time);
	}
	run_sum(t->run, "transfer.bandwidth", metric_names[peer], 2);
	if (fmax(seconds[0], seconds[1]) > 2 * fmin(seconds[0], seconds[1]))
		run_note(t->run, "One direction is more than twice as fast as the other: the "
				 "faster one was not busy "
				 "all the time while the slower one was timed.");
	return STATUS_OK;
}

static void note_cache(const struct transfer *t)
{
	uint64_t cache = t->run->devices[0]->info.l2_bytes;
	char size[32];

	if (t->slots > 1)
		run_note(t->run,
			 "Rotates over %zu buffers, because one would stay in the %s cache.",
			 t->slots, units_size(cache, size, sizeof(size)));
	else if (t->bytes < cache)
		run_note(t->run, "The data fit in the device's cache (%s).",
			 units_size(cache, size, sizeof(size)));
}

static void transfer_init(struct transfer *t, struct run *run)
{
	const struct plan_case *c = run->c;

	*t = (struct transfer){ .run = run,
				.bytes = (size_t)case_integer(c, "sizes"),
				.direction = (enum direction)case_integer(c, "directions") };
	if (t->direction <= BOTH)
		allocator_from_name(case_text(c, "memories"), &t->memory);
	else if (t->direction != LOCAL)
		t->staged = strcmp(case_text(c, "access"), "off") == 0;
	t->slots = slots_for(t->direction, t->bytes, &run->devices[0]->info);
}

static enum status transfer_run(struct run *run, struct error *err)
{
	struct transfer t;
	bool both;

	transfer_init(&t, run);
	both = t.direction == BOTH || t.direction == P2P_BOTH;
	if (set_access(&t, !t.staged, err) != STATUS_OK || open_lanes(&t, err) != STATUS_OK ||
	    each_lane(&t, lane_verify, "before", err) != STATUS_OK)
		goto out;
	note_cache(&t);
	if ((both ? measure_both_ways(&t, err) : measure_one_way(&t, err)) != STATUS_OK ||
	    each_lane(&t, lane_check, "after", err) != STATUS_OK)
		goto out;
	run_verified(run, "every byte against the generator, before and after timing", NAN, NAN);
out:
	for (size_t i = 0; i < t.lane_count; i++)
		lane_close(&t.lanes[i]);
	set_access(&t, false, NULL);
	return err->status;
}

const struct suite suite_transfer = {
	.name = "transfer",
	.summary = "copies between host and device, within a device, and between devices",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_ONE_PROCESS,
	.expand = transfer_expand,
	.run = transfer_run,
};
