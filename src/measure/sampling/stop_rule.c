#include "measure/sampling/stop_rule.h"

#include <math.h>

#include "base/stats.h"
#include "measure/sampling/settling.h"
#include "result/statistics.h"

/* Time limit for samples beyond the configured minimum, in multiples of max_seconds. */
#define WORKLOAD_PATIENCE 4
/* A larger autocorrelation must be estimated from at least this many samples, to 0.11. */
#define CORRELATION_SUSPECT 0.1
#define CORRELATION_SAMPLES 80

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
 * Samples required by the rules take as long as they need; further ones of the workload have a time
 * limit.
 */
static bool stop_rule_enough_samples(const struct stop_rule *rule, size_t n, double seconds)
{
	if (seconds < rule->rules->least_seconds)
		return false;
	return n >= rule->min_samples ||
	       (n >= (size_t)rule->rules->min_samples &&
		seconds - rule->began >= WORKLOAD_PATIENCE * rule->rules->max_seconds);
}

/*
 * Doubling independent samples narrows the interval to 0.71. Above 0.95, more samples do not help.
 */
static bool no_longer_narrows(struct stop_rule *rule, size_t n)
{
	bool stable;

	if (n < rule->next_doubling)
		return false;
	stable = rule->half_width > 0.95 * rule->earlier_half_width;
	rule->earlier_half_width = rule->half_width;
	rule->next_doubling *= 2;
	return stable;
}

static bool all_within(const double *samples, size_t n, double distance)
{
	double middle = median_of(samples, n);

	for (size_t i = 0; i < n; i++)
		if (!(fabs(samples[i] - middle) <= distance * middle))
			return false;
	return true;
}

/*
 * True if the width of the interval is reliable: it depends on an autocorrelation that takes many
 * samples to estimate.
 */
static bool stop_rule_width_is_known(const struct stop_rule *rule, const double *samples, size_t n)
{
	return n >= CORRELATION_SAMPLES ||
	       correlation_bound(autocorrelation(samples, n), n) <= CORRELATION_SUSPECT ||
	       all_within(samples, n, rule->rules->target / 4);
}

/* True if the interval ends the series. */
static bool stop_rule_interval_ends(struct stop_rule *rule, const double *samples, size_t n,
				    enum stop_reason *reason)
{
	bool drifts;

	rule->half_width = half_width(samples, n, &drifts);
	*reason = STOP_CONVERGED;
	if (rule->half_width <= rule->rules->target && stop_rule_width_is_known(rule, samples, n))
		return true;
	*reason = STOP_STABLE;
	return no_longer_narrows(rule, n) && !drifts;
}

static bool may_settle(const struct stop_rule *rule, double seconds)
{
	return seconds < rule->rules->max_seconds + rule->rules->settle_seconds;
}

struct stop_decision stop_rule_decide(struct stop_rule *rule, const double *samples, size_t n,
				      double seconds)
{
	struct stop_decision decision = { 0 };
	bool doubled = n >= rule->next_doubling;

	if (!stop_rule_enough_samples(rule, n, seconds))
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
			n >= (size_t)rule->rules->max_samples ? STOP_MAX_SAMPLES : STOP_MAX_TIME;
		decision.end = decision.reason == STOP_MAX_SAMPLES ||
			       seconds - rule->began >= rule->rules->max_seconds;
	}
	if (!rule->rules->may_drift && (decision.end || (doubled && may_settle(rule, seconds))) &&
	    settling_drifts(samples, n, rule->rules->target)) {
		decision.unsettled = decision.end;
		if (may_settle(rule, seconds)) {
			decision = (struct stop_decision){ .drop = n / 2 };
			stop_rule_restart(rule, seconds);
		}
	}
	return decision;
}
