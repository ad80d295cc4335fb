/*
 * Copies between the host and a device, within a device, and between devices, by the devices' copy
 * engines or by a kernel; and the latency of one load over the same path.
 *
 * Copies of a sample are enqueued after a gate and timed by the device's clock. Copies of pageable
 * memory block the caller, so they are timed on the host's clock, waiting included. Where several
 * copies compete, all start from one event, and those that are not timed have twice the work, so
 * that they are busy from the first to the last timed byte.
 *
 * docs/nvbandwidth.md says which case is which test of nvbandwidth.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "plan/suite.h"
#include "suites/shared/energy.h"
#include "suites/transfer/access.h"
#include "suites/transfer/pool.h"
#include "suites/transfer/transfer.h"

static const char *const engines[] = { "ce", "sm", NULL };
static const char *const memories[] = { "pinned", "pageable", "write_combined", "registered",
					NULL };
static const char *const accesses[] = { "on", "off", NULL };
static const char *const states[] = { "warm", "cold", NULL };

static const struct key keys[] = {
	{ .name = "directions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "h2d, d2h, both, local, p2p, p2p_both",
	  .choices = direction_names,
	  .parameter = "direction",
	  .help = "h2d: host to device; d2h: back; both at once; local: within a device; p2p: "
		  "written to another device; p2p_read: read from it; p2p_both, p2p_read_both; "
		  "h2d_all, d2h_all, both_all: every device at once; host_to_all, all_to_host, and "
		  "with _both: one device while all others are busy; all_to_one_write, "
		  "all_to_one_read, one_to_all_write, one_to_all_read: the first named one reads "
		  "or writes the memory of the other; latency_host, latency_p2p, latency_local; "
		  "p2p_pairs: all devices in pairs at once, round by round" },
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
	  .help = "host memory of the directions that have any (pageable, whose copies block: h2d "
		  "and d2h by ce only)" },
	{ .name = "access",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "on, off",
	  .choices = accesses,
	  .help = "direct peer access between two devices; off: the driver goes through the host "
		  "(pairs by ce only)" },
	{ .name = "states",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "warm",
	  .choices = states,
	  .parameter = "state",
	  .help = "warm: the same block again and again; cold: blocks by turns, so that none is in "
		  "a cache of host or device (local: always)" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1KiB..256MiB *4, 512MiB",
	  .min = 1,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of one copy; latency: of the memory that is walked through" },
	{ 0 },
};

static const char *const axes[] = { "directions", "engines", "memories", "access",
				    "states",     "sizes",   NULL };

/* With pageable memory the CPU decides a copy's time. */
#define PAGEABLE .host_parameter = "memory", .host_value = "pageable"

static const struct metric metrics[] = {
	{ "transfer.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "bytes copied per second; each byte counts once, within a device as well; bidirectional, "
	  "and where all copy at once: the sum; host_to_all and all_to_host: of the one device",
	  PAGEABLE },
	{ "transfer.latency", "s", BETTER_LOWER, 1,
	  "one load that depends on the one before it, over a random path through the memory",
	  PAGEABLE },
	{ "transfer.time", "s", BETTER_LOWER, 0, "one copy; where all copy at once: of all",
	  PAGEABLE },
	{ "transfer.first", "s", BETTER_LOWER, 0,
	  "the first timed copy by itself, before any warm-up", METRIC_HOST, PAGEABLE },
	{ "transfer.bandwidth_each", "B/s", BETTER_HIGHER, 0,
	  "one copy's part where all copy at once", PAGEABLE },
	{ "transfer.concurrent_share", "1", BETTER_HIGHER, 0,
	  "what the slowest of the pairs that copy at once has, over what the first has alone",
	  PAGEABLE, .percent = true },
	{ "transfer.bandwidth_h2d", "B/s", BETTER_HIGHER, 0,
	  "host to device while the other direction is busy", PAGEABLE,
	  .title = "bandwidth from host to device" },
	{ "transfer.bandwidth_d2h", "B/s", BETTER_HIGHER, 0,
	  "device to host while the other direction is busy", PAGEABLE,
	  .title = "bandwidth from device to host" },
	{ "transfer.bandwidth_forward", "B/s", BETTER_HIGHER, 0,
	  "first to second device while the other direction is busy", PAGEABLE },
	{ "transfer.bandwidth_backward", "B/s", BETTER_HIGHER, 0,
	  "second to first device while the other direction is busy", PAGEABLE },
	ENERGY_METRICS("transfer", "one copy; where all copy at once: of all", "bytes_per_joule",
		       "B/J", "bytes copied over the energy of the devices, without the host's"),
	{ 0 },
};

static const struct table_row tables[] = {
	ENERGY_TABLE("transfer", "bandwidth", "bytes_per_joule"),
	{ 0 },
};

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

static void *open_state(void)
{
	struct transfer_state *state = xcalloc(1, sizeof(*state));

	*state = (struct transfer_state){ pool_open(), access_open(), pair_kinds_open() };
	return state;
}

static void close_state(void *memory)
{
	struct transfer_state *state = memory;

	access_close(state->access);
	pool_close(state->pool);
	free(state->kinds);
	free(state);
}

static const struct aspect_row aspects[] = {
	{ "transfer.bandwidth", "direction", "p2p", ASPECT_LINK, true },
	{ "transfer.bandwidth", "direction", "local", ASPECT_MEMORY, true },
	{ "transfer.bandwidth", NULL, NULL, ASPECT_LINK },
	{ "transfer.latency", "direction", "local", ASPECT_MEMORY, true },
	{ "transfer.latency", NULL, NULL, ASPECT_LINK },
	{ 0 },
};

static const struct figure_row figures[] = {
	{ .metric = "transfer.bandwidth",
	  .kind = "lines",
	  .facets = { "direction", "engine", "access" } },
	{ .metric = "transfer.bandwidth",
	  .kind = "heatmap",
	  .facets = { "direction", "engine", "access" },
	  .together = { "direction", "p2p_both", "p2p_read_both", "both_all", "host_to_all_both",
			"all_to_host_both" } },
	{ .metric = "transfer.latency",
	  .kind = "lines",
	  .logarithmic = true,
	  .facets = { "direction" } },
	{ .metric = "transfer.latency", .kind = "heatmap", .facets = { "direction" } },
	{ 0 },
};

static const struct word_row words[] = {
	{ "direction", "h2d", "host to device" },
	{ "direction", "d2h", "device to host" },
	{ "direction", "both", "host and device, bidirectional" },
	{ "direction", "local", "within the device" },
	{ "direction", "p2p", "device to device" },
	{ "direction", "p2p_both", "between devices, bidirectional" },
	{ "direction", "p2p_read", "device to device, read" },
	{ "direction", "p2p_read_both", "between devices, bidirectional, read" },
	{ "direction", "h2d_all", "host to all devices together" },
	{ "direction", "d2h_all", "all devices to the host together" },
	{ "direction", "both_all", "host and all devices, both directions together" },
	{ "direction", "host_to_all", "host to one of all busy devices" },
	{ "direction", "all_to_host", "one of all busy devices to the host" },
	{ "direction", "host_to_all_both", "host to one of all devices busy in both directions" },
	{ "direction", "all_to_host_both",
	  "one of all devices busy in both directions to the host" },
	{ "direction", "all_to_one_write", "all devices write to one" },
	{ "direction", "all_to_one_read", "all devices read from one" },
	{ "direction", "one_to_all_write", "one device writes to all" },
	{ "direction", "one_to_all_read", "one device reads from all" },
	{ "direction", "latency_host", "loads from the host" },
	{ "direction", "latency_p2p", "loads from another device" },
	{ "direction", "latency_local", "loads from the device's own memory" },
	{ "direction", "p2p_pairs", "all devices in pairs at once" },
	{ "engine", "sm", "by kernel" },
	{ "access", "on", "peer access on" },
	{ "access", "off", "peer access off" },
	{ 0 },
};

static const struct role_row roles[] = {
	{ "direction", ROLE_ARROW, "p2p" },
	{ 0 },
};

static const struct sheet_row sheet[] = {
	{ "transfer.bandwidth", { "direction", "local" }, .quantity = "device_copy", .factor = 2 },
	{ "transfer.bandwidth",
	  { "direction", "h2d", "memory", "pinned" },
	  .quantity = "host_to_device" },
	{ "transfer.bandwidth",
	  { "direction", "d2h", "memory", "pinned" },
	  .quantity = "device_to_host" },
	{ "transfer.bandwidth", { "direction", "p2p", "access", "on" }, .quantity = "peer_copy" },
	{ "transfer.bandwidth",
	  { "direction", "p2p_both", "access", "on" },
	  .quantity = "peer_copy_both" },
	{ 0 },
};

const struct suite suite_transfer = {
	.name = "transfer",
	.summary = "copies between host and device, within a device, and between devices",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.tables = tables,
	.words = words,
	.roles = roles,
	.sheet = sheet,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = transfer_expand,
	.run = transfer_run,
	.groups_with = transfer_groups_with,
	.run_group = transfer_run_group,
	.open_state = open_state,
	.close_state = close_state,
};
