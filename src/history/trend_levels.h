/*
 * Private to the trend: levels of few nights, on both sides of a seam and after a large change.
 * change_points.h needs five nights per level, these need one.
 */
#ifndef GPUPROOF_HISTORY_TREND_LEVELS_H
#define GPUPROOF_HISTORY_TREND_LEVELS_H

#include "history/trend.h"
#include "stats/level.h"

#define LEVEL_NIGHTS 30     /* maximum nights per side: a drifting level is compared at its end */
#define SEAM_ONE_NIGHT 0.05 /* a smaller change needs a second night after the seam */
#define SEAM_FALSE \
	0.01 /* probability of a false difference in any series at a seam, in either direction */
#define SUDDEN_FALSE 0.01 /* probability per night over all series together */
#define SUDDEN_NIGHTS 5 /* maximum nights of the shorter side; with more, change_points.h decides */

#define STATE_NEAR 0.25 /* in units of the shift: a night this near to a level is in its state */
#define STATE_VISITS 2  /* number of short visits to a state, for kinds of metrics without states */

/* Sets the members that follow from the levels, which are logarithms. */
void trend_set_levels(struct trend_change *c, enum better better, double before, double after);
/*
 * Sets the state of the changes by the decisions valid on `today`; uses only the names of the
 * series.
 */
void trend_find_states(struct trend *t, const struct history_series *s,
		       const struct history_notes *notes, int64_t today);

struct level_segment {
	size_t from, at, end; /* the level of the nights [at, end) follows that of [from, at) */
};

/*
 * True if the second level is a recurring state of the series of `n` nights: nights that alternate
 * between two levels are not a change. More nights than noise explains must be in the state, in
 * STATE_VISITS earlier visits shorter than CHANGE_MIN_SEGMENT (longer ones are changes), or, for
 * metrics with states, in another visit of any length. For these, a level at the distance of a
 * state is not new before both levels have lasted `lasting` nights (trend_prior_lasting()).
 */
bool trend_levels_is_state(const double *logs, size_t n, const struct level_segment *segment,
			   size_t lasting);

struct level_nights {
	const double *logs;
	double rho, typical; /* struct level_input */
	size_t lasting;      /* trend_prior_lasting() */
	size_t series;       /* number of tested series */
};

/* Shift of the nights [at, end) against [from, at). */
struct level_shift trend_levels_seam_shift(const struct level_nights *nights, size_t from,
					   size_t at, size_t end);
/*
 * True if the shift exceeds CHANGE_MAGNITUDE, significant among all series. `after`: nights since
 * the seam.
 */
bool trend_levels_seam_differs(const struct level_nights *nights, const struct level_shift *shift,
			       size_t after);

/*
 * Finds a change of at least TREND_SUDDEN within the nights [from, end), far beyond the variation
 * between nights and beyond every night before it; false: none. `at`: its first night.
 */
bool trend_levels_sudden(const struct level_nights *nights, size_t from, size_t end, size_t *at,
			 struct level_shift *shift);

#endif
