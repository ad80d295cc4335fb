/*
 * Bayesian test of proposed changes against autocorrelated noise.
 *
 * The noise of a series is modelled as AR(1): each night's deviation is rho times that of the night
 * before, plus a normal residual. change_points() proposes changes as if rho were 0; in a wandering
 * series many of them are false. Here all changes of a series are tested jointly. For each rho on a
 * grid, the marginal likelihood of the series with its steps, under flat priors for the level and
 * log sigma and a moment prior for the step sizes, is
 *
 *	log m(rho) = log(1 - rho^2) / 2 - log|M| / 2 + k / 2 log ridge - (n - 1) / 2 log RSS
 *		     + sum of log moments
 *
 * of the prewhitened series (Prais & Winsten 1954), with M = X'X + ridge on the k steps and ridge =
 * (1 - rho^2) / CHANGE_SIZE^2. The moment prior (Johnson & Rossell 2010: a normal prior times the
 * squared size) has no weight at size 0, because steps from noise are small and relevant ones are
 * not. It finds as many steps of three deviations with a third fewer false alarms.
 *
 * m is averaged over rho by weights; rho is never estimated, because its estimate from 60 nights
 * varies by 0.3. The weights come from similar series (trend_prior.h). Proposed dates are those of
 * independent nights; each change is first moved to the most likely night near its date. The change
 * whose removal costs least is dropped until each one costs more than the limit.
 *
 * Outliers (CHANGE_WILD robust deviations from the median of the five nights around them) are
 * winsorized first. tests/bench/bench_history.c measures power and error rate. AR(1) does not model
 * a weekly rhythm or a random walk.
 */
#ifndef GPUPROOF_HISTORY_CHANGE_ODDS_H
#define GPUPROOF_HISTORY_CHANGE_ODDS_H

#include <stddef.h>

#define CHANGE_RHOS 20      /* 0, 0.05, ... 0.95 */
#define CHANGE_SIZE 3.0     /* standard deviation of a step's prior, in deviations of a night */
#define CHANGE_WILD 4.0     /* outlier threshold: deviations from the median of five nights */
#define CHANGE_SURPRISE 3.0 /* prior cost of a change, in log odds, where rho is learnt */

/* Prior weights of rho, before the series is seen. */
struct rho_weights {
	double weight[CHANGE_RHOS]; /* their sum is 1 */
};

double change_odds_rho(size_t i); /* i-th value of the grid */
extern const struct rho_weights rho_weights_flat;

/*
 * Drops from `points` (ascending, from change_points() for the same `values`) the changes whose log
 * odds are `limit` or less. Returns the number left, with their log odds in `odds` (room for
 * `count`). `n` is at least 2.
 */
size_t change_odds_keep(const double *values, size_t n, const struct rho_weights *weights,
			double limit, size_t *points, size_t count, double *odds);

/*
 * Likelihood of rho given the series, up to a factor: m(rho) summed over the models from all
 * proposed changes to none, each change with the prior probability exp(-CHANGE_SURPRISE). Scaled to
 * a maximum of 1.
 */
void change_odds_evidence(const double *values, size_t n, const size_t *points, size_t count,
			  struct rho_weights *evidence);

#endif
