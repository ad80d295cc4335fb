/*
 * Copies between the host and a device, within a device, and between devices, by the devices' copy
 * engines or by a kernel; and how long one load over the same way takes.
 *
 * Copies of a sample run behind the gate, on the device's clock. Copies of pageable memory block
 * the caller, so they are timed on the host's clock, waiting included. Where several copies
 * compete, all start from one event, and those that are not timed have twice the work, so that
 * they are busy from the first to the last timed byte.
 *
 * docs/nvbandwidth.md says which case is which test of nvbandwidth.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "suites/suite.h"
#include "suites/transfer/access.h"
#include "suites/transfer/pool.h"
#include "suites/transfer/transfer.h"

static const char *const engines[] = { "ce", "sm", NULL };
static const char *const memories[] = { "pinned", "pageable", "write_combined", "registered",
					NULL };
static const char *const accesses[] = { "on", "off", NULL };
static const char *const states[] = { "warm", "cold", NULL };
static const char *const copy_kernels[] = { "auto", "strided", "blocked", NULL };

static const struct key keys[] = {
	{ .name = "directions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "h2d, d2h, both, local, p2p, p2p_both",
	  .choices = direction_names,
	  .parameter = "direction",
	  .help = "h2d: host to device; d2h: back; both at once; local: within a device; p2p: "
		  "written to another device; p2p_read: read from it; p2p_both, p2p_read_both; "
		  "h2d_all, d2h_all, both_all: every device at once; host_to_all, all_to_host, "
		  "and with _both: one device while all others are busy; all_to_one_write, "
		  "all_to_one_read, one_to_all_write, one_to_all_read: the first named one reads "
		  "or writes the memory of the other; latency_host, latency_p2p, latency_local; "
		  "p2p_pairs: "
		  "all devices in pairs at once, round by round" },
	{ .name = "engines",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "ce",
	  .choices = engines,
	  .parameter = "engine",
	  .help = "ce: the device's copy engines (a host copies by memcpy); sm: a kernel on its "
		  "multiprocessors" },
	{ .name = "memories",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "pinned, pageable",
	  .choices = memories,
	  .parameter = "memory",
	  .help = "host memory of the directions that have any (pageable, whose copies block: "
		  "h2d and d2h by ce only)" },
	{ .name = "access",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "on, off",
	  .choices = accesses,
	  .help = "direct peer access between two devices; off: the driver goes through the "
		  "host (pairs by ce only)" },
	{ .name = "states",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "warm",
	  .choices = states,
	  .parameter = "state",
	  .help = "warm: the same block again and again; cold: blocks by turns, so that none is "
		  "in a cache of host or device (local: always)" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1KiB..256MiB *4, 512MiB",
	  .min = 1,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of one copy; latency: of the memory that is walked through" },
	{ .name = "copy_kernel",
	  .type = KEY_CHOICE,
	  .fallback = "auto",
	  .choices = copy_kernels,
	  .help = "how the kernel of engine sm shares its work out (auto: the best way known)" },
	{ 0 },
};

/* In the order of enum copy_method. */
_Static_assert(COPY_AUTO == 0 && COPY_STRIDED == 1 && COPY_BLOCKED == 2, "copy_kernels");

static const char *const axes[] = { "directions", "engines", "memories", "access",
				    "states",     "sizes",   NULL };

static const struct metric metrics[] = {
	{ "transfer.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "bytes copied per second; each byte counts once, within "
	  "a device as well; both ways, and where all copy at once: the sum; host_to_all and "
	  "all_to_host: of the one device" },
	{ "transfer.latency", "s", BETTER_LOWER, 1,
	  "one load that depends on the one before it, over a random way through the memory" },
	{ "transfer.time", "s", BETTER_LOWER, 0, "one copy; where all copy at once: of all" },
	{ "transfer.first", "s", BETTER_LOWER, 0,
	  "the first timed copy by itself, before any warm-up" },
	{ "transfer.bandwidth_each", "B/s", BETTER_HIGHER, 0,
	  "one copy's part where all copy at once" },
	{ "transfer.kept", "1", BETTER_HIGHER, 0,
	  "what the slowest of the pairs that copy at once has, over what the first has alone" },
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
	int nodes[ROUTES_MAX];

	for (size_t i = 0; i < t->lane_count; i++)
		nodes[i] = t->lanes[i].node;
	transfer_note_nodes(t->run, nodes, t->lane_count);
}

static void note_cache(const struct transfer *t)
{
	uint64_t cache = t->run->devices[0]->info.l2_bytes;
	char size[32];

	if (t->slots > 1)
		run_note(t->run,
			 "Rotates over %zu buffers, because one would stay in a cache (%s on the "
			 "device).",
			 t->slots, units_size(cache, size, sizeof(size)));
	else if (t->bytes < cache)
		run_note(t->run, "The data fit in the device's cache (%s).",
			 units_size(cache, size, sizeof(size)));
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
	struct lane_plan plan = {
		.from = end_of(t, route->from, route->to),
		.to = end_of(t, route->to, route->from),
		.issuer = t->run->devices[route->issuer],
		.by_kernel = transfer_by_kernel(c),
		.method = (enum copy_method)section_setting(c->section, "copy_kernel")
				  ->values[0]
				  .integer,
		.bytes = transfer_route_bytes(c, i),
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
	for (size_t i = 0; transfer_twins(t->run->c) && i + 1 < t->lane_count; i += 2)
		lane_join(&t->lanes[i], &t->lanes[i + 1]);
	return status;
}

static const char *end_name(const struct lane_end *end)
{
	return allocator_on_device(end->allocator) ? end->device->info.id : "host";
}

static enum status each_lane(struct transfer *t,
			     enum status (*check)(struct lane *, struct error *), const char *when,
			     struct error *err)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct lane_plan *plan = &t->lanes[i].plan;
		enum status status = check(&t->lanes[i], err);

		if (status != STATUS_OK)
			return error_prefix(err, "%s%s timing, %s to %s",
					    status == STATUS_MISMATCH ? "corrupt: " : "", when,
					    end_name(&plan->from), end_name(&plan->to));
	}
	return STATUS_OK;
}

static enum status set_access(struct transfer *t, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		int peer = route_peer(&t->routes[i]);
		struct device *a = t->run->devices[t->routes[i].issuer];

		if (peer >= 0 &&
		    access_set(a, t->run->devices[peer], !t->staged, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static void transfer_init(struct transfer *t, struct run *run)
{
	const struct plan_case *c = run->c;

	memset(t, 0, sizeof(*t));
	t->run = run;
	t->bytes = (size_t)case_integer(c, "sizes");
	t->direction = (enum direction)case_integer(c, "directions");
	t->info = direction_info(t->direction);
	if (t->info->host)
		allocator_from_name(case_text(c, "memories"), &t->memory);
	else if (t->info->peer && t->info->timing != TIME_CHASE)
		t->staged = strcmp(case_text(c, "access"), "off") == 0;
	t->slots = transfer_slots(t->direction, transfer_cold(c), t->bytes, &run->devices[0]->info);
}

static enum status open_copies(struct transfer *t, size_t count, struct error *err)
{
	if (open_lanes(t, count, err) != STATUS_OK ||
	    each_lane(t, lane_verify, "before", err) != STATUS_OK)
		return err->status;
	note_nodes(t);
	note_cache(t);
	return transfer_plan_timings(t, err);
}

enum status transfer_open(struct transfer *t, struct run *run, struct error *err)
{
	size_t count;

	transfer_init(t, run);
	count = direction_routes(t->direction, run->device_count, t->routes);
	if (set_access(t, count, err) != STATUS_OK)
		return err->status;
	if (t->info->timing == TIME_CHASE)
		return chase_open(t, err);
	return open_copies(t, count, err);
}

enum status transfer_finish(struct transfer *t, struct error *err)
{
	static const char copies[] = "every byte against the generator, before and after timing";
	static const char loads[] = "the end of the way against its order, before and after timing";

	/* First the numbers: a pair whose data are wrong keeps them. */
	if (t->chase)
		chase_record(t);
	else
		transfer_record(t);
	if ((t->chase ? chase_check(t, "after", err) : each_lane(t, lane_check, "after", err)) ==
	    STATUS_OK)
		run_verified(t->run, t->chase ? loads : copies, NAN, NAN);
	return err->status;
}

void transfer_close(struct transfer *t)
{
	chase_close(t);
	transfer_close_timings(t);
	for (size_t i = 0; i < t->lane_count; i++)
		lane_close(&t->lanes[i]);
}

static enum status transfer_run(struct run *run, struct error *err)
{
	struct transfer t;

	if (transfer_open(&t, run, err) == STATUS_OK) {
		for (size_t i = 0; i < t.timing_count && err->status == STATUS_OK; i++)
			transfer_sample(&t, i, t.timings[i].name, err);
		if (err->status == STATUS_OK)
			transfer_finish(&t, err);
	}
	transfer_close(&t);
	return err->status;
}

static void transfer_release(void)
{
	access_reset();
	pool_empty();
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
	.joins = transfer_joins,
	.run_company = transfer_run_company,
	.release = transfer_release,
};
