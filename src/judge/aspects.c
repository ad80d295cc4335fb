/*
 * Which aspects a run promises for each device, and what became of them.
 *
 * Promised is what [run] promises says; without it, by limits of the user's own, the aspects that
 * they judge on devices that they are about (one with allow_skipped, or that only warns, promises
 * nothing); by shipped limits every aspect whose cases were measured.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"

#define PROMISES_BY_CONFIG "promises"

static const struct aspect_row *aspects_of_suite(const char *name)
{
	const struct suite *suite = schema_suite(&schema_program, name);

	return suite ? suite->aspects : NULL;
}

static bool uses(const struct case_result *c, const char *device)
{
	for (size_t i = 0; i < c->device_count; i++)
		if (strcmp(c->devices[i], device) == 0)
			return true;
	return false;
}

/* As bits, 1 << aspect. */
static unsigned aspects_of_case(const struct case_result *c)
{
	const struct aspect_row *rows = aspects_of_suite(c->suite);
	unsigned aspects = 0;

	for (size_t i = 0; rows && i < c->metric_count; i++)
		aspects |= 1u << aspect_of(rows, c->metrics[i].name, c);
	return aspects & ~1u;
}

static unsigned measured_aspects(const struct judge_input *input, const char *device)
{
	unsigned aspects = 0;

	for (size_t r = 0; r < input->count; r++)
		for (size_t i = 0; i < input->results[r].case_count; i++) {
			const struct case_result *c = &input->results[r].cases[i];

			if (c->status == CASE_OK && uses(c, device))
				aspects |= aspects_of_case(c);
		}
	return aspects;
}

/* Aspects of the cases that the limit selects, on any device. */
static unsigned aspects_of_limit(const struct judge_input *input, const struct limit *limit)
{
	unsigned aspects = 0;

	for (size_t r = 0; r < input->count; r++)
		for (size_t i = 0; i < input->results[r].case_count; i++) {
			const struct result *result = &input->results[r];
			const struct case_result *c = &result->cases[i];

			const struct device_info *d = result_device(result, c->device);

			if (limit_selects(limit, c, d ? d->name : ""))
				aspects |= 1u << aspect_of(limit->suite->aspects,
							   limit->metric->name, c);
		}
	return aspects & ~1u;
}

/* No verdict is expected from limits that may be skipped or only warn. */
static bool rejects_without(const struct limit *limit)
{
	return limit->suite && !limit->allow_skipped && limit->severity == LIMIT_FAILS;
}

static unsigned aspects_of_limits(const struct judge_input *input, const struct device_info *d)
{
	unsigned aspects = 0;

	for (size_t i = 0; i < input->limits->count; i++) {
		const struct limit *limit = &input->limits->items[i];

		if (rejects_without(limit) && limit_admits(limit, d))
			aspects |= aspects_of_limit(input, limit);
	}
	return aspects;
}

/* The aspects in [run] promises of the run's config; 0: none. */
static unsigned aspects_of_config(const struct result *result)
{
	unsigned aspects = 0;
	enum aspect aspect;

	for (size_t i = 0; i < result->setting_count; i++) {
		const struct result_setting *s = &result->settings[i];
		char *words, *rest, *word;

		if (strcmp(s->section, "run") != 0 || strcmp(s->key, PROMISES_BY_CONFIG) != 0)
			continue;
		words = xstrdup(s->value);
		for (word = strtok_r(words, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest))
			if (aspect_named(word, &aspect))
				aspects |= 1u << aspect;
		free(words);
	}
	return aspects;
}

static unsigned promised(const struct judge_input *input, const struct device_info *d)
{
	unsigned aspects = aspects_of_config(&input->results[0]);

	if (aspects)
		return aspects;
	if (!input->limits->shipped)
		return aspects_of_limits(input, d);
	return measured_aspects(input, d->id);
}

/*
 * A look belongs to no limit: it is reported once per device, if promised and nothing worse was
 * found.
 */
static void add_look(const struct judge_input *input, const struct device_info *d,
		     enum aspect aspect, enum verdict verdict, char *reason,
		     struct verdicts *verdicts)
{
	struct verdict_check *check = judging_finding(verdicts, &input->results[0], NULL, d->id,
						      aspect, verdict, false, reason);

	check->accepted = verdict == VERDICT_PASS;
}

static bool was_looked_at(const struct verdicts *v, size_t from, const char *device,
			  enum aspect aspect)
{
	for (size_t i = from; i < v->count; i++)
		if (v->checks[i].aspect == aspect && check_is_judged(&v->checks[i]) &&
		    v->checks[i].comparison == NO_COMPARISON &&
		    check_concerns(&v->checks[i], device))
			return true;
	return false;
}

struct looks {
	size_t measured, verified, sensed;
};

static bool was_sensed(const struct telemetry *t)
{
	return t->throttle_reasons >= 0 || t->ecc_uncorrected >= 0 ||
	       isfinite(t->temperature_celsius);
}

static struct looks look_at(const struct judge_input *input, const char *device)
{
	struct looks looks = { 0 };

	for (size_t r = 0; r < input->count; r++)
		for (size_t i = 0; i < input->results[r].case_count; i++) {
			const struct case_result *c = &input->results[r].cases[i];

			if (c->status != CASE_OK || !uses(c, device))
				continue;
			looks.measured++;
			looks.verified += case_is_verified(c);
			/* Telemetry is of the case's first device. */
			looks.sensed += strcmp(c->device, device) == 0 &&
					(was_sensed(&c->before) || was_sensed(&c->after));
		}
	return looks;
}

/*
 * Adds looks for verification and sensors where nothing bad was found; otherwise the findings are
 * the looks.
 */
static void add_looks(const struct judge_input *input, const struct device_info *d,
		      unsigned aspects, size_t from, struct verdicts *verdicts)
{
	struct looks looks = look_at(input, d->id);

	if (aspects >> ASPECT_CORRECTNESS & 1 && looks.verified &&
	    !was_looked_at(verdicts, from, d->id, ASPECT_CORRECTNESS))
		add_look(input, d, ASPECT_CORRECTNESS, VERDICT_PASS,
			 xasprintf("the results of %zu of %zu measured cases were verified",
				   looks.verified, looks.measured),
			 verdicts);
	if (aspects >> ASPECT_CONDITION & 1 && looks.sensed &&
	    !was_looked_at(verdicts, from, d->id, ASPECT_CONDITION))
		add_look(input, d, ASPECT_CONDITION, VERDICT_PASS,
			 xasprintf("no fault in the readings of sensors and counters with %zu "
				   "cases",
				   looks.sensed),
			 verdicts);
}

static bool graver(enum verdict a, enum verdict b)
{
	static const int rank[VERDICT_COUNT] = { [VERDICT_FAIL] = 5,
						 [VERDICT_ERROR] = 4,
						 [VERDICT_INCONCLUSIVE] = 3,
						 [VERDICT_WARN] = 2,
						 [VERDICT_PASS] = 1 };

	return rank[a] > rank[b];
}

static void take_check(struct aspect_judgement *k, const struct verdict_check *c)
{
	k->checks++;
	k->passed += c->verdict == VERDICT_PASS;
	if (isfinite(c->margin) && !(c->margin >= k->margin))
		k->margin = c->margin;
	if (graver(c->verdict, k->verdict) || !*k->reason) {
		free(k->reason);
		k->reason = xstrdup(c->reason);
	}
	if (graver(c->verdict, k->verdict))
		k->verdict = c->verdict;
	k->judged += check_is_judged(c);
}

static void say_why_missing(const struct judge_input *input, const char *device,
			    struct aspect_judgement *k)
{
	bool measured = measured_aspects(input, device) >> k->aspect & 1;

	if (*k->reason)
		return;
	free(k->reason);
	if (k->aspect == ASPECT_CONDITION)
		k->reason = xstrdup("no sensor or counter was read");
	else if (k->aspect == ASPECT_CORRECTNESS)
		k->reason = xstrdup("no result was verified");
	else
		k->reason =
			xstrdup(measured ? "measured, and no limit is about it" : "not measured");
}

static void judge_aspect(const struct judge_input *input, struct device_judgement *d,
			 enum aspect aspect, bool is_promised, const struct verdicts *v,
			 size_t from)
{
	struct aspect_judgement sum = { .aspect = aspect,
					.verdict = VERDICT_SKIP,
					.margin = NAN,
					.promised = is_promised,
					.reason = xstrdup("") };

	for (size_t i = from; i < v->count; i++)
		if (v->checks[i].aspect == aspect && check_concerns(&v->checks[i], d->device))
			take_check(&sum, &v->checks[i]);
	if (is_promised && !sum.judged)
		say_why_missing(input, d->device, &sum);
	if (is_promised || sum.checks) {
		struct aspect_judgement *k = device_judgement_add(d, aspect);

		free(k->reason);
		*k = sum;
	} else {
		free(sum.reason);
	}
}

void judge_aspects(const struct judge_input *input, size_t from, struct verdicts *verdicts)
{
	const struct result *result = input->count ? &input->results[0] : NULL;

	for (size_t i = 0; result && i < result->device_count; i++) {
		const struct device_info *info = &result->devices[i];
		unsigned aspects = promised(input, info);
		struct device_judgement *d;

		add_looks(input, info, aspects, from, verdicts);
		d = verdicts_add_device(verdicts);
		judging_set(&d->device, info->id);
		judging_set(&d->model, info->name);
		judging_set(&d->uuid, info->uuid);
		for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
			judge_aspect(input, d, (enum aspect)k, aspects >> k & 1, verdicts, from);
	}
}
