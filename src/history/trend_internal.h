/*
 * Parts of the trend, private to it. trend_epochs.c: the nights of a series by epoch, and epochs
 * that follow each other as one chain. trend_levels.c: levels of few nights, on both sides of a
 * seam and after a large change; change_points.h needs five nights of each level, these need one.
 */
#ifndef GPUPROOF_HISTORY_TREND_INTERNAL_H
#define GPUPROOF_HISTORY_TREND_INTERNAL_H

#include "history/trend.h"
#include "stats/level.h"

/* One epoch of one series. */
struct trend_epoch {
	int64_t epoch;
	uint64_t config;
	const struct history_point **points; /* measured nights, the oldest first; borrowed */
	size_t count;
	size_t first, last; /* indices of its first and last night in the series */
	size_t gaps;        /* nights at its end that measured nothing */
	size_t before;      /* the epoch that it follows; NO_EPOCH: none */
	bool followed;
};
#define NO_EPOCH SIZE_MAX

/* In the order of their first nights; malloc'ed. Returns how many. */
size_t trend_epochs(const struct history_series *series, struct trend_epoch **epochs);
void trend_epochs_release(struct trend_epoch *epochs, size_t count);

/*
 * Finds which epoch each one follows: the last one with its config that has ended; else the last
 * one that has ended, if no other took turns with it. What came again after an epoch began is a job
 * of its own, or a change that was undone.
 */
void trend_epochs_link(struct trend_epoch *epochs, size_t count);

/* Its logarithms; malloc'ed. */
double *trend_epoch_logs(const struct trend_epoch *epoch);

#define LEVEL_NIGHTS 30 /* of a side, at most: a level that wanders is compared where it was last */
#define LEVEL_STATES \
	2 /* ratio: smaller differences are states of figures that have some (kind.h) */
#define SEAM_ONE_NIGHT 0.05 /* a smaller change waits for a second night after the seam */
#define SEAM_FALSE 0.01     /* chance that any series of a seam differs by chance, on either side */
#define SUDDEN_FALSE 0.01   /* chance in a night of all series together */
#define SUDDEN_NIGHTS 5     /* of the shorter side, at most: more are for change_points.h */

#define STATE_LEAST 0.10 /* states are that far apart, or more, and less than LEVEL_STATES */
#define STATE_NEAR 0.25  /* of a shift: so near to a level is a night in its state */
#define STATE_VISITS 2   /* short ones, of figures of a kind without states */
#define STATE_NIGHTS 10  /* of either level, before a figure of a kind with states has a new one */

/* Sets what follows from the levels, which are logarithms. */
void trend_set_levels(struct trend_change *c, enum better better, double before, double after);
/* States of the changes, with decisions that hold `today`; of the series its names count. */
void trend_find_states(struct trend *t, const struct history_series *s,
		       const struct history_notes *notes, int64_t today);

struct level_segment {
	size_t from, at, end; /* the level of the nights [at, end) follows that of [from, at) */
};

/*
 * True if the second level is a state that the series of `n` nights takes again and again: nights
 * that jump between two levels are no change. More nights than noise explains are in the state, in
 * STATE_VISITS earlier visits that are shorter than CHANGE_MIN_SEGMENT (longer ones are changes),
 * or, where figures have `states`, in another visit of any length. These have no new level as far
 * away as states are before STATE_NIGHTS.
 */
bool trend_is_state(const double *logs, size_t n, const struct level_segment *segment, bool states);

struct level_nights {
	const double *logs;
	double rho, typical; /* struct level_input */
	bool states;         /* struct repeat */
	size_t series;       /* that are looked at */
};

/* The nights [at, end) against [from, at). */
struct level_shift trend_seam_shift(const struct level_nights *nights, size_t from, size_t at,
				    size_t end);
/* CHANGE_MAGNITUDE is exceeded, for certain among all series. `after`: nights of the seam. */
bool trend_seam_differs(const struct level_nights *nights, const struct level_shift *shift,
			size_t after);

/*
 * A change of TREND_SUDDEN and more within the nights [from, end), far beyond what nights differ
 * by, and beyond every night before it; false: there is none. `at`: its first night.
 */
bool trend_sudden(const struct level_nights *nights, size_t from, size_t end, size_t *at,
		  struct level_shift *shift);

#endif
