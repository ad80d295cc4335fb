/* Streams, events and the gate. */
#include "gpu_check.h"

#include <stdio.h>

#include "base/clock.h"
#include "kernels/memory/fill.h"
#include "kernels/timing.h"

#define BYTES (1u << 20)

static enum status spin(struct stream *stream, double seconds, struct error *err)
{
	struct spin_arguments arguments = { seconds };

	return backend_launch(stream, "spin", &arguments, err);
}

static enum status events_measure(struct check_context *context, struct error *err)
{
	struct event *start, *end;
	double seconds;

	STEP(backend_event_create(context->device, &start, err));
	STEP(backend_event_create(context->device, &end, err));
	STEP(spin(context->stream, 1e-4, err)); /* loads the kernel */
	STEP(backend_event_record(start, context->stream, err));
	STEP(spin(context->stream, 5e-3, err));
	STEP(backend_event_record(end, context->stream, err));
	STEP(backend_event_synchronize(end, err));
	STEP(backend_event_elapsed(start, end, &seconds, err));
	backend_event_destroy(start);
	backend_event_destroy(end);
	snprintf(context->detail, sizeof(context->detail), "5 ms of spinning took %.4f ms",
		 1e3 * seconds);
	if (seconds < 4.99e-3 || seconds > 5.5e-3)
		return error_set(err, STATUS_MISMATCH, "%s", context->detail);
	return STATUS_OK;
}

/* A second stream waits for an event, and until then does not see what the first one writes. */
static enum status streams_wait(struct check_context *context, struct error *err)
{
	struct stream *second;
	struct event *written;
	void *from, *to;

	STEP(backend_stream_create(context->device, true, &second, err));
	STEP(backend_event_create(context->device, &written, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, BYTES, NULL, &from, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, BYTES, NULL, &to, err));
	STEP(backend_memory_set(context->stream, from, 0, BYTES, err));
	STEP(backend_stream_synchronize(context->stream, err));
	STEP(spin(context->stream, 20e-3, err));
	STEP(gpu_fill(context->stream, from, BYTES, 21, err));
	STEP(backend_event_record(written, context->stream, err));
	STEP(backend_stream_wait(second, written, err));
	STEP(backend_copy(second, to, from, BYTES, err));
	STEP(gpu_expect(second, to, BYTES, 21, err));
	backend_stream_destroy(second);
	backend_event_destroy(written);
	STEP(backend_memory_free(context->device, ALLOCATOR_DEVICE, from, BYTES, NULL, err));
	return backend_memory_free(context->device, ALLOCATOR_DEVICE, to, BYTES, NULL, err);
}

static enum status streams_overlap(struct check_context *context, struct error *err)
{
	struct stream *second;
	double start, seconds;

	STEP(backend_stream_create(context->device, false, &second, err));
	STEP(backend_device_synchronize(context->device, err));
	start = clock_seconds();
	STEP(spin(context->stream, 20e-3, err));
	STEP(spin(second, 20e-3, err));
	STEP(backend_stream_synchronize(context->stream, err));
	STEP(backend_stream_synchronize(second, err));
	seconds = clock_seconds() - start;
	backend_stream_destroy(second);
	snprintf(context->detail, sizeof(context->detail), "twice 20 ms took %.2f ms",
		 1e3 * seconds);
	if (seconds > 35e-3)
		return error_set(err, STATUS_MISMATCH, "%s: the streams ran one after the other",
				 context->detail);
	return STATUS_OK;
}

/* Nothing after a closed gate runs; once it opens, the batch runs at once. */
static enum status gate_holds(struct check_context *context, struct error *err)
{
	struct event *start, *end;
	volatile unsigned char *flag;
	double seconds;
	void *p;

	STEP(backend_event_create(context->device, &start, err));
	STEP(backend_event_create(context->device, &end, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_PINNED, 64, NULL, &p, err));
	flag = p;
	flag[0] = 1;
	STEP(backend_gate_close(context->stream, 5, err));
	STEP(backend_event_record(start, context->stream, err));
	STEP(backend_memory_set(context->stream, p, 2, 1, err));
	STEP(spin(context->stream, 1e-3, err));
	STEP(backend_event_record(end, context->stream, err));
	clock_sleep(50e-3);
	if (flag[0] != 1)
		return error_set(err, STATUS_MISMATCH, "work ran through a closed gate");
	STEP(backend_gate_open(context->stream, err));
	STEP(backend_stream_synchronize(context->stream, err));
	STEP(backend_event_elapsed(start, end, &seconds, err));
	if (flag[0] != 2)
		return error_set(err, STATUS_MISMATCH, "work did not run after the gate opened");
	backend_event_destroy(start);
	backend_event_destroy(end);
	snprintf(context->detail, sizeof(context->detail), "1 ms of work after it took %.4f ms",
		 1e3 * seconds);
	if (seconds > 2e-3)
		return error_set(err, STATUS_MISMATCH, "the gate is in the measured time: %s",
				 context->detail);
	return backend_memory_free(context->device, ALLOCATOR_PINNED, p, 64, NULL, err);
}

/* A gate left closed opens by itself and says so, once. */
static enum status gate_expires(struct check_context *context, struct error *err)
{
	struct error report = ERROR_NONE;
	enum status status;

	STEP(backend_gate_close(context->stream, 50e-3, err));
	STEP(backend_stream_synchronize(context->stream, err));
	status = backend_gate_open(context->stream, &report);
	if (status != STATUS_TIMEOUT)
		return error_set(err, STATUS_MISMATCH, "an expired gate opened with %s",
				 status_name(status));
	snprintf(context->detail, sizeof(context->detail), "%.200s", report.message);
	STEP(backend_gate_close(context->stream, 5, err));
	STEP(backend_gate_open(context->stream, err));
	return backend_stream_synchronize(context->stream, err);
}

/* Each stream has its own gate. */
static enum status gates_are_apart(struct check_context *context, struct error *err)
{
	struct stream *second;
	double start = clock_seconds();

	STEP(backend_stream_create(context->device, false, &second, err));
	STEP(backend_gate_close(context->stream, 5, err));
	STEP(backend_gate_close(second, 5, err));
	STEP(backend_gate_open(second, err));
	STEP(backend_stream_synchronize(second, err));
	STEP(backend_gate_open(context->stream, err));
	STEP(backend_stream_synchronize(context->stream, err));
	backend_stream_destroy(second);
	if (clock_seconds() - start > 2)
		return error_set(err, STATUS_MISMATCH, "one stream's gate held the other");
	return STATUS_OK;
}

/*
 * A graph of a fill, a copy and two kernels does at each launch what was recorded, on another
 * stream as well.
 */
static enum status graph_repeats(struct check_context *context, struct error *err)
{
	struct fill_arguments fill = { .kind = FILL_BITS, .count = BYTES, .seed = 77, .scale = 1 };
	struct empty_arguments count;
	struct stream *second;
	struct graph *graph;
	uint64_t launches = 0;
	void *from, *to;

	STEP(backend_stream_create(context->device, false, &second, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, BYTES, NULL, &from, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, BYTES + 8, NULL, &to, err));
	STEP(backend_memory_set(context->stream, to, 0, BYTES + 8, err));
	STEP(backend_stream_synchronize(context->stream, err));
	fill.memory = from;
	count.counter = (uint64_t *)((char *)to + BYTES);
	STEP(backend_graph_begin(context->stream, err));
	STEP(backend_launch(context->stream, "fill", &fill, err));
	STEP(backend_copy(context->stream, to, from, BYTES, err));
	STEP(backend_memory_set(context->stream, from, 0, BYTES, err));
	STEP(backend_launch(context->stream, "empty", &count, err));
	STEP(backend_graph_end(context->stream, &graph, err));
	for (int i = 0; i < 3; i++) {
		STEP(backend_memory_set(second, to, 0, BYTES, err));
		STEP(backend_graph_launch(graph, second, err));
		STEP(gpu_expect(second, to, BYTES, 77, err));
	}
	STEP(backend_copy(second, &launches, count.counter, sizeof(launches), err));
	STEP(backend_stream_synchronize(second, err));
	backend_graph_destroy(graph);
	backend_stream_destroy(second);
	STEP(backend_memory_free(context->device, ALLOCATOR_DEVICE, from, BYTES, NULL, err));
	STEP(backend_memory_free(context->device, ALLOCATOR_DEVICE, to, BYTES + 8, NULL, err));
	if (launches != 3)
		return error_set(err, STATUS_MISMATCH,
				 "%llu kernels ran in 3 launches of a graph with one",
				 (unsigned long long)launches);
	return STATUS_OK;
}

static void add_one(void *context)
{
	++*(volatile int *)context;
}

static enum status callback_waits(struct check_context *context, struct error *err)
{
	double start = clock_seconds(), seconds;
	int calls = 0;

	STEP(spin(context->stream, 20e-3, err));
	STEP(backend_callback(context->stream, add_one, &calls, err));
	STEP(backend_stream_synchronize(context->stream, err));
	seconds = clock_seconds() - start;
	if (calls != 1 || seconds < 19.9e-3)
		return error_set(err, STATUS_MISMATCH, "%d calls after %.2f ms", calls,
				 1e3 * seconds);
	return STATUS_OK;
}

/* A stream created after another was destroyed at a closed gate does not wait for that gate. */
static enum status streams_start_free(struct check_context *context, struct error *err)
{
	double start = clock_seconds(), seconds;

	for (int turn = 0; turn < 4; turn++) {
		struct stream *stream;
		void *memory;

		STEP(backend_stream_create(context->device, turn % 2, &stream, err));
		STEP(backend_memory_alloc(context->device, ALLOCATOR_DEVICE, BYTES, NULL, &memory,
					  err));
		STEP(gpu_fill(stream, memory, BYTES, 21 + (uint64_t)turn, err));
		STEP(gpu_expect(stream, memory, BYTES, 21 + (uint64_t)turn, err));
		STEP(backend_memory_free(context->device, ALLOCATOR_DEVICE, memory, BYTES, NULL,
					 err));
		STEP(backend_gate_close(stream, 60, err));
		STEP(spin(stream, 1e-3, err));
		backend_stream_destroy(stream);
	}
	seconds = clock_seconds() - start;
	if (seconds > 30)
		return error_set(err, STATUS_MISMATCH, "a closed gate was waited for: %.1f s",
				 seconds);
	return STATUS_OK;
}

const struct check stream_checks[] = {
	{ "events measure", events_measure },
	{ "streams wait", streams_wait },
	{ "streams overlap", streams_overlap },
	{ "gate holds", gate_holds },
	{ "gate expires", gate_expires },
	{ "gates are apart", gates_are_apart },
	{ "graph repeats", graph_repeats },
	{ "callback waits", callback_waits },
	{ "streams start free", streams_start_free },
	{ 0 },
};
