/*
 * Declarations that the parts of suite alloc share. Each operation is a function that carries out
 * one case; its axes are in the case (suites/alloc.c has the keys, suites/alloc/plan.c which of
 * them an operation has).
 */
#ifndef GPUPROOF_SUITES_ALLOC_ALLOC_H
#define GPUPROOF_SUITES_ALLOC_ALLOC_H

#include "measure/run.h"
#include "suites/alloc/origin.h"

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

/* Samples that a p99 needs. */
#define ALLOC_TAIL_SAMPLES 100

/* plan.c: places one point of the sweep. */
enum status alloc_expand(struct plan *plan, struct plan_case *point, struct error *err);

/* calls.c: one call that allocates or frees, also with most of the device taken. */
enum status alloc_calls(struct run *run, enum alloc_operation operation, int kind,
			struct error *err);
/* contend.c: several threads and streams at once. */
enum status alloc_contend(struct run *run, int kind, struct error *err);
#define CONTEND_HELD 8 /* blocks of each thread at once, while verifying */
/* cost.c: what a block takes from the device or the process. */
enum status alloc_cost(struct run *run, int kind, struct error *err);
size_t cost_blocks(int kind, uint64_t bytes); /* how many are looked at */
/* grow.c: a block that grows step by step. */
enum status alloc_grow(struct run *run, int kind, struct error *err);
/* fragment.c: what still fits when free memory is in pieces. */
enum status alloc_fragment(struct run *run, int kind, struct error *err);
/* failure.c: one allocation larger than all memory, and allocating until there is none. */
enum status alloc_failure(struct run *run, int kind, struct error *err);
enum status alloc_exhaust(struct run *run, int kind, struct error *err);
#define FAILURE_AFTERWARDS_BYTES \
	((size_t)1 << 20) /* of the block that proves that a device works */
/* create.c: a tensor of constants, written on the device or copied there. */
enum status alloc_create(struct run *run, struct error *err);
/* start.c: what a process pays before its first result. */
enum status alloc_start(struct run *run, struct error *err);

/*
 * Bytes of the device that are free once all is done and nothing is cached: what two readings
 * differ by was taken. STATUS_UNSUPPORTED where the memory is the operating system's, which others
 * use as well.
 */
enum status alloc_free_bytes(struct device *device, uint64_t *out, struct error *err);

/*
 * Most bytes that an allocator of a case may take: of best fit with coalescing and of an
 * arena, a share of what is free (key `memory_fraction`); 0: no limit.
 */
uint64_t alloc_limit(const struct run *run, int kind);

#endif
