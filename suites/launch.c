/*
 * Overhead of device operations: launching, waiting, graphs, callbacks. Host calls are timed with
 * the host clock; the time between two kernels on the device with the device clock.
 */
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "kernels/timing.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/shared/buffers.h"

enum operation {
	LATENCY,
	ENQUEUE,
	THROUGHPUT,
	BACK_TO_BACK,
	RECORD,
	HANDOVER,
	GRAPH,
	EVENT,
	STREAM_SYNC,
	CALLBACK
};

static const char *const operations[] = { "latency",     "enqueue",  "throughput", "back_to_back",
					  "record",      "handover", "graph",      "event",
					  "stream_sync", "callback", NULL };

static const struct key keys[] = {
	{ .name = "operations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "latency, enqueue, throughput, back_to_back, record, handover, graph, event, "
		      "stream_sync, callback",
	  .choices = operations,
	  .parameter = "operation",
	  .help = "latency: launch one kernel and wait; enqueue: the launch call only; throughput: "
		  "many launches, then one wait; back_to_back: time between kernels on the device; "
		  "record: kernels with an event after each; handover: two streams that wait for "
		  "each other's events; graph: launch a graph; event, stream_sync: wait for an "
		  "event or a stream; callback: call a host function" },
	{ .name = "nodes",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1, 16, 256",
	  .min = 1,
	  .max = 4096,
	  .help = "number of empty kernels in a graph" },
	{ 0 },
};

static const char *const axes[] = { "operations", "nodes", NULL };

/* Operations timed on the device. */
static const struct metric_kind_row device_timed[] = {
	{ "operation", "back_to_back", METRIC_LAUNCH }, { "operation", "record", METRIC_LAUNCH },
	{ "operation", "handover", METRIC_LAUNCH },     { "operation", "graph", METRIC_LAUNCH },
	{ "operation", "event", METRIC_LAUNCH },        { 0 },
};

static const struct metric metrics[] = {
	{ "launch.time", "s", BETTER_LOWER, 1,
	  "time of one operation; graph: time to launch all kernels and wait. The process uses two "
	  "streams; with one, kernels of a graph take 20 % less time (H100)",
	  METRIC_HOST, .kinds = device_timed },
	{ "launch.time_p95", "s", BETTER_LOWER, 0, "95th percentile of launch.time", METRIC_HOST },
	{ "launch.time_p99", "s", BETTER_LOWER, 0,
	  "99th percentile of launch.time, over 100 samples", METRIC_HOST },
	{ "launch.first", "s", BETTER_LOWER, 0, "time of the first operation of the case",
	  METRIC_HOST },
	{ "launch.time_per_kernel", "s", BETTER_LOWER, 0, "graph: launch.time / number of kernels",
	  METRIC_HOST },
	{ "launch.enqueue", "s", BETTER_LOWER, 0, "graph: time of the launch call, without waiting",
	  METRIC_HOST },
	{ 0 },
};

/* Samples needed for a p99. */
#define TAIL_SAMPLES 100
/*
 * Duration of the preceding kernel when waiting is verified. A busy host that suspends the thread
 * for longer hides a wait that ended too early.
 */
#define KERNEL_IN_FRONT 10e-3
/* Launches in flight, few enough for any queue. */
#define QUEUED 256
/* Launches on a stream that bring it into use. */
#define LAUNCHES_IN_USE 100

struct launch_case {
	struct run *run;
	enum operation operation;
	unsigned nodes;
	struct stream *streams[2]; /* handover: alternating; others: the first */
	struct event *events[2];
	struct graph *graph;
	struct buffer counter;         /* device memory, for counting launches */
	struct empty_arguments kernel; /* with the counter for verification, else without */
	_Atomic uint64_t calls;        /* of the callback */
};

static enum status launch_kernels(struct launch_case *l, unsigned count, struct error *err)
{
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < count && status == STATUS_OK; i++)
		status = backend_launch(l->streams[0], "empty", &l->kernel, err);
	return status;
}

static void launch_count_call(void *context)
{
	struct launch_case *l = context;

	atomic_fetch_add(&l->calls, 1);
}

/* One operation of the measured kind, with number `turn`. */
static enum status launch_one_operation(struct launch_case *l, unsigned turn, struct error *err)
{
	struct stream *to = l->streams[(turn + 1) % 2];

	switch (l->operation) {
	case RECORD:
		if (launch_kernels(l, 1, err) != STATUS_OK)
			return err->status;
		return backend_event_record(l->events[0], l->streams[0], err);
	case HANDOVER:
		/* The next command of the other stream waits for this kernel. */
		if (backend_launch(l->streams[turn % 2], "empty", &l->kernel, err) != STATUS_OK ||
		    backend_event_record(l->events[turn % 2], l->streams[turn % 2], err) !=
			    STATUS_OK)
			return err->status;
		return backend_stream_wait(to, l->events[turn % 2], err);
	case LATENCY:
		if (launch_kernels(l, 1, err) != STATUS_OK)
			return err->status;
		return backend_stream_synchronize(l->streams[0], err);
	case GRAPH:
		if (backend_graph_launch(l->graph, l->streams[0], err) != STATUS_OK)
			return err->status;
		return backend_stream_synchronize(l->streams[0], err);
	case EVENT:
		if (backend_event_record(l->events[0], l->streams[0], err) != STATUS_OK)
			return err->status;
		return backend_event_synchronize(l->events[0], err);
	case CALLBACK:
		if (backend_callback(l->streams[0], launch_count_call, l, err) != STATUS_OK)
			return err->status;
		return backend_stream_synchronize(l->streams[0], err);
	case STREAM_SYNC:
		return backend_stream_synchronize(l->streams[0], err);
	default:
		return launch_kernels(l, 1, err);
	}
}

static enum status launch_batch_of_operations(void *state, unsigned batch, struct error *err)
{
	struct launch_case *l = state;
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = launch_one_operation(l, i, err);
	if (l->operation == THROUGHPUT && status == STATUS_OK)
		status = backend_stream_synchronize(l->streams[0], err);
	return status;
}

static enum status launch_graph_only(void *state, unsigned batch, struct error *err)
{
	struct launch_case *l = state;
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = backend_graph_launch(l->graph, l->streams[0], err);
	return status;
}

static enum status launch_finish(void *state, struct error *err)
{
	const struct launch_case *l = state;

	if (backend_stream_synchronize(l->streams[1], err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(l->streams[0], err);
}

/* True for operations timed on the device, however fast the host is. */
static bool launch_on_device(enum operation operation)
{
	return operation == BACK_TO_BACK || operation == RECORD || operation == HANDOVER;
}

static struct workload launch_workload(struct launch_case *l)
{
	struct workload w = { .state = l,
			      .launch = launch_batch_of_operations,
			      .clock = CLOCK_HOST,
			      .streams = l->streams,
			      .stream_count = 1,
			      .max_batch = 1,
			      .min_samples = TAIL_SAMPLES };

	/* Too short for a clock reading per operation. */
	if (l->operation == ENQUEUE || l->operation == THROUGHPUT ||
	    launch_on_device(l->operation) || l->operation == STREAM_SYNC) {
		w.max_batch = QUEUED;
		w.min_samples = 0;
		w.finish = launch_finish;
	}
	if (launch_on_device(l->operation))
		w.clock = CLOCK_DEVICE;
	if (l->operation == RECORD)
		w.commands = 2;
	if (l->operation == HANDOVER) {
		w.stream_count = 2;
		w.commands = 3;
	}
	return w;
}

static enum status launch_record_graph(struct launch_case *l, struct error *err)
{
	struct error end_error = ERROR_NONE;

	backend_graph_destroy(l->graph);
	l->graph = NULL;
	if (backend_graph_begin(l->streams[0], err) != STATUS_OK)
		return err->status;
	launch_kernels(l, l->nodes, err);
	if (backend_graph_end(l->streams[0], &l->graph, &end_error) != STATUS_OK)
		error_set(err, end_error.status, "%s", end_error.message);
	return err->status;
}

/* Verifies that every launch increments a counter on the device. */
static enum status verify_launches(struct launch_case *l, struct error *err)
{
	const unsigned times = 20;
	uint64_t found = 0, expected = (uint64_t)times * (l->operation == GRAPH ? l->nodes : 1);

	if (backend_memory_set(l->streams[0], l->counter.memory, 0, l->counter.bytes, err) !=
	    STATUS_OK)
		return err->status;
	l->kernel.counter = l->counter.memory;
	if ((l->operation != GRAPH || launch_record_graph(l, err) == STATUS_OK) &&
	    launch_batch_of_operations(l, times, err) == STATUS_OK)
		backend_copy(l->streams[0], &found, l->counter.memory, sizeof(found), err);
	l->kernel.counter = NULL;
	if (backend_stream_synchronize(l->streams[0], err) != STATUS_OK || err->status != STATUS_OK)
		return err->status;
	if (found != expected)
		return error_set(err, STATUS_MISMATCH,
				 "the device ran %" PRIu64 " kernels of %" PRIu64 " launched",
				 found, expected);
	return STATUS_OK;
}

/*
 * Verifies that a wait, or work ordered after a kernel of the other stream, covers a kernel before
 * it, and that each callback is called once.
 */
static enum status launch_verify_waiting(struct launch_case *l, struct error *err)
{
	const struct spin_arguments spin = { KERNEL_IN_FRONT };
	bool handover = l->operation == HANDOVER;
	uint64_t calls = atomic_load(&l->calls);
	double start, waited;

	if (backend_launch(l->streams[0], "spin", &spin, err) != STATUS_OK ||
	    backend_stream_synchronize(l->streams[0], err) != STATUS_OK)
		return err->status;
	start = clock_seconds();
	if (backend_launch(l->streams[0], "spin", &spin, err) != STATUS_OK ||
	    launch_one_operation(l, 0, err) != STATUS_OK ||
	    (handover && backend_stream_synchronize(l->streams[1], err) != STATUS_OK))
		return err->status;
	waited = clock_seconds() - start;
	/* The clocks of device and host may differ by their resolution. */
	if (waited < 0.99 * spin.seconds)
		return error_set(err, STATUS_MISMATCH,
				 "%s after %.3g ms, but the kernel that it waits for takes %.3g ms",
				 handover ? "the second stream continued" : "the wait returned",
				 1e3 * waited, 1e3 * spin.seconds);
	if (l->operation == CALLBACK && atomic_load(&l->calls) != calls + 1)
		return error_set(err, STATUS_MISMATCH,
				 "%" PRIu64
				 " calls of the host function were counted for one callback",
				 atomic_load(&l->calls) - calls);
	return handover ? verify_launches(l, err) : STATUS_OK;
}

static bool launch_is_wait(enum operation operation)
{
	return operation == EVENT || operation == STREAM_SYNC || operation == CALLBACK;
}

static enum status launch_verify(struct launch_case *l, struct error *err)
{
	return l->operation == HANDOVER || launch_is_wait(l->operation)
		       ? launch_verify_waiting(l, err)
		       : verify_launches(l, err);
}

static enum status launch_measure(struct launch_case *l, struct error *err)
{
	struct workload w = launch_workload(l);
	const struct series *time;

	/*
	 * Brings the process into the state of most programs. Once kernels were launched on two
	 * streams, those of every graph take a fifth longer (H100 and H200, driver 580, from ten
	 * launches on a stream on); before that, a graph's time would depend on the cases that ran
	 * before it.
	 */
	for (unsigned i = 0; i < 2 * LAUNCHES_IN_USE && l->operation == GRAPH; i++)
		if (backend_launch(l->streams[i % 2], "empty", &l->kernel, err) != STATUS_OK)
			return err->status;
	if (l->operation == GRAPH &&
	    (launch_finish(l, err) != STATUS_OK || launch_record_graph(l, err) != STATUS_OK))
		return err->status;
	if (run_sample(l->run, &w, "launch.time", &time, err) != STATUS_OK)
		return err->status;
	run_duration(l->run, "launch.time", time);
	if (w.max_batch == 1) {
		run_statistic(l->run, "launch.time_p95", time->statistics.p95, time);
		run_statistic(l->run, "launch.time_p99", time->statistics.p99, time);
	}
	run_statistic(l->run, "launch.first", time->first, time);
	if (l->operation != GRAPH)
		return STATUS_OK;
	run_scaled(l->run, "launch.time_per_kernel", 1.0 / l->nodes, time);
	w = launch_workload(l);
	w.launch = launch_graph_only;
	w.finish = launch_finish;
	w.min_samples = 0;
	if (run_sample(l->run, &w, "launch.enqueue", &time, err) == STATUS_OK)
		run_duration(l->run, "launch.enqueue", time);
	return err->status;
}

static enum status launch_run(struct run *run, struct error *err)
{
	struct device *device = run->devices[0];
	struct launch_case l = { .run = run,
				 .operation = (enum operation)case_integer(run->c, "operations") };

	l.nodes = l.operation == GRAPH ? (unsigned)case_integer(run->c, "nodes") : 1;
	for (int i = 0; i < 2 && err->status == STATUS_OK; i++)
		if (backend_stream_create(device, false, &l.streams[i], err) == STATUS_OK)
			backend_event_create(device, &l.events[i], err);
	/* Verifying first also loads the kernels, which a graph cannot record. */
	if (err->status == STATUS_OK &&
	    buffer_alloc(&l.counter, device, ALLOCATOR_DEVICE, sizeof(uint64_t), err) ==
		    STATUS_OK &&
	    launch_kernels(&l, 1, err) == STATUS_OK && launch_verify(&l, err) == STATUS_OK &&
	    launch_measure(&l, err) == STATUS_OK && launch_verify(&l, err) == STATUS_OK)
		run_verified(run,
			     launch_is_wait(l.operation)
				     ? "the wait takes as long as the kernel before it"
				     : "number of kernels, counted on the device",
			     NAN, NAN);
	for (int i = 0; i < 2 && l.streams[i]; i++)
		backend_stream_synchronize(l.streams[i], NULL);
	backend_graph_destroy(l.graph);
	buffer_free(&l.counter);
	for (int i = 0; i < 2; i++) {
		backend_event_destroy(l.events[i]);
		backend_stream_destroy(l.streams[i]);
	}
	return err->status;
}

static enum status launch_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	if (case_integer(point, "operations") != GRAPH && !plan_drop_axis(point, "nodes"))
		return STATUS_OK;
	point->device_bytes = sizeof(uint64_t);
	point->setup_seconds = 0.01;
	return plan_add_each(plan, point, err);
}

static const struct sheet_row sheet[] = {
	{ "launch.time", { "operation", "throughput" }, .quantity = "launch" },
	{ "launch.time", { "operation", "latency" }, .quantity = "launch_wait" },
	{ 0 },
};

const struct suite suite_launch = {
	.name = "launch",
	.summary = "kernel and graph launch, event and stream synchronisation, callbacks",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.sheet = sheet,
	.processes = SUITE_ONE_PROCESS,
	.expand = launch_expand,
	.run = launch_run,
};
