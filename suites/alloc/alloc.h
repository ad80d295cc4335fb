/*
 * Declarations shared by the parts of suite alloc. Each operation is a function that runs one case
 * with its axes (suites/alloc.c has the keys, suites/alloc/plan.c the axes of each operation).
 */
#ifndef GPUPROOF_SUITES_ALLOC_ALLOC_H
#define GPUPROOF_SUITES_ALLOC_ALLOC_H

#include "device/backend.h"
#include "measure/run.h"
#include "suites/allocators/reservation.h"
#include "suites/shared/checked_blocks.h"

enum alloc_operation {
	OPERATION_ALLOC,
	OPERATION_FREE,
	OPERATION_CONTEND,
	OPERATION_COST,
	OPERATION_GROW,
	OPERATION_FRAGMENT,
	OPERATION_FAIL,
	OPERATION_EXHAUST,
	OPERATION_CREATE,
	OPERATION_START
};
enum alloc_state { STATE_COLD, STATE_REUSED };
enum alloc_growth { GROWTH_ONCE, GROWTH_COPY, GROWTH_DOUBLE, GROWTH_MAP };
enum alloc_creation { CREATION_DEVICE, CREATION_COPY, CREATION_PINNED };
enum alloc_scenario { SCENARIO_CHECKERBOARD, SCENARIO_ALTERNATING };

/* Samples needed for a p99. */
#define ALLOC_TAIL_SAMPLES 100

/* plan.c: places one point of the sweep. */
enum status alloc_plan_expand(struct plan *plan, struct plan_case *point, struct error *err);

/* calls.c: single calls that allocate or free, also with most of the device memory in use. */
enum status alloc_calls(struct run *run, enum alloc_operation operation, int kind,
			struct error *err);
/* contend.c: several threads and streams at once. */
enum status alloc_contend(struct run *run, int kind, struct error *err);
#define CONTEND_HELD 8 /* blocks per thread held during verification */
/* cost.c: memory that a block takes from the device or the process. */
enum status alloc_cost(struct run *run, int kind, struct error *err);
size_t cost_blocks(int kind, uint64_t bytes); /* number of blocks allocated */
/* grow.c: a block that grows step by step. */
enum status alloc_grow(struct run *run, int kind, struct error *err);
/* fragment.c: requests that still fit into fragmented free memory. */
enum status alloc_fragment(struct run *run, int kind, struct error *err);
/*
 * failure.c: one allocation larger than all memory, and allocations until the memory is exhausted.
 */
enum status alloc_failure(struct run *run, int kind, struct error *err);
enum status alloc_failure_exhaust(struct run *run, int kind, struct error *err);
#define FAILURE_AFTERWARDS_BYTES \
	((size_t)1 << 20) /* size of the block that shows that a device works */
/* start.c: cost of a process before its first result. */
enum status alloc_start(struct run *run, struct error *err);

/*
 * Free bytes of the device after all work is done and caches are empty: the difference of two
 * readings was allocated. STATUS_UNSUPPORTED if the memory belongs to the operating system, because
 * other processes use it as well.
 */
enum status alloc_blocks_free_bytes(struct device *device, uint64_t *out, struct error *err);

/*
 * Maximum bytes for an allocator of a case: for best fit with coalescing and for an arena, a share
 * of the free memory (key `memory_fraction`); 0: no limit.
 */
uint64_t alloc_blocks_limit(const struct run *run, int kind);

/*
 * Source of the blocks of a case: an allocator of the backend, or a built-in one on top of device
 * memory (suites/allocators).
 */
/* Kinds are those of enum allocator, followed by those of enum caching_rules, and an arena. */
#define ORIGIN_CACHING ((int)ALLOCATOR_COUNT)
#define ORIGIN_ARENA (ORIGIN_CACHING + (int)CACHING_RULES_COUNT)
#define ORIGIN_BFC (ORIGIN_CACHING + (int)CACHING_BFC)

struct origin {
	struct device *device;
	int kind;
	bool on_device;                  /* alloc_blocks_origin_on_device(kind) */
	struct caching *caching;         /* NULL: not a caching allocator */
	struct reservation *reservation; /* NULL: not an arena */
};

/* Kind by its name in the INI: an allocator of the backend, caching rules, or "arena". */
int alloc_blocks_origin_from_name(const char *name);
const char *alloc_blocks_origin_name(int kind);
bool alloc_blocks_origin_on_device(int kind);
/* True for a built-in allocator. */
bool alloc_blocks_origin_is_own(int kind);
/* Bytes that a built-in allocator has taken from the device. */
uint64_t alloc_blocks_origin_reserved(const struct origin *origin);

/* `limit`: maximum bytes that a built-in allocator takes from the device; 0: none. */
void alloc_blocks_origin_open(struct origin *origin, struct device *device, int kind,
			      uint64_t limit);
/* Returns all memory of a built-in allocator. Does nothing for a zeroed origin. */
void alloc_blocks_origin_close(struct origin *origin);

/* `stream` is used by pools, which allocate in stream order. */
enum status alloc_blocks_origin_get(struct origin *origin, size_t bytes, struct stream *stream,
				    void **out, struct error *err);
/* Accepts NULL. */
enum status alloc_blocks_origin_give(struct origin *origin, void *memory, size_t bytes,
				     struct stream *stream, struct error *err);
/* Makes the allocator return its cache to the device. */
enum status alloc_blocks_origin_trim(struct origin *origin, struct error *err);

/*
 * Blocks of one size from one allocator: the current one, and those held so that they cannot serve
 * later requests.
 */
struct blocks {
	struct device *device;
	struct stream *stream;
	struct origin origin;
	size_t bytes;
	void *current; /* NULL: none */
	void **held;
	size_t held_count, held_most;
	uint64_t seed, token;     /* of the written patterns; number of the latest */
	struct exchange exchange; /* used by copies in flight, even after a failure */
};

/*
 * Maximum number of blocks of that size held at once: 1 to 256, 256 MiB in total if that allows it.
 */
size_t alloc_blocks_held_most(uint64_t bytes);

/* `limit` as in alloc_blocks_origin_open(). Close blocks even after a failure. */
enum status alloc_blocks_open(struct blocks *b, const struct run *run, int kind, size_t bytes,
			      uint64_t limit, struct error *err);
void alloc_blocks_close(struct blocks *b);

/* One allocator call each: allocates `current`, frees it. */
enum status alloc_blocks_get(struct blocks *b, struct error *err);
enum status alloc_blocks_give(struct blocks *b, struct error *err);
/* Waits for enqueued work. */
enum status alloc_blocks_settle(struct blocks *b, struct error *err);

/*
 * Writes a new pattern to both ends of `current` and reads it back: STATUS_MISMATCH if it changed.
 */
enum status alloc_blocks_use(struct blocks *b, struct error *err);

/*
 * Moves `current` to the held blocks. The caller ensures that there is room: held_count <
 * held_most.
 */
void alloc_blocks_hold(struct blocks *b);
/* Frees all held blocks and makes the allocator return its cache to the device. */
enum status alloc_blocks_release(struct blocks *b, struct error *err);

/*
 * Memory filler: memory that is allocated so that a case finds the device as full as requested. The
 * origin's allocator and the stream stay open until the filler is freed.
 */
struct memory_filler {
	struct origin origin;
	struct stream *stream; /* NULL: an allocator that needs none */
	struct {
		void *memory;
		size_t bytes;
	} * chunks;
	size_t count, capacity;
	uint64_t bytes; /* of all chunks */
};

/* Adds a chunk. */
enum status alloc_blocks_filler_take(struct memory_filler *filler, size_t bytes, struct error *err);
/*
 * Allocates device memory until at most `bytes` are free. `filler` owns it, even after a failure.
 */
enum status alloc_blocks_filler_leave(struct memory_filler *filler, struct device *device,
				      uint64_t bytes, struct error *err);
/* Waits for the stream and frees all chunks. Does nothing for a zeroed filler. */
void alloc_blocks_filler_free(struct memory_filler *filler);

#endif
