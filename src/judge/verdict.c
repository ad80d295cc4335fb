#include "judge/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[VERDICT_COUNT] = { "PASS",         "WARN", "FAIL",
							  "INCONCLUSIVE", "SKIP", "ERROR" };

	return names[verdict];
}

struct check *verdicts_add(struct verdicts *v)
{
	struct check *check;

	ARRAY_GROW(v->checks, v->count, v->capacity);
	check = &v->checks[v->count++];
	*check = (struct check){ .limit = xstrdup(""),
				 .case_id = xstrdup(""),
				 .devices = xstrdup(""),
				 .model = xstrdup(""),
				 .uuid = xstrdup(""),
				 .metric = xstrdup(""),
				 .unit = xstrdup(""),
				 .bound_text = xstrdup(""),
				 .bound_origin = xstrdup(""),
				 .place = xstrdup(""),
				 .reason = xstrdup(""),
				 .comparison = NO_COMPARISON,
				 .value = NAN,
				 .low = NAN,
				 .high = NAN,
				 .bound = NAN,
				 .margin = NAN };
	return check;
}

void verdicts_release(struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++) {
		struct check *c = &v->checks[i];
		char *texts[] = { c->limit,        c->case_id, c->devices, c->model,
				  c->uuid,         c->metric,  c->unit,    c->bound_text,
				  c->bound_origin, c->place,   c->reason };

		for (size_t t = 0; t < ARRAY_SIZE(texts); t++)
			free(texts[t]);
	}
	free(v->checks);
	free(v->sentence);
	memset(v, 0, sizeof(*v));
}

static void add_count(struct text *out, size_t n, const char *what)
{
	if (n)
		text_addf(out, "%s%zu %s", out->length ? ", " : "", n, what);
}

/* "1 failed, 2 cannot be judged" */
static char *complaints(const struct verdicts *v, size_t skipped)
{
	struct text out = TEXT_EMPTY;

	add_count(&out, v->counts[VERDICT_FAIL], "failed");
	add_count(&out, v->counts[VERDICT_ERROR], "cannot be judged");
	/* Who reads "accepted" shall not wonder how: what rejects was decided. */
	add_count(&out, v->counts[VERDICT_INCONCLUSIVE],
		  v->overall == VERDICT_WARN ? "inconclusive where limits only warn"
					     : "inconclusive");
	add_count(&out, skipped, "skipped");
	add_count(&out, v->counts[VERDICT_WARN],
		  v->counts[VERDICT_WARN] == 1 ? "warning" : "warnings");
	return text_detach(&out);
}

/* Whether limits ask for a comparison with good cards, and nothing could be compared: a whole node may then be slow. */
static bool is_without_population(const struct verdicts *v)
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

static char *sentence(const struct verdicts *v, size_t judged, size_t skipped)
{
	char *list = complaints(v, skipped), *out;
	const char *checks = v->count == 1 ? "check" : "checks";

	if (!judged && v->overall == VERDICT_FAIL && !v->counts[VERDICT_FAIL])
		out = xasprintf("Not accepted: nothing was judged%s%s.", *list ? "; " : "", list);
	else if (v->wrong)
		out = xasprintf("Not accepted: WRONG RESULTS; of %zu %s %s.", v->count, checks,
				list);
	else if (v->overall == VERDICT_FAIL)
		out = xasprintf("Not accepted: of %zu %s %s.", v->count, checks, list);
	else if (v->overall == VERDICT_INCONCLUSIVE)
		out = xasprintf("Not decided: of %zu %s %s.", v->count, checks, list);
	else if (*list)
		out = xasprintf("Accepted: of %zu %s none failed; %s.", v->count, checks, list);
	else
		out = xasprintf("Accepted: %s%zu %s passed.", v->count == 1 ? "" : "all ", v->count,
				checks);
	free(list);
	if (judged && is_without_population(v)) {
		list = out;
		out = xasprintf("%s No good cards of this model are known: the node as a whole was "
				"compared with the data sheet only.",
				list);
		free(list);
	}
	return out;
}

/* A number was held against a bound; findings about the run are no reason to accept it. */
static bool was_judged(const struct check *c)
{
	return c->comparison != NO_COMPARISON && c->verdict != VERDICT_SKIP &&
	       c->verdict != VERDICT_ERROR;
}

void verdicts_finish(struct verdicts *v)
{
	size_t judged = 0, open = 0;

	memset(v->counts, 0, sizeof(v->counts));
	v->wrong = false;
	for (size_t i = 0; i < v->count; i++) {
		struct check *c = &v->checks[i];

		if (v->strict)
			c->accepted = c->verdict == VERDICT_PASS;
		v->counts[c->verdict]++;
		v->wrong = v->wrong || c->wrong;
		open += !c->accepted &&
			(c->verdict == VERDICT_SKIP || c->verdict == VERDICT_ERROR ||
			 c->verdict == VERDICT_INCONCLUSIVE);
		judged += was_judged(c);
	}
	if (v->wrong || v->counts[VERDICT_FAIL] || (v->strict && v->counts[VERDICT_WARN]) ||
	    (!judged && !v->counts[VERDICT_ERROR]))
		v->overall = VERDICT_FAIL;
	else if (open)
		v->overall = VERDICT_INCONCLUSIVE;
	else
		v->overall = v->counts[VERDICT_WARN] || v->counts[VERDICT_INCONCLUSIVE]
				     ? VERDICT_WARN
				     : VERDICT_PASS;
	free(v->sentence);
	v->sentence = sentence(v, judged, v->counts[VERDICT_SKIP]);
}

int verdicts_exit_code(const struct verdicts *v)
{
	if (v->wrong)
		return 5;
	if (v->overall == VERDICT_FAIL)
		return 1;
	return v->overall == VERDICT_INCONCLUSIVE ? 4 : 0;
}

bool check_counts(const struct check *c)
{
	return strcmp(c->unit, "1") == 0 && c->value == floor(c->value) &&
	       c->bound == floor(c->bound);
}

static char *shown(const struct check *c, double value, char *out, size_t size)
{
	if (!check_counts(c))
		return units_format(value, c->unit, out, size);
	snprintf(out, size, "%.0f", value);
	return out;
}

char *check_numbers(const struct check *c)
{
	static const char *const words[] = {
		[AT_LEAST] = "at least", [AT_MOST] = "at most", [LIKE_SISTERS] = "its sisters allow",
		[LIKE_POPULATION] = "good cards allow"
	};
	char value[48], low[48], high[48], bound[48];
	struct text out = TEXT_EMPTY;

	if (isnan(c->value))
		return xstrdup("");
	text_add(&out, shown(c, c->value, value, sizeof(value)));
	if (!isnan(c->low) && c->low != c->high)
		text_addf(&out, " [%s, %s]", units_format(c->low, c->unit, low, sizeof(low)),
			  units_format(c->high, c->unit, high, sizeof(high)));
	if (c->comparison == NO_COMPARISON || isnan(c->bound))
		return text_detach(&out);
	text_addf(&out, ", %s %s", words[c->comparison], shown(c, c->bound, bound, sizeof(bound)));
	if (isfinite(c->margin))
		text_addf(&out, ": %.3g %% %s", fabs(100 * c->margin),
			  c->margin >= 0	 ? "to spare"
			  : c->value < c->bound ? "below it"
						: "above it");
	return text_detach(&out);
}
