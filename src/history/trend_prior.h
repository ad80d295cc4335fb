/*
 * Properties that the series of a history share, learnt before any of them is judged: how many
 * there are, and how strongly nights resemble the ones before.
 *
 *	struct trend_prior prior;
 *	trend_prior_learn(&prior, history, &filter, err);
 *	... trend_of_series(series, notes, &prior, &trends) for each series ...
 *	trend_prior_release(&prior);
 *
 * Series of the same section on the same machine share how their rho is distributed
 * (change_odds.h): 30 steps of EM from a flat start over their likelihoods. One series of 60 nights
 * does not determine its rho; fifty do.
 *
 * Among 500 series tested every night some show rare events: the limit of the log odds grows with
 * the logarithm of their number.
 */
#ifndef GPUPROOF_HISTORY_TREND_PRIOR_H
#define GPUPROOF_HISTORY_TREND_PRIOR_H

#include "history/change_odds.h"
#include "history/history.h"

#define TREND_ODDS \
	5.1 /* log odds that a change must exceed where TREND_ODDS_SERIES or fewer are looked at */
#define TREND_ODDS_SERIES 25
#define TREND_ODDS_GROWTH 1.3 /* chance exceeds odds a little more often than by their reciprocal */

struct rho_group {
	char *section, *machine;      /* section: "transfer:label" */
	struct rho_weights *evidence; /* one per series and epoch */
	size_t count, capacity;
	struct rho_weights weights;
};

struct trend_prior {
	struct rho_group *groups;
	size_t count, capacity;
	size_t series; /* with a night in the filter's range; decides about the limit */
};

/*
 * From all series of the history, with all_metrics, and from the last nights, as `filter` says;
 * what else it selects does not count, so that a series is judged alike whether it is shown alone
 * or with others.
 */
enum status trend_prior_learn(struct trend_prior *prior, struct store *history,
			      const struct history_filter *filter, struct error *err);
/* The same from a series in memory; trend_prior_finish() after the last. */
void trend_prior_add(struct trend_prior *prior, const struct history_series *series);
void trend_prior_finish(struct trend_prior *prior);
void trend_prior_release(struct trend_prior *prior);

/* Flat where nothing is known of the series' suite and machine, or `prior` is NULL. */
const struct rho_weights *trend_prior_weights(const struct trend_prior *prior,
					      const struct history_series *series);
/* How many series are looked at; 1: NULL, or none. */
size_t trend_prior_series(const struct trend_prior *prior);
/* Their mean rho. */
double trend_prior_rho(const struct trend_prior *prior, const struct history_series *series);
/*
 * TREND_ODDS + TREND_ODDS_GROWTH * log(series / TREND_ODDS_SERIES), at least TREND_ODDS; NULL: of a
 * series that is looked at alone.
 */
double trend_prior_limit(const struct trend_prior *prior);

#endif
