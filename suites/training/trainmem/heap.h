/*
 * The memory of a training step, handed out by one of several allocation policies and counted by
 * what it is for. A heap without a device hands out addresses of no memory: what a step would need
 * is found by going through it without carrying it out.
 *
 * Memory is handed out and taken back in the order of one stream: a piece that is given back may be
 * handed out again at once, because what the stream does with it comes later.
 */
#ifndef GPUPROOF_TRAINMEM_HEAP_H
#define GPUPROOF_TRAINMEM_HEAP_H

#include "suites/training/models/arena.h"
#include "suites/allocators/caching.h"
#include "suites/allocators/region.h"
#include "suites/allocators/reservation.h"

/* POLICIES(X): X(enum, name in INI and reports, description) */
#define POLICIES(X)                                                             \
	X(ARENA, arena, "one allocation, with offsets planned from lifetimes")  \
	X(MALLOC, malloc, "one device allocation per tensor and step")          \
	X(ASYNC, async, "one stream-ordered allocation per tensor and step")    \
	X(CACHING, caching, "freed blocks are kept and split, as in PyTorch")   \
	X(BFC, bfc, "best fit with coalescing in one region, as in TensorFlow") \
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

/* Bytes by class at the moment when most were in use together. */
struct heap_peak {
	uint64_t total;
	uint64_t bytes[MEMORY_CLASS_COUNT];
};

struct heap_segment;

struct heap {
	struct device *device; /* NULL: no memory, only addresses */
	struct stream *stream;
	enum policy policy;
	uint64_t limit;                   /* of what is taken from the device; 0: what it has */
	struct caching *caching;          /* policies of suites/allocators/rules.h */
	struct reservation *reservation;  /* POLICY_ARENA */
	struct heap_segment *segments;    /* of the others */
	uint64_t next_address;            /* without a device */
	uint64_t reserved, reserved_peak; /* taken from the device */
	uint64_t pieces;                  /* number of these allocations */
	/* Counted by what was asked for, not by what rounding made of it. */
	uint64_t live[MEMORY_CLASS_COUNT], live_total;
	struct heap_peak peak, phase_peak[PHASE_COUNT];
	uint64_t class_peak[MEMORY_CLASS_COUNT];
	enum phase phase;
	uint64_t takes;        /* requests so far */
	uint64_t refused;      /* what the device, or the limit, has last refused */
	uint64_t device_calls; /* of them those that went to the device */
	bool timed;
	double seconds; /* of the host in the policy since `timed` was set */
};

/*
 * `reserve`: of POLICY_ARENA the one allocation; of POLICY_BFC the one region, where there is no
 * limit. `heap` stays where it is until it is closed.
 */
enum status heap_open(struct heap *heap, struct device *device, struct stream *stream,
		      enum policy policy, uint64_t limit, uint64_t reserve, struct error *err);
void heap_close(struct heap *heap);

/* `out`: the address of a pointer of any type. STATUS_NO_MEMORY says what did not fit in what. */
enum status heap_take(struct heap *heap, enum memory_class tag, uint64_t bytes, void *out,
		      struct error *err);
/* NULL is allowed. */
void heap_give(struct heap *heap, enum memory_class tag, void *memory, uint64_t bytes);

/* From here on, memory is in use for this. */
void heap_begin(struct heap *heap, enum phase phase);
/* Forgets the peaks so far: the next step is looked at by itself. */
void heap_forget_peaks(struct heap *heap);
/* Gives what is cached back to the device. */
void heap_trim(struct heap *heap);

/* For arena and the caching policies: free bytes in what is reserved, and their largest piece. */
void heap_free_bytes(const struct heap *heap, uint64_t *all, uint64_t *largest);

/* For arena_source: the heap as the source of an arena. */
struct arena_source heap_source(struct heap *heap);

#endif
