/*
 * The memory of a training step, allocated by one of several policies and counted by purpose. A
 * heap without a device returns addresses without memory: it computes the need of a step without
 * running it.
 *
 * Memory is allocated and freed in the order of one stream: a freed piece may be allocated again
 * immediately, because the stream uses it later.
 */
#ifndef GPUPROOF_TRAINMEM_HEAP_H
#define GPUPROOF_TRAINMEM_HEAP_H

#include "suites/training/models/arena.h"
#include "suites/allocators/caching.h"
#include "suites/allocators/reservation.h"

/* POLICIES(X): X(enum, name in INI and reports, description) */
#define POLICIES(X)                                                                           \
	X(ARENA, arena, "one allocation, with offsets planned from the lifetimes of tensors") \
	X(MALLOC, malloc, "one device allocation per tensor and step")                        \
	X(ASYNC, async, "one stream-ordered allocation per tensor and step")                  \
	X(CACHING, caching, "freed blocks are kept and split, as in PyTorch")                 \
	X(BFC, bfc, "best fit with coalescing in one region, as in TensorFlow")               \
	X(BFC_GROWTH, bfc_growth, "best fit in regions that double in size, up to the limit")

enum policy {
#define X(symbol, name, help) POLICY_##symbol,
	POLICIES(X)
#undef X
		POLICY_COUNT
};
extern const char *const policy_names[]; /* NULL-terminated, in the enum's order */

enum phase { PHASE_SETUP, PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_COUNT };
extern const char *const phase_names[PHASE_COUNT];

/* Bytes by class at the moment of the largest total use. */
struct heap_peak {
	uint64_t total;
	uint64_t bytes[MEMORY_CLASS_COUNT];
};

struct heap_segment;

struct heap {
	struct device *device; /* NULL: addresses without memory */
	struct stream *stream;
	enum policy policy;
	uint64_t limit;                   /* on memory from the device; 0: all device memory */
	struct caching *caching;          /* policies of suites/allocators/rules.h */
	struct reservation *reservation;  /* POLICY_ARENA */
	struct heap_segment *segments;    /* of the other policies */
	uint64_t next_address;            /* without a device */
	uint64_t reserved, reserved_peak; /* allocated from the device */
	/* Counts requested bytes, without rounding. */
	uint64_t live[MEMORY_CLASS_COUNT], live_total;
	struct heap_peak peak, phase_peak[PHASE_COUNT];
	uint64_t class_peak[MEMORY_CLASS_COUNT];
	enum phase phase;
	uint64_t takes;        /* requests so far */
	uint64_t refused;      /* size of the last request that the device or the limit refused */
	uint64_t device_calls; /* requests that were passed to the device */
	bool timed;
	double seconds; /* host time in the policy since `timed` was set */
};

/*
 * `reserve`: for POLICY_ARENA the size of the single allocation; for POLICY_BFC the size of the
 * single region if there is no limit. `heap` must not move until it is closed.
 */
enum status heap_open(struct heap *heap, struct device *device, struct stream *stream,
		      enum policy policy, uint64_t limit, uint64_t reserve, struct error *err);
void heap_close(struct heap *heap);

/* `out`: the address of a pointer of any type. STATUS_NO_MEMORY names the request and the limit. */
enum status heap_take(struct heap *heap, enum memory_class tag, uint64_t bytes, void *out,
		      struct error *err);
/* NULL is allowed. */
void heap_give(struct heap *heap, enum memory_class tag, void *memory, uint64_t bytes);

/* Starts a phase: later allocations count for it. */
void heap_begin(struct heap *heap, enum phase phase);
/* Resets the peaks, so that the next step is measured separately. */
void heap_forget_peaks(struct heap *heap);
/* Returns cached memory to the device. */
void heap_trim(struct heap *heap);

/*
 * For arena and the caching policies: free bytes in the reserved memory, and their largest piece.
 */
void heap_free_bytes(const struct heap *heap, uint64_t *all, uint64_t *largest);

/* The heap as the source of an arena. */
struct arena_source heap_source(struct heap *heap);

/*
 * Fragmentation: free memory that cannot serve the next request. The checkerboard fills a heap with
 * equal pieces, frees every other one, and then requests more than one piece.
 */
struct fragments {
	uint64_t live_peak, reserved_peak; /* for training; 0: for a checkerboard */
	/* free in the reserved memory, and beyond it up to the limit */
	uint64_t free_bytes;
	uint64_t largest_free; /* largest request that was granted, or would be */
};

#define FRAGMENT_PIECE_BYTES ((uint64_t)32 << 20)

/*
 * 64 pieces under a limit of 72; blocks must keep their content (else STATUS_MISMATCH). `device`
 * NULL: only addresses.
 */
enum status trainmem_heap_fragment_checkerboard(struct device *device, enum policy policy,
						uint64_t piece_bytes, struct fragments *out,
						struct error *err);
/* Maximum bytes of trainmem_heap_fragment_checkerboard(). */
uint64_t trainmem_heap_fragment_bytes(uint64_t piece_bytes);

#endif
