#include "report/claims/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "stats/estimate.h"
#include "judge/estimate/kind.h"
#include "judge/estimate/observation.h"
#include "report/view/format.h"

/* Half width of a two-sided 95 % interval of the normal distribution, in standard deviations. */
#define NORMAL_95 1.96
/* Characters that are shown of why a case failed. */
#define LONGEST_REASON 160

/* A term in a result. */
struct claim_found {
	const struct result *result;
	const struct case_result *c; /* NULL: not found */
	const struct metric_value *metric;
};

static bool claims_is_named(const char *name, const char *word, size_t length)
{
	return strlen(word) == length && memcmp(name, word, length) == 0;
}

static bool claims_has_value(const struct result *result, const struct case_result *c,
			     const char *name, size_t name_length, const char *value, size_t length)
{
	const struct device_info *info = result_device(result, c->device);
	const char *has = NULL;

	if (claims_is_named(name, "model", name_length))
		return info && memmem(info->name, strlen(info->name), value, length);
	if (claims_is_named(name, "label", name_length))
		has = c->label ? c->label : "";
	else if (claims_is_named(name, "device", name_length))
		has = c->device;
	else if (claims_is_named(name, "backend", name_length) && info)
		has = info->backend;
	for (size_t i = 0; i < c->parameter_count; i++)
		if (claims_is_named(name, c->parameters[i].name, name_length))
			has = c->parameters[i].text;
	return has && strlen(has) == length && memcmp(has, value, length) == 0;
}

/*
 * True if the term matches the case, with any outcome and on any device. `where` is as
 * claims_read.c writes it: values have no commas.
 */
static bool claims_is_case(const struct result *result, const struct case_result *c,
			   const struct claim_term *term)
{
	bool same = claims_is_named(term->metric, c->suite, strcspn(term->metric, "."));

	for (const char *where = term->where; same && *where; where += strspn(where, ", ")) {
		size_t name = strcspn(where, ":"), value = strcspn(where + name + 1, ",");

		same = claims_has_value(result, c, where, name, where + name + 1, value);
		where += name + 1 + value;
	}
	return same;
}

/* True if a claim can be decided on this device of the result. */
static bool claims_is_on(const struct result *result, const char *device, enum claim_on on)
{
	const struct device_info *info = result_device(result, device);

	return on == CLAIM_ON_ANY ||
	       (info && !device_is_host(info) && (on == CLAIM_ON_GPU || info->nvlink_count > 0));
}

/* True if all devices of the case match the claim. */
static bool claims_case_is_on(const struct result *result, const struct case_result *c,
			      enum claim_on on)
{
	for (size_t i = 0; i < c->device_count; i++)
		if (!claims_is_on(result, c->devices[i], on))
			return false;
	return claims_is_on(result, c->device, on);
}

/*
 * The term in the result, on the device with this id (NULL: any) and of a case after `after` (NULL:
 * from the first). even_failed: failed cases count as well. An unsettled figure does not count.
 */
static struct claim_found claims_find_term(const struct result *result,
					   const struct claim_term *term, enum claim_on on,
					   bool even_failed, const char *device,
					   const struct case_result *after)
{
	for (size_t i = after ? (size_t)(after - result->cases) + 1 : 0; i < result->case_count;
	     i++) {
		const struct case_result *c = &result->cases[i];
		const struct metric_value *m = case_metric(c, term->metric);
		bool counts = c->status == CASE_OK || (even_failed && c->status == CASE_FAILED);

		if (m && counts && !case_is_unsettled(c, m) && claims_case_is_on(result, c, on) &&
		    (!device || (c->device && strcmp(c->device, device) == 0)) &&
		    claims_is_case(result, c, term))
			return (struct claim_found){ result, c, m };
	}
	return (struct claim_found){ 0 };
}

/*
 * Half width of the samples' interval on the log scale. Without one (too few independent samples):
 * from the samples' median to the farther of their extremes.
 */
static double claims_sample_half(const struct claim_found *f)
{
	const struct metric_value *m = f->metric;
	const struct series *s = m->series && *m->series ? case_series(f->c, m->series) : NULL;
	double half = observation_metric_sample_half(m);

	if (half >= 0)
		return half;
	if (s && s->statistics.n > 0 && s->statistics.min > 0)
		return fmax(log(s->statistics.median / s->statistics.min),
			    log(s->statistics.max / s->statistics.median));
	return 0;
}

/*
 * Half width of the two-sided 95 % interval on the log scale: variation of samples, launches and
 * sessions (judge/estimate/kind.h). A count is exact, and a zero has no logarithm.
 */
static double claims_half_of(const struct claim_found *f)
{
	const struct metric_value *m = f->metric;
	enum figure_kind kind = figure_kind_of(m, f->c, result_device(f->result, f->c->device));
	struct repeat repeat = figure_kind_repeat(kind);
	bool several = m->launch_count > 1;

	if (figure_kind_metric_is_exact(m) || !(m->value > 0))
		return 0;
	for (size_t i = 0; i < m->launch_count; i++)
		several = several && m->launches[i] > 0 && isfinite(m->launches[i]);
	return root_sum_square(NORMAL_95 * figure_kind_visit_spread(kind),
			       stats_estimate_launches(several ? m->launches : &m->value,
						       several ? m->launch_count : 1,
						       claims_sample_half(f), &repeat)
				       .half_both);
}

/* The quotient of the terms. Independent errors add in quadrature. False if it has no value. */
static bool claims_divide(const struct claim_measure *m,
			  const struct claim_found found[CLAIM_TERMS], struct claim_reading *out)
{
	double value = found[0].metric->value, square = 0, half;

	for (size_t i = 0; i < CLAIM_TERMS && found[i].c; i++) {
		half = claims_half_of(&found[i]);
		square += half * half;
		value = i > 0 ? value / found[i].metric->value : value;
	}
	half = sqrt(square);
	out->value = m->complement ? 1 - value : value;
	out->low = m->complement ? 1 - value * exp(half) : value * exp(-half);
	out->high = m->complement ? 1 - value * exp(-half) : value * exp(half);
	out->unit = found[1].c || m->complement ? "1" : found[0].metric->unit;
	out->device = found[0].c->device ? found[0].c->device : "";
	return isfinite(out->value) && isfinite(out->low) && isfinite(out->high);
}

static void claims_add_reading(struct claim_evidence *e, struct claim_reading reading)
{
	ARRAY_GROW(e->readings, e->count, e->capacity);
	e->readings[e->count++] = reading;
}

/* Reads from the first device of the result that has all terms. */
static bool claims_take_one(const struct result *result, const struct claim *claim,
			    const struct claim_measure *m, struct claim_reading *out)
{
	struct claim_found found[CLAIM_TERMS] = { 0 };

	while ((found[0] = claims_find_term(result, &m->terms[0], claim->on, m->even_failed, NULL,
					    found[0].c))
		       .c) {
		bool all = true;

		for (size_t i = 1; all && i < CLAIM_TERMS && m->terms[i].metric; i++) {
			found[i] = claims_find_term(result, &m->terms[i], claim->on, false,
						    found[0].c->device, NULL);
			all = found[i].c;
		}
		if (all && claims_divide(m, found, out))
			return true;
	}
	return false;
}

static void claims_take_each(const struct result *results, size_t count, const struct claim *claim,
			     const struct claim_measure *m, struct claim_evidence *e)
{
	for (size_t r = 0; r < count; r++) {
		struct claim_reading reading = { .run = r, .other = r };

		if (claims_take_one(&results[r], claim, m, &reading))
			claims_add_reading(e, reading);
	}
}

static void claims_take_models(const struct result *results, size_t count,
			       const struct claim *claim, const struct claim_measure *m,
			       struct claim_evidence *e)
{
	struct claim_found found[CLAIM_TERMS] = { 0 };
	struct claim_reading reading = { 0 };
	size_t *const runs[] = { &reading.run, &reading.other };

	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		for (size_t r = 0; r < count && !found[i].c; r++) {
			found[i] = claims_find_term(&results[r], &m->terms[i], claim->on, false,
						    NULL, NULL);
			*runs[i] = r;
		}
	if (found[0].c && found[1].c && claims_divide(m, found, &reading))
		claims_add_reading(e, reading);
}

/* True if both results have the fact, with different values. */
static bool claims_fact_differs(const struct result *a, const struct result *b, const char *name)
{
	const char *one = result_fact(a, name), *other = result_fact(b, name);

	return one && other && strcmp(one, other) != 0;
}

static bool claims_is_pair(const struct result *results, const struct claim_reading *a,
			   const struct claim_reading *b, enum claim_across across)
{
	static const char *const versions[] = { "driver", "cuda_driver", "cuda_runtime",
						"cublas", "os",          "kernel" };
	const struct result *one = &results[a->run], *other = &results[b->run];
	const struct device_info *first = result_device(one, a->device);
	const struct device_info *second = result_device(other, b->device);

	if (across == CLAIM_MACHINES)
		return claims_fact_differs(one, other, "hostname");
	if (strcmp(first ? first->name : "", second ? second->name : "") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (claims_fact_differs(one, other, versions[i]))
			return true;
	return false;
}

/* Larger / smaller of two readings; their bounds add up as squares. */
static struct claim_reading claims_ratio_of(const struct claim_reading *a,
					    const struct claim_reading *b)
{
	const struct claim_reading *large = a->value >= b->value ? a : b;
	const struct claim_reading *small = large == a ? b : a;
	struct claim_reading ratio = *large;
	double half =
		root_sum_square(log(large->high / large->value), log(small->high / small->value));

	ratio.value = large->value / small->value;
	ratio.low = ratio.value * exp(-half);
	ratio.high = ratio.value * exp(half);
	ratio.unit = "1";
	ratio.other = small->run;
	return ratio;
}

/* The pair of qualifying results that differs most. */
static void claims_take_pairs(const struct result *results, size_t count, const struct claim *claim,
			      const struct claim_measure *m, struct claim_evidence *e)
{
	struct claim_evidence all = { 0 };
	struct claim_reading most = { 0 };

	claims_take_each(results, count, claim, m, &all);
	for (size_t i = 0; i < all.count; i++)
		for (size_t j = i + 1; j < all.count; j++) {
			struct claim_reading ratio =
				claims_ratio_of(&all.readings[i], &all.readings[j]);

			if (claims_is_pair(results, &all.readings[i], &all.readings[j],
					   m->across) &&
			    isfinite(ratio.high) && ratio.value > most.value)
				most = ratio;
		}
	if (most.value > 0)
		claims_add_reading(e, most);
	free(all.readings);
}

/* How closely a case matches a term. */
enum nearness { NEAR_NOTHING, NEAR_SECTION, NEAR_CASE, NEAR_ELSEWHERE, NEAR_METRIC };

/* The value that `where` gives a name ("label:"); *length: of it. NULL: none. */
static const char *claims_word_of(const char *where, const char *name, size_t *length)
{
	const char *found = strstr(where, name);

	if (!found)
		return NULL;
	found += strlen(name);
	*length = strcspn(found, ",");
	return found;
}

/* The words of `where` that name no section and no model: "precision fp32, batch 1024". */
static char *claims_parameters_of(const char *where)
{
	struct text t = TEXT_EMPTY;

	for (size_t length; *where; where += length + strspn(where + length, ", ")) {
		size_t name = strcspn(where, ":");

		length = strcspn(where, ",");
		if (!text_starts_with(where, "label:") && !text_starts_with(where, "model:"))
			format_list(&t, "%.*s %.*s", (int)name, where, (int)(length - name - 1),
				    where + name + 1);
	}
	return text_detach(&t);
}

static enum nearness claims_nearness_of(const struct result *result, const struct case_result *c,
					const struct claim_term *term, enum claim_on on)
{
	struct claim_term section = { term->metric, "" };
	size_t length = 0;
	const char *label = claims_word_of(term->where, "label:", &length);

	if (claims_is_case(result, c, term)) {
		if (c->status != CASE_OK)
			return NEAR_CASE;
		return claims_is_on(result, c->device, on) ? NEAR_METRIC : NEAR_ELSEWHERE;
	}
	if (!claims_is_case(result, c, &section))
		return NEAR_NOTHING;
	return !label || (c->label && strlen(c->label) == length &&
			  memcmp(c->label, label, length) == 0)
		       ? NEAR_SECTION
		       : NEAR_NOTHING;
}

static void claims_describe_end(struct text *t, const struct case_result *c)
{
	char *reason = format_cut(c->reason ? c->reason : "", LONGEST_REASON);

	if (c->status == CASE_SKIPPED)
		text_add(t, " was skipped");
	else
		text_addf(t, " ended in %s", case_status_name(c->status));
	text_addf(t, "%s%s", *reason ? ": " : "", reason);
	free(reason);
}

static void claims_describe_absent(struct text *t, const struct claim_term *term, bool has_section,
				   bool stopped)
{
	char *parameters = claims_parameters_of(term->where);
	size_t length = 0;
	const char *label = claims_word_of(term->where, "label:", &length);

	text_addf(t, "[suite %.*s%s%.*s]", (int)strcspn(term->metric, "."), term->metric,
		  label ? " " : "", (int)length, label ? label : "");
	text_add(t, has_section ? " has no case" : " was not run");
	if (*parameters)
		text_addf(t, has_section ? " with %s" : " (%s)", parameters);
	if (stopped)
		text_add(t, "; the run stopped before its end");
	free(parameters);
}

/* The nearest case of all results. */
static void claims_describe_nearest(struct text *t, const struct result *results, size_t count,
				    const struct claim_term *term, enum claim_on on)
{
	const struct result *result = results;
	const struct case_result *c = NULL;
	enum nearness how = NEAR_NOTHING;

	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < results[r].case_count; i++) {
			enum nearness is =
				claims_nearness_of(&results[r], &results[r].cases[i], term, on);

			if (is > how) {
				how = is;
				result = &results[r];
				c = &results[r].cases[i];
			}
		}
	if (how <= NEAR_SECTION) {
		claims_describe_absent(t, term, how == NEAR_SECTION,
				       result->planned > result->case_count);
		return;
	}
	text_add(t, c->id ? c->id : "");
	if (how == NEAR_CASE)
		claims_describe_end(t, c);
	else if (how == NEAR_ELSEWHERE)
		text_addf(t, " ran on %s, which %s", c->device,
			  on == CLAIM_ON_NVLINK ? "reports no active NVLink" : "is no GPU");
	else
		text_addf(t, " %s %s",
			  case_metric(c, term->metric) ? "ended before its values had settled:"
						       : "does not report",
			  term->metric);
}

/* True if a result has such a device whose name contains the model. */
static bool claims_any_device(const struct result *results, size_t count, enum claim_on on,
			      const char *model, size_t length)
{
	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < results[r].device_count; i++) {
			const struct device_info *d = &results[r].devices[i];

			if (claims_is_on(&results[r], d->id, on) &&
			    memmem(d->name, strlen(d->name), model, length))
				return true;
		}
	return false;
}

/* A model that none of the results has; else a kind of device. */
static void claims_add_absent_device(struct text *t, const struct result *results, size_t count,
				     enum claim_on on, const struct claim_measure *m)
{
	for (size_t i = 0; i < CLAIM_TERMS && m->terms[i].metric; i++) {
		size_t length = 0;
		const char *model = claims_word_of(m->terms[i].where, "model:", &length);

		if (model && !claims_any_device(results, count, CLAIM_ON_ANY, model, length)) {
			text_addf(t, "%.*s: this page has no such result", (int)length, model);
			return;
		}
	}
	if (on != CLAIM_ON_ANY && !claims_any_device(results, count, on, "", 0))
		text_add(t, claims_any_device(results, count, CLAIM_ON_GPU, "", 0)
				    ? "no GPU measured here reports an active NVLink"
				    : "no GPU was measured");
}

static void claims_add_missing_case(struct text *t, const struct result *results, size_t count,
				    enum claim_on on, const struct claim_measure *m)
{
	for (size_t i = 0; i < CLAIM_TERMS && m->terms[i].metric && !t->length; i++) {
		bool found = false;

		for (size_t r = 0; r < count && !found; r++)
			found = claims_find_term(&results[r], &m->terms[i], on, m->even_failed,
						 NULL, NULL)
					.c;
		if (!found)
			claims_describe_nearest(t, results, count, &m->terms[i], on);
	}
}

/* True if a case of the measure ended in an error or with a wrong result. */
static bool claims_went_wrong(const struct result *result, const struct claim_measure *m)
{
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		for (size_t t = 0; t < CLAIM_TERMS && m->terms[t].metric; t++)
			if ((c->status == CASE_ERROR || c->status == CASE_FAILED) &&
			    claims_is_case(result, c, &m->terms[t]))
				return true;
	}
	return false;
}

/*
 * Explains why the measure has no reading: the missing case and its status; the caller frees. NULL
 * if the measure does not decide, or is optional and no case failed.
 */
static char *claims_why_missing(const struct result *results, size_t count,
				const struct claim *claim, const struct claim_measure *m)
{
	static const char *const otherwise[] = {
		[CLAIM_ONE_RESULT] =
			"the cases of this claim ran on different devices, or a value is zero",
		[CLAIM_MODELS] =
			"the cases of this claim ran on different devices, or a value is zero",
		[CLAIM_VERSIONS] =
			"this claim needs two results of one GPU model with different versions of "
			"driver, CUDA or system (gpuproof report A B --claims)",
		[CLAIM_MACHINES] =
			"this claim needs results of two machines (gpuproof report A B --claims)",
	};
	struct text t = TEXT_EMPTY;
	bool wanted = !m->where_possible;

	for (size_t r = 0; r < count && !wanted; r++)
		wanted = claims_went_wrong(&results[r], m);
	if (!wanted || !claim_is_decisive(m))
		return NULL;
	claims_add_absent_device(&t, results, count, claim->on, m);
	if (!t.length)
		claims_add_missing_case(&t, results, count, claim->on, m);
	if (!t.length)
		text_add(&t, otherwise[m->across]);
	return text_detach(&t);
}

const char *claim_verdict_name(enum claim_verdict verdict)
{
	static const char *const names[CLAIM_VERDICTS] = {
		[CLAIM_HOLDS] = "holds",         [CLAIM_EXCEEDED] = "better than claimed",
		[CLAIM_FAILS] = "does not hold", [CLAIM_DEPENDS] = "depends",
		[CLAIM_UNDECIDED] = "undecided", [CLAIM_PARTIAL] = "tested in part",
		[CLAIM_UNTESTED] = "not tested",
	};

	return names[verdict];
}

bool claim_is_decisive(const struct claim_measure *m)
{
	return m->terms[0].metric && !(isinf(m->low) && isinf(m->high) && m->low < 0);
}

static enum claim_verdict claims_judge_reading(const struct claim_measure *m,
					       const struct claim_reading *r)
{
	if (r->low >= m->low && r->high <= m->high)
		return CLAIM_HOLDS;
	/* An interval across the good end is at least as good as claimed. */
	if (m->better == CLAIM_BETTER_HIGHER && r->low >= m->low)
		return r->low > m->high ? CLAIM_EXCEEDED : CLAIM_HOLDS;
	if (m->better == CLAIM_BETTER_LOWER && r->high <= m->high)
		return r->high < m->low ? CLAIM_EXCEEDED : CLAIM_HOLDS;
	return r->high < m->low || r->low > m->high ? CLAIM_FAILS : CLAIM_UNDECIDED;
}

static void claims_judge_measure(const struct result *results, size_t count,
				 const struct claim *claim, const struct claim_measure *m,
				 struct claim_evidence *e)
{
	static void (*const read[])(const struct result *, size_t, const struct claim *,
				    const struct claim_measure *, struct claim_evidence *) = {
		[CLAIM_ONE_RESULT] = claims_take_each,
		[CLAIM_MODELS] = claims_take_models,
		[CLAIM_VERSIONS] = claims_take_pairs,
		[CLAIM_MACHINES] = claims_take_pairs,
	};

	read[m->across](results, count, claim, m, e);
	for (size_t i = 0; i < e->count; i++)
		e->readings[i].verdict = claims_judge_reading(m, &e->readings[i]);
	if (!e->count)
		e->missing = claims_why_missing(results, count, claim, m);
}

enum claim_verdict claim_judge(const struct result *results, size_t count,
			       const struct claim *claim,
			       struct claim_evidence evidence[CLAIM_MEASURES])
{
	size_t of[CLAIM_VERDICTS] = { 0 };
	bool missing = false;

	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		const struct claim_measure *m = &claim->measures[i];

		evidence[i] = (struct claim_evidence){ 0 };
		if (m->terms[0].metric)
			claims_judge_measure(results, count, claim, m, &evidence[i]);
		missing = missing || evidence[i].missing;
		for (size_t k = 0; claim_is_decisive(m) && k < evidence[i].count; k++)
			of[evidence[i].readings[k].verdict]++;
	}
	if (of[CLAIM_HOLDS] + of[CLAIM_EXCEEDED] && of[CLAIM_FAILS])
		return CLAIM_DEPENDS;
	if (!of[CLAIM_HOLDS] && !of[CLAIM_EXCEEDED] && !of[CLAIM_FAILS] && !of[CLAIM_UNDECIDED])
		return CLAIM_UNTESTED;
	if (missing)
		return CLAIM_PARTIAL;
	if (of[CLAIM_UNDECIDED])
		return CLAIM_UNDECIDED;
	if (of[CLAIM_EXCEEDED])
		return CLAIM_EXCEEDED;
	return of[CLAIM_HOLDS] ? CLAIM_HOLDS : CLAIM_FAILS;
}

void claim_evidence_release(struct claim_evidence evidence[CLAIM_MEASURES])
{
	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		free(evidence[i].readings);
		free(evidence[i].missing);
		evidence[i] = (struct claim_evidence){ 0 };
	}
}
