/*
 * Analysis of the nights of one series: segments between confirmed changes, a fast warning, missed
 * nights. change_points.h proposes changes, change_odds.h decides, by what trend_prior.h learnt
 * from all series.
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

/* Fewer nights of an epoch cannot show a change. */
#define TREND_LEAST_NIGHTS (2 * CHANGE_MIN_SEGMENT)

#define BAND_SIGMAS 3   /* of the segment's robust standard deviation */
#define BAND_LEAST 0.01 /* narrower bands would warn of nothing */
#define BAND_NIGHTS 8   /* that a band needs */
/*
 * n nights know their deviation badly: the band is wider by this over n squared (calibrated: false
 * alarms stay below 2 %).
 */
#define BAND_FEW_NIGHTS 40
#define TURN_NIGHTS 10 /* of the series, within which an epoch that takes turns comes again */

enum change_state { TREND_NEW, TREND_ACKNOWLEDGED, TREND_RECOVERED };
const char *change_state_name(enum change_state state); /* "NEW", ... */

/* Index i is the i-th measured night of the epoch. */
struct trend_change {
	size_t at; /* index of the first night after it */
	int64_t day, night, night_before;
	double before, after; /* medians */
	double ratio; /* oriented so that above 1 is worse; for BETTER_NONE after / before */
	bool worse, improved; /* neither: the quantity has no direction */
	double probability;   /* by ranks, as if nights were independent */
	double odds;          /* log odds of this change to none (change_odds.h) */
	enum change_state state;
	const struct history_note *decision; /* of an acknowledged one; borrowed */
};

/* One epoch of one series. */
struct trend {
	int64_t epoch;
	const struct history_point **points; /* measured nights; borrowed */
	size_t count;
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
	/* the epoch of the last night, or one that takes turns with it (two jobs, one history) */
	bool current;
	/* nights between its first and last that measured nothing */
	size_t missed;
	size_t gaps; /* nights at its end in which the case was there and gave no figure */
};

/*
 * The epochs of a series in the order of their first nights; `trends` is malloc'ed. Returns how
 * many. `prior` NULL: the series is looked at alone, and nothing is known of its rho.
 */
size_t trend_of_series(const struct history_series *series, const struct history_notes *notes,
		       const struct trend_prior *prior, struct trend **trends);
void trends_release(struct trend *trends, size_t count);

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
size_t missed_nights(const int64_t *days, size_t count, int64_t *missed, size_t room);

#endif
