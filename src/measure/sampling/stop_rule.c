#include "measure/sampling/stop_rule.h"

#include <math.h>

#include "base/stats.h"
#include "result/statistics.h"

/* Time limit for samples beyond the configured minimum, in multiples of max_seconds. */
#define WORKLOAD_PATIENCE 4
/* A larger autocorrelation must be estimated from at least this many samples, to 0.11. */
#define CORRELATION_SUSPECT 0.1
#define CORRELATION_SAMPLES 80

/* Two-sided 1 % quantile of the normal distribution. */
#define SIGNIFICANT 2.576

/* Residuals of x after isotonic regression in the direction of `sign` (pool adjacent violators). */
static void stop_rule_isotonic_residuals(const double *x, size_t n, double sign, double *residuals)
{
	double level[SETTLING_BLOCKS];
	size_t weight[SETTLING_BLOCKS], pools = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		level[pools] = sign * x[i];
		weight[pools++] = 1;
		while (pools > 1 && level[pools - 2] >= level[pools - 1]) {
			size_t both = weight[pools - 2] + weight[pools - 1];

			level[pools - 2] = (level[pools - 2] * (double)weight[pools - 2] +
					    level[pools - 1] * (double)weight[pools - 1]) /
					   (double)both;
			weight[pools - 2] = both;
			pools--;
		}
	}
	for (size_t p = 0; p < pools; p++)
		for (size_t k = 0; k < weight[p]; k++, at++)
			residuals[at] = x[at] - sign * level[p];
}

bool stop_rule_drifts(const double *samples, size_t n, double target)
{
	double x[SETTLING_BLOCKS], residuals[SETTLING_BLOCKS];
	double score = 0, blocks, r, variance;
	size_t count;

	if (n < 6 || !(fabs(stats_median_drift_of(samples, n)) > fmax(SETTLING_CHANGE, target)))
		return false;
	/* Medians of at most SETTLING_BLOCKS blocks of samples; returns their number. */
	count = n < SETTLING_BLOCKS ? n : SETTLING_BLOCKS;
	for (size_t i = 0; i < count; i++) {
		size_t begin = i * n / count, end = (i + 1) * n / count;

		x[i] = median_of(samples + begin, end - begin);
	}
	/* Mann's S: number of ascending pairs minus descending pairs. */
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			score += (x[j] > x[i]) - (x[j] < x[i]);
	stop_rule_isotonic_residuals(x, count, score < 0 ? -1 : 1, residuals);
	r = fmin(fmax(stats_median_autocorrelation(residuals, count), 0), 0.99);
	blocks = (double)count;
	variance = blocks * (blocks - 1) * (2 * blocks + 5) / 18 * (1 + r) / (1 - r);
	/* Continuity correction: S changes in steps of two. */
	return (fabs(score) - 1) > SIGNIFICANT * sqrt(variance);
}

static void stop_rule_restart(struct stop_rule *rule, double seconds)
{
	rule->half_width = NAN;
	rule->earlier_half_width = INFINITY;
	rule->next_look = rule->min_samples;
	rule->next_doubling = 2 * rule->min_samples;
	rule->began = seconds;
}

void stop_rule_begin(struct stop_rule *rule, const struct sampling *rules, size_t min_samples)
{
	*rule = (struct stop_rule){ .rules = rules, .min_samples = (size_t)rules->min_samples };
	if (min_samples > rule->min_samples)
		rule->min_samples = min_samples;
	stop_rule_restart(rule, 0);
}

/*
 * True if the width of the interval is reliable: it depends on an autocorrelation that takes many
 * samples to estimate.
 */
static bool stop_rule_width_is_known(const struct stop_rule *rule, const double *samples, size_t n)
{
	double middle = median_of(samples, n);

	if (n >= CORRELATION_SAMPLES ||
	    stats_median_correlation_bound(stats_median_autocorrelation(samples, n), n) <=
		    CORRELATION_SUSPECT)
		return true;
	for (size_t i = 0; i < n; i++)
		if (!(fabs(samples[i] - middle) <= rule->rules->target / 4 * middle))
			return false;
	return true;
}

/* True if the interval ends the series. */
static bool stop_rule_interval_ends(struct stop_rule *rule, const double *samples, size_t n,
				    enum stop_reason *reason)
{
	bool drifts, stable;

	rule->half_width = stats_median_half_width(samples, n, &drifts);
	*reason = STOP_CONVERGED;
	if (rule->half_width <= rule->rules->target && stop_rule_width_is_known(rule, samples, n))
		return true;
	*reason = STOP_STABLE;
	if (n < rule->next_doubling)
		return false;
	/* Twice as many independent samples narrow it to 0.71; above 0.95 they do not help. */
	stable = rule->half_width > 0.95 * rule->earlier_half_width;
	rule->earlier_half_width = rule->half_width;
	rule->next_doubling *= 2;
	return stable && !drifts;
}

struct stop_decision stop_rule_decide(struct stop_rule *rule, const double *samples, size_t n,
				      double seconds)
{
	const struct sampling *rules = rule->rules;
	struct stop_decision decision = { 0 };
	bool doubled = n >= rule->next_doubling,
	     may_settle = seconds < rules->max_seconds + rules->settle_seconds,
	     impatient = seconds - rule->began >= WORKLOAD_PATIENCE * rules->max_seconds;

	/*
	 * Samples required by the rules take as long as they need; further ones of the workload
	 * have a time limit.
	 */
	if (seconds < rules->least_seconds ||
	    n < (impatient ? (size_t)rules->min_samples : rule->min_samples))
		return decision;
	/*
	 * Sorting after every sample would cost more than many samples: repeats it after 5 % more.
	 */
	if (n >= rule->next_look) {
		rule->next_look = n + 1 + n / 20;
		decision.end = stop_rule_interval_ends(rule, samples, n, &decision.reason);
	}
	if (!decision.end) {
		decision.reason =
			n >= (size_t)rules->max_samples ? STOP_MAX_SAMPLES : STOP_MAX_TIME;
		decision.end = decision.reason == STOP_MAX_SAMPLES ||
			       seconds - rule->began >= rules->max_seconds;
	}
	if (!rules->may_drift && (decision.end || (doubled && may_settle)) &&
	    stop_rule_drifts(samples, n, rules->target)) {
		decision.unsettled = decision.end;
		if (may_settle) {
			decision = (struct stop_decision){ .drop = n / 2 };
			stop_rule_restart(rule, seconds);
		}
	}
	return decision;
}
