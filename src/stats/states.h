/*
 * Figures of two states, such as host calls: how long they stay in one, and their series without
 * the jumps between both.
 *
 * The states of a series are the two groups of nights with the least squares within (exact in one
 * dimension), if they are far apart by the limits given, and STATES_CLEAR standard deviations of
 * either. A visit is a stretch of nights in one state between nights of the other; the first and
 * the last stretch of a series have no known length and do not count. Lengths of visits are taken
 * as geometric: a night ends its visit with the probability h = (visits + 1) / (nights + 3), of all
 * series of a group together.
 */
#ifndef GPUPROOF_STATS_STATES_H
#define GPUPROOF_STATS_STATES_H

#include <stdbool.h>
#include <stddef.h>

#define STATES_CLEAR 4 /* halves of a normal distribution are 2.6 apart */

struct state_visits {
	double count, nights;
};

/* Adds the visits of a series whose states are more than `least` and less than `most` apart. */
void state_visits_add(struct state_visits *visits, const double *logs, size_t n, double least,
		      double most);

/* Nights that a visit exceeds with this probability at most. */
size_t state_visit_length(const struct state_visits *visits, double probability);

/*
 * Moves the nights of the rarer state to the other one, if the series has a visit of `longest`
 * nights or fewer: jumps between known states are no change. False: it is left as it is.
 */
bool states_merge(double *logs, size_t n, double least, double most, size_t longest);

#endif
