/*
 * Position of a value in the distribution of good cards (reference/population.h). Private to the
 * judge.
 *
 * A value is compared with the nearest kind of cards (population_kinds.h). Allowed is to be worse
 * than its centre by the limit's margin, or by as much as a further good card would be: `sigmas` of
 * Student's t for the known cards (the interval of a prediction: of 8 cards 4.8 standard deviations
 * where a normal's 3 are asked for), whichever is more.
 */
#ifndef GPUPROOF_JUDGE_POPULATION_STANDING_H
#define GPUPROOF_JUDGE_POPULATION_STANDING_H

#include <stdbool.h>

#include "judge/population/population_kinds.h"
#include "plan/limits/limit.h"
#include "reference/population.h"
#include "result/verdict.h"

#define FEWEST_TO_FAIL 8 /* cards; of fewer it is not known what good ones are like */

struct standing {
	struct population_sample sample; /* count 0: nothing is known, and nothing else is set */
	struct kinds kinds;
	size_t kind;    /* the nearest */
	double deficit; /* to the centre of that kind, logarithm */
	double half;    /* of the value's one-sided 95 % interval, logarithm */
	double allowed;
};

/* Fills all but `sample`, which is there. `value` is a logarithm. */
void standing_find(struct standing *s, double value, double half, const struct limit *limit);
/*
 * For the median of `devices` identical devices: deficit and half are those of the median, of the
 * same sample. The allowed deficit is smaller than for one device, but at least the margin.
 */
struct standing standing_of_node(const struct standing *one, size_t devices, double deficit,
				 double half, const struct limit *limit);
void standing_release(struct standing *s);

/* Above the nearest kind, and out of its reach, but not above all. */
bool standing_is_between(const struct standing *s);
/*
 * FAIL: worse than the lowest kind allows; WARN: the same by too few cards, or between two kinds.
 */
enum verdict standing_verdict(const struct standing *s);

/* "5.14 % worse than the median of 52 good cards, 4.388 TB/s" */
char *standing_words(const struct standing *s, const char *unit);
/*
 * "52 good cards of this model, measured 2026-11-20 to 2026-11-21, driver 580.159.04, 2 of them
 * added here; more"
 */
char *standing_origin(const struct standing *s, const char *more);

#endif
