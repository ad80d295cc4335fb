#include "report/claims/claims_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "judge/estimate/estimate.h"
#include "judge/estimate/kind.h"
#include "report/claims/claims_find.h"

/* a, b and c of a measurement. */
#define TERMS 3

/*
 * Half width of the samples' interval on the log scale. Without one (too few independent samples):
 * from the samples' median to the farther of their extremes.
 */
static double sample_half(const struct claim_found *f)
{
	const struct metric_value *m = f->metric;
	const struct series *s = m->series && *m->series ? case_series(f->c, m->series) : NULL;

	if (m->low > 0 && isfinite(m->high) && m->high > 0)
		return fmax(fabs(log(m->value / m->low)), fabs(log(m->high / m->value)));
	if (s && s->statistics.n > 0 && s->statistics.min > 0)
		return fmax(log(s->statistics.median / s->statistics.min),
			    log(s->statistics.max / s->statistics.median));
	return 0;
}

static bool all_positive(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(values[i] > 0) || !isfinite(values[i]))
			return false;
	return true;
}

/* Half width of a two-sided 95 % interval of the normal distribution, in standard deviations. */
#define NORMAL_95 1.96

/*
 * Half width of the two-sided 95 % interval on the log scale: of samples, of what launches differ
 * by and of what visits do (judge/estimate/kind.h). What was counted rather than timed is exact,
 * and a zero has no logarithm.
 */
static double half_of(const struct claim_found *f)
{
	const struct metric_value *m = f->metric;
	bool several = m->launch_count > 1 && all_positive(m->launches, m->launch_count);
	struct launch_spread spread = launch_spread_assumed(LAUNCH_SPREAD);
	double visits = figure_visit_spread(
		figure_kind_of(m, f->c, result_device(f->result, f->c->device)));

	if (metric_is_exact(m) || !(m->value > 0))
		return 0;
	return root_sum_square(NORMAL_95 * visits,
			       estimate_launches(several ? m->launches : &m->value,
						 several ? m->launch_count : 1, sample_half(f),
						 &spread)
				       .half_both);
}

/*
 * The quotient of the terms; errors of independent measurements add up as squares. False: it has no
 * value.
 */
static bool divide(const struct claim_measure *measure, const struct claim_found found[TERMS],
		   struct claim_reading *out)
{
	double value = found[0].metric->value, square = 0, half;

	for (size_t i = 0; i < TERMS && found[i].c; i++) {
		half = half_of(&found[i]);
		square += half * half;
		value = i > 0 ? value / found[i].metric->value : value;
	}
	half = sqrt(square);
	out->value = measure->complement ? 1 - value : value;
	out->low = measure->complement ? 1 - value * exp(half) : value * exp(-half);
	out->high = measure->complement ? 1 - value * exp(-half) : value * exp(half);
	out->unit = found[1].c || measure->complement ? "1" : found[0].metric->unit;
	out->device = found[0].c->device ? found[0].c->device : "";
	return isfinite(out->value) && isfinite(out->low) && isfinite(out->high);
}

/* b and c on the device of `a`. */
static bool complete(const struct result *result, const struct claim *claim,
		     const struct claim_measure *m, struct claim_found found[TERMS])
{
	const struct claim_term *terms[TERMS] = { &m->a, &m->b, &m->c };

	for (size_t i = 1; i < TERMS && terms[i]->metric; i++) {
		found[i] = claim_find(result, terms[i], claim->on, false, found[0].c->device, NULL);
		if (!found[i].c)
			return false;
	}
	return true;
}

static bool read_one(const struct result *result, const struct claim *claim,
		     const struct claim_measure *m, struct claim_reading *out)
{
	struct claim_found found[TERMS] = { 0 };

	while ((found[0] = claim_find(result, &m->a, claim->on, m->even_failed, NULL, found[0].c))
		       .c)
		if (complete(result, claim, m, found) && divide(m, found, out))
			return true;
	return false;
}

static struct claim_found find_anywhere(const struct result *results, size_t count,
					const struct claim_term *term, enum claim_on on,
					size_t *run)
{
	struct claim_found found = { 0 };

	for (size_t r = 0; r < count && !found.c; r++) {
		found = claim_find(&results[r], term, on, false, NULL, NULL);
		*run = r;
	}
	return found;
}

static bool read_models(const struct result *results, size_t count, const struct claim *claim,
			const struct claim_measure *m, struct claim_reading *out)
{
	struct claim_found found[TERMS] = { 0 };

	found[0] = find_anywhere(results, count, &m->a, claim->on, &out->run);
	found[1] = find_anywhere(results, count, &m->b, claim->on, &out->other);
	return found[0].c && found[1].c && divide(m, found, out);
}

static const char *model_of(const struct result *result, const char *device)
{
	const struct device_info *info = result_device(result, device);

	return info ? info->name : "";
}

/* True if both results have the fact, with different values. */
static bool fact_differs(const struct result *a, const struct result *b, const char *name)
{
	const char *one = result_fact(a, name), *other = result_fact(b, name);

	return one && other && strcmp(one, other) != 0;
}

static bool is_pair(const struct result *results, const struct claim_reading *a,
		    const struct claim_reading *b, enum claim_across across)
{
	static const char *const versions[] = { "driver", "cuda_driver", "cuda_runtime",
						"cublas", "os",          "kernel" };
	const struct result *one = &results[a->run], *other = &results[b->run];

	if (across == CLAIM_MACHINES)
		return fact_differs(one, other, "hostname");
	if (strcmp(model_of(one, a->device), model_of(other, b->device)) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (fact_differs(one, other, versions[i]))
			return true;
	return false;
}

/* larger / smaller of two readings, the bounds of which add up as squares. */
static struct claim_reading ratio_of(const struct claim_reading *a, const struct claim_reading *b)
{
	const struct claim_reading *large = a->value >= b->value ? a : b;
	const struct claim_reading *small = large == a ? b : a;
	double half =
		root_sum_square(log(large->high / large->value), log(small->high / small->value));
	double value = large->value / small->value;

	return (struct claim_reading){ .value = value,
				       .low = value * exp(-half),
				       .high = value * exp(half),
				       .unit = "1",
				       .run = large->run,
				       .other = small->run,
				       .device = large->device };
}

/* The pair of qualifying results that differs most. */
static void read_pairs(const struct result *results, const struct claim_evidence *all,
		       enum claim_across across, struct claim_evidence *evidence)
{
	struct claim_reading most = { 0 };

	for (size_t i = 0; i < all->count; i++)
		for (size_t j = i + 1; j < all->count; j++) {
			struct claim_reading ratio = ratio_of(&all->readings[i], &all->readings[j]);

			if (is_pair(results, &all->readings[i], &all->readings[j], across) &&
			    isfinite(ratio.high) && ratio.value > most.value)
				most = ratio;
		}
	if (most.value > 0) {
		ARRAY_GROW(evidence->readings, evidence->count, evidence->capacity);
		evidence->readings[evidence->count++] = most;
	}
}

static void read_each(const struct result *results, size_t count, const struct claim *claim,
		      const struct claim_measure *measure, struct claim_evidence *evidence)
{
	for (size_t r = 0; r < count; r++) {
		struct claim_reading reading = { .run = r, .other = r };

		if (!read_one(&results[r], claim, measure, &reading))
			continue;
		ARRAY_GROW(evidence->readings, evidence->count, evidence->capacity);
		evidence->readings[evidence->count++] = reading;
	}
}

void claim_read(const struct result *results, size_t count, const struct claim *claim,
		const struct claim_measure *measure, struct claim_evidence *evidence)
{
	struct claim_evidence all = { 0 };
	struct claim_reading reading = { 0 };

	if (measure->across == CLAIM_ONE_RESULT) {
		read_each(results, count, claim, measure, evidence);
	} else if (measure->across == CLAIM_MODELS) {
		if (!read_models(results, count, claim, measure, &reading))
			return;
		ARRAY_GROW(evidence->readings, evidence->count, evidence->capacity);
		evidence->readings[evidence->count++] = reading;
	} else {
		read_each(results, count, claim, measure, &all);
		read_pairs(results, &all, measure->across, evidence);
		free(all.readings);
	}
}
