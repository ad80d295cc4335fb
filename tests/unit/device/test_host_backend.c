/*
 * The host backend's promises: streams, events and gates, memory that does not fit, copies, devices
 * as shares.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/text.h"

#include "base/clock.h"
#include "device/backend.h"
#include "kernels/memory/fill.h"
#include "kernels/timing.h"

static struct backend_list backends;
static struct device *device;

#define OK(call)                                                                               \
	do {                                                                                   \
		struct error err_ = ERROR_NONE, *err = &err_;                                  \
		if ((call) != STATUS_OK)                                                       \
			fail_msg("%s: %s: %s", #call, status_name(err_.status), err_.message); \
	} while (0)

static int open_device(void **state)
{
	struct backend_options options = { .host_devices = 1 };

	(void)state;
	backends_open(&backends, "host", &options);
	assert_int_equal(backends.count, 1);
	OK(backends.backends[0]->device_open(0, &device, err));
	return 0;
}

static int close_device(void **state)
{
	(void)state;
	backends.backends[0]->device_close(device);
	backends_close(&backends);
	return 0;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct stream *make_stream(void)
{
	struct stream *stream = NULL;

	OK(backend_stream_create(device, false, &stream, err));
	return stream;
}

static struct event *make_event(void)
{
	struct event *event = NULL;

	OK(backend_event_create(device, &event, err));
	return event;
}

static void spin(struct stream *stream, double seconds)
{
	struct spin_arguments arguments = { seconds };

	OK(backend_launch(stream, "spin", &arguments, err));
}

static void a_device_says_what_it_is(void **state)
{
	const struct device_info *info = &device->info;
	uint64_t free_bytes = 0, total_bytes = 0;

	(void)state;
	assert_string_equal(info->id, "host:0");
	assert_string_equal(info->backend, "host");
	assert_true(info->name[0] != '\0');
	assert_true(info->multiprocessors >= 1);
	assert_true(info->capabilities & DEVICE_HAS_FP64);
	assert_false(info->capabilities & (DEVICE_HAS_TF32 | DEVICE_HAS_POOLS));
	OK(backend_device_memory(device, &free_bytes, &total_bytes, err));
	assert_true(total_bytes == info->memory_bytes);
	assert_true(free_bytes > 0 && free_bytes <= total_bytes);
}

static void count_fact(void *context, const char *name, const char *value)
{
	assert_true(name[0] != '\0' && value[0] != '\0');
	++*(int *)context;
}

static void the_environment_and_the_libraries_are_named(void **state)
{
	struct component components[4];
	struct telemetry telemetry;
	int facts = 0;

	(void)state;
	device->backend->facts(count_fact, &facts);
	assert_true(facts >= 5);
	assert_int_equal(device->backend->components(components, 4), 2);
	assert_string_equal(components[0].name, "OpenBLAS");
	assert_true(components[0].present && components[0].version[0] >= '0' &&
		    components[0].version[0] <= '9');
	assert_int_equal(device->backend->components(components, 1), 1);
	OK(backend_telemetry(device, &telemetry, err));
	assert_true(isnan(telemetry.sm_clock_hz) || telemetry.sm_clock_hz > 1e8);
	assert_int_equal(telemetry.throttle_reasons, -1);
}

static void a_stream_runs_in_order(void **state)
{
	struct stream *stream = make_stream();
	static unsigned char bytes[1000], copy[1000];

	(void)state;
	/* More than the queue's first nodes, twice, so that nodes are used again. */
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2000; i++)
			OK(backend_memory_set(stream, bytes, i & 0xff, sizeof(bytes), err));
		OK(backend_copy(stream, copy, bytes, sizeof(bytes), err));
		OK(backend_memory_set(stream, bytes, 0, sizeof(bytes), err));
		OK(backend_stream_synchronize(stream, err));
		for (size_t i = 0; i < sizeof(copy); i++)
			assert_int_equal(copy[i], 1999 & 0xff);
		assert_int_equal(bytes[999], 0);
	}
	backend_stream_destroy(stream);
}

static void events_measure_what_lies_between(void **state)
{
	struct stream *stream = make_stream();
	struct event *start = make_event(), *end = make_event(), *never = make_event();
	struct error failure = ERROR_NONE;
	double seconds = 0, host = clock_seconds();

	(void)state;
	OK(backend_event_record(start, stream, err));
	spin(stream, 0.02);
	OK(backend_event_record(end, stream, err));
	OK(backend_event_synchronize(end, err));
	host = clock_seconds() - host;
	OK(backend_event_elapsed(start, end, &seconds, err));
	assert_true(seconds >= 0.02 && seconds <= host);
	OK(backend_event_synchronize(never, err));
	assert_int_equal(backend_event_elapsed(start, never, &seconds, &failure), STATUS_DEVICE);
	/* Destroyed while it is still to be recorded. */
	spin(stream, 0.005);
	OK(backend_event_record(never, stream, err));
	backend_event_destroy(never);
	backend_event_destroy(start);
	backend_event_destroy(end);
	backend_stream_destroy(stream);
}

static void two_streams_run_at_the_same_time(void **state)
{
	struct stream *a = make_stream(), *b = make_stream();
	double start = clock_seconds(), seconds;

	(void)state;
	/* Each holds until the other is there: in one thread this would hang, not take longer. */
	struct event *first = make_event(), *second = make_event(), *third = make_event();
	OK(backend_event_record(first, a, err));
	OK(backend_stream_wait(b, first, err));
	OK(backend_event_record(second, b, err));
	OK(backend_stream_wait(a, second, err));
	OK(backend_event_record(third, a, err));
	OK(backend_event_synchronize(third, err));
	seconds = clock_seconds() - start;
	assert_true(seconds < 10);
	backend_event_destroy(first);
	backend_event_destroy(second);
	backend_event_destroy(third);
	backend_stream_destroy(a);
	backend_stream_destroy(b);
}

static void a_wait_orders_two_streams(void **state)
{
	struct stream *a = make_stream(), *b = make_stream();
	struct event *written = make_event();
	int value = 0, seen = -1;

	(void)state;
	for (int i = 1; i < 50; i++) {
		spin(a, 1e-4);
		OK(backend_memory_set(a, &value, i, sizeof(value), err));
		OK(backend_event_record(written, a, err));
		OK(backend_stream_wait(b, written, err));
		OK(backend_copy(b, &seen, &value, sizeof(value), err));
		OK(backend_stream_synchronize(b, err));
		assert_int_equal(seen, i * 0x01010101);
	}
	backend_event_destroy(written);
	backend_stream_destroy(a);
	backend_stream_destroy(b);
}

static void a_gate_holds_a_stream_until_it_opens(void **state)
{
	struct stream *stream = make_stream();
	struct event *after = make_event(), *last = make_event();
	volatile char byte = 0;
	struct error failure = ERROR_NONE;
	double seconds;

	(void)state;
	OK(backend_gate_close(stream, 30, err));
	OK(backend_event_record(after, stream, err));
	OK(backend_memory_set(stream, (char *)&byte, 1, 1, err));
	OK(backend_event_record(last, stream, err));
	clock_sleep(0.02);
	assert_int_equal(backend_event_elapsed(after, last, &seconds, &failure), STATUS_DEVICE);
	OK(backend_gate_open(stream, err));
	OK(backend_stream_synchronize(stream, err));
	assert_int_equal(byte, 1);
	OK(backend_event_elapsed(after, last, &seconds, err));
	backend_event_destroy(after);
	backend_event_destroy(last);
	backend_stream_destroy(stream);
}

static void a_gate_left_closed_opens_by_itself_and_says_so(void **state)
{
	struct stream *stream = make_stream();
	struct error failure = ERROR_NONE;
	double start = clock_seconds(), seconds;

	(void)state;
	OK(backend_gate_close(stream, 0.05, err));
	OK(backend_stream_synchronize(stream, err));
	seconds = clock_seconds() - start;
	assert_true(seconds >= 0.05 && seconds < 10);
	assert_int_equal(backend_gate_open(stream, &failure), STATUS_TIMEOUT);
	OK(backend_gate_close(stream, 30, err));
	OK(backend_gate_open(stream, err));
	OK(backend_stream_synchronize(stream, err));
	/* A stream with a closed gate can be destroyed. */
	OK(backend_gate_close(stream, 30, err));
	backend_stream_destroy(stream);
	assert_true(clock_seconds() - start < 20);
}

/* A kernel that fails when it runs: fill refuses an offset between words. */
static void failures_surface_at_the_next_synchronise(void **state)
{
	struct stream *stream = make_stream();
	struct event *event = make_event();
	struct error failure = ERROR_NONE;
	char byte = 0;
	struct fill_arguments bad = { .memory = &byte, .kind = FILL_BITS, .count = 1, .first = 3 };

	(void)state;
	OK(backend_launch(stream, "fill", &bad, err));
	OK(backend_memory_set(stream, &byte, 7, 1, err));
	OK(backend_event_record(event, stream, err));
	assert_int_equal(backend_event_synchronize(event, &failure), STATUS_INTERNAL);
	error_clear(&failure);
	assert_int_equal(backend_device_synchronize(device, &failure), STATUS_INTERNAL);
	assert_non_null(strstr(failure.message, "fill"));
	assert_int_equal(byte, 0); /* work after it was not carried out */
	OK(backend_memory_set(stream, &byte, 7, 1, err));
	OK(backend_stream_synchronize(stream, err));
	assert_int_equal(byte, 7);
	backend_event_destroy(event);
	backend_stream_destroy(stream);
}

static void every_allocator_gives_memory_or_says_why_not(void **state)
{
	static const size_t sizes[] = { 1, 4096, 100000, 8 << 20 };

	(void)state;
	for (int allocator = 0; allocator < ALLOCATOR_COUNT; allocator++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct error failure = ERROR_NONE;
			void *memory = NULL;
			enum status status =
				backend_memory_alloc(device, (enum allocator)allocator, sizes[i],
						     NULL, &memory, &failure);

			if (status == STATUS_UNSUPPORTED) {
				assert_true(failure.message[0] != '\0');
				continue;
			}
			assert_int_equal(status, STATUS_OK);
			assert_true((uintptr_t)memory % 16 == 0);
			memset(memory, 1, sizes[i]);
			OK(backend_memory_free(device, (enum allocator)allocator, memory, sizes[i],
					       NULL, err));
		}
	}
	OK(backend_memory_free(device, ALLOCATOR_DEVICE, NULL, 0, NULL, err));
}

static void memory_that_does_not_fit_is_refused_and_the_device_works_on(void **state)
{
	static const enum allocator kinds[] = { ALLOCATOR_DEVICE, ALLOCATOR_PINNED,
						ALLOCATOR_REGISTERED, ALLOCATOR_PAGEABLE };
	uint64_t free_bytes, total_bytes;

	(void)state;
	OK(backend_device_memory(device, &free_bytes, &total_bytes, err));
	const size_t sizes[] = { SIZE_MAX, SIZE_MAX / 2, (size_t)total_bytes + 1, (size_t)1 << 62 };
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct error failure = ERROR_NONE;
			void *memory = &failure;

			assert_int_equal(backend_memory_alloc(device, kinds[k], sizes[i], NULL,
							      &memory, &failure),
					 STATUS_NO_MEMORY);
			assert_null(memory);
			assert_true(failure.message[0] != '\0');
		}
	}
	every_allocator_gives_memory_or_says_why_not(state);
}

static void small_blocks_that_add_up_do_not_pass_the_total(void **state)
{
	uint64_t free_bytes, total_bytes;
	void *blocks[32] = { NULL };
	size_t count = 0, bytes;
	enum status status = STATUS_OK;
	struct error failure = ERROR_NONE;

	(void)state;
	OK(backend_device_memory(device, &free_bytes, &total_bytes, err));
	bytes = (size_t)(total_bytes / 16) + 4096;
	while (count < 32 && status == STATUS_OK) {
		status = backend_memory_alloc(device, ALLOCATOR_DEVICE, bytes, NULL, &blocks[count],
					      &failure);
		count += status == STATUS_OK;
	}
	assert_int_equal(status, STATUS_NO_MEMORY);
	assert_true(count == 15);
	while (count > 0)
		OK(backend_memory_free(device, ALLOCATOR_DEVICE, blocks[--count], bytes, NULL,
				       err));
}

/* "VmFlags" of the mapping that `address` is in; false where the kernel tells none. */
static bool mapping_flags(const void *address, char *flags, size_t size)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long long first, end, at = (unsigned long long)(uintptr_t)address;
	bool inside = false, found = false;
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx-%llx ", &first, &end) == 2)
			inside = at >= first && at < end;
		found = inside && strncmp(line, "VmFlags:", 8) == 0;
	}
	if (f)
		fclose(f);
	snprintf(flags, size, "%s", found ? line + 8 : "");
	return found;
}

static void large_blocks_of_a_device_ask_for_huge_pages(void **state)
{
	const size_t sizes[] = { 64 << 20, 1 << 20 };
	char flags[512];

	(void)state;
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0)
		skip();
	for (int i = 0; i < 2; i++) {
		void *memory;

		OK(backend_memory_alloc(device, ALLOCATOR_DEVICE, sizes[i], NULL, &memory, err));
		if (mapping_flags(memory, flags, sizeof(flags)))
			assert_int_equal(strstr(flags, " hg") != NULL, i == 0);
		OK(backend_memory_free(device, ALLOCATOR_DEVICE, memory, sizes[i], NULL, err));
	}
}

static void large_copies_arrive_whole(void **state)
{
	static const size_t sizes[] = { 0, 1, 4097, (256 << 10) + 3, (9 << 20) + 7 };
	struct stream *stream = make_stream();
	size_t most = sizes[4];
	unsigned char *from = malloc(most), *to = malloc(most + 1);

	(void)state;
	for (size_t i = 0; i < most; i++)
		from[i] = (unsigned char)(i * 2654435761u >> 13);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(to, 0, most + 1);
		OK(backend_copy(stream, to, from, sizes[i], err));
		OK(backend_stream_synchronize(stream, err));
		assert_memory_equal(to, from, sizes[i]);
		assert_int_equal(to[sizes[i]], 0);
		OK(backend_memory_set(stream, to, 0xa5, sizes[i], err));
		OK(backend_stream_synchronize(stream, err));
		assert_true(sizes[i] == 0 || (to[0] == 0xa5 && to[sizes[i] - 1] == 0xa5));
		assert_int_equal(to[sizes[i]], 0);
	}
	free(from);
	free(to);
	backend_stream_destroy(stream);
}

/* Between the rows nothing is touched. */
static void rows_are_copied_with_their_strides(void **state)
{
	enum { ROWS = 700, ROW = 1013, STRIDE = 1500 };
	struct stream *stream = make_stream();
	unsigned char *from = malloc(ROWS * ROW), *to = malloc(ROWS * STRIDE);

	(void)state;
	for (size_t i = 0; i < ROWS * ROW; i++)
		from[i] = (unsigned char)(i * 2654435761u >> 13);
	memset(to, 0xa5, ROWS * STRIDE);
	OK(backend_copy_rows(stream, to, STRIDE, from, ROW, ROW, ROWS, err));
	OK(backend_copy_rows(stream, to, STRIDE, from, ROW, 0, ROWS, err));
	OK(backend_stream_synchronize(stream, err));
	for (size_t row = 0; row < ROWS; row++) {
		assert_memory_equal(to + row * STRIDE, from + row * ROW, ROW);
		for (size_t i = row * STRIDE + ROW; i < (row + 1) * STRIDE; i++)
			assert_int_equal(to[i], 0xa5);
	}
	OK(backend_copy_rows(stream, from, ROW, to + 1, STRIDE, ROW - 1, ROWS, err));
	OK(backend_stream_synchronize(stream, err));
	for (size_t row = 0; row < ROWS; row++)
		assert_memory_equal(from + row * ROW, to + row * STRIDE + 1, ROW - 1);
	free(from);
	free(to);
	backend_stream_destroy(stream);
}

static void idle_streams_and_teams_cost_nothing(void **state)
{
	struct stream *streams[4];
	size_t bytes = 8 << 20;
	char *memory = malloc(bytes);
	double before;

	(void)state;
	for (int i = 0; i < 4; i++) {
		streams[i] = make_stream();
		OK(backend_memory_set(streams[i], memory, i, bytes, err));
		OK(backend_stream_synchronize(streams[i], err));
	}
	clock_sleep(0.01);
	before = cpu_seconds();
	clock_sleep(0.2);
	assert_true(cpu_seconds() - before < 0.05);
	for (int i = 0; i < 4; i++)
		backend_stream_destroy(streams[i]);
	free(memory);
}

static void the_cpu_is_cut_into_as_many_devices_as_asked(void **state)
{
	struct backend_options options = { .host_devices = 3 };
	struct backend_list list;
	struct device_info info;
	struct error failure = ERROR_NONE;
	uint64_t memory = 0;

	(void)state;
	backends_open(&list, "host", &options);
	assert_int_equal(list.backends[0]->device_count(), 3);
	for (int i = 0; i < 3; i++) {
		OK(list.backends[0]->device_info(i, &info, err));
		assert_int_equal(info.index, i);
		assert_true(info.multiprocessors >= 1);
		assert_int_equal(info.peers.words[0], 7);
		memory = info.memory_bytes;
	}
	assert_int_equal(list.backends[0]->device_info(3, &info, &failure), STATUS_USAGE);
	backends_close(&list);
	backends_open(&list, "host", NULL);
	OK(list.backends[0]->device_info(0, &info, err));
	assert_true(info.memory_bytes / 3 == memory);
	backends_close(&list);
}

/* Calls `check` in a child that `restrict_it` has restricted: neither can be undone. */
static void in_child(void (*restrict_it)(void), void (*check)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		restrict_it();
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void one_cpu_only(void)
{
	cpu_set_t all, one;

	CPU_ZERO(&all);
	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, &one);
			break;
		}
	}
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		_exit(2);
}

static void expect_one_core(void)
{
	struct backend_list list;
	struct device_info info;

	backends_open(&list, "host", NULL);
	if (list.count != 1 || list.backends[0]->device_info(0, &info, NULL) != STATUS_OK ||
	    info.multiprocessors != 1)
		_exit(1);
	backends_close(&list);
}

static void the_affinity_mask_is_honoured(void **state)
{
	(void)state;
#ifdef __SANITIZE_THREAD__
	/*
	 * The sanitizer's own thread keeps the whole mask, and hwloc reads the union of all
	 * threads'.
	 */
	skip();
#endif
	in_child(one_cpu_only, expect_one_core);
}

/* As an ordinary user: root may lock what it likes. */
static void no_locked_memory(void)
{
	const struct rlimit limit = { 65536, 65536 };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || (geteuid() == 0 && setuid(65534) != 0))
		_exit(2);
}

static void expect_memlock_named(void)
{
	static const enum allocator kinds[] = { ALLOCATOR_PINNED, ALLOCATOR_REGISTERED };
	struct backend_list list;
	struct device *child_device;

	backends_open(&list, "host", NULL);
	if (list.count != 1 || list.backends[0]->device_open(0, &child_device, NULL) != STATUS_OK)
		_exit(1);
	for (int i = 0; i < 2; i++) {
		struct error err = ERROR_NONE;
		void *memory;

		if (backend_memory_alloc(child_device, kinds[i], 1 << 20, NULL, &memory, &err) !=
			    STATUS_UNSUPPORTED ||
		    !strstr(err.message, "RLIMIT_MEMLOCK") || !strstr(err.message, "64KiB")) {
			fprintf(stderr, "%s\n", err.message);
			_exit(1);
		}
	}
	list.backends[0]->device_close(child_device);
	backends_close(&list);
}

static void a_limit_on_locked_memory_is_named(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* their mlock() does nothing and succeeds */
#endif
	in_child(no_locked_memory, expect_memlock_named);
}

/* To what is there now, and `more`. */
static void limit_address_space(size_t more)
{
	FILE *in = fopen("/proc/self/statm", "r");
	unsigned long pages;
	struct rlimit limit;

	if (!in || fscanf(in, "%lu", &pages) != 1)
		_exit(2);
	fclose(in);
	limit.rlim_cur = limit.rlim_max = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		_exit(2);
	alarm(10);
}

/* Half of what OpenBLAS needs for one product. */
static void little_address_space(void)
{
	limit_address_space(64 << 20);
}

/* `count` products of n x n matrices, one after the other. */
static enum status multiply(size_t n, size_t times, struct error *err)
{
	static float a[256 * 256], b[256 * 256], c[256 * 256];
	const int64_t edge = (int64_t)n;
	const struct gemm gemm = { .precision = PRECISION_FP32,
				   .m = edge,
				   .n = edge,
				   .k = edge,
				   .a = a,
				   .b = b,
				   .c = c,
				   .lda = edge,
				   .ldb = edge,
				   .ldc = edge,
				   .alpha = 1 };
	struct backend_list list;
	struct device *child_device;
	struct stream *stream;

	backends_open(&list, "host", NULL);
	if (list.count != 1 || list.backends[0]->device_open(0, &child_device, NULL) != STATUS_OK ||
	    backend_stream_create(child_device, false, &stream, NULL) != STATUS_OK)
		_exit(2);
	for (size_t i = 0; i < times && err->status == STATUS_OK; i++)
		if (backend_gemm(stream, &gemm, err) == STATUS_OK)
			backend_stream_synchronize(stream, err);
	return err->status;
}

static void expect_no_room_named(void)
{
	struct error err = ERROR_NONE;

	/* Without OpenBLAS there is nothing to be seen. */
	if (multiply(64, 1, &err) == STATUS_UNSUPPORTED)
		_exit(0);
	if (err.status != STATUS_NO_MEMORY || !strstr(err.message, "ulimit -v")) {
		fprintf(stderr, "%s\n", err.message);
		_exit(1);
	}
	_exit(0);
}

/* OpenBLAS asks again for ever while it gets no buffer. */
static void a_product_without_room_for_its_buffers_ends_with_an_error(void **state)
{
	(void)state;
	in_child(little_address_space, expect_no_room_named);
}

/* Room for one buffer, and not for a second. */
static void some_address_space(void)
{
	one_cpu_only();
	limit_address_space(224 << 20);
}

static void expect_two_products(void)
{
	struct error err = ERROR_NONE;

	if (multiply(256, 2, &err) != STATUS_OK) {
		fprintf(stderr, "%s\n", err.message);
		_exit(err.status == STATUS_UNSUPPORTED ? 0 : 1);
	}
	_exit(0);
}

static void a_buffer_that_is_there_needs_no_room(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they take address space of their own */
#endif
	in_child(some_address_space, expect_two_products);
}

static void unknown_backends_and_broken_modules_are_named(void **state)
{
	struct backend_list list;

	(void)state;
	backends_open(&list, "abacus", NULL);
	assert_int_equal(list.count, 0);
	assert_true(text_starts_with(list.missing[0], "abacus: unknown backend; found: host"));
	backends_close(&list);
	setenv("GPUPROOF_BACKENDS", TESTS_DIR "/backends", 1);
	backends_open(&list, "host,broken", NULL);
	unsetenv("GPUPROOF_BACKENDS");
	assert_int_equal(list.count, 1);
	assert_int_equal(list.missing_count, 1);
	assert_memory_equal(list.missing[0], "broken: ", 8);
	assert_non_null(strstr(list.missing[0], "broken.so"));
	backends_close(&list);
}

int main(void)
{
#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)
	const struct CMUnitTest tests[] = {
		WITH_DEVICE(a_device_says_what_it_is),
		WITH_DEVICE(the_environment_and_the_libraries_are_named),
		WITH_DEVICE(a_stream_runs_in_order),
		WITH_DEVICE(events_measure_what_lies_between),
		WITH_DEVICE(two_streams_run_at_the_same_time),
		WITH_DEVICE(a_wait_orders_two_streams),
		WITH_DEVICE(a_gate_holds_a_stream_until_it_opens),
		WITH_DEVICE(a_gate_left_closed_opens_by_itself_and_says_so),
		WITH_DEVICE(failures_surface_at_the_next_synchronise),
		WITH_DEVICE(every_allocator_gives_memory_or_says_why_not),
		WITH_DEVICE(memory_that_does_not_fit_is_refused_and_the_device_works_on),
		WITH_DEVICE(small_blocks_that_add_up_do_not_pass_the_total),
		WITH_DEVICE(large_blocks_of_a_device_ask_for_huge_pages),
		WITH_DEVICE(large_copies_arrive_whole),
		WITH_DEVICE(rows_are_copied_with_their_strides),
		WITH_DEVICE(idle_streams_and_teams_cost_nothing),
		cmocka_unit_test(the_cpu_is_cut_into_as_many_devices_as_asked),
		cmocka_unit_test(the_affinity_mask_is_honoured),
		cmocka_unit_test(a_limit_on_locked_memory_is_named),
		cmocka_unit_test(a_product_without_room_for_its_buffers_ends_with_an_error),
		cmocka_unit_test(a_buffer_that_is_there_needs_no_room),
		cmocka_unit_test(unknown_backends_and_broken_modules_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
