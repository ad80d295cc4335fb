/*
 * The host's two transports: bench_collectives. shared_memory reduces slices of slots that all
 * ranks see, host_copy hands pieces around a ring of ranks (device/ranks/relay.h). Prints the
 * median time of an operation and the CPU time that all ranks together spend in it, each transport
 * in turn in every round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "device/backend_calls.h"
#include "device/host/host_device.h"

#define RANKS_MOST 4
#define ROUNDS 15

enum operation { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, OPERATIONS };
static const char *const names[] = { "all_reduce", "all_gather", "reduce_scatter", "broadcast" };
static const size_t sizes[] = { 4u << 10, 64u << 10, 1u << 20, 16u << 20 };
static const enum transport transports[2] = { TRANSPORT_SHARED_MEMORY, TRANSPORT_HOST_COPY };

/* Seconds of one operation; rank 0's for time. */
struct shared {
	double cpu[RANKS_MOST][2][ROUNDS], time[2][ROUNDS];
};

struct rank {
	int rank, size;
	struct device *device;
	struct stream *stream;
	struct communicator *c[2];
	char *from, *to;
	struct error err;
};

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void need(const struct rank *r, enum status status)
{
	if (status == STATUS_OK)
		return;
	fprintf(stderr, "rank %d: %s\n", r->rank, r->err.message);
	_exit(1);
}

/* `bytes` of the whole tensor. */
static void operate(struct rank *r, int which, enum operation operation, size_t bytes)
{
	struct communicator *c = r->c[which];
	size_t count = bytes / sizeof(float), part = count / (size_t)r->size;

	switch (operation) {
	case ALL_REDUCE:
		need(r, backend_all_reduce(c, r->stream, r->to, r->from, count, PRECISION_FP32,
					   REDUCE_SUM, &r->err));
		break;
	case ALL_GATHER:
		need(r, backend_all_gather(c, r->stream, r->to, r->from, part, PRECISION_FP32,
					   &r->err));
		break;
	case REDUCE_SCATTER:
		need(r, backend_reduce_scatter(c, r->stream, r->to, r->from, part, PRECISION_FP32,
					       REDUCE_SUM, &r->err));
		break;
	default:
		need(r, backend_broadcast(c, r->stream, r->to, bytes, 0, &r->err));
	}
}

static void measure(struct rank *r, struct shared *shared, enum operation operation, size_t bytes,
		    int count)
{
	for (int round = 0; round < ROUNDS; round++)
		for (int which = 0; which < 2; which++) {
			double start, cpu;

			for (int i = 0; i < 2; i++)
				operate(r, which, operation, bytes);
			need(r, backend_stream_synchronize(r->stream, &r->err));
			start = clock_seconds();
			cpu = cpu_seconds();
			for (int i = 0; i < count; i++)
				operate(r, which, operation, bytes);
			need(r, backend_stream_synchronize(r->stream, &r->err));
			shared->cpu[r->rank][which][round] = (cpu_seconds() - cpu) / count;
			if (r->rank == 0)
				shared->time[which][round] = (clock_seconds() - start) / count;
		}
}

static void run_rank(struct rank *r, const struct communicator_id *ids, struct shared *shared)
{
	struct backend_options options = { .host_devices = r->size };
	struct backend_list list;

	backends_open(&list, "host", &options);
	need(r, list.backends[0]->device_open(r->rank, &r->device, &r->err));
	need(r, backend_stream_create(r->device, false, &r->stream, &r->err));
	for (int i = 0; i < 2; i++) {
		const struct communicator_options o = { .transport = transports[i] };

		need(r, backend_communicator_open(r->device, &o, &ids[i], r->rank, r->size,
						  &r->c[i], &r->err));
	}
	r->from = xcalloc(1, sizes[ARRAY_SIZE(sizes) - 1]);
	r->to = xcalloc(1, sizes[ARRAY_SIZE(sizes) - 1]);
	for (int o = 0; o < OPERATIONS; o++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
			measure(r, &shared[o * ARRAY_SIZE(sizes) + s], (enum operation)o, sizes[s],
				sizes[s] <= 64 << 10  ? 200
				: sizes[s] <= 1 << 20 ? 40
						      : 4);
	_exit(0);
}

static double cpu_of(const struct shared *s, int ranks, int which)
{
	double sums[ROUNDS] = { 0 };

	for (int round = 0; round < ROUNDS; round++)
		for (int rank = 0; rank < ranks; rank++)
			sums[round] += s->cpu[rank][which][round];
	return median_of(sums, ROUNDS);
}

static void print(const struct shared *s, int ranks, const char *name, size_t bytes)
{
	double time[2], cpu[2];

	for (int i = 0; i < 2; i++) {
		time[i] = median_of(s->time[i], ROUNDS);
		cpu[i] = cpu_of(s, ranks, i);
	}
	printf("%d ranks %-14s %6zu KiB  time %9.1f %9.1f us x%.2f   CPU %9.1f %9.1f us x%.2f\n",
	       ranks, name, bytes >> 10, 1e6 * time[0], 1e6 * time[1], time[1] / time[0],
	       1e6 * cpu[0], 1e6 * cpu[1], cpu[1] / cpu[0]);
}

static void run(int size)
{
	size_t points = OPERATIONS * ARRAY_SIZE(sizes);
	struct shared *shared = mmap(NULL, points * sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct communicator_id ids[2];
	struct error err = ERROR_NONE;

	for (int i = 0; i < 2; i++)
		if (host_communicator_id(&ids[i], &err) != STATUS_OK) {
			fprintf(stderr, "%s\n", err.message);
			exit(1);
		}
	fflush(NULL);
	for (int rank = 0; rank < size; rank++)
		if (fork() == 0) {
			struct rank r = { .rank = rank, .size = size };

			run_rank(&r, ids, shared);
		}
	while (wait(NULL) > 0)
		;
	for (int o = 0; o < OPERATIONS; o++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
			print(&shared[o * ARRAY_SIZE(sizes) + s], size, names[o], sizes[s]);
	munmap(shared, points * sizeof(*shared));
}

int main(void)
{
	puts("                                  shared_memory, host_copy, ratio");
	run(2);
	run(4);
	return 0;
}
