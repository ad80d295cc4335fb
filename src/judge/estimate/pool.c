#include "judge/estimate/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "stats/estimate.h"
#include "judge/estimate/kind.h"
#include "judge/estimate/observation.h"
#include "stats/student.h"

#define NOISY_SPREAD 0.03 /* standard deviation between launches that deserves a note */

static struct case_result *estimate_pool_find_case(const struct result *result, const char *id,
						   size_t hint)
{
	if (hint < result->case_count && strcmp(result->cases[hint].id, id) == 0)
		return &result->cases[hint];
	for (size_t i = 0; i < result->case_count; i++)
		if (strcmp(result->cases[i].id, id) == 0)
			return &result->cases[i];
	return NULL;
}

static void estimate_pool_push(struct metric_value *m, double value)
{
	m->launches = xrealloc(m->launches, m->launch_count + 1, sizeof(*m->launches));
	m->launches[m->launch_count++] = value;
}

/* `same`: the metric in one more launch; NULL: missing there. */
static void estimate_pool_value(struct metric_value *m, const struct metric_value *same)
{
	if (!m->launch_count)
		estimate_pool_push(m, m->value);
	estimate_pool_push(m, same && strcmp(same->unit, m->unit) == 0 ? same->value : (double)NAN);
}

static void estimate_pool_set_reason(struct case_result *c, const struct case_result *other,
				     size_t launch)
{
	free(c->reason);
	c->reason = xasprintf("launch %zu: %s%s", launch,
			      other->status == CASE_SKIPPED ? "skipped: " : "", other->reason);
	/* Measured before but skipped now: an unexpected change. */
	c->status = other->status == CASE_SKIPPED ? CASE_ERROR : other->status;
	c->end = other->end;
	case_result_copy_fault(c, other);
}

/* A correct launch must not hide a wrong or unverified one. */
static void estimate_pool_verification(struct verification *v, const struct case_result *other)
{
	const struct verification *o = &other->verification;

	if (!result_outcome_case_is_wrong(other) && result_outcome_case_is_verified(other) &&
	    !(o->error > v->error))
		return;
	free(v->method);
	*v = *o;
	v->method = o->method ? xstrdup(o->method) : NULL;
}

static void estimate_pool_case(struct case_result *c, const struct case_result *other,
			       size_t launch)
{
	static const int rank[] = {
		[CASE_OK] = 0, [CASE_SKIPPED] = 1, [CASE_ERROR] = 2, [CASE_FAILED] = 3
	};

	c->seconds += other->seconds;
	c->after = other->after;
	case_result_lose_as(c, other);
	estimate_pool_verification(&c->verification, other);
	if (rank[other->status] > rank[c->status])
		estimate_pool_set_reason(c, other, launch);
	if (c->status == CASE_OK)
		for (size_t i = 0; i < c->metric_count; i++)
			estimate_pool_value(&c->metrics[i], case_metric(other, c->metrics[i].name));
}

static bool estimate_pool_usable(const struct metric_value *m)
{
	for (size_t i = 0; i < m->launch_count; i++)
		if (!(m->launches[i] > 0) || !isfinite(m->launches[i]))
			return false;
	return m->launch_count > 1;
}

static void estimate_pool_note_spread(struct case_result *c, const struct metric_value *m)
{
	double spread = stats_estimate_log_deviation(m->launches, m->launch_count);
	char *note;

	if (!m->headline || spread <= NOISY_SPREAD ||
	    (c->notes && strstr(c->notes, " launches of ")))
		return;
	note = xasprintf("%zu launches of %s vary by %.1f %%.", m->launch_count, m->name,
			 100 * spread);
	case_result_note(c, note);
	free(note);
}

static void pool_take_estimate(struct metric_value *m, const struct estimate *e)
{
	if (m->interval == INTERVAL_WITHIN && m->low > 0 && isfinite(m->high)) {
		m->within_low = m->low;
		m->within_high = m->high;
	}
	m->interval = m->launch_count > 1 ? INTERVAL_LAUNCHES : INTERVAL_TYPICAL;
	m->value = e->value;
	m->low = e->low;
	m->high = e->high;
}

/*
 * Variation for displayed intervals, which cover all launches even if these have several modes. In
 * a check, such a wide interval would hide a slow launch.
 */
static struct repeat estimate_pool_shown_repeat(enum figure_kind kind)
{
	struct repeat repeat = figure_kind_repeat(kind);

	repeat.states = true;
	return repeat;
}

/* `c` is NULL for metrics of the host. */
static void estimate_pool_settle_metric(const struct result *result, struct case_result *c,
					struct metric_value *m)
{
	enum figure_kind kind =
		c ? figure_kind_of(m, c, result_device(result, c->device)) : FIGURE_CPU_WORK;
	struct repeat repeat = estimate_pool_shown_repeat(kind);
	struct estimate e;

	if (m->launch_count < 2) {
		double half = observation_metric_sample_half(m);

		/* The interval that repeated runs would have. */
		if (m->interval != INTERVAL_WITHIN || kind == FIGURE_EXACT || isnan(half))
			return;
		e = stats_estimate_launches(&m->value, 1, half, &repeat);
		pool_take_estimate(m, &e);
		return;
	}
	if (kind == FIGURE_EXACT || figure_kind_metric_is_exact(m)) {
		m->value = figure_kind_worst_value(m->launches, m->launch_count, m->better);
		/* Missing in a launch. */
		for (size_t i = 0; i < m->launch_count; i++)
			if (!isfinite(m->launches[i]))
				m->value = (double)NAN;
		return;
	}
	if (!estimate_pool_usable(m)) {
		m->value = stats_repeat_hodges_lehmann(m->launches, m->launch_count);
		m->low = m->high = (double)NAN;
		return;
	}
	e = stats_estimate_launches(m->launches, m->launch_count, 0, &repeat);
	pool_take_estimate(m, &e);
	if (c)
		estimate_pool_note_spread(c, m);
}

/*
 * Marks a series as unsettled if more than half of the launches were; `mine` launches are pooled
 * already.
 */
static void estimate_pool_vote_on_series(struct series *series, size_t mine,
					 const struct case_result *const *others, size_t count)
{
	size_t unsettled = series->unsettled ? mine : 0, launches = mine;

	for (size_t r = 0; r < count; r++) {
		const struct series *same = others[r] ? case_series(others[r], series->name) : NULL;

		launches += same != NULL;
		unsettled += same && same->unsettled;
	}
	series->unsettled = 2 * unsettled > launches;
}

static void estimate_pool_vote_on_settling(struct result *result, size_t before,
					   const struct result *more, size_t count)
{
	const struct case_result **others = xcalloc(count + 1, sizeof(*others));

	for (size_t i = 0; i < result->case_count; i++) {
		struct case_result *c = &result->cases[i];

		for (size_t r = 0; r < count; r++)
			others[r] = estimate_pool_find_case(&more[r], c->id, i);
		for (size_t s = 0; s < c->series_count; s++)
			estimate_pool_vote_on_series(&c->series[s], before, others, count);
		/* A headline in a single launch counts, if most launches settled. */
		for (size_t k = 0; k < c->metric_count; k++) {
			struct metric_value *m = &c->metrics[k];

			for (size_t r = 0; r < count; r++) {
				const struct metric_value *same =
					others[r] ? case_metric(others[r], m->name) : NULL;

				m->headline = m->headline || (same && same->headline);
			}
			m->headline = m->headline && !case_is_unsettled(c, m);
		}
	}
	free(others);
}

void estimate_pool_settle(struct result *result)
{
	for (size_t i = 0; i < result->yardstick_count; i++)
		estimate_pool_settle_metric(result, NULL, &result->yardstick[i]);
	for (size_t i = 0; i < result->case_count; i++)
		for (size_t m = 0; m < result->cases[i].metric_count; m++)
			estimate_pool_settle_metric(result, &result->cases[i],
						    &result->cases[i].metrics[m]);
}

void estimate_pool_launches(struct result *result, size_t before, const struct result *more,
			    size_t count)
{
	for (size_t r = 0; r < count; r++) {
		for (size_t i = 0; i < more[r].case_count; i++) {
			struct case_result *c =
				estimate_pool_find_case(result, more[r].cases[i].id, i);

			if (c)
				estimate_pool_case(c, &more[r].cases[i], before + r + 1);
		}
		for (size_t i = 0; i < result->yardstick_count; i++)
			estimate_pool_value(&result->yardstick[i],
					    result_yardstick(&more[r], result->yardstick[i].name));
		result->seconds += more[r].seconds;
		if (more[r].finished &&
		    (!result->finished || strcmp(more[r].finished, result->finished) > 0)) {
			free(result->finished);
			result->finished = xstrdup(more[r].finished);
		}
	}
	estimate_pool_vote_on_settling(result, before, more, count);
	estimate_pool_settle(result);
}

/* Half-width by Stein's rule, for `n` launches whose number was chosen from the first ones. */
static double estimate_pool_half_by_first(const double *values, size_t first, double n)
{
	return student_quantile(0.975, (double)first - 1) *
	       stats_estimate_log_deviation(values, first) * sqrt(HODGES_LEHMANN_VARIANCE / n);
}

void estimate_pool_widen_by_first(struct result *result, size_t first)
{
	for (size_t i = 0; i < result->case_count; i++)
		for (size_t k = 0; k < result->cases[i].metric_count; k++) {
			struct metric_value *m = &result->cases[i].metrics[k];
			double half;

			if (m->launch_count < first || m->interval != INTERVAL_LAUNCHES ||
			    !estimate_pool_usable(m))
				continue;
			half = estimate_pool_half_by_first(m->launches, first,
							   (double)m->launch_count);
			m->low = fmin(m->low, m->value * exp(-half));
			m->high = fmax(m->high, m->value * exp(half));
		}
}

/* Launches needed for one metric; 0: unknown, or the metric is exact. */
static size_t estimate_pool_metric_launches_needed(const struct result *launches, size_t count,
						   const char *id,
						   const struct metric_value *metric, double target)
{
	struct metric_value all = { .launch_count = 0 };
	double needed = 0;

	if (!metric->headline || figure_kind_metric_is_exact(metric))
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct case_result *c = estimate_pool_find_case(&launches[i], id, 0);
		const struct metric_value *same = c ? case_metric(c, metric->name) : NULL;

		estimate_pool_push(&all, same ? same->value : (double)NAN);
	}
	if (estimate_pool_usable(&all))
		needed =
			pow(estimate_pool_half_by_first(all.launches, count, 1) / log1p(target), 2);
	free(all.launches);
	return needed < 1e6 ? (size_t)ceil(needed) : (size_t)1e6;
}

size_t estimate_pool_launches_needed(const struct result *launches, size_t count, const char *id,
				     double target)
{
	const struct case_result *first = NULL;
	size_t needed = count;

	for (size_t i = 0; i < count; i++) {
		const struct case_result *c = estimate_pool_find_case(&launches[i], id, 0);

		if (!c || c->status != CASE_OK)
			return count;
		first = first ? first : c;
	}
	for (size_t m = 0; first && m < first->metric_count; m++) {
		size_t one = estimate_pool_metric_launches_needed(launches, count, id,
								  &first->metrics[m], target);

		needed = one > needed ? one : needed;
	}
	return needed;
}
