/*
 * Priors learnt from all series of a history before any of them is judged: their number, and the
 * correlation between consecutive nights.
 *
 *	struct trend_prior prior;
 *	trend_prior_learn(&prior, history, &filter, err);
 *	... trend_of_series(series, notes, &prior, &trends) for each series ...
 *	trend_prior_release(&prior);
 *
 * Series of the same section on the same machine share the distribution of rho (change_odds.h),
 * found by 30 steps of EM over their likelihoods from a flat start. One series of 60 nights does
 * not determine its rho; fifty do.
 *
 * They also share the distribution of the lengths of visits to a state (stats/states.h).
 *
 * Among 500 series tested every night, rare events occur by chance: the limit of the log odds grows
 * with the logarithm of their number.
 */
#ifndef GPUPROOF_HISTORY_TREND_PRIOR_H
#define GPUPROOF_HISTORY_TREND_PRIOR_H

#include "history/change_odds.h"
#include "history/history.h"
#include "stats/states.h"

#define TREND_ODDS 5.1 /* least log odds of a change, for up to TREND_ODDS_SERIES series */
#define TREND_ODDS_SERIES 25
#define TREND_ODDS_GROWTH \
	1.3 /* large odds occur by chance slightly more often than their reciprocal */

#define STATE_LEAST 0.10 /* states differ by at least this, and by less than LEVEL_STATES */
#define LEVEL_STATES \
	2 /* ratio: smaller differences are states of metrics that have states (kind.h) */
#define STATE_FALSE 0.02 /* probability that a visit to a state lasts as long as a new level */

struct rho_group {
	char *section, *machine;      /* section: "transfer:label" */
	struct rho_weights *evidence; /* one per series and epoch */
	size_t count, capacity;
	struct rho_weights weights;
	struct state_visits visits; /* of metrics with states */
};

struct trend_prior {
	struct rho_group *groups;
	size_t count, capacity;
	size_t series; /* with a night in the filter's range; determines the limit */
};

/*
 * Learns from all series of the history, with all_metrics, over the last nights as `filter` says.
 * Ignores its other members, so that a series is judged the same whether it is shown alone or with
 * others.
 */
enum status trend_prior_learn(struct trend_prior *prior, struct store *history,
			      const struct history_filter *filter, struct error *err);
/*
 * Learns from a series in memory; call trend_prior_finish() after the last. `prior`: a struct
 * trend_prior, for store_each_series().
 */
void trend_prior_add(void *prior, const struct history_series *series);
void trend_prior_finish(struct trend_prior *prior);
void trend_prior_release(struct trend_prior *prior);

/* Flat if nothing is known of the series' suite and machine, or `prior` is NULL. */
const struct rho_weights *trend_prior_weights(const struct trend_prior *prior,
					      const struct history_series *series);
/*
 * Nights that a new level of a metric with states must last before it is not a visit to a state; 0:
 * its kind has no states.
 */
size_t trend_prior_lasting(const struct trend_prior *prior, const struct history_series *series);
/* Number of tested series; 1 if `prior` is NULL or has none. */
size_t trend_prior_series(const struct trend_prior *prior);
/* Mean rho of the series' group. */
double trend_prior_rho(const struct trend_prior *prior, const struct history_series *series);
/*
 * TREND_ODDS + TREND_ODDS_GROWTH * log(series / TREND_ODDS_SERIES), at least TREND_ODDS. NULL:
 * limit for a single series.
 */
double trend_prior_limit(const struct trend_prior *prior);

#endif
