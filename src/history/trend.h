/*
 * Trend analysis of one series: change points, levels on both sides of seams, early warnings,
 * missed nights.
 *
 * An epoch is a sequence of nights with the same hardware, driver and config; a seam is the start
 * of the next one. Within an epoch, change_points.h proposes changes and change_odds.h decides on
 * them, with priors from trend_prior.h. Across a seam, and for large changes with fewer than five
 * nights of a level, levels are compared by the variation of such nights (trend_levels.h,
 * stats/level.h).
 *
 * A change is NEW until it is acknowledged. It is RECOVERED when the values of the last segment are
 * within CHANGE_MAGNITUDE of those before it; the improvement that restored them is RECOVERED as
 * well. Improvements are changes too; a lost improvement is a regression.
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

/* With fewer nights, an epoch cannot show a change: ranks of five and five are not significant. */
#define TREND_LEAST_NIGHTS (2 * CHANGE_MIN_SEGMENT + 1)

#define TREND_SUDDEN 0.10 /* changes of this size are reported before five nights */
#define SEAM_RECENT 10    /* nights for which a seam without a change is reported */
#define BAND_SIGMAS 3     /* half-width in robust standard deviations of the segment */
#define BAND_LEAST 0.01   /* minimum half-width, to avoid false warnings */
#define BAND_NIGHTS 8     /* minimum number of nights for a band */
/*
 * The deviation of n nights is uncertain: widens the band by this over n squared (calibrated for
 * false alarms below 2 %).
 */
#define BAND_FEW_NIGHTS 40
#define TURN_NIGHTS 10 /* nights of the series within which an alternating epoch returns */

enum change_state { TREND_NEW, TREND_ACKNOWLEDGED, TREND_RECOVERED };
const char *trend_change_state_name(enum change_state state); /* "NEW", ... */

enum change_found {
	FOUND_BY_NIGHTS, /* within an epoch, with at least five nights of each level */
	FOUND_AT_SEAM,   /* different levels on both sides of a seam */
	FOUND_SUDDENLY,  /* TREND_SUDDEN or more, after one night */
	FOUND_IN_POOL    /* common to the GPUs of a pool (trend_pool.h) */
};

/* Index i refers to the i-th measured night of the trend. */
struct trend_change {
	enum change_found found;
	size_t at; /* index of the first night after the change */
	int64_t day, night, night_before;
	int minute;           /* of the day; -1: the series has no other run on that day */
	double before, after; /* medians */
	double ratio; /* oriented so that above 1 is worse; after / before for BETTER_NONE */
	bool worse, improved; /* neither if the metric has no direction */
	/*
	 * p-value; FOUND_BY_NIGHTS: rank test, as if nights were independent; else of the levels
	 * (stats/level.h)
	 */
	double probability;
	double odds; /* log odds of the change (change_odds.h); NaN unless FOUND_BY_NIGHTS */
	enum change_state state;
	const struct history_note *decision; /* decision that acknowledges it; borrowed */
};

/* Start of an epoch. */
struct trend_seam {
	size_t at; /* index of its first measured night */
	int64_t day, night, night_before, epoch, epoch_before;
	int minute;               /* as that of a change */
	struct level_shift shift; /* shift between the levels on both sides, as logarithms */
	double ratio;             /* oriented as that of a change */
	bool differs;             /* the levels differ: there is a change at it */
};

/* Trend of one series, over a chain of epochs. */
struct trend {
	int64_t epoch;                       /* the last epoch of the chain */
	const struct history_point **points; /* measured nights; borrowed */
	size_t count, begin;                 /* begin: index of the first night of the last epoch */
	struct trend_seam *seams;
	size_t seam_count;
	struct trend_change *changes;
	size_t change_count;
	/* of the last segment, and its band; NaN if there are too few nights */
	double median, low, high;
	bool warning;  /* two of the last three nights are beyond the band on the bad side */
	size_t beyond; /* number of these three nights */
	/* the last of these: its value / median of the nights before - 1; NaN: none */
	double beyond_by;
	/* half-width of their band / their median; NaN if there are too few nights */
	double band;
	/* has the last night, or alternates with the epoch that has it (two jobs, one history) */
	bool current;
	/* nights between its first and last without a measurement */
	size_t missed;
	size_t gaps; /* nights at its end in which the case gave no value */
};

/*
 * Trends of a series: one for each chain of epochs. The caller frees `trends`; returns their
 * number. `prior` NULL: a single series without knowledge of rho.
 */
size_t trend_of_series(const struct history_series *series, const struct history_notes *notes,
		       const struct trend_prior *prior, struct trend **trends);
void trends_release(struct trend *trends, size_t count);

/* True if the last epoch has too few nights to find a change within it. */
bool trend_is_young(const struct trend *trend);

/* True if the seam is within the last SEAM_RECENT nights. */
bool trend_seam_is_recent(const struct trend *trend, const struct trend_seam *seam);

/* Exponent k, at most 99, for "odds over 10^k to 1". */
int trend_odds_power(const struct trend_change *change);
/* Change of the level relative to the level before, in percent: 6 for 50 -> 47. */
double trend_percent(const struct trend_change *change);

/* Receives each epoch's measured nights as logarithms, and the proposals of change_points(). */
typedef void trend_proposal_fn(void *context, const double *logs, size_t n, const size_t *points,
			       size_t count);
void trend_propose(const struct history_series *series, trend_proposal_fn *visit, void *context);

/* Finds days between the first and last night that should have had one, by the usual interval. */
size_t trend_missed_nights(const int64_t *days, size_t count, int64_t *missed, size_t room);

/*
 * Variation between nights: how much the values of one series differ from night to night without a
 * change.
 *
 *	struct night_spread spread;
 *	trend_spread(history, "transfer.bandwidth", "transfer/h2d/pinned/64MiB@cuda:0", NULL,
 *		       &spread, err);
 *	if (spread.nights >= 8)
 *		... spread.ratio is the standard deviation of one night's value, 0.01 is 1 % ...
 *
 * It includes the variation between sessions (clocks, placement, state of the host) and between
 * launches of one session. For the difference of two nights, multiply by sqrt(2).
 */
struct night_spread {
	double ratio;  /* standard deviation of log values; NaN if no machine has two nights */
	size_t nights; /* number of values; 0: no such series */
};

/*
 * Variation of the nights since the last change in the newest epoch. `machine` as in struct
 * history_series (UUID of a device, or host); NULL pools all machines with this case, each around
 * its own median. An unknown series is not an error.
 */
enum status trend_spread(struct store *history, const char *metric, const char *case_id,
			 const char *machine, struct night_spread *out, struct error *err);

#endif
