/*
 * Analysis of the nights of one series: changes, the levels on both sides of seams, a fast warning,
 * missed nights.
 *
 * An epoch are nights with the same hardware, driver and config; a seam is where the next one
 * begins. Within an epoch change_points.h proposes changes and change_odds.h decides, by what
 * trend_prior.h learnt from all series. Across a seam, and for large changes before five nights of
 * both levels are there, levels are compared by what nights of this kind differ by (trend_levels.h,
 * stats/level.h).
 *
 * A change is NEW while it is not acknowledged, RECOVERED when the values of the last segment are
 * back within CHANGE_MAGNITUDE of those before it, and so is the improvement that brought them
 * back. Improvements are changes, too; one that was lost again is a change for the worse.
 */
#ifndef GPUPROOF_HISTORY_TREND_H
#define GPUPROOF_HISTORY_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "history/change_points.h"
#include "history/history.h"
#include "history/trend_prior.h"
#include "history/triage.h"
#include "stats/level.h"

/* Fewer nights of an epoch cannot show a change: ranks of five and five are not enough. */
#define TREND_LEAST_NIGHTS (2 * CHANGE_MIN_SEGMENT + 1)

#define TREND_SUDDEN 0.10 /* a change of this size and more needs no five nights */
#define SEAM_RECENT 10    /* nights that a seam without a change is told */
#define BAND_SIGMAS 3     /* of the segment's robust standard deviation */
#define BAND_LEAST 0.01   /* narrower bands would warn of nothing */
#define BAND_NIGHTS 8     /* that a band needs */
/*
 * n nights know their deviation badly: the band is wider by this over n squared (calibrated: false
 * alarms stay below 2 %).
 */
#define BAND_FEW_NIGHTS 40
#define TURN_NIGHTS 10 /* of the series, within which an epoch that takes turns comes again */

enum change_state { TREND_NEW, TREND_ACKNOWLEDGED, TREND_RECOVERED };
const char *change_state_name(enum change_state state); /* "NEW", ... */

enum change_found {
	FOUND_BY_NIGHTS, /* five of each level at least, within an epoch */
	FOUND_AT_SEAM,   /* the levels on both sides differ */
	FOUND_SUDDENLY,  /* TREND_SUDDEN or more, after a night */
	FOUND_IN_POOL    /* common to the GPUs of a pool (trend_pool.h) */
};

/* Index i is the i-th measured night of the trend. */
struct trend_change {
	enum change_found found;
	size_t at; /* index of the first night after it */
	int64_t day, night, night_before;
	double before, after; /* medians */
	double ratio; /* oriented so that above 1 is worse; for BETTER_NONE after / before */
	bool worse, improved; /* neither: the quantity has no direction */
	/* by nights: of ranks, as if nights were independent; else of the levels (stats/level.h) */
	double probability;
	double odds; /* log odds of this change to none (change_odds.h); NaN: not by nights */
	enum change_state state;
	const struct history_note *decision; /* of an acknowledged one; borrowed */
};

/* The begin of an epoch. */
struct trend_seam {
	size_t at; /* index of its first measured night */
	int64_t day, night, night_before, epoch, epoch_before;
	struct level_shift shift; /* of the levels on both sides, as logarithms */
	double ratio;             /* oriented as that of a change */
	bool differs;             /* there is a change at it, then */
};

/* One series, over epochs that follow each other. */
struct trend {
	int64_t epoch;                       /* the last one */
	const struct history_point **points; /* measured nights; borrowed */
	size_t count, begin;                 /* begin: index of the last epoch's first */
	struct trend_seam *seams;
	size_t seam_count;
	struct trend_change *changes;
	size_t change_count;
	/* of the last segment, and its band; NaN when there are too few nights */
	double median, low, high;
	bool warning;  /* two of the last three nights beyond the band, on the bad side */
	size_t beyond; /* how many of the three */
	/* the last of these: its value by the median of the nights before, less 1; NaN: none */
	double beyond_by;
	/* half the width of their band by their median; NaN when there are too few nights */
	double band;
	/* it has the last night, or takes turns with the one that has (two jobs, one history) */
	bool current;
	/* nights between its first and last that measured nothing */
	size_t missed;
	size_t gaps; /* nights at its end in which the case was there and gave no figure */
};

/*
 * The trends of a series: one for each chain of epochs that follow each other; `trends` is
 * malloc'ed. Returns how many. `prior` NULL: the series is looked at alone, and nothing is known of
 * its rho.
 */
size_t trend_of_series(const struct history_series *series, const struct history_notes *notes,
		       const struct trend_prior *prior, struct trend **trends);
void trends_release(struct trend *trends, size_t count);

/* Nights of the last epoch: too few for a change within it to be found. */
bool trend_is_young(const struct trend *trend);

/* A seam in the last SEAM_RECENT nights. */
bool trend_seam_is_recent(const struct trend *trend, const struct trend_seam *seam);

/* The power of ten that the odds of a change exceed, at most 99: odds over 10^k to 1. */
int trend_odds_power(const struct trend_change *change);
/* By how much the level after it differs from that before, in per cent of that: 6 for 50 -> 47. */
double trend_percent(const struct trend_change *change);

/*
 * Each epoch's measured nights as logarithms, and the changes that change_points() proposes in
 * them.
 */
typedef void trend_proposal_fn(void *context, const double *logs, size_t n, const size_t *points,
			       size_t count);
void trend_propose(const struct history_series *series, trend_proposal_fn *visit, void *context);

/* Days between the first and last that should have had a night, by the usual pace, and had none. */
size_t trend_missed_nights(const int64_t *days, size_t count, int64_t *missed, size_t room);

#endif
