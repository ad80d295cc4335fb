/*
 * Time of a case by phase: consecutive parts, recorded by rank 0 (struct case_phase). Between
 * phases, a case that is far from its first sample checks for a stop request. A NULL `phases`
 * records nothing and never stops.
 */
#ifndef GPUPROOF_MEASURE_PHASES_H
#define GPUPROOF_MEASURE_PHASES_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"

struct activity;
struct case_result;
struct world;

#define PHASES_MOST 24

struct phases {
	struct {
		const char *name; /* must live as long as the process */
		double seconds;
	} parts[PHASES_MOST];
	size_t count, current;
	double began; /* start of the first phase, host clock */
	double since; /* start of the current phase, host clock */
	/* a suite has named phases; otherwise they are not recorded */
	bool named;
	struct activity *activity;         /* NULL: not reported */
	const volatile sig_atomic_t *stop; /* NULL: cannot be stopped */
};

void phases_begin(struct phases *phases, const char *name);

/* Starts a phase; times of equal names add up. Returns the name of the phase that ends. */
const char *phases_enter(struct phases *phases, const char *name);

/*
 * As phases_enter(), for a suite's own phase; STATUS_INTERRUPTED after a stop request. Collective:
 * either all ranks of `world` stop or none.
 */
enum status phases_next(struct phases *phases, struct world *world, const char *name,
			struct error *err);

/* Ends the last phase and stores all in result->phases, unless no suite has named any. */
void phases_record(struct phases *phases, struct case_result *result);

#endif
