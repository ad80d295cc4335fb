#include "judge/estimate/observation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/estimate/kind.h"

/* Subjects by id, so that 2,000 cases in 10 results take no quadratic time. */
struct by_id {
	const char *id;
	size_t index;
};

static int compare(const void *a, const void *b)
{
	const struct by_id *p = a, *q = b;

	return strcmp(p->id, q->id);
}

static void add_case(struct subject *s, const struct case_result *c)
{
	s->cases = xrealloc(s->cases, s->count + 1, sizeof(*s->cases));
	s->cases[s->count++] = c;
}

static void add_subject(struct subjects *subjects, const struct result *result,
			const struct case_result *c)
{
	struct subject *s;

	ARRAY_GROW(subjects->items, subjects->count, subjects->capacity);
	s = &subjects->items[subjects->count++];
	*s = (struct subject){ .first = c, .device = result_device(result, c->device) };
	add_case(s, c);
}

/* The cases of a further launch. */
static void merge(struct subjects *subjects, const struct result *result)
{
	size_t known = subjects->count;
	struct by_id *index = xcalloc(known + 1, sizeof(*index));

	for (size_t i = 0; i < known; i++)
		index[i] = (struct by_id){ subjects->items[i].first->id, i };
	qsort(index, known, sizeof(*index), compare);
	for (size_t i = 0; i < result->case_count; i++) {
		const struct by_id wanted = { result->cases[i].id, 0 };
		const struct by_id *found = bsearch(&wanted, index, known, sizeof(*index), compare);

		if (found)
			add_case(&subjects->items[found->index], &result->cases[i]);
		else
			add_subject(subjects, result, &result->cases[i]);
	}
	free(index);
}

void subjects_collect(struct subjects *subjects, const struct result *results, size_t count)
{
	memset(subjects, 0, sizeof(*subjects));
	for (size_t r = 0; r < count; r++)
		merge(subjects, &results[r]);
}

void subjects_release(struct subjects *subjects)
{
	for (size_t i = 0; i < subjects->count; i++)
		free(subjects->items[i].cases);
	free(subjects->items);
	memset(subjects, 0, sizeof(*subjects));
}

const struct subject *subjects_find(const struct subjects *subjects, const char *id)
{
	for (size_t i = 0; i < subjects->count; i++)
		if (strcmp(subjects->items[i].first->id, id) == 0)
			return &subjects->items[i];
	return NULL;
}

struct gathering {
	double *values;
	size_t count, capacity;
	double half; /* sum of the longer sides of the samples' intervals */
	size_t halves;
	/* launches with a figure; those whose level drifted to the end */
	size_t launches, unsettled;
};

void observation_refuse(struct observation *o, enum verdict verdict, const char *reason)
{
	/*
	 * A wrong result outranks an error, that a case that was merely skipped, and that a
	 * doubtful one.
	 */
	static const int rank[VERDICT_COUNT] = { [VERDICT_INCONCLUSIVE] = 1,
						 [VERDICT_SKIP] = 2,
						 [VERDICT_ERROR] = 3,
						 [VERDICT_FAIL] = 4 };

	if (rank[verdict] <= rank[o->verdict])
		return;
	free(o->reason);
	o->reason = xstrdup(reason && *reason ? reason : "without a reason");
	o->verdict = verdict;
}

static void add_value(struct gathering *g, double value)
{
	ARRAY_GROW(g->values, g->count, g->capacity);
	g->values[g->count++] = value;
}

/* Zero is a value only where nothing was timed and less is better: an error, an idle share. */
static bool plausible(const struct metric_value *m, double value)
{
	if (!isfinite(value) || value < 0)
		return false;
	return value > 0 || (m->better != BETTER_HIGHER && !(m->series && *m->series));
}

static void gather_value(struct gathering *g, struct observation *o, const struct metric_value *m,
			 double value)
{
	char reason[96];

	if (plausible(m, value)) {
		add_value(g, value);
		return;
	}
	if (isnan(value) && m->launch_count)
		snprintf(reason, sizeof(reason), "not all of its %zu launches have it",
			 m->launch_count);
	else
		snprintf(reason, sizeof(reason), "its value is %g%s", value,
			 value < 0 ? ": limits are about what is never below zero" : "");
	observation_refuse(o, VERDICT_ERROR, reason);
}

static void gather_metric(struct gathering *g, struct observation *o, const struct metric_value *m,
			  const char *unit)
{
	bool interval = m->low > 0 && isfinite(m->high) && m->high > 0;

	if (strcmp(m->unit, unit) != 0) {
		char *reason = xasprintf("its unit is '%.30s', not %s", m->unit, unit);

		observation_refuse(o, VERDICT_ERROR, reason);
		free(reason);
		return;
	}
	for (size_t i = 0; i < m->launch_count; i++)
		gather_value(g, o, m, m->launches[i]);
	if (!m->launch_count)
		gather_value(g, o, m, m->value);
	if (interval && m->value > 0) {
		/* The longer side: a tail must not pass for half of what it is. */
		g->half += fmax(fabs(log(m->value / m->low)), fabs(log(m->high / m->value)));
		g->halves++;
	}
	o->samples = o->samples ? o->samples : m->n;
	o->no_interval = !interval && m->series && *m->series && m->n < 6;
	o->better = m->better;
	o->exact = metric_is_exact(m);
}

/* A suite notes why it has no figure. */
static void refuse_missing(struct observation *o, const struct case_result *c)
{
	bool noted = c->notes && *c->notes;
	char *reason = xasprintf("the result has no such metric%s%s", noted ? "; its notes: " : "",
				 noted ? c->notes : "");

	observation_refuse(o, VERDICT_ERROR, reason);
	free(reason);
}

static void gather_case(struct gathering *g, struct observation *o, const struct case_result *c,
			const char *metric, const char *unit)
{
	const struct metric_value *m;

	if (case_is_wrong(c) || c->status != CASE_OK) {
		observation_refuse(o,
				   case_is_wrong(c)            ? VERDICT_FAIL
				   : c->status == CASE_SKIPPED ? VERDICT_SKIP
							       : VERDICT_ERROR,
				   c->status == CASE_OK ? "its error is beyond the tolerance"
							: c->reason);
		return;
	}
	m = case_metric(c, metric);
	if (m) {
		gather_metric(g, o, m, unit);
		g->launches++;
		g->unsettled += case_is_unsettled(c, m);
	} else
		refuse_missing(o, c);
}

/*
 * A level that drifts may end on either side of a bound. Of several launches the settled ones
 * outvote the others.
 */
static void refuse_unsettled(const struct gathering *g, struct observation *o)
{
	if (2 * g->unsettled > g->launches)
		observation_refuse(o, VERDICT_INCONCLUSIVE,
				   "not settled: its level still changed when its time was over; "
				   "settle_time or preheat gives it more");
}

static bool has_zero(const struct observation *o)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->values[i] == 0)
			return true;
	return false;
}

struct observation observe(const struct subject *subject, const char *metric, const char *unit,
			   double launch_spread)
{
	struct observation o = { .verdict = VERDICT_PASS, .reason = xstrdup("") };
	const struct launch_spread assumed = launch_spread_assumed(launch_spread);
	struct gathering g = { 0 };

	o.estimate = (struct estimate){ .value = NAN, .half = NAN, .half_both = NAN };
	for (size_t i = 0; i < subject->count; i++)
		gather_case(&g, &o, subject->cases[i], metric, unit);
	refuse_unsettled(&g, &o);
	o.no_interval = o.no_interval && g.count == 1;
	o.values = g.values;
	o.count = g.count;
	o.sample_half = g.halves ? g.half / (double)g.halves : 0;
	observation_estimate(&o, &assumed);
	return o;
}

void observation_estimate(struct observation *o, const struct launch_spread *spread)
{
	if (o->verdict != VERDICT_PASS && o->verdict != VERDICT_INCONCLUSIVE)
		return;
	if (o->exact)
		o->estimate =
			(struct estimate){ .value = worst_value(o->values, o->count, o->better),
					   .launches = o->count };
	else if (has_zero(o))
		o->estimate = estimate_with_zeros(o->values, o->count);
	else
		o->estimate = estimate_launches(o->values, o->count, o->sample_half, spread);
}

void observation_release(struct observation *o)
{
	free(o->reason);
	free(o->values);
	o->reason = NULL;
	o->values = NULL;
}
