/*
 * A world in shared memory. Each rank writes its slot, all meet at a barrier, then all read. Two
 * sets of slots alternate, so one barrier is enough: a rank overwrites a slot two exchanges later,
 * when the exchange between has shown that all ranks have read it.
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/processes/world_ops.h"

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
