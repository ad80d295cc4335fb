/*
 * Copies between the host and a device, within a device, and between devices, with the devices'
 * copy engines or a kernel; and the latency of one load over the same path.
 *
 * Copies of a sample are enqueued after a gate and timed with the device clock. Copies of pageable
 * memory block the caller, so they are timed with the host clock, including the wait. If several
 * copies compete, all start from one event, and those that are not timed have twice the work, so
 * that they are busy until the last timed byte.
 *
 * docs/nvbandwidth.md maps cases to tests of nvbandwidth.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "plan/suite.h"
#include "suites/shared/energy.h"
#include "suites/transfer/lane.h"
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
	  .help = "h2d: host to device; d2h: device to host; both: both at once; local: within a "
		  "device; p2p: write to another device; p2p_read: read from it; p2p_both, "
		  "p2p_read_both: both directions; h2d_all, d2h_all, both_all: all devices at "
		  "once; host_to_all, all_to_host, and the same with _both: one device while all "
		  "others are busy; all_to_one_write, all_to_one_read, one_to_all_write, "
		  "one_to_all_read: the devices named first read or write the memory of the "
		  "others; latency_host, latency_p2p, latency_local: latency of a load; p2p_pairs: "
		  "all devices in pairs at once, in several rounds" },
	{ .name = "engines",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "ce",
	  .choices = engines,
	  .parameter = "engine",
	  .help = "ce: copy engines of the device (on a host: memcpy); sm: a kernel on the "
		  "multiprocessors" },
	{ .name = "memories",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "pinned, pageable",
	  .choices = memories,
	  .parameter = "memory",
	  .help = "type of host memory; pageable: copies block, only for h2d and d2h with ce" },
	{ .name = "access",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "on, off",
	  .choices = accesses,
	  .help = "on: peer access between two devices; off: the driver copies through the host. "
		  "Only for pairs of devices with ce" },
	{ .name = "states",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "warm",
	  .choices = states,
	  .parameter = "state",
	  .help = "warm: copy the same block repeatedly; cold: rotate over blocks, so that no "
		  "block is in a cache of host or device (local: always cold)" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1KiB..256MiB *4, 512MiB",
	  .min = 1,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of one copy; latency: size of the memory that the loads walk through" },
	{ 0 },
};

static const char *const axes[] = { "directions", "engines", "memories", "access",
				    "states",     "sizes",   NULL };

/* Kinds of copies. */
static const struct metric_kind_row copies[] = {
	{ "memory", "pageable", METRIC_PAGEABLE },
	{ "direction", "h2d", METRIC_LINK },
	{ "direction", "both", METRIC_LINK },
	{ "direction", "h2d_all", METRIC_LINK },
	{ "direction", "both_all", METRIC_LINK },
	{ "direction", "local", METRIC_LOCAL },
	{ 0 },
};

#define COPY .kinds = copies

static const struct metric metrics[] = {
	{ "transfer.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "bytes copied per second; each byte counts once, even in copies within a device. "
	  "Bidirectional and concurrent copies: sum over all. host_to_all, all_to_host: the timed "
	  "device only",
	  COPY },
	{ "transfer.latency", "s", BETTER_LOWER, 1,
	  "latency of one dependent load on a random path through the memory", COPY },
	{ "transfer.time", "s", BETTER_LOWER, 0,
	  "time of one copy; concurrent copies: time until all are done", COPY },
	{ "transfer.first", "s", BETTER_LOWER, 0, "time of the first copy, before warm-up",
	  METRIC_HOST, COPY },
	{ "transfer.bandwidth_each", "B/s", BETTER_HIGHER, 0,
	  "bandwidth of each copy when all devices copy at once", COPY },
	{ "transfer.concurrent_share", "1", BETTER_HIGHER, 0,
	  "bandwidth of the slowest of the concurrent pairs / bandwidth of the first pair alone",
	  COPY, .percent = true },
	{ "transfer.bandwidth_h2d", "B/s", BETTER_HIGHER, 0,
	  "bandwidth from host to device while the other direction is busy", COPY,
	  .title = "bandwidth from host to device" },
	{ "transfer.bandwidth_d2h", "B/s", BETTER_HIGHER, 0,
	  "bandwidth from device to host while the other direction is busy", COPY,
	  .title = "bandwidth from device to host" },
	{ "transfer.bandwidth_forward", "B/s", BETTER_HIGHER, 0,
	  "bandwidth from first to second device while the other direction is busy", COPY },
	{ "transfer.bandwidth_backward", "B/s", BETTER_HIGHER, 0,
	  "bandwidth from second to first device while the other direction is busy", COPY },
	ENERGY_METRICS("transfer", "time of one copy; concurrent copies: time until all are done",
		       "bytes_per_joule", "B/J",
		       "bytes copied / energy of the devices, without the host"),
	{ 0 },
};

static const struct table_row tables[] = {
	ENERGY_TABLE("transfer", "bandwidth", "bytes_per_joule"),
	{ 0 },
};

static enum status transfer_run(struct run *run, struct error *err)
{
	transfer_run_group(&run, 1, err);
	return err->status;
}

static void *transfer_open_state(void)
{
	return xcalloc(1, sizeof(struct transfer_state));
}

static void transfer_close_state(void *memory)
{
	struct transfer_state *state = memory;

	transfer_lane_access_close(&state->access);
	transfer_lane_pool_close(&state->pool);
	free(state);
}

static const struct aspect_row aspects[] = {
	{ "transfer.bandwidth", "direction", "p2p", ASPECT_LINK, true, "copies between GPUs",
	  .group = "directions of copies between GPUs", .link = LINK_PEER },
	{ "transfer.bandwidth", "direction", "local", ASPECT_MEMORY, true,
	  "copies within its memory", .group = "memory operations", .variant = "copy" },
	{ "transfer.bandwidth", "direction", "h2d", ASPECT_LINK, .task = "copies from the host",
	  .group = "directions of copies between host and GPU", .variant = "from the host",
	  .link = LINK_PCIE },
	{ "transfer.bandwidth", "direction", "d2h", ASPECT_LINK, .task = "copies to the host",
	  .group = "directions of copies between host and GPU", .variant = "to the host",
	  .link = LINK_PCIE },
	{ "transfer.bandwidth", "direction", "both", ASPECT_LINK,
	  .task = "copies from and to the host at once",
	  .group = "directions of copies between host and GPU", .link = LINK_PCIE },
	{ "transfer.bandwidth", NULL, NULL, ASPECT_LINK, .task = "copies ({direction})" },
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
	{ "direction", "both_all", "host and all devices, both directions" },
	{ "direction", "host_to_all", "host to one device while all are busy" },
	{ "direction", "all_to_host", "one device to the host while all are busy" },
	{ "direction", "host_to_all_both",
	  "host to one device while all are busy in both directions" },
	{ "direction", "all_to_host_both",
	  "one device to the host while all are busy in both directions" },
	{ "direction", "all_to_one_write", "all devices write to one" },
	{ "direction", "all_to_one_read", "all devices read from one" },
	{ "direction", "one_to_all_write", "one device writes to all" },
	{ "direction", "one_to_all_read", "one device reads from all" },
	{ "direction", "latency_host", "loads from host memory" },
	{ "direction", "latency_p2p", "loads from memory of another device" },
	{ "direction", "latency_local", "loads from device memory" },
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
	{ "transfer.bandwidth",
	  { "direction", "both", "memory", "pinned" },
	  .quantity = "host_copy_both" },
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
	.expand = transfer_plan_expand,
	.run = transfer_run,
	.groups_with = transfer_groups_with,
	.run_group = transfer_run_group,
	.open_state = transfer_open_state,
	.close_state = transfer_close_state,
};
