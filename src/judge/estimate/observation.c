#include "judge/estimate/observation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/estimate/kind.h"
#include "judge/judge.h"

/* Index of subjects by id: 2,000 cases in 10 results must not take quadratic time. */
struct observation_by_id {
	const char *id;
	size_t index;
};

static int observation_compare_ids(const void *a, const void *b)
{
	const struct observation_by_id *p = a, *q = b;

	return strcmp(p->id, q->id);
}

/* Adds the cases of one more launch. */
static void observation_subjects_merge_launch(struct subjects *subjects,
					      const struct result *result)
{
	size_t known = subjects->count;
	struct observation_by_id *index = xcalloc(known + 1, sizeof(*index));

	for (size_t i = 0; i < known; i++)
		index[i] = (struct observation_by_id){ subjects->items[i].first->id, i };
	qsort(index, known, sizeof(*index), observation_compare_ids);
	for (size_t i = 0; i < result->case_count; i++) {
		const struct observation_by_id wanted = { result->cases[i].id, 0 };
		const struct observation_by_id *found =
			bsearch(&wanted, index, known, sizeof(*index), observation_compare_ids);
		const struct case_result *c = &result->cases[i];
		struct subject *s;

		if (!found) {
			ARRAY_GROW(subjects->items, subjects->count, subjects->capacity);
			subjects->items[subjects->count++] =
				(struct subject){ .first = c,
						  .device = result_device(result, c->device) };
		}
		s = &subjects->items[found ? found->index : subjects->count - 1];
		s->cases = xrealloc(s->cases, s->count + 1, sizeof(*s->cases));
		s->cases[s->count++] = c;
	}
	free(index);
}

void observation_subjects_collect(struct subjects *subjects, const struct result *results,
				  size_t count)
{
	memset(subjects, 0, sizeof(*subjects));
	for (size_t r = 0; r < count; r++)
		observation_subjects_merge_launch(subjects, &results[r]);
}

void observation_subjects_release(struct subjects *subjects)
{
	for (size_t i = 0; i < subjects->count; i++)
		free(subjects->items[i].cases);
	free(subjects->items);
	memset(subjects, 0, sizeof(*subjects));
}

const struct subject *observation_subjects_find(const struct subjects *subjects, const char *id)
{
	for (size_t i = 0; i < subjects->count; i++)
		if (strcmp(subjects->items[i].first->id, id) == 0)
			return &subjects->items[i];
	return NULL;
}

struct observation_gathering {
	double *values;
	size_t count, capacity;
	double half; /* sum of the longer half-widths of the samples' intervals */
	size_t halves;
	/* launches with a value; launches still drifting at the end */
	size_t launches, unsettled;
};

void observation_refuse(struct observation *o, enum verdict verdict, const char *reason)
{
	/* Rank of verdicts: wrong result, error, skip, inconclusive. */
	static const int rank[VERDICT_COUNT] = { [VERDICT_INCONCLUSIVE] = 1,
						 [VERDICT_SKIP] = 2,
						 [VERDICT_ERROR] = 3,
						 [VERDICT_FAIL] = 4 };

	if (rank[verdict] <= rank[o->verdict])
		return;
	free(o->reason);
	o->reason = xstrdup(reason && *reason ? reason : "unknown reason");
	o->verdict = verdict;
}

/*
 * Zero is valid only for metrics that are not timed and where lower is better: an error, an idle
 * share.
 */
static bool observation_value_is_plausible(const struct metric_value *m, double value)
{
	if (!isfinite(value) || value < 0)
		return false;
	return value > 0 || (m->better != BETTER_HIGHER && !(m->series && *m->series));
}

static void observation_gather_value(struct observation_gathering *g, struct observation *o,
				     const struct metric_value *m, double value)
{
	char reason[96];

	if (observation_value_is_plausible(m, value)) {
		ARRAY_GROW(g->values, g->count, g->capacity);
		g->values[g->count++] = value;
		return;
	}
	if (isnan(value) && m->launch_count)
		snprintf(reason, sizeof(reason),
			 "the metric is missing in some of its %zu launches", m->launch_count);
	else
		snprintf(reason, sizeof(reason), "the value is %g%s", value,
			 value < 0 ? "; limits cover only metrics that cannot be negative" : "");
	observation_refuse(o, VERDICT_ERROR, reason);
}

double observation_metric_sample_half(const struct metric_value *m)
{
	double low = m->interval == INTERVAL_WITHIN ? m->low : m->within_low;
	double high = m->interval == INTERVAL_WITHIN ? m->high : m->within_high;

	if (!(low > 0 && isfinite(high) && high > 0 && m->value > 0) || m->launch_count > 1)
		return NAN;
	/* The longer half-width: a skewed distribution must not look half as wide. */
	return fmax(fabs(log(m->value / low)), fabs(log(high / m->value)));
}

static void observation_gather_metric(struct observation_gathering *g, struct observation *o,
				      const struct metric_value *m, const char *unit)
{
	double half = observation_metric_sample_half(m);

	if (strcmp(m->unit, unit) != 0) {
		char *reason = xasprintf("the unit is '%.30s', not %s", m->unit, unit);

		observation_refuse(o, VERDICT_ERROR, reason);
		free(reason);
		return;
	}
	for (size_t i = 0; i < m->launch_count; i++)
		observation_gather_value(g, o, m, m->launches[i]);
	if (!m->launch_count)
		observation_gather_value(g, o, m, m->value);
	if (half >= 0) {
		g->half += half;
		g->halves++;
	}
	o->samples = o->samples ? o->samples : m->n;
	o->no_interval = isnan(half) && m->series && *m->series && m->n < 6;
	o->better = m->better;
	o->exact = figure_kind_metric_is_exact(m);
}

static void observation_gather_case(struct observation_gathering *g, struct observation *o,
				    const struct subject *subject, size_t i, const char *metric,
				    const char *unit)
{
	const struct case_result *c = subject->cases[i];
	const struct metric_value *m;

	if (result_outcome_case_is_wrong(c) || c->status != CASE_OK) {
		observation_refuse(o,
				   result_outcome_case_is_wrong(c) ? VERDICT_FAIL
				   : c->status == CASE_SKIPPED     ? VERDICT_SKIP
								   : VERDICT_ERROR,
				   c->status == CASE_OK ? "the error exceeds the tolerance"
							: c->reason);
		return;
	}
	m = case_metric(c, metric);
	if (m) {
		enum figure_kind kind = figure_kind_of(m, c, subject->device);

		observation_gather_metric(g, o, m, unit);
		o->repeat = figure_kind_repeat(kind);
		o->of_host_copy = kind == FIGURE_LINK && c->device_count == 1;
		g->launches++;
		g->unsettled += case_is_unsettled(c, m);
	} else {
		/* The suite's note may say why the metric is missing. */
		bool noted = c->notes && *c->notes;
		char *reason = xasprintf("the case has no such metric%s%s",
					 noted ? "; its notes: " : "", noted ? c->notes : "");

		observation_refuse(o, VERDICT_ERROR, reason);
		free(reason);
	}
}

static struct estimate observation_estimate_of(const struct observation *o, double sample_half)
{
	if (o->verdict != VERDICT_PASS && o->verdict != VERDICT_INCONCLUSIVE)
		return (struct estimate){
			.value = NAN, .low = NAN, .high = NAN, .half = NAN, .half_both = NAN
		};
	if (o->exact)
		return (struct estimate){ .value = figure_kind_worst_value(o->values, o->count,
									   o->better),
					  .low = NAN,
					  .high = NAN,
					  .launches = o->count };
	for (size_t i = 0; i < o->count; i++)
		if (o->values[i] == 0)
			return stats_estimate_with_zeros(o->values, o->count);
	return stats_estimate_launches(o->values, o->count, sample_half, &o->repeat);
}

struct observation observation_make(const struct subject *subject, const char *metric,
				    const char *unit, double launch_spread)
{
	struct observation o = { .verdict = VERDICT_PASS, .reason = xstrdup("") };
	struct observation_gathering g = { 0 };

	for (size_t i = 0; i < subject->count; i++)
		observation_gather_case(&g, &o, subject, i, metric, unit);
	/* A drifting level may end on either side of a bound. If most settled, values count. */
	if (2 * g.unsettled > g.launches)
		observation_refuse(&o, VERDICT_INCONCLUSIVE,
				   "not settled: the values still changed at the end; increase "
				   "settle_time or preheat");
	o.no_interval = o.no_interval && g.count == 1;
	o.values = g.values;
	o.count = g.count;
	if (launch_spread > 0)
		o.repeat.spread = launch_spread;
	o.estimate = observation_estimate_of(&o, g.halves ? g.half / (double)g.halves : 0);
	return o;
}

double observation_fastest_launch(const struct observation *o)
{
	double fastest = (double)NAN;

	for (size_t i = 0; i < o->count && o->of_host_copy && o->count >= LAUNCHES_THAT_DECIDE; i++)
		fastest = o->better == BETTER_LOWER ? fmin(fastest, o->values[i])
						    : fmax(fastest, o->values[i]);
	return fastest;
}

void observation_release(struct observation *o)
{
	free(o->reason);
	free(o->values);
	o->reason = NULL;
	o->values = NULL;
}
