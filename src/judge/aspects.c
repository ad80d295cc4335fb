/*
 * Aspects: which aspects a run promises for each device, and the verdict on each of them.
 *
 * [run] promises names the promised aspects. Without it, the user's own limits promise the aspects
 * of the devices and cases that they select, except limits with allow_skipped or severity = warn.
 * Shipped limits promise every aspect whose cases were measured.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"

static const struct aspect_row *aspects_of_suite(const char *name)
{
	const struct suite *suite = suite_find(name);

	return suite ? suite->aspects : NULL;
}

/* Cases and checks of one device. A fleet has up to 80,000 devices. */
struct about {
	const struct device_info *device;
	const struct case_result **cases; /* sorted by id after all were added */
	size_t case_count, case_capacity;
	size_t *checks; /* indices */
	size_t check_count, check_capacity;
};

struct aspects {
	const struct judge_input *input;
	struct verdicts *verdicts;
	struct about *devices; /* by id */
	size_t count;
	unsigned *of_limits; /* aspects_of_limit() of input->limits->items[i] */
};

static int aspects_by_id(const void *a, const void *b)
{
	return strcmp(((const struct about *)a)->device->id, ((const struct about *)b)->device->id);
}

static int aspects_by_case_id(const void *a, const void *b)
{
	const struct case_result *const *x = a, *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

/*
 * Finds the device with this id, which need not be NUL-terminated. NULL: not a device of the run.
 */
static struct about *aspects_find_about(const struct aspects *a, const char *id, size_t length)
{
	size_t low = 0, high = a->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const char *there = a->devices[middle].device->id;
		int order = strncmp(there, id, length);

		if (order == 0 && !there[length])
			return &a->devices[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void aspects_note_check(struct aspects *a, size_t index)
{
	const char *at = a->verdicts->checks[index].devices;

	while (*at) {
		size_t length = strcspn(at, ",");
		struct about *d = aspects_find_about(a, at, length);

		if (d && !(d->check_count && d->checks[d->check_count - 1] == index)) {
			ARRAY_GROW(d->checks, d->check_count, d->check_capacity);
			d->checks[d->check_count++] = index;
		}
		at += length + (at[length] == ',');
	}
}

static void aspects_note_cases(const struct aspects *a, const struct result *result)
{
	for (size_t i = 0; i < result->case_count; i++)
		for (size_t k = 0; k < result->cases[i].device_count; k++) {
			const struct case_result *c = &result->cases[i];
			struct about *d =
				aspects_find_about(a, c->devices[k], strlen(c->devices[k]));

			if (!d || (d->case_count && d->cases[d->case_count - 1] == c))
				continue;
			ARRAY_GROW(d->cases, d->case_count, d->case_capacity);
			d->cases[d->case_count++] = c;
		}
}

/* Bit mask, 1 << aspect, of the aspects that the cases of the device measured. */
static unsigned measured_aspects(const struct about *d)
{
	unsigned aspects = 0;

	for (size_t i = 0; i < d->case_count; i++) {
		const struct case_result *c = d->cases[i];
		const struct aspect_row *rows = aspects_of_suite(c->suite);

		for (size_t m = 0; rows && c->status == CASE_OK && m < c->metric_count; m++)
			aspects |= 1u << aspect_of(rows, c->metrics[m].name, c);
	}
	return aspects & ~1u;
}

/* Bit mask of the aspects of all cases that the limit selects, on any device. */
static unsigned aspects_of_limit(const struct aspects *a, const struct limit *limit)
{
	unsigned aspects = 0;

	for (size_t r = 0; r < a->input->count; r++)
		for (size_t i = 0; i < a->input->results[r].case_count; i++) {
			const struct case_result *c = &a->input->results[r].cases[i];
			const struct about *d =
				aspects_find_about(a, c->device ? c->device : "",
						   strlen(c->device ? c->device : ""));

			if (judge_limits_selects(limit, c, d ? d->device->name : ""))
				aspects |= 1u << aspect_of(limit->suite->aspects,
							   limit->metric->name, c);
		}
	return aspects & ~1u;
}

/* Limits that allow skips or only warn promise no verdict. */
static bool aspects_rejects_without(const struct limit *limit)
{
	return limit->suite && !limit->allow_skipped && limit->severity == LIMIT_FAILS;
}

/* Bit mask of the aspects in [run] promises of the run's config; 0: none. */
static unsigned aspects_of_config(const struct result *result)
{
	const struct result_setting *s = result_setting(result, "run", "promises");
	char *words = xstrdup(s ? s->value : ""), *rest, *word;
	unsigned aspects = 0;
	enum aspect aspect;

	for (word = strtok_r(words, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest))
		if (aspect_named(word, &aspect))
			aspects |= 1u << aspect;
	free(words);
	return aspects;
}

static bool aspects_was_looked_at(const struct aspects *a, const struct about *d,
				  enum aspect aspect)
{
	for (size_t i = 0; i < d->check_count; i++) {
		const struct verdict_check *check = &a->verdicts->checks[d->checks[i]];

		if (check->aspect == aspect && verdict_check_is_judged(check) &&
		    check->comparison == NO_COMPARISON)
			return true;
	}
	return false;
}

struct looks {
	size_t measured, verified, sensed;
};

static bool aspects_was_sensed(const struct telemetry *t)
{
	return t->throttle_reasons >= 0 || t->ecc_uncorrected >= 0 ||
	       isfinite(t->temperature_celsius);
}

static struct looks aspects_look_at(const struct about *d)
{
	struct looks looks = { 0 };

	for (size_t i = 0; i < d->case_count; i++) {
		const struct case_result *c = d->cases[i];

		if (c->status != CASE_OK)
			continue;
		looks.measured++;
		looks.verified += result_outcome_case_is_verified(c);
		/* Telemetry covers only the case's first device. */
		looks.sensed += strcmp(c->device, d->device->id) == 0 &&
				(aspects_was_sensed(&c->before) || aspects_was_sensed(&c->after));
	}
	return looks;
}

/*
 * Adds checks for verification and sensors if the aspect is promised and they found no fault; a
 * fault has a check already.
 */
static void aspects_add_looks(struct aspects *a, const struct about *d, unsigned aspects)
{
	const struct result *result = &a->input->results[0];
	struct looks looks = aspects_look_at(d);

	if (aspects >> ASPECT_CORRECTNESS & 1 && looks.verified &&
	    !aspects_was_looked_at(a, d, ASPECT_CORRECTNESS)) {
		run_findings_add(a->verdicts, result, NULL, d->device->id, ASPECT_CORRECTNESS,
				 VERDICT_PASS, CAUSE_NONE,
				 "%zu of %zu measured cases were verified", looks.verified,
				 looks.measured);
		aspects_note_check(a, a->verdicts->count - 1);
	}
	if (aspects >> ASPECT_CONDITION & 1 && looks.sensed &&
	    !aspects_was_looked_at(a, d, ASPECT_CONDITION)) {
		run_findings_add(a->verdicts, result, NULL, d->device->id, ASPECT_CONDITION,
				 VERDICT_PASS, CAUSE_NONE,
				 "sensors and counters showed no fault during %zu cases",
				 looks.sensed);
		aspects_note_check(a, a->verdicts->count - 1);
	}
}

static bool aspects_verdict_is_graver(enum verdict a, enum verdict b)
{
	static const int rank[VERDICT_COUNT] = { [VERDICT_FAIL] = 5,
						 [VERDICT_ERROR] = 4,
						 [VERDICT_INCONCLUSIVE] = 3,
						 [VERDICT_WARN] = 2,
						 [VERDICT_PASS] = 1 };

	return rank[a] > rank[b];
}

/* True if the check's metric alone does not cover its aspect. */
static bool aspects_is_partial(const struct about *about, const struct verdict_check *check)
{
	const struct case_result key = { .id = check->case_id }, *wanted = &key;
	const struct case_result **c =
		about->case_count ? bsearch(&wanted, about->cases, about->case_count,
					    sizeof(struct case_result *), aspects_by_case_id)
				  : NULL;
	const struct aspect_row *row =
		c ? aspect_row_of(aspects_of_suite((*c)->suite), check->metric, *c) : NULL;

	return row && row->partial;
}

/*
 * The smallest margin among the checks that explain the verdict: with FAIL, ERROR and
 * INCONCLUSIVE none of a check that passed. Call before `verdict` is taken.
 */
static void aspects_take_margin(struct aspect_judgement *k, enum verdict verdict, double margin)
{
	bool open = k->verdict == VERDICT_FAIL || k->verdict == VERDICT_ERROR ||
		    k->verdict == VERDICT_INCONCLUSIVE;

	if (aspects_verdict_is_graver(verdict, k->verdict) && verdict != VERDICT_WARN &&
	    verdict != VERDICT_PASS)
		k->margin = margin;
	else if ((!open || verdict == k->verdict) && isfinite(margin) && !(margin >= k->margin))
		k->margin = margin;
}

static void aspects_take_check(struct aspect_judgement *k, const struct verdict_check *c,
			       bool partial)
{
	k->checks++;
	k->passed += c->verdict == VERDICT_PASS;
	aspects_take_margin(k, c->verdict, c->warns_only ? (double)NAN : c->margin);
	if (aspects_verdict_is_graver(c->verdict, k->verdict) || !*k->reason)
		run_findings_set(&k->reason, c->reason);
	if (aspects_verdict_is_graver(c->verdict, k->verdict))
		k->verdict = c->verdict;
	k->judged += verdict_check_is_judged(c) && !partial;
}

static void judge_aspect(const struct aspects *a, const struct about *about,
			 struct device_judgement *d, enum aspect aspect, bool is_promised)
{
	struct aspect_judgement sum = { .aspect = aspect,
					.verdict = VERDICT_SKIP,
					.margin = NAN,
					.promised = is_promised,
					.reason = xstrdup("") };

	for (size_t i = 0; i < about->check_count; i++)
		if (a->verdicts->checks[about->checks[i]].aspect == aspect)
			aspects_take_check(
				&sum, &a->verdicts->checks[about->checks[i]],
				is_promised &&
					aspects_is_partial(about,
							   &a->verdicts->checks[about->checks[i]]));
	sum.measured = measured_aspects(about) >> aspect & 1;
	if (is_promised && !sum.judged && !*sum.reason)
		run_findings_set(&sum.reason,
				 aspect == ASPECT_CONDITION     ? "no sensor or counter was read"
				 : aspect == ASPECT_CORRECTNESS ? "no result was verified"
				 : sum.checks                   ? "no check was decided"
				 : sum.measured                 ? "measured, but no limit covers it"
								: "not measured");
	if (is_promised || sum.checks) {
		struct aspect_judgement *k = verdict_device_judgement_add(d, aspect);

		free(k->reason);
		*k = sum;
	} else {
		free(sum.reason);
	}
}

static void aspects_device(struct aspects *a, const struct device_info *info)
{
	struct about *about = aspects_find_about(a, info->id, strlen(info->id));
	unsigned aspects = aspects_of_config(&a->input->results[0]);
	const struct limits *limits = a->input->limits;
	struct device_judgement *d;

	if (!aspects && limits->shipped)
		aspects = measured_aspects(about);
	else if (!aspects)
		for (size_t i = 0; i < limits->count; i++)
			if (aspects_rejects_without(&limits->items[i]) &&
			    judge_limits_admits(&limits->items[i], info))
				aspects |= a->of_limits[i];
	aspects_add_looks(a, about, aspects);
	d = verdicts_add_device(a->verdicts);
	run_findings_set(&d->device, info->id);
	run_findings_set(&d->model, info->name);
	run_findings_set(&d->uuid, info->uuid);
	run_findings_set(&d->serial, info->serial);
	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
		judge_aspect(a, about, d, (enum aspect)k, aspects >> k & 1);
}

void judge_aspects(const struct judge_input *input, struct verdicts *verdicts)
{
	const struct result *result = input->count ? &input->results[0] : NULL;
	struct aspects a = { .input = input, .verdicts = verdicts };

	if (!result)
		return;
	a.devices = xcalloc(result->device_count + 1, sizeof(*a.devices));
	for (; a.count < result->device_count; a.count++)
		a.devices[a.count].device = &result->devices[a.count];
	qsort(a.devices, a.count, sizeof(*a.devices), aspects_by_id);
	for (size_t r = 0; r < input->count; r++)
		aspects_note_cases(&a, &input->results[r]);
	for (size_t i = 0; i < a.count; i++)
		if (a.devices[i].case_count)
			qsort(a.devices[i].cases, a.devices[i].case_count,
			      sizeof(struct case_result *), aspects_by_case_id);
	for (size_t i = 0; i < verdicts->count; i++)
		aspects_note_check(&a, i);
	a.of_limits = xcalloc(input->limits->count + 1, sizeof(*a.of_limits));
	for (size_t i = 0; i < input->limits->count; i++)
		if (aspects_rejects_without(&input->limits->items[i]))
			a.of_limits[i] = aspects_of_limit(&a, &input->limits->items[i]);
	for (size_t i = 0; i < result->device_count; i++)
		aspects_device(&a, &result->devices[i]);
	for (size_t i = 0; i < a.count; i++) {
		free(a.devices[i].cases);
		free(a.devices[i].checks);
	}
	free(a.devices);
	free(a.of_limits);
}

/* Merges the aspects of both, in the order of enum aspect. */
static void aspects_merge_device(struct device_judgement *into, struct device_judgement *from)
{
	struct device_judgement own = *into;

	into->aspects = NULL;
	into->aspect_count = 0;
	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++) {
		const struct aspect_judgement *a = verdict_device_aspect(&own, (enum aspect)k);
		const struct aspect_judgement *b = verdict_device_aspect(from, (enum aspect)k);
		struct aspect_judgement *both =
			a || b ? verdict_device_judgement_add(into, k) : NULL;

		if (!both)
			continue;
		free(both->reason);
		*both = a ? *a : *b;
		both->reason = xstrdup(both->reason);
		if (!a || !b)
			continue;
		both->promised = both->promised || b->promised;
		both->checks += b->checks;
		both->judged += b->judged;
		both->passed += b->passed;
		both->measured = both->measured || b->measured;
		aspects_take_margin(both, b->verdict, b->margin);
		if (aspects_verdict_is_graver(b->verdict, both->verdict)) {
			both->verdict = b->verdict;
			run_findings_set(&both->reason, b->reason);
		}
	}
	verdict_device_judgement_drop_aspects(&own);
}

void judge_aspects_merge_devices(struct verdicts *verdicts, size_t from, size_t count)
{
	while (verdicts->device_count > from + count) {
		size_t last = verdicts->device_count - 1;

		aspects_merge_device(&verdicts->devices[from + (last - from) % count],
				     &verdicts->devices[last]);
		verdicts_drop_last_device(verdicts);
	}
}
