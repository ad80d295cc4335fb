/* Derives the verdict of a run and its sentence from the checks. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "judge/judge.h"
#include "result/reasons/reasons.h"

static void finish_add_count(struct text *out, size_t n, const char *what)
{
	if (n)
		text_addf(out, "; %zu %s", n, what);
}

/* "; 1 failed; 2 cannot be judged" */
static void finish_add_complaints(const struct verdicts *v, struct text *out)
{
	finish_add_count(out, v->counts[VERDICT_FAIL], "failed");
	finish_add_count(out, v->counts[VERDICT_ERROR], "could not be judged");
	/* ACCEPTED needs a decision on every check that can reject. */
	finish_add_count(out, v->counts[VERDICT_INCONCLUSIVE],
			 v->overall == VERDICT_WARN ? "inconclusive with severity = warn"
						    : "inconclusive");
	finish_add_count(out, v->counts[VERDICT_SKIP], "skipped");
	finish_add_count(out, v->counts[VERDICT_WARN],
			 v->counts[VERDICT_WARN] == 1 ? "warning" : "warnings");
}

static unsigned finish_missing_of(const struct device_judgement *d)
{
	unsigned missing = 0;

	for (size_t i = 0; i < d->aspect_count; i++)
		if (verdict_aspect_is_missing(&d->aspects[i]))
			missing |= 1u << d->aspects[i].aspect;
	return missing;
}

static void finish_add_aspects(unsigned missing, struct text *out)
{
	const char *separator = "";

	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++) {
		if (!(missing >> k & 1))
			continue;
		missing &= ~(1u << k);
		text_addf(out, "%s%s", separator, aspect_name((enum aspect)k));
		separator = missing & (missing - 1) ? ", " : " and ";
	}
}

/* "; not judged: memory and link of cuda:0, cuda:1" */
static void finish_verdict_add_missing(const struct verdicts *v, struct text *out)
{
	const char *before = "; not judged: ";

	for (size_t i = 0; i < v->device_count; i++) {
		const char *separator = " of ";
		unsigned missing = finish_missing_of(&v->devices[i]);
		size_t first = 0;

		/* Devices that lack the same aspects are named together. */
		while (first < i && finish_missing_of(&v->devices[first]) != missing)
			first++;
		if (!missing || first < i)
			continue;
		text_add(out, before);
		finish_add_aspects(missing, out);
		for (size_t d = i; d < v->device_count; d++) {
			if (finish_missing_of(&v->devices[d]) != missing)
				continue;
			text_addf(out, "%s%s", separator, v->devices[d].device);
			separator = ", ";
		}
		before = "; ";
	}
}

/*
 * True if limits require reference GPUs but none were available. A slow node may then pass unseen.
 */
static bool finish_is_without_population(const struct verdicts *v)
{
	bool asked = false;

	for (size_t i = 0; i < v->count; i++) {
		if (v->checks[i].comparison != LIKE_POPULATION)
			continue;
		if (v->checks[i].verdict != VERDICT_SKIP)
			return false;
		asked = true;
	}
	return asked;
}

static char *finish_sentence(const struct verdicts *v, size_t judged)
{
	static const char *const openings[VERDICT_COUNT] = {
		[VERDICT_PASS] = "ACCEPTED: ",
		[VERDICT_WARN] = "ACCEPTED: ",
		[VERDICT_FAIL] = "REJECTED: ",
		[VERDICT_INCONCLUSIVE] = "INCONCLUSIVE: ",
	};
	const char *checks = v->count == 1 ? "check" : "checks";
	size_t passed = v->counts[VERDICT_PASS];
	struct text out = TEXT_EMPTY;

	text_add(&out, v->wrong                            ? "REJECTED: WRONG RESULTS; "
		       : !judged && !verdicts_exit_code(v) ? "NOT JUDGED: "
		       : v->overall == VERDICT_WARN && v->counts[VERDICT_WARN]
			       ? "ACCEPTED with warnings: "
			       : openings[v->overall]);
	if (!judged && v->trend && v->overall != VERDICT_FAIL)
		text_add(&out, "no limits; the trend decides on speed (verdict = trend)");
	else if (!judged && passed)
		text_addf(&out, "no limit covered any value; %zu of %zu %s passed", passed,
			  v->count, checks);
	else if (!judged)
		text_add(&out, "no check could be evaluated");
	else if (passed == v->count && passed == 1)
		text_add(&out, "the only check passed");
	else if (passed == v->count)
		text_addf(&out, "all %zu checks passed", passed);
	else
		text_addf(&out, "%zu of %zu %s passed", passed, v->count, checks);
	finish_add_complaints(v, &out);
	finish_verdict_add_missing(v, &out);
	text_add_char(&out, '.');
	if (judged && v->overall != VERDICT_FAIL && finish_is_without_population(v))
		text_add(&out, " No reference GPUs are known, so the node as a whole was "
			       "compared only with the data sheet.");
	reasons_add_worst(v, &out);
	return text_detach(&out);
}

static bool finish_is_open(const struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *c = &v->checks[i];

		if (!c->accepted && (c->verdict == VERDICT_SKIP || c->verdict == VERDICT_ERROR ||
				     c->verdict == VERDICT_INCONCLUSIVE))
			return true;
	}
	for (size_t i = 0; i < v->device_count; i++)
		if (finish_missing_of(&v->devices[i]))
			return true;
	return false;
}

void verdicts_finish(struct verdicts *v)
{
	size_t judged = verdicts_judged(v);

	/* A missing population does not make a run incomplete. */
	for (size_t i = 0; v->strict && i < v->count; i++)
		v->checks[i].accepted = v->checks[i].verdict == VERDICT_PASS ||
					(v->checks[i].verdict == VERDICT_SKIP &&
					 v->checks[i].comparison == LIKE_POPULATION);
	verdicts_find_causes(v);
	verdicts_count(v);
	if (v->wrong || v->counts[VERDICT_FAIL] || (v->strict && v->counts[VERDICT_WARN]) ||
	    (!v->count && !v->trend))
		v->overall = VERDICT_FAIL;
	else if ((!judged && !v->trend) || finish_is_open(v))
		v->overall = VERDICT_INCONCLUSIVE;
	else
		v->overall = v->counts[VERDICT_WARN] || v->counts[VERDICT_INCONCLUSIVE]
				     ? VERDICT_WARN
				     : VERDICT_PASS;
	reasons_verdicts_explain(v);
	free(v->sentence);
	v->sentence = finish_sentence(v, judged);
}
