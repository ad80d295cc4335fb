/* Operations of a world, each made of one or two exchanges; and a world in shared memory. */
#include "measure/processes/world.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/processes/child.h"
#include "measure/processes/world_ops.h"

/*
 * Current operation of a rank, to detect ranks that are out of step before they mix up their data.
 */
enum operation { BARRIER = 1, BROADCAST, GATHER, MAXIMUM, SUM, AGREE, AGREE_MESSAGE };
static const char *const operation_names[] = { "nothing", "barrier", "broadcast", "gather",
					       "max",     "sum",     "agree",     "agree" };

enum status world_new_id(uint64_t *out, struct error *err)
{
	do
		if (getrandom(out, sizeof(*out), 0) != (ssize_t)sizeof(*out))
			return error_errno(err, "getrandom");
	while (*out == 0);
	return STATUS_OK;
}

bool world_notice_set(struct world_notice *notice, const struct error *said)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&notice->pending, &none, -1))
		return false;
	notice->said = *said;
	atomic_store(&notice->pending, 1);
	return true;
}

bool world_notice_read(const struct world_notice *notice, struct error *said)
{
	if (atomic_load(&notice->pending) <= 0)
		return false;
	*said = notice->said;
	return true;
}

void world_release(struct world *world)
{
	if (world->ops)
		world->ops->release(world);
	world->ops = NULL;
	world->state = NULL;
}

/* One exchange; `set`: slots of all ranks, valid until the next exchange but one. */
static enum status world_try_exchange(struct world *world, enum operation operation, int root,
				      const void *data, size_t bytes, const struct world_slot **set,
				      struct error *err)
{
	const struct world_call mine = { .operation = operation, .root = root, .bytes = bytes };

	if (bytes > WORLD_MAX_BYTES) {
		fprintf(stderr, "gpuproof: bug: world_%s of %zu bytes, more than %d\n",
			operation_names[operation], bytes, WORLD_MAX_BYTES);
		abort();
	}
	if (world->ops->exchange(world, &mine, data, set, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < world->size; i++)
		if ((*set)[i].call.operation != mine.operation || (*set)[i].call.bytes != bytes ||
		    (*set)[i].call.root != root) {
			fprintf(stderr,
				"gpuproof: bug: rank %d is in world_%s of %zu bytes, rank %d in "
				"world_%s of %llu\n",
				world->rank, operation_names[operation], bytes, i,
				operation_names[(*set)[i].call.operation],
				(unsigned long long)(*set)[i].call.bytes);
			abort();
		}
	return STATUS_OK;
}

/* As world_try_exchange(); ends the process if the world has ended. */
static const struct world_slot *world_exchange_or_end(struct world *world, enum operation operation,
						      int root, const void *data, size_t bytes)
{
	struct error reason = ERROR_NONE;
	const struct world_slot *set;

	if (world_try_exchange(world, operation, root, data, bytes, &set, &reason) == STATUS_OK)
		return set;
	fprintf(stderr, "gpuproof: rank %d of %d ended: %s\n", world->rank, world->size,
		reason.message);
	child_exit(WORLD_ENDED_EXIT);
}

void world_barrier(struct world *world)
{
	if (world->size > 1)
		world_exchange_or_end(world, BARRIER, 0, NULL, 0);
}

void world_broadcast(struct world *world, int root, void *data, size_t bytes)
{
	for (size_t at = 0; at < bytes && world->size > 1; at += WORLD_MAX_BYTES) {
		size_t left = bytes - at, part = left < WORLD_MAX_BYTES ? left : WORLD_MAX_BYTES;
		const struct world_slot *set =
			world_exchange_or_end(world, BROADCAST, root,
					      world->rank == root ? (char *)data + at : NULL, part);

		if (world->rank != root)
			memcpy((char *)data + at, set[root].data, part);
	}
}

void world_gather(struct world *world, const void *mine, void *all, size_t bytes)
{
	const struct world_slot *set;

	if (world->size == 1) {
		memmove(all, mine, bytes);
		return;
	}
	set = world_exchange_or_end(world, GATHER, 0, mine, bytes);
	for (int i = 0; i < world->size; i++)
		memcpy((char *)all + (size_t)i * bytes, set[i].data, bytes);
}

/* Greatest value, or sum in rank order. */
static double world_reduce(struct world *world, enum operation operation, double mine)
{
	const struct world_slot *set;
	double value;

	if (world->size == 1)
		return mine;
	set = world_exchange_or_end(world, operation, 0, &mine, sizeof(mine));
	memcpy(&mine, set[0].data, sizeof(mine));
	for (int i = 1; i < world->size; i++) {
		memcpy(&value, set[i].data, sizeof(value));
		if (operation == SUM)
			mine += value;
		else
			mine = value > mine ? value : mine;
	}
	return mine;
}

double world_max(struct world *world, double mine)
{
	return world_reduce(world, MAXIMUM, mine);
}

double world_sum(struct world *world, double mine)
{
	return world_reduce(world, SUM, mine);
}

/*
 * Publishes a device failure of this rank, because other ranks may be waiting for it. After
 * STATUS_UNSUPPORTED or a wrong result they do not wait and arrive on their own.
 */
static bool world_publish_failure(struct world *world, const struct error *mine)
{
	struct error said = *mine;

	if (said.status == STATUS_OK || said.status == STATUS_UNSUPPORTED ||
	    said.status == STATUS_INTERRUPTED || said.status == STATUS_MISMATCH)
		return false;
	snprintf(said.message, sizeof(said.message), "rank %d: %.*s", world->rank,
		 (int)sizeof(said.message) - 16, mine->message);
	return world->ops->publish_failure(world, &said);
}

bool world_pending_failure(const struct world *world, struct error *said)
{
	return world->ops && world->ops->pending_failure(world, said);
}

void world_leave(struct world *world)
{
	if (world->ops)
		world->ops->leave(world);
}

/* Failures that some callers tolerate (not supported, out of memory) are least severe. */
static int world_status_severity(int32_t status)
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

static int32_t world_status_in(const struct world_slot *slot)
{
	int32_t status;

	memcpy(&status, slot->data, sizeof(status));
	return status;
}

/* The rank whose failure is reported: the first with the worst status; -1 if none failed. */
static int world_failing_rank(const struct world_slot *set, int size)
{
	int found = -1, worst = 0;

	for (int i = 0; i < size; i++)
		if (world_status_severity(world_status_in(&set[i])) > worst) {
			worst = world_status_severity(world_status_in(&set[i]));
			found = i;
		}
	return found;
}

/* The rank's own failure, if any, explains more. */
static enum status world_fail_ended(struct error *err, const struct error *ended)
{
	if (!err || err->status == STATUS_OK)
		error_copy(err, ended);
	return err ? err->status : ended->status;
}

enum status world_agree(struct world *world, enum status mine, struct error *err)
{
	/* An earlier agreement may have located the error on another rank. */
	struct error said = { .status = mine,
			      .rank = err && err->rank ? err->rank : world->rank + 1 };
	int32_t status = mine;
	const struct world_slot *set;
	struct error ended = ERROR_NONE;
	bool published;
	int failing;

	if (world->size == 1)
		return mine;
	snprintf(said.message, sizeof(said.message), "%s",
		 err && err->status ? err->message : "failed");
	published = world_publish_failure(world, &said);
	if (world_try_exchange(world, AGREE, 0, &status, sizeof(status), &set, &ended) != STATUS_OK)
		return world_fail_ended(err, &ended);
	if (published)
		world->ops->clear_failure(world); /* all ranks have arrived */
	failing = world_failing_rank(set, world->size);
	if (failing < 0)
		return STATUS_OK;
	if (world_try_exchange(world, AGREE_MESSAGE, 0, &said, sizeof(said), &set, &ended) !=
	    STATUS_OK)
		return world_fail_ended(err, &ended);
	memcpy(&said, set[failing].data, sizeof(said));
	if (mine != said.status) {
		/* A rank that ignored its own failure would get out of step. */
		if (err)
			error_clear(err);
		error_set(err, said.status, "rank %d: %s", failing, said.message);
	}
	if (err && !err->rank)
		err->rank = said.rank;
	return said.status;
}

/*
 * A world in shared memory. Each rank writes its slot, all meet at a barrier, then all read. Two
 * sets of slots alternate, so one barrier is enough: a rank overwrites a slot two exchanges later,
 * when the exchange between has shown that all ranks have read it.
 */
/* About 50 us of spinning before a rank sleeps: ranks that sample in step meet within that time. */
#define SPINS 2000

struct world_shared {
	_Alignas(64) _Atomic uint32_t arrived;
	_Alignas(64) _Atomic uint32_t
		generation; /* completed exchanges; the futex on which waiting ranks sleep */
	_Atomic uint32_t sleepers;
	struct world_notice notice;
	int size;
	bool spin; /* every rank has its own core */
	size_t mapped_bytes;
	struct world_slot slots[]; /* set 0 of every rank, then set 1 */
};

static void world_shm_barrier_futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	/*
	 * Not FUTEX_PRIVATE, because ranks are processes. After an error (EAGAIN, EINTR) the caller
	 * checks again.
	 */
	syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void world_shm_wait_for_others(struct world_shared *shared, uint32_t generation)
{
	for (int i = 0; shared->spin && i < SPINS; i++) {
		if (atomic_load_explicit(&shared->generation, memory_order_acquire) != generation)
			return;
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
	atomic_fetch_add(&shared->sleepers, 1);
	while (atomic_load(&shared->generation) == generation)
		world_shm_barrier_futex(&shared->generation, FUTEX_WAIT, generation);
	atomic_fetch_sub(&shared->sleepers, 1);
}

static enum status world_shm_exchange(struct world *world, const struct world_call *call,
				      const void *data, const struct world_slot **all,
				      struct error *err)
{
	struct world_shared *shared = world->state;
	/* Constant until this rank arrives, hence equal on all ranks. */
	uint32_t generation = atomic_load_explicit(&shared->generation, memory_order_acquire);
	struct world_slot *set = shared->slots + (generation & 1) * (size_t)world->size;
	struct world_slot *mine = &set[world->rank];

	(void)err;
	mine->call = *call;
	if (data)
		memcpy(mine->data, data, call->bytes);
	*all = set;
	if (atomic_fetch_add(&shared->arrived, 1) + 1 < (uint32_t)shared->size) {
		world_shm_wait_for_others(shared, generation);
		return STATUS_OK;
	}
	atomic_store(&shared->arrived, 0);
	atomic_fetch_add(&shared->generation, 1);
	if (atomic_load(&shared->sleepers))
		world_shm_barrier_futex(&shared->generation, FUTEX_WAKE, INT_MAX);
	return STATUS_OK;
}

static bool world_shm_publish_failure(struct world *world, const struct error *said)
{
	return world_notice_set(&((struct world_shared *)world->state)->notice, said);
}

static void world_shm_clear_failure(struct world *world)
{
	atomic_store(&((struct world_shared *)world->state)->notice.pending, 0);
}

static bool world_shm_pending_failure(const struct world *world, struct error *said)
{
	return world_notice_read(&((const struct world_shared *)world->state)->notice, said);
}

static void world_shm_leave(struct world *world)
{
	(void)world; /* the conductor sees the exit status */
}

static void world_shm_release(struct world *world)
{
	struct world_shared *shared = world->state;

	munmap(shared, shared->mapped_bytes);
}

static const struct world_ops shm_ops = {
	.exchange = world_shm_exchange,
	.publish_failure = world_shm_publish_failure,
	.clear_failure = world_shm_clear_failure,
	.pending_failure = world_shm_pending_failure,
	.leave = world_shm_leave,
	.release = world_shm_release,
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
	if (world_new_id(&world->id, err) != STATUS_OK)
		return err->status;
	bytes = sizeof(*shared) + 2 * (size_t)size * sizeof(struct world_slot);
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return error_errno(err, "shared memory for %d ranks", size);
	shared->size = size;
	shared->spin = sysconf(_SC_NPROCESSORS_ONLN) >= size;
	shared->mapped_bytes = bytes;
	world->state = shared;
	world->ops = &shm_ops;
	return STATUS_OK;
}
