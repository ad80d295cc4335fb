/*
 * Collectives: one rank per GPU, each in its own process, over each transport. Copies also between
 * two ranks on the only GPU, which NCCL refuses.
 */
#include "gpu_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/memory/fill.h"
#include "kernels/training/training.h"
#include "measure/processes/world.h"

#define COUNT 100003
#define RANK_SECONDS 90
/* Several times through the slots of a relay, and no whole number of them. */
#define LARGE_BYTES (((size_t)150 << 20) + 48)

struct rank {
	struct world *world;
	enum transport transport;
	int devices;
	struct device *device;
	struct stream *stream;
	struct communicator *communicator;
	void *memory;  /* COUNT floats on the device */
	float *values; /* the same in pinned memory */
};

static enum status join(struct rank *r, struct error *err)
{
	const struct communicator_options options = { .transport = r->transport };
	struct communicator_id id = { { 0 } };
	enum status status = STATUS_OK;

	if (r->world->rank == 0)
		status = transport_id(r->device, r->transport, &id, err);
	world_broadcast(r->world, 0, &id, sizeof(id));
	if (status != STATUS_OK)
		return status;
	return backend_communicator_open(r->device, &options, &id, r->world->rank, r->world->size,
					 &r->communicator, err);
}

static enum status rank_open(struct rank *r, struct error *err)
{
	struct device_set devices = { 0 };
	enum status status;
	void *values;

	STEP(backend_stream_create(r->device, false, &r->stream, err));
	STEP(backend_memory_alloc(r->device, ALLOCATOR_DEVICE, COUNT * sizeof(float), NULL,
				  &r->memory, err));
	STEP(backend_memory_alloc(r->device, ALLOCATOR_PINNED, COUNT * sizeof(float), NULL, &values,
				  err));
	r->values = values;
	for (int i = 0; i < r->devices; i++)
		device_set_add(&devices, (struct device_address){ 0, i });
	status = backend_transport_usable(r->device, r->transport, &devices, err);
	device_set_release(&devices);
	return status == STATUS_OK ? join(r, err) : status;
}

/* Small integers, so that every order of summation gives the same float. */
static float part(int rank, size_t i)
{
	return (float)((rank + 1) * (int)(i % 64));
}

static enum status all_reduce(struct rank *r, enum reduction reduction, float scale,
			      struct error *err)
{
	const size_t bytes = COUNT * sizeof(float);

	for (size_t i = 0; i < COUNT; i++)
		r->values[i] = part(r->world->rank, i);
	STEP(backend_copy(r->stream, r->memory, r->values, bytes, err));
	STEP(backend_all_reduce(r->communicator, r->stream, r->memory, r->memory, COUNT,
				PRECISION_FP32, reduction, err));
	STEP(backend_copy(r->stream, r->values, r->memory, bytes, err));
	STEP(backend_stream_synchronize(r->stream, err));
	for (size_t i = 0; i < COUNT; i++) {
		float expected = scale * part(0, i);

		if (r->values[i] != expected)
			return error_set(err, STATUS_MISMATCH,
					 "all-reduce %d: element %zu is %g, expected %g",
					 (int)reduction, i, (double)r->values[i], (double)expected);
	}
	return STATUS_OK;
}

static enum status broadcast(struct rank *r, struct error *err)
{
	const size_t bytes = COUNT * sizeof(float);
	int root = r->world->size - 1;

	STEP(gpu_fill(r->stream, r->memory, bytes, 30 + (uint64_t)r->world->rank, err));
	STEP(backend_broadcast(r->communicator, r->stream, r->memory, bytes, root, err));
	return gpu_expect(r->stream, r->memory, bytes, 30 + (uint64_t)root, err);
}

/* Everyone to the next, all at once. */
static enum status ring(struct rank *r, struct error *err)
{
	const size_t bytes = COUNT * sizeof(float);
	int next = (r->world->rank + 1) % r->world->size;
	int previous = (r->world->rank + r->world->size - 1) % r->world->size;
	void *received;

	STEP(backend_memory_alloc(r->device, ALLOCATOR_DEVICE, bytes, NULL, &received, err));
	STEP(gpu_fill(r->stream, r->memory, bytes, 40 + (uint64_t)r->world->rank, err));
	STEP(backend_group_begin(r->communicator, err));
	STEP(backend_send(r->communicator, r->stream, r->memory, bytes, next, err));
	STEP(backend_receive(r->communicator, r->stream, received, bytes, previous, err));
	STEP(backend_group_end(r->communicator, err));
	STEP(gpu_expect(r->stream, received, bytes, 40 + (uint64_t)previous, err));
	return backend_memory_free(r->device, ALLOCATOR_DEVICE, received, bytes, NULL, err);
}

/* Each rank's part of the floats in `memory`; the last ones belong to no rank. */
static size_t part_count(const struct rank *r)
{
	return COUNT / (size_t)r->world->size / 4 * 4;
}

/* Every rank fills its part in place; each must then have all of them. */
static enum status gather(struct rank *r, struct error *err)
{
	size_t part = part_count(r) * sizeof(float);
	char *memory = r->memory;

	STEP(gpu_fill(r->stream, memory + (size_t)r->world->rank * part, part,
		      50 + (uint64_t)r->world->rank, err));
	STEP(backend_all_gather(r->communicator, r->stream, memory,
				memory + (size_t)r->world->rank * part, part_count(r),
				PRECISION_FP32, err));
	for (int i = 0; i < r->world->size; i++)
		STEP(gpu_expect(r->stream, memory + (size_t)i * part, part, 50 + (uint64_t)i, err));
	return STATUS_OK;
}

/* Part i of rank j goes to part j of rank i. */
static enum status all_to_all(struct rank *r, struct error *err)
{
	size_t part = part_count(r) * sizeof(float), all = part * (size_t)r->world->size;
	uint64_t ranks = (uint64_t)r->world->size, me = (uint64_t)r->world->rank;
	void *received;

	STEP(backend_memory_alloc(r->device, ALLOCATOR_DEVICE, all, NULL, &received, err));
	for (uint64_t i = 0; i < ranks; i++)
		STEP(gpu_fill(r->stream, (char *)r->memory + i * part, part, 60 + me * ranks + i,
			      err));
	STEP(backend_all_to_all(r->communicator, r->stream, received, r->memory, part_count(r),
				PRECISION_FP32, err));
	for (uint64_t i = 0; i < ranks; i++)
		STEP(gpu_expect(r->stream, (char *)received + i * part, part, 60 + i * ranks + me,
				err));
	return backend_memory_free(r->device, ALLOCATOR_DEVICE, received, all, NULL, err);
}

/* Sums of what part() gives, of the rank's own part or, on the last rank, of all. */
static enum status reduce(struct rank *r, bool scatter, struct error *err)
{
	int n = r->world->size, root = n - 1;
	size_t first = scatter ? (size_t)r->world->rank * part_count(r) : 0;
	size_t count = scatter ? part_count(r) : COUNT;
	float *to = (float *)r->memory + first;

	for (size_t i = 0; i < COUNT; i++)
		r->values[i] = part(r->world->rank, i);
	STEP(backend_copy(r->stream, r->memory, r->values, COUNT * sizeof(float), err));
	if (scatter)
		STEP(backend_reduce_scatter(r->communicator, r->stream, to, r->memory, count,
					    PRECISION_FP32, REDUCE_SUM, err));
	else
		STEP(backend_reduce(r->communicator, r->stream, to, r->memory, count,
				    PRECISION_FP32, REDUCE_SUM, root, err));
	STEP(backend_copy(r->stream, r->values, to, count * sizeof(float), err));
	STEP(backend_stream_synchronize(r->stream, err));
	for (size_t i = 0; i < count && (scatter || r->world->rank == root); i++) {
		float expected = (float)(n * (n + 1) / 2) * part(0, first + i);

		if (r->values[i] != expected)
			return error_set(err, STATUS_MISMATCH, "%s: element %zu is %g, expected %g",
					 scatter ? "reduce-scatter" : "reduce", first + i,
					 (double)r->values[i], (double)expected);
	}
	return STATUS_OK;
}

/* A graph of collectives gives, each time it is launched, what the calls give. */
static enum status recorded(struct rank *r, struct error *err)
{
	struct graph *graph;
	int n = r->world->size;

	for (size_t i = 0; i < COUNT; i++)
		r->values[i] = part(0, i);
	STEP(backend_copy(r->stream, r->memory, r->values, COUNT * sizeof(float), err));
	STEP(backend_stream_synchronize(r->stream, err));
	STEP(backend_graph_begin(r->stream, err));
	STEP(backend_all_reduce(r->communicator, r->stream, r->memory, r->memory, COUNT,
				PRECISION_FP32, REDUCE_SUM, err));
	STEP(backend_graph_end(r->stream, &graph, err));
	STEP(backend_graph_launch(graph, r->stream, err));
	STEP(backend_graph_launch(graph, r->stream, err));
	STEP(backend_copy(r->stream, r->values, r->memory, COUNT * sizeof(float), err));
	STEP(backend_stream_synchronize(r->stream, err));
	backend_graph_destroy(graph);
	for (size_t i = 0; i < COUNT; i++)
		if (r->values[i] != (float)(n * n) * part(0, i))
			return error_set(err, STATUS_MISMATCH, "graph: element %zu is %g", i,
					 (double)r->values[i]);
	return STATUS_OK;
}

/*
 * Integers whose sums, of all ranks and of some of them in any order, are at most 256 for 21 ranks:
 * exact in every precision, BF16 having 8 significant bits.
 */
static int small_part(int rank, size_t i)
{
	return (int)((i + (size_t)rank) % 13);
}

static int small_sum(int ranks, size_t i)
{
	int sum = 0;

	for (int rank = 0; rank < ranks; rank++)
		sum += small_part(rank, i);
	return sum;
}

static enum status all_precisions(struct rank *r, struct error *err)
{
	const size_t bytes = COUNT * sizeof(double), count = COUNT - 100;
	struct convert_arguments there = { .from = r->memory,
					   .from_precision = PRECISION_FP32,
					   .count = count },
				 back = { .to = r->memory,
					  .to_precision = PRECISION_FP32,
					  .count = count };
	int n = r->world->size;
	void *stored;

	STEP(backend_memory_alloc(r->device, ALLOCATOR_DEVICE, bytes, NULL, &stored, err));
	for (int p = 0; p < PRECISION_COUNT; p++) {
		/* Not aligned to 16 bytes. */
		size_t odd = p % 2 * precision_bytes((enum precision)p);

		for (size_t i = 0; i < count; i++)
			r->values[i] = (float)small_part(r->world->rank, i);
		there.to = (char *)stored + odd;
		back.from = there.to;
		there.to_precision = back.from_precision = (enum precision)p;
		STEP(backend_copy(r->stream, r->memory, r->values, count * sizeof(float), err));
		STEP(backend_launch(r->stream, "convert", &there, err));
		STEP(backend_all_reduce(r->communicator, r->stream, there.to, there.to, count,
					(enum precision)p, REDUCE_SUM, err));
		STEP(backend_launch(r->stream, "convert", &back, err));
		STEP(backend_copy(r->stream, r->values, r->memory, count * sizeof(float), err));
		STEP(backend_stream_synchronize(r->stream, err));
		for (size_t i = 0; i < count; i++)
			if (r->values[i] != (float)small_sum(n, i))
				return error_set(err, STATUS_MISMATCH,
						 "%s: element %zu is %g, expected %d",
						 precision_name((enum precision)p), i,
						 (double)r->values[i], small_sum(n, i));
	}
	return backend_memory_free(r->device, ALLOCATOR_DEVICE, stored, bytes, NULL, err);
}

/* Every rank's part comes to all, then one rank's bytes do. */
static enum status large(struct rank *r, struct error *err)
{
	int n = r->world->size, root = n - 1;
	size_t each = LARGE_BYTES / (size_t)n / 16 * 16;
	void *memory;
	char *mine;

	STEP(backend_memory_alloc(r->device, ALLOCATOR_DEVICE, LARGE_BYTES, NULL, &memory, err));
	mine = (char *)memory + (size_t)r->world->rank * each;
	STEP(gpu_fill(r->stream, mine, each, 70 + (uint64_t)r->world->rank, err));
	STEP(backend_all_gather(r->communicator, r->stream, memory, mine, each / sizeof(float),
				PRECISION_FP32, err));
	for (int i = 0; i < n; i++)
		STEP(gpu_expect(r->stream, (char *)memory + (size_t)i * each, each,
				70 + (uint64_t)i, err));
	STEP(gpu_fill(r->stream, memory, LARGE_BYTES, 90 + (uint64_t)r->world->rank, err));
	STEP(backend_broadcast(r->communicator, r->stream, memory, LARGE_BYTES, root, err));
	STEP(gpu_expect(r->stream, memory, LARGE_BYTES, 90 + (uint64_t)root, err));
	return backend_memory_free(r->device, ALLOCATOR_DEVICE, memory, LARGE_BYTES, NULL, err);
}

/* An operation that cannot be launched again must not be recorded. */
static enum status refuses_recording(struct rank *r, struct error *err)
{
	struct error expected = ERROR_NONE, ended = ERROR_NONE;
	struct graph *graph = NULL;
	enum status status;

	STEP(backend_graph_begin(r->stream, err));
	status = backend_all_reduce(r->communicator, r->stream, r->memory, r->memory, COUNT,
				    PRECISION_FP32, REDUCE_SUM, &expected);
	if (backend_graph_end(r->stream, &graph, &ended) == STATUS_OK)
		backend_graph_destroy(graph);
	return status == STATUS_UNSUPPORTED
		       ? STATUS_OK
		       : error_set(err, STATUS_MISMATCH, "captured in a graph: %s",
				   expected.message);
}

static enum status rank_checks(struct rank *r, struct error *err)
{
	int n = r->world->size;

	STEP(all_reduce(r, REDUCE_SUM, (float)(n * (n + 1) / 2), err));
	STEP(all_reduce(r, REDUCE_MAX, (float)n, err));
	/* Exact only where the division is: sums of multiples of n. */
	if ((n & (n - 1)) == 0)
		STEP(all_reduce(r, REDUCE_AVERAGE, (float)(n + 1) / 2, err));
	STEP(broadcast(r, err));
	STEP(gather(r, err));
	STEP(all_to_all(r, err));
	STEP(reduce(r, true, err));
	STEP(reduce(r, false, err));
	STEP(all_precisions(r, err));
	STEP(large(r, err));
	STEP(r->communicator->relay ? refuses_recording(r, err) : recorded(r, err));
	return ring(r, err);
}

/*
 * The last rank does not take part in a sum: the others, whose streams wait for it, let go of the
 * communicator and continue, and another one serves them all.
 */
static enum status abandoned(struct rank *r, struct error *err)
{
	struct world *world = r->world;
	struct error ignored = ERROR_NONE; /* a stream may say what became of it */

	if (world->size == 1)
		return STATUS_OK;
	if (world->rank + 1 < world->size)
		STEP(backend_all_reduce(r->communicator, r->stream, r->memory, r->memory, COUNT,
					PRECISION_FP32, REDUCE_SUM, err));
	world_barrier(world);
	r->communicator->abandoned = true;
	backend_communicator_close(r->communicator);
	r->communicator = NULL;
	backend_stream_synchronize(r->stream, &ignored);
	STEP(join(r, err));
	return all_reduce(r, REDUCE_MAX, (float)world->size, err);
}

/* Over these in turn, up to one that fails: the other ranks' state is then unknown. */
struct transports {
	enum transport list[3];
	size_t count;
};

static enum status run_over(struct device *device, struct world *world, int devices,
			    enum transport transport, struct error *err)
{
	struct rank r = {
		.world = world, .transport = transport, .devices = devices, .device = device
	};
	enum status status = rank_open(&r, err);

	if (status == STATUS_OK)
		status = rank_checks(&r, err);
	if (status == STATUS_OK)
		status = abandoned(&r, err);
	/* Another one may still read what this one has sent. */
	world_barrier(world);
	backend_communicator_close(r.communicator);
	if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
		return status;
	backend_stream_destroy(r.stream);
	backend_memory_free(device, ALLOCATOR_DEVICE, r.memory, COUNT * sizeof(float), NULL, err);
	backend_memory_free(device, ALLOCATOR_PINNED, r.values, COUNT * sizeof(float), NULL, err);
	return status;
}

static int run_rank(struct world *world, int devices, const struct transports *transports)
{
	int index = world->rank % devices, failures = 0;
	struct error opening = ERROR_NONE;
	struct backend_list list;
	struct device *opened;
	char device[32];

	alarm(RANK_SECONDS);
	snprintf(device, sizeof(device), "cuda:%d", index);
	backends_open(&list, settings.backend, &settings.options);
	if (list.count == 0)
		return check_report("collectives", device, STATUS_DEVICE, list.missing[0]);
	if (list.backends[0]->device_open(index, &opened, &opening) != STATUS_OK) {
		backends_close(&list);
		return check_report("collectives", device, opening.status, opening.message);
	}
	for (size_t i = 0; i < transports->count && failures == 0; i++) {
		struct error err = ERROR_NONE;
		char detail[128];
		enum status status = run_over(opened, world, devices, transports->list[i], &err);

		snprintf(detail, sizeof(detail),
			 "rank %d of %d over %s: every collective, and one that a rank leaves",
			 world->rank, world->size, transport_names[transports->list[i]]);
		failures += check_report("collectives", device, status,
					 status == STATUS_OK ? detail : err.message);
	}
	list.backends[0]->device_close(opened);
	backends_close(&list);
	return failures;
}

static int check_over(int devices, int ranks, const struct transports *transports)
{
	struct error err = ERROR_NONE;
	struct world world;
	pid_t *children;
	int failures = 0;

	if (world_create(&world, ranks, &err) != STATUS_OK)
		return check_report("collectives", "-", err.status, err.message);
	children = xcalloc((size_t)ranks, sizeof(*children));
	for (int i = 0; i < ranks; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			world.rank = i;
			exit(run_rank(&world, devices, transports));
		}
	}
	for (int i = 0; i < ranks; i++) {
		int status = 1;

		if (children[i] < 0 || waitpid(children[i], &status, 0) != children[i] ||
		    status != 0)
			failures++;
		if (children[i] > 0 && WIFSIGNALED(status))
			check_report("collectives", "-", STATUS_TIMEOUT,
				     "a rank was ended by a signal (time limit?)");
	}
	free(children);
	world_release(&world);
	return failures;
}

int collective_check(int devices)
{
	static const struct transports all = { { TRANSPORT_NCCL, TRANSPORT_PEER_COPY,
						 TRANSPORT_HOST_COPY },
					       3 },
				       library = { { TRANSPORT_NCCL }, 1 },
				       copies = { { TRANSPORT_PEER_COPY, TRANSPORT_HOST_COPY }, 2 };

	if (devices > 1)
		return check_over(devices, devices, &all);
	/* Two ranks of a device: only copies allow that. */
	return check_over(1, 1, &library) + check_over(1, 2, &copies);
}
