/*
 * Collectives between forked ranks of the host backend, as the conductor starts them: forked before
 * any device call.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/host/ranks/communicator.h"
#include "device/ranks/tcp_mesh.h"
#include "kernel_checks.h"
#include "kernels/timing.h"
#include "kernels/training/training.h"

struct rank {
	int rank, size;
	const struct communicator_id *id;
	struct device *device;
	struct stream *stream, *other;
	struct communicator *communicator;
	struct error err;
};

/* In a rank: ends the process with what went wrong. */
#define NEED(r, condition, ...)                                                     \
	do {                                                                        \
		if (!(condition)) {                                                 \
			fprintf(stderr, "rank %d, line %d: ", (r)->rank, __LINE__); \
			fprintf(stderr, __VA_ARGS__);                               \
			fprintf(stderr, " (%s)\n", (r)->err.message);               \
			_exit(1);                                                   \
		}                                                                   \
	} while (0)
#define OK(r, call) NEED(r, (call) == STATUS_OK, "%s", #call)

typedef void rank_fn(struct rank *r);

static void open_rank(struct rank *r)
{
	struct backend_options options = { .host_devices = r->size };
	struct backend_list list;

	backends_open(&list, "host", &options);
	OK(r, list.backends[0]->device_open(r->rank, &r->device, &r->err));
	OK(r, backend_stream_create(r->device, false, &r->stream, &r->err));
	OK(r, backend_stream_create(r->device, false, &r->other, &r->err));
}

/* The transport of all ranks of the test that runs; AUTO: the backend's own. */
static enum transport transport;

static void join_ranks(struct rank *r)
{
	const struct communicator_options options = { .transport = transport };

	OK(r, backend_communicator_open(r->device, &options, r->id, r->rank, r->size,
					&r->communicator, &r->err));
	NEED(r, transport == TRANSPORT_AUTO || r->communicator->transport == transport,
	     "over another transport");
}

static void close_rank(struct rank *r)
{
	backend_communicator_close(r->communicator);
	backend_stream_destroy(r->stream);
	backend_stream_destroy(r->other);
	r->device->backend->device_close(r->device);
}

static void run_rank(struct rank *r, rank_fn *fn, bool join)
{
	alarm(100); /* a hang ends the test */
	open_rank(r);
	if (join)
		join_ranks(r);
	fn(r);
	close_rank(r);
	_exit(0);
}

static void run_ranks(int size, rank_fn *fn, bool join)
{
	struct communicator_id id;
	struct error err = ERROR_NONE;
	pid_t pids[8];
	int failed = 0;

	if (transport == TRANSPORT_TCP)
		assert_int_equal(tcp_mesh_id(&id, &err), STATUS_OK);
	else
		assert_int_equal(host_communicator_id(&id, &err), STATUS_OK);
	fflush(NULL);
	for (int rank = 0; rank < size; rank++) {
		pids[rank] = fork();
		assert_true(pids[rank] >= 0);
		if (pids[rank] == 0) {
			struct rank r = { .rank = rank, .size = size, .id = &id };

			run_rank(&r, fn, join);
		}
	}
	for (int rank = 0; rank < size; rank++) {
		int status;

		assert_int_equal(waitpid(pids[rank], &status, 0), pids[rank]);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			failed++;
	}
	assert_int_equal(failed, 0);
}

static double expected_element(int size, enum precision precision, enum reduction reduction,
			       size_t count, size_t i, void *const tensors[])
{
	double result = element_get(tensors[0], precision, i);

	(void)count;
	for (int rank = 1; rank < size; rank++) {
		double x = element_get(tensors[rank], precision, i);

		result = reduction == REDUCE_MAX ? fmax(result, x) : result + x;
	}
	return reduction == REDUCE_AVERAGE ? result / size : result;
}

/*
 * The backend's own add up in FP32 or wider and round once; a relay rounds what it hands on, each
 * time a number no larger than there are ranks.
 */
static double sum_tolerance(const struct rank *r, enum precision precision, double expected)
{
	double handed_on =
		r->communicator->relay ? (r->size - 1) * element_rounding(precision, r->size) : 0;

	return 4 * r->size * arithmetic_rounding(precision) +
	       1.01 * element_rounding(precision, expected) + handed_on;
}

static void check_all_reduce(struct rank *r, enum precision precision, enum reduction reduction,
			     size_t count, bool in_place)
{
	size_t bytes = count * precision_bytes(precision);
	void *tensors[8], *to = malloc(bytes), *first = malloc(bytes);

	for (int rank = 0; rank < r->size; rank++)
		tensors[rank] = random_tensor(precision, count, (uint64_t)(100 * rank) + count, 1);
	if (in_place)
		memcpy(to, tensors[r->rank], bytes);
	OK(r, backend_all_reduce(r->communicator, r->stream, to, in_place ? to : tensors[r->rank],
				 count, precision, reduction, &r->err));
	OK(r, backend_stream_synchronize(r->stream, &r->err));
	for (size_t i = 0; i < count; i++) {
		double expected =
			expected_element(r->size, precision, reduction, count, i, tensors);

		compare(&r->err, "all_reduce", precision, i, element_get(to, precision, i),
			expected,
			reduction == REDUCE_MAX ? 0 : sum_tolerance(r, precision, expected));
		NEED(r, r->err.status == STATUS_OK, "reduction %d of %zu", reduction, count);
	}
	/* The same bits as rank 0. */
	memcpy(first, to, bytes);
	OK(r, backend_broadcast(r->communicator, r->stream, first, bytes, 0, &r->err));
	OK(r, backend_stream_synchronize(r->stream, &r->err));
	NEED(r, memcmp(first, to, bytes) == 0, "%s differs from rank 0's bits",
	     precision_name(precision));
	for (int rank = 0; rank < r->size; rank++)
		free(tensors[rank]);
	free(to);
	free(first);
}

static void all_reduces(struct rank *r)
{
	static const size_t counts[] = { 1, 63, 5000, 70001, 300007 };

	for (int precision = 0; precision < PRECISION_COUNT; precision++)
		for (int reduction = REDUCE_SUM; reduction <= REDUCE_MAX; reduction++)
			for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
				check_all_reduce(r, (enum precision)precision,
						 (enum reduction)reduction,
						 counts[i] / (reduction == REDUCE_SUM ? 1 : 3) + 1,
						 i % 2);
}

static void every_rank_has_the_same_sum(void **state)
{
	(void)state;
	run_ranks(1, all_reduces, true);
	run_ranks(2, all_reduces, true);
	run_ranks(3, all_reduces, true);
}

/* Operations in which each rank has a part of its own. */
enum parts { GATHER, REDUCE_SCATTER, REDUCE_TO_ROOT, ALL_TO_ALL, PARTS };

static enum status run_parts(struct rank *r, enum parts parts, enum precision precision, void *to,
			     const void *from, size_t count, int root)
{
	switch (parts) {
	case GATHER:
		return backend_all_gather(r->communicator, r->stream, to, from, count, precision,
					  &r->err);
	case REDUCE_SCATTER:
		return backend_reduce_scatter(r->communicator, r->stream, to, from, count,
					      precision, REDUCE_SUM, &r->err);
	case REDUCE_TO_ROOT:
		return backend_reduce(r->communicator, r->stream, r->rank == root ? to : NULL, from,
				      count, precision, REDUCE_SUM, root, &r->err);
	default:
		return backend_all_to_all(r->communicator, r->stream, to, from, count, precision,
					  &r->err);
	}
}

/* Expected value of rank `r` at `i`, from what all ranks began with. */
static double expected_part(const struct rank *r, enum parts parts, enum precision precision,
			    void *const tensors[], size_t count, size_t i)
{
	double sum = 0;

	if (parts == GATHER)
		return element_get(tensors[i / count], precision, i % count);
	if (parts == ALL_TO_ALL)
		return element_get(tensors[i / count], precision,
				   (size_t)r->rank * count + i % count);
	if (parts == REDUCE_SCATTER)
		i += (size_t)r->rank * count;
	for (int rank = 0; rank < r->size; rank++)
		sum += element_get(tensors[rank], precision, i);
	return sum;
}

static void check_parts(struct rank *r, enum parts parts, enum precision precision, size_t count,
			bool in_place, int root)
{
	bool adds = parts == REDUCE_SCATTER || parts == REDUCE_TO_ROOT;
	size_t ranks = (size_t)r->size, part = count * precision_bytes(precision);
	size_t results = parts == GATHER || parts == ALL_TO_ALL ? ranks * count : count;
	void *tensors[8], *buffer = xcalloc(ranks, part);
	unsigned char *from, *to = buffer;

	for (int rank = 0; rank < r->size; rank++)
		tensors[rank] =
			random_tensor(precision, ranks * count, (uint64_t)rank * 100 + count, 1);
	from = tensors[r->rank];
	if (in_place && parts == GATHER) {
		from = to + (size_t)r->rank * part;
		memcpy(from, tensors[r->rank], part);
	} else if (in_place) {
		memcpy(buffer, from, ranks * part);
		from = buffer;
		to = from + (parts == REDUCE_SCATTER ? (size_t)r->rank * part : 0);
	}
	OK(r, run_parts(r, parts, precision, to, from, count, root));
	OK(r, backend_stream_synchronize(r->stream, &r->err));
	for (size_t i = 0; i < results && (parts != REDUCE_TO_ROOT || r->rank == root); i++) {
		double expected = expected_part(r, parts, precision, tensors, count, i);
		double tolerance = sum_tolerance(r, precision, expected);

		compare(&r->err, "parts", precision, i, element_get(to, precision, i), expected,
			adds ? tolerance : 0);
		NEED(r, r->err.status == STATUS_OK, "operation %d of %zu %s, in place: %d", parts,
		     count, precision_name(precision), in_place);
	}
	for (int rank = 0; rank < r->size; rank++)
		free(tensors[rank]);
	free(buffer);
}

static void all_parts(struct rank *r)
{
	static const size_t counts[] = { 1, 63, 5001 };

	for (int parts = 0; parts < PARTS; parts++) {
		for (int precision = 0; precision < PRECISION_COUNT; precision++)
			for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
				check_parts(r, (enum parts)parts, (enum precision)precision,
					    counts[i], i % 2 && parts != ALL_TO_ALL,
					    (int)i % r->size);
		/* Several steps. */
		check_parts(r, (enum parts)parts, PRECISION_FP32, 140003, parts != ALL_TO_ALL, 0);
	}
	NEED(r, run_parts(r, REDUCE_TO_ROOT, PRECISION_FP32, r, r, 1, r->size) == STATUS_INTERNAL,
	     "no such root");
}

static void every_rank_has_its_part(void **state)
{
	(void)state;
	run_ranks(1, all_parts, true);
	run_ranks(2, all_parts, true);
	run_ranks(3, all_parts, true);
}

static void broadcasts(struct rank *r)
{
	static const size_t sizes[] = { 1, 4097, (1 << 20) + 3, 3 << 20 };

	for (int root = 0; root < r->size; root++) {
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			unsigned char *buffer = malloc(sizes[s]);

			for (size_t i = 0; i < sizes[s]; i++)
				buffer[i] = (unsigned char)(i * 7 + (size_t)r->rank);
			OK(r, backend_broadcast(r->communicator, r->stream, buffer, sizes[s], root,
						&r->err));
			OK(r, backend_stream_synchronize(r->stream, &r->err));
			for (size_t i = 0; i < sizes[s]; i++)
				NEED(r, buffer[i] == (unsigned char)(i * 7 + (size_t)root),
				     "byte %zu of %zu", i, sizes[s]);
			free(buffer);
		}
	}
	NEED(r,
	     backend_broadcast(r->communicator, r->stream, r, 1, r->size, &r->err) ==
		     STATUS_INTERNAL,
	     "no such root");
}

static void a_broadcast_reaches_every_rank(void **state)
{
	(void)state;
	run_ranks(4, broadcasts, true);
}

/*
 * Each sends to the next and receives from the one before, far more than fits on the way, on two
 * streams.
 */
static void ring(struct rank *r)
{
	const size_t bytes = (3 << 20) + 5;
	unsigned char *out = malloc(bytes), *in = malloc(bytes), small[2] = { 0, 0 };
	int next = (r->rank + 1) % r->size, before = (r->rank + r->size - 1) % r->size;
	unsigned char number = (unsigned char)r->rank;

	memset(out, r->rank + 1, bytes);
	for (int round = 0; round < 3; round++) {
		memset(in, 0, bytes);
		OK(r, backend_group_begin(r->communicator, &r->err));
		OK(r, backend_send(r->communicator, r->stream, out, bytes, next, &r->err));
		OK(r, backend_send(r->communicator, r->stream, &number, 1, next, &r->err));
		OK(r, backend_receive(r->communicator, r->other, in, bytes, before, &r->err));
		OK(r, backend_receive(r->communicator, r->other, small, 1, before, &r->err));
		OK(r, backend_group_end(r->communicator, &r->err));
		OK(r, backend_stream_synchronize(r->other, &r->err));
		OK(r, backend_stream_synchronize(r->stream, &r->err));
		for (size_t i = 0; i < bytes; i++)
			NEED(r, in[i] == before + 1, "byte %zu", i);
		NEED(r, small[0] == before && small[1] == 0, "the second message");
	}
	free(out);
	free(in);
}

static void a_group_of_large_messages_does_not_lock_up(void **state)
{
	(void)state;
	run_ranks(2, ring, true);
	run_ranks(4, ring, true);
}

/* A pipeline without groups: rank by rank, as layer_split does. */
static void pipeline(struct rank *r)
{
	double value = 0;

	for (int i = 0; i < 200; i++) {
		value = i;
		if (r->rank > 0)
			OK(r, backend_receive(r->communicator, r->stream, &value, sizeof(value),
					      r->rank - 1, &r->err));
		OK(r, backend_stream_synchronize(r->stream, &r->err));
		NEED(r, value == i + r->rank, "got %g in round %d", value, i);
		value += 1;
		if (r->rank + 1 < r->size)
			OK(r, backend_send(r->communicator, r->stream, &value, sizeof(value),
					   r->rank + 1, &r->err));
		OK(r, backend_stream_synchronize(r->stream, &r->err));
	}
}

static void messages_arrive_in_order(void **state)
{
	(void)state;
	run_ranks(3, pipeline, true);
}

/*
 * On two streams of one communicator: carried out in the order of the calls, whichever stream is
 * ready first.
 */
static void two_streams(struct rank *r)
{
	struct spin_arguments wait = { 0.002 * r->rank };
	double a[100], b[100];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++) {
			a[i] = i;
			b[i] = 1000 * i;
		}
		OK(r, backend_launch(r->rank % 2 ? r->stream : r->other, "spin", &wait, &r->err));
		OK(r, backend_all_reduce(r->communicator, r->stream, a, a, 100, PRECISION_FP64,
					 REDUCE_SUM, &r->err));
		OK(r, backend_all_reduce(r->communicator, r->other, b, b, 100, PRECISION_FP64,
					 REDUCE_SUM, &r->err));
		OK(r, backend_device_synchronize(r->device, &r->err));
		for (int i = 0; i < 100; i++)
			NEED(r, a[i] == r->size * i && b[i] == 1000 * r->size * i, "element %d", i);
	}
}

static void calls_on_two_streams_keep_their_order(void **state)
{
	(void)state;
	run_ranks(3, two_streams, true);
}

/* Rings of copies give what the backend's own collectives give, and keep the same promises. */
static void relay_over(enum transport over)
{
	transport = over;
	for (int size = 1; size <= 3; size++) {
		run_ranks(size, all_reduces, true);
		run_ranks(size, all_parts, true);
	}
	run_ranks(4, all_parts, true);
	run_ranks(4, broadcasts, true);
	run_ranks(2, ring, true);
	run_ranks(4, ring, true);
	run_ranks(3, pipeline, true);
	run_ranks(3, two_streams, true);
	transport = TRANSPORT_AUTO;
}

static void copies_between_ranks_do_the_same(void **state)
{
	(void)state;
	relay_over(TRANSPORT_HOST_COPY);
}

static void so_does_tcp(void **state)
{
	(void)state;
	relay_over(TRANSPORT_TCP);
}

/* A node has no access to the memory of another. */
static void several_nodes(struct rank *r)
{
	static const enum transport within[] = { TRANSPORT_SHARED_MEMORY, TRANSPORT_HOST_COPY };
	struct device_set devices = { 0 };

	device_set_add(&devices, (struct device_address){ 0, 0 });
	device_set_add(&devices, (struct device_address){ 0, 1 });
	for (size_t i = 0; i < ARRAY_SIZE(within); i++) {
		struct error err = ERROR_NONE;

		NEED(r, backend_transport_usable(r->device, within[i], &devices, &err) == STATUS_OK,
		     "%s", err.message);
	}
	device_set_add(&devices, (struct device_address){ 1, 0 });
	for (size_t i = 0; i < ARRAY_SIZE(within); i++) {
		struct error err = ERROR_NONE;

		NEED(r,
		     backend_transport_usable(r->device, within[i], &devices, &err) ==
				     STATUS_UNSUPPORTED &&
			     strstr(err.message, "only within one node"),
		     "%s", err.message);
	}
	device_set_release(&devices);
}

static void no_library(struct rank *r)
{
	static const enum transport refused[] = { TRANSPORT_NCCL, TRANSPORT_PEER_COPY };

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const struct communicator_options options = { .transport = refused[i] };
		struct error err = ERROR_NONE;

		NEED(r,
		     backend_transport_usable(r->device, refused[i], NULL, &err) ==
				     STATUS_UNSUPPORTED &&
			     strstr(err.message, transport_names[refused[i]]) &&
			     strstr(err.message, "is not a GPU"),
		     "%s", err.message);
		NEED(r,
		     backend_communicator_open(r->device, &options, r->id, 0, 1, &r->communicator,
					       &err) == STATUS_UNSUPPORTED,
		     "%s", transport_names[refused[i]]);
	}
}

static void transports_of_gpus_are_refused(void **state)
{
	(void)state;
	run_ranks(1, several_nodes, false);
	run_ranks(1, no_library, false);
}

static void products(struct rank *r)
{
	enum { N = 300 };
	float *a = malloc(N * N * sizeof(*a)), *c = malloc(N * N * sizeof(*c));
	struct gemm g = { .precision = PRECISION_FP32,
			  .m = N,
			  .n = N,
			  .k = N,
			  .lda = N,
			  .ldb = N,
			  .ldc = N,
			  .a = a,
			  .b = a,
			  .c = c,
			  .alpha = 1 };

	for (int i = 0; i < N * N; i++)
		a[i] = 1;
	OK(r, backend_gemm(r->stream, &g, &r->err));
	OK(r, backend_all_reduce(r->communicator, r->stream, c, c, N * N, PRECISION_FP32,
				 REDUCE_SUM, &r->err));
	OK(r, backend_stream_synchronize(r->stream, &r->err));
	for (int i = 0; i < N * N; i++)
		NEED(r, c[i] == (float)(N * r->size), "element %d is %g", i, (double)c[i]);
	free(a);
	free(c);
}

static void a_forked_rank_multiplies(void **state)
{
	(void)state;
	run_ranks(2, products, true);
}

/* The last rank dies after joining; the others say who and do not wait twice. */
static void lose_a_rank(struct rank *r)
{
	float x[4] = { 1, 2, 3, 4 };
	char name[24];
	double start;

	if (r->rank == r->size - 1)
		_exit(0);
	collective_timeout_seconds = 0.5;
	snprintf(name, sizeof(name), "rank %d", r->size - 1);
	OK(r, backend_all_reduce(r->communicator, r->stream, x, x, 4, PRECISION_FP32, REDUCE_SUM,
				 &r->err));
	NEED(r, backend_stream_synchronize(r->stream, &r->err) == STATUS_TIMEOUT, "no time-out");
	NEED(r, strstr(r->err.message, name), "does not name the rank");
	error_clear(&r->err);
	start = clock_seconds();
	collective_timeout_seconds = 60;
	OK(r, backend_receive(r->communicator, r->stream, x, sizeof(x), r->size - 1, &r->err));
	NEED(r, backend_stream_synchronize(r->stream, &r->err) == STATUS_TIMEOUT, "no failure");
	NEED(r, clock_seconds() - start < 5, "waited again");
}

static void a_rank_that_dies_is_named(void **state)
{
	(void)state;
	run_ranks(3, lose_a_rank, true);
}

/*
 * The stream of rank 0 has failed, so it leaves the collective out: the others hear of it at once.
 */
static void fail_before(struct rank *r)
{
	float x = 1;
	double start = clock_seconds(), loss;
	int32_t label = 9;

	if (r->rank == 0) {
		struct softmax_cross_entropy_arguments bad = { &x, &label, &loss, PRECISION_FP32,
							       1,  1,      1,     NULL };

		OK(r, backend_launch(r->stream, "softmax_cross_entropy", &bad, &r->err));
	}
	OK(r, backend_all_reduce(r->communicator, r->stream, &x, &x, 1, PRECISION_FP32, REDUCE_SUM,
				 &r->err));
	NEED(r,
	     backend_stream_synchronize(r->stream, &r->err) ==
		     (r->rank ? STATUS_TIMEOUT : STATUS_INTERNAL),
	     "wrong status");
	NEED(r, r->rank == 0 || strstr(r->err.message, "rank 0 failed"), "does not name the rank");
	NEED(r, clock_seconds() - start < 20, "waited");
}

static void a_failure_on_one_rank_ends_the_collective_on_all(void **state)
{
	(void)state;
	run_ranks(2, fail_before, true);
}

static void join_without_the_last(struct rank *r)
{
	const struct communicator_options options = { .transport = TRANSPORT_AUTO };

	if (r->rank == r->size - 1)
		return;
	collective_timeout_seconds = 0.5;
	NEED(r,
	     backend_communicator_open(r->device, &options, r->id, r->rank, r->size,
				       &r->communicator, &r->err) == STATUS_TIMEOUT,
	     "opened");
	NEED(r, strstr(r->err.message, "rank 2"), "does not name the rank");
}

static void a_rank_that_never_joins_is_named(void **state)
{
	(void)state;
	run_ranks(3, join_without_the_last, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rank_has_the_same_sum),
		cmocka_unit_test(every_rank_has_its_part),
		cmocka_unit_test(a_broadcast_reaches_every_rank),
		cmocka_unit_test(a_group_of_large_messages_does_not_lock_up),
		cmocka_unit_test(messages_arrive_in_order),
		cmocka_unit_test(calls_on_two_streams_keep_their_order),
		cmocka_unit_test(copies_between_ranks_do_the_same),
		cmocka_unit_test(so_does_tcp),
		cmocka_unit_test(transports_of_gpus_are_refused),
		cmocka_unit_test(a_forked_rank_multiplies),
		cmocka_unit_test(a_rank_that_dies_is_named),
		cmocka_unit_test(a_failure_on_one_rank_ends_the_collective_on_all),
		cmocka_unit_test(a_rank_that_never_joins_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
