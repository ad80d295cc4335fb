/*
 * Ranks in shared memory. Every collective is one exchange: each rank writes its slot, all meet at a barrier, all
 * read. Slots come in two sets used in turn, so one barrier is enough: a rank overwrites a slot two exchanges later,
 * and the exchange between has shown that all ranks have read it.
 */
#include "measure/processes/world.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* About 50 us of spinning before a rank sleeps: ranks that sample in step meet within that. */
#define SPINS 2000

/*
 * The operation that a rank is in, so that ranks out of step are detected before they mix up their
 * data.
 */
enum operation { BARRIER = 1, BROADCAST, GATHER, MAXIMUM, SUM, AGREE, AGREE_MESSAGE };
static const char *const operation_names[] = { "nothing", "barrier", "broadcast", "gather",
					       "max",     "sum",     "agree",     "agree" };

struct slot {
	_Alignas(64) int32_t operation;
	int32_t root;
	uint64_t bytes;
	unsigned char data[WORLD_MAX_BYTES];
};

struct world_shared {
	_Alignas(64) _Atomic uint32_t arrived;
	_Alignas(64) _Atomic uint32_t
		generation; /* exchanges completed; the futex that late ranks sleep on */
	_Atomic uint32_t sleepers;
	_Atomic int
		pending_failure;  /* 1 + the first rank that waits to report that its device has failed */
	struct error said; /* by that rank, before it set `pending_failure` */
	int size;
	bool spin; /* every rank has a core of its own */
	size_t mapped_bytes;
	struct slot slots[]; /* set 0 of every rank, then set 1 */
};

enum status world_create(struct world *world, int size, struct error *err)
{
	struct world_shared *shared;
	size_t bytes;

	*world = (struct world){ .rank = 0, .size = size };
	if (size < 1)
		return error_set(err, STATUS_INTERNAL, "a world of %d ranks", size);
	if (size == 1)
		return STATUS_OK;
	bytes = sizeof(*shared) + 2 * (size_t)size * sizeof(struct slot);
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return error_errno(err, "shared memory for %d ranks", size);
	shared->size = size;
	shared->spin = sysconf(_SC_NPROCESSORS_ONLN) >= size;
	shared->mapped_bytes = bytes;
	world->shared = shared;
	return STATUS_OK;
}

void world_release(struct world *world)
{
	if (world->shared)
		munmap(world->shared, world->shared->mapped_bytes);
	world->shared = NULL;
}

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	/* Not FUTEX_PRIVATE: the ranks are processes. An error (EAGAIN, EINTR) only means: look again. */
	syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void wait_for_others(struct world_shared *shared, uint32_t generation)
{
	for (int i = 0; shared->spin && i < SPINS; i++) {
		if (atomic_load_explicit(&shared->generation, memory_order_acquire) != generation)
			return;
		pause_briefly();
	}
	atomic_fetch_add(&shared->sleepers, 1);
	while (atomic_load(&shared->generation) == generation)
		futex(&shared->generation, FUTEX_WAIT, generation);
	atomic_fetch_sub(&shared->sleepers, 1);
}

static void meet(struct world_shared *shared, uint32_t generation)
{
	if (atomic_fetch_add(&shared->arrived, 1) + 1 < (uint32_t)shared->size) {
		wait_for_others(shared, generation);
		return;
	}
	atomic_store(&shared->arrived, 0);
	atomic_store(&shared->generation, generation + 1);
	if (atomic_load(&shared->sleepers))
		futex(&shared->generation, FUTEX_WAKE, INT_MAX);
}

static void out_of_step(const struct world *world, int other, const struct slot *mine,
			const struct slot *its)
{
	fprintf(stderr,
		"gpuproof: bug: rank %d is in world_%s of %llu bytes, rank %d in world_%s of "
		"%llu\n",
		world->rank, operation_names[mine->operation], (unsigned long long)mine->bytes,
		other, operation_names[its->operation], (unsigned long long)its->bytes);
	abort();
}

/* One exchange. Returns every rank's slot, valid until the next exchange but one. */
static const struct slot *exchange(struct world *world, enum operation operation, int root,
				   const void *data, size_t bytes)
{
	struct world_shared *shared = world->shared;
	/* Stable until this rank arrives, hence the same for all. */
	uint32_t generation = atomic_load_explicit(&shared->generation, memory_order_acquire);
	struct slot *set = shared->slots + (generation & 1) * (size_t)world->size;
	struct slot *mine = &set[world->rank];

	if (bytes > WORLD_MAX_BYTES) {
		fprintf(stderr, "gpuproof: bug: world_%s of %zu bytes, more than %d\n",
			operation_names[operation], bytes, WORLD_MAX_BYTES);
		abort();
	}
	mine->operation = operation;
	mine->root = root;
	mine->bytes = bytes;
	if (data)
		memcpy(mine->data, data, bytes);
	meet(shared, generation);
	for (int i = 0; i < world->size; i++)
		if (set[i].operation != mine->operation || set[i].bytes != bytes ||
		    set[i].root != root)
			out_of_step(world, i, mine, &set[i]);
	return set;
}

void world_barrier(struct world *world)
{
	if (world->size > 1)
		exchange(world, BARRIER, 0, NULL, 0);
}

void world_broadcast(struct world *world, int root, void *data, size_t bytes)
{
	const struct slot *set;

	if (world->size == 1)
		return;
	set = exchange(world, BROADCAST, root, world->rank == root ? data : NULL, bytes);
	if (world->rank != root)
		memcpy(data, set[root].data, bytes);
}

static void collect(struct world *world, enum operation operation, const void *mine, void *all,
		    size_t bytes)
{
	const struct slot *set;

	if (world->size == 1) {
		memmove(all, mine, bytes);
		return;
	}
	set = exchange(world, operation, 0, mine, bytes);
	for (int i = 0; i < world->size; i++)
		memcpy((char *)all + (size_t)i * bytes, set[i].data, bytes);
}

void world_broadcast_long(struct world *world, int root, void *data, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += WORLD_MAX_BYTES) {
		size_t left = bytes - at;

		world_broadcast(world, root, (char *)data + at,
				left < WORLD_MAX_BYTES ? left : WORLD_MAX_BYTES);
	}
}

void world_gather(struct world *world, const void *mine, void *all, size_t bytes)
{
	collect(world, GATHER, mine, all, bytes);
}

static double reading(const struct slot *slot)
{
	double value;

	memcpy(&value, slot->data, sizeof(value));
	return value;
}

double world_max(struct world *world, double mine)
{
	const struct slot *set;

	if (world->size == 1)
		return mine;
	set = exchange(world, MAXIMUM, 0, &mine, sizeof(mine));
	mine = reading(&set[0]);
	for (int i = 1; i < world->size; i++)
		mine = reading(&set[i]) > mine ? reading(&set[i]) : mine;
	return mine;
}

double world_sum(struct world *world, double mine)
{
	const struct slot *set;

	if (world->size == 1)
		return mine;
	set = exchange(world, SUM, 0, &mine, sizeof(mine));
	mine = 0;
	for (int i = 0; i < world->size; i++)
		mine += reading(&set[i]);
	return mine;
}

/*
 * Publishes a failure of this rank's device: the other ranks may be waiting for it. After
 * STATUS_UNSUPPORTED or a wrong result they do not, and arrive as soon as they are done.
 */
static bool publish_failure(struct world *world, enum status mine, const struct error *err)
{
	struct world_shared *shared = world->shared;
	int none = 0;

	if (mine == STATUS_OK || mine == STATUS_UNSUPPORTED || mine == STATUS_INTERRUPTED ||
	    mine == STATUS_MISMATCH ||
	    !atomic_compare_exchange_strong(&shared->pending_failure, &none, -1))
		return false;
	snprintf(shared->said.message, sizeof(shared->said.message), "rank %d: %.*s", world->rank,
		 (int)sizeof(shared->said.message) - 16,
		 err && err->status ? err->message : "failed");
	shared->said.status = mine;
	atomic_store(&shared->pending_failure, world->rank + 1);
	return true;
}

bool world_pending_failure(const struct world *world, struct error *said)
{
	if (!world->shared || atomic_load(&world->shared->pending_failure) <= 0)
		return false;
	*said = world->shared->said;
	return true;
}

/* Failures that some callers can do without (not supported, out of memory) are least severe. */
static int severity(int32_t status)
{
	switch (status) {
	case STATUS_OK:
		return 0;
	case STATUS_UNSUPPORTED:
		return 1;
	case STATUS_NO_MEMORY:
		return 2;
	default:
		return 3;
	}
}

static int32_t status_in(const struct slot *slot)
{
	int32_t status;

	memcpy(&status, slot->data, sizeof(status));
	return status;
}

/* The rank whose failure speaks for all: the first of the worst; -1: none has failed. */
static int failing_rank(const struct slot *set, int size)
{
	int found = -1, worst = 0;

	for (int i = 0; i < size; i++)
		if (severity(status_in(&set[i])) > worst) {
			worst = severity(status_in(&set[i]));
			found = i;
		}
	return found;
}

enum status world_agree(struct world *world, enum status mine, struct error *err)
{
	int32_t status = mine;
	struct error said = ERROR_NONE;
	const struct slot *set;
	bool published;
	int failing;

	if (world->size == 1)
		return mine;
	published = publish_failure(world, mine, err);
	set = exchange(world, AGREE, 0, &status, sizeof(status));
	if (published)
		atomic_store(&world->shared->pending_failure, 0); /* all have come */
	failing = failing_rank(set, world->size);
	if (failing < 0)
		return STATUS_OK;
	if (mine != STATUS_OK) {
		said.status = mine;
		snprintf(said.message, sizeof(said.message), "%s",
			 err && err->status ? err->message : "failed");
	}
	set = exchange(world, AGREE_MESSAGE, 0, &said, sizeof(said));
	memcpy(&said, set[failing].data, sizeof(said));
	if (mine == said.status)
		return mine;
	/* A rank that ignored its own failure and went on would be out of step with the others. */
	if (err)
		error_clear(err);
	return error_set(err, said.status, "rank %d: %s", failing, said.message);
}
