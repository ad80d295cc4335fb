/*
 * Time of a case by phase: parts that follow each other, recorded by rank 0 (struct case_phase).
 * Between them a case that is far from its first sample heeds a stop. A NULL `phases` records
 * nothing and never stops.
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
		const char *name; /* lasts as long as the process */
		double seconds;
	} parts[PHASES_MOST];
	size_t count, current;
	double began;                      /* when the first one began, on the host's clock */
	double since;                      /* when the current one began */
	bool named;                        /* by a suite: only then they are worth recording */
	struct activity *activity;         /* NULL: not reported */
	const volatile sig_atomic_t *stop; /* NULL: it cannot be stopped */
};

void phases_begin(struct phases *phases, const char *name);

/*
 * The part that begins now; time of parts of one name adds up. Returns the name of the one that
 * ends.
 */
const char *phases_enter(struct phases *phases, const char *name);

/*
 * The same for a suite's own part, and STATUS_INTERRUPTED where a stop has been asked for.
 * Collective: all ranks of `world` stop or none.
 */
enum status phases_next(struct phases *phases, struct world *world, const char *name,
			struct error *err);

/* Ends the last one; into result->phases unless no suite has named any. */
void phases_record(struct phases *phases, struct case_result *result);

#endif
