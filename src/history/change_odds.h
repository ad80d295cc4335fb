/*
 * Decides if correlation between nights explains a proposed change equally well.
 *
 * The noise of a series is taken as AR(1): each night's deviation is rho times that of the night
 * before, and a normal rest. change_points() proposes changes as if rho were 0; of a series that
 * wanders many of them are none. Here all changes of a series are asked jointly: for each rho on a
 * grid the marginal likelihood of the series with its steps, under flat priors of the level and of
 * log sigma and a moment prior of the steps' sizes, is
 *
 *	log m(rho) = log(1 - rho^2) / 2 - log|M| / 2 + k / 2 log ridge - (n - 1) / 2 log RSS
 *		     + sum of log moments
 *
 * of the prewhitened series (Prais & Winsten 1954), with M = X'X + ridge on the k steps and ridge =
 * (1 - rho^2) / CHANGE_SIZE^2. The moment prior (Johnson & Rossell 2010; a normal one times the
 * squared size) has no weight at steps of size 0: a step that noise makes is small, one that counts
 * is not. It finds as many steps of three deviations with a third fewer false ones.
 *
 * m is summed over rho by weights, never estimated: a step is a jump, correlation is not, and the
 * estimate of rho from a series of 60 nights scatters by 0.3. The weights come from alike series
 * (trend_prior.h). The change whose removal costs least is dropped until each costs more than the
 * limit.
 *
 * Nights that are wild (CHANGE_WILD robust deviations from the median of five nights around) are
 * drawn in first. Power and error rate: tests/bench/bench_history.c. A weekly rhythm and a random
 * walk are no AR(1).
 */
#ifndef GPUPROOF_HISTORY_CHANGE_ODDS_H
#define GPUPROOF_HISTORY_CHANGE_ODDS_H

#include <stddef.h>

#define CHANGE_RHOS 20  /* 0, 0.05, ... 0.95 */
#define CHANGE_SIZE 3.0 /* deviations of a night: prior of a step's size */
#define CHANGE_WILD 4.0 /* deviations from the median of five nights */
#define CHANGE_SURPRISE \
	1.0 /* what a change costs, in log odds, where rho is learnt and not changes */

/* How likely each rho is before the series is looked at. */
struct rho_weights {
	double weight[CHANGE_RHOS]; /* their sum is 1 */
};

double change_rho(size_t i); /* the i-th of the grid */
extern const struct rho_weights rho_weights_flat;

/*
 * Drops from `points` (ascending, as change_points() gives them for the same `values`) the changes
 * whose log odds are `limit` or less; returns how many are left, with their log odds in `odds`
 * (room for `count`). `n` is 2 or more.
 */
size_t change_odds_keep(const double *values, size_t n, const struct rho_weights *weights,
			double limit, size_t *points, size_t count, double *odds);

/*
 * Likelihood of rho given the series, up to a factor: m(rho) summed over the models from all
 * proposed changes to none, each change believed before by exp(-CHANGE_SURPRISE). The largest is 1.
 */
void change_odds_evidence(const double *values, size_t n, const size_t *points, size_t count,
			  struct rho_weights *evidence);

#endif
