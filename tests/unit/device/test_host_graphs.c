/* Graphs and callbacks of the host backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "device/backend.h"
#include "kernels/memory/fill.h"
#include "kernels/timing.h"

static struct backend_list backends;
static struct device *device;
static struct stream *stream;
static struct error error, *err = &error;

#define OK(call)                                                 \
	do {                                                     \
		if ((call) != STATUS_OK)                         \
			fail_msg("%s: %s", #call, err->message); \
	} while (0)

static int open_all(void **state)
{
	struct backend_options options = { .host_devices = 1 };

	(void)state;
	error_clear(err);
	backends_open(&backends, "host", &options);
	OK(backends.backends[0]->device_open(0, &device, err));
	OK(backend_stream_create(device, false, &stream, err));
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	backend_stream_destroy(stream);
	device->backend->device_close(device);
	backends_close(&backends);
	return 0;
}

/*
 * Nothing happens while a graph is recorded; each launch does all of it, with the arguments of the
 * time.
 */
static void a_graph_does_at_each_launch_what_was_recorded(void **state)
{
	static unsigned char from[5000], to[5000];
	uint64_t count = 0;
	struct empty_arguments empty = { &count };
	struct stream *second;
	struct graph *graph;

	(void)state;
	OK(backend_stream_create(device, false, &second, err));
	OK(backend_graph_begin(stream, err));
	OK(backend_memory_set(stream, from, 7, sizeof(from), err));
	OK(backend_copy(stream, to, from, sizeof(from), err));
	OK(backend_memory_set(stream, from, 9, sizeof(from), err));
	for (int i = 0; i < 300; i++)
		OK(backend_launch(stream, "empty", &empty, err));
	empty.counter = NULL;
	OK(backend_graph_end(stream, &graph, err));
	OK(backend_stream_synchronize(stream, err));
	assert_int_equal(count, 0);
	assert_int_equal(from[0], 0);
	for (unsigned i = 1; i <= 4; i++) {
		struct stream *on = i % 2 ? stream : second;

		memset(to, 0, sizeof(to));
		OK(backend_graph_launch(graph, on, err));
		OK(backend_stream_synchronize(on, err));
		assert_int_equal(count, 300 * i);
		assert_int_equal(to[0], 7);
		assert_int_equal(to[4999], 7);
		assert_int_equal(from[4999], 9);
	}
	backend_graph_destroy(graph);
	backend_stream_destroy(second);
}

/* The stream works on after a refusal, and a recording left open is given up with its stream. */
static void what_cannot_be_repeated_is_refused(void **state)
{
	struct event *event;
	struct graph *graph;

	(void)state;
	OK(backend_event_create(device, &event, err));
	OK(backend_graph_begin(stream, err));
	assert_int_equal(backend_event_record(event, stream, err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err->message, "graph"));
	error_clear(err);
	assert_int_equal(backend_stream_wait(stream, event, err), STATUS_UNSUPPORTED);
	error_clear(err);
	assert_int_equal(backend_gate_close(stream, 1, err), STATUS_UNSUPPORTED);
	error_clear(err);
	assert_int_equal(backend_graph_begin(stream, err), STATUS_INTERNAL);
	error_clear(err);
	OK(backend_graph_end(stream, &graph, err));
	assert_int_equal(device->backend->graph_end(stream, &graph, err), STATUS_INTERNAL);
	error_clear(err);
	OK(backend_graph_launch(graph, stream, err));
	OK(backend_event_record(event, stream, err));
	OK(backend_event_synchronize(event, err));
	backend_graph_destroy(graph);
	backend_event_destroy(event);
	OK(backend_graph_begin(stream, err));
	OK(backend_launch(stream, "empty", &(struct empty_arguments){ NULL }, err));
}

static void add_one(void *context)
{
	++*(int *)context;
}

static void callbacks_are_called_in_order(void **state)
{
	struct spin_arguments spin = { 2e-3 };
	int calls = 0, seen = -1;

	(void)state;
	OK(backend_launch(stream, "spin", &spin, err));
	OK(backend_callback(stream, add_one, &calls, err));
	OK(backend_copy(stream, &seen, &calls, sizeof(seen), err));
	OK(backend_callback(stream, add_one, &calls, err));
	OK(backend_stream_synchronize(stream, err));
	assert_int_equal(seen, 1);
	assert_int_equal(calls, 2);
}

int main(void)
{
#define WITH_STREAM(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)
	const struct CMUnitTest tests[] = {
		WITH_STREAM(a_graph_does_at_each_launch_what_was_recorded),
		WITH_STREAM(what_cannot_be_repeated_is_refused),
		WITH_STREAM(callbacks_are_called_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
