#include "report/claims.h"

#include <math.h>
#include <string.h>

#include "report/claims_table.h"

const char *claim_verdict_name(enum claim_verdict verdict)
{
	static const char *const names[CLAIM_VERDICTS] = {
		[CLAIM_HOLDS] = "holds",
		[CLAIM_FAILS] = "does not hold",
		[CLAIM_DEPENDS] = "depends",
		[CLAIM_UNTESTED] = "cannot be tested here",
	};

	return names[verdict];
}

const struct claim_group claim_groups[] = {
	{ "Three cards: GTX 1080 Ti, Tesla K80, Tesla V100", claims_cards, CLAIMS_CARDS },
	{ "Why memory differs between machines", claims_machines, CLAIMS_MACHINES },
	{ "Managing GPU memory", claims_guide, CLAIMS_GUIDE },
	{ "Why a model does not fit", claims_limits, CLAIMS_LIMITS },
	{ "Several GPUs", claims_parallel, CLAIMS_PARALLEL },
};
const size_t claim_group_count = sizeof(claim_groups) / sizeof(claim_groups[0]);

/* The value that the case has under `name`; NULL: it has none. */
static const char *value_named(const struct case_result *c, const char *name, size_t length)
{
	if (length == 5 && memcmp(name, "label", 5) == 0)
		return c->label ? c->label : "";
	for (size_t i = 0; i < c->parameter_count; i++)
		if (strlen(c->parameters[i].name) == length &&
		    memcmp(c->parameters[i].name, name, length) == 0)
			return c->parameters[i].text;
	return NULL;
}

/* "name:value, name:value": ours, not a user's; values have no commas. */
static bool matches(const struct case_result *c, const char *where)
{
	while (*where) {
		size_t name = strcspn(where, ":"), value = strcspn(where + name + 1, ",");
		const char *has = value_named(c, where, name);

		if (!has || strlen(has) != value || memcmp(has, where + name + 1, value) != 0)
			return false;
		where += name + 1 + value;
		where += strspn(where, ", ");
	}
	return true;
}

static const struct metric_value *find(const struct result *result, const struct claim_term *term,
				       bool even_failed)
{
	size_t suite = strcspn(term->metric, ".");

	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		const struct metric_value *m;

		if ((c->status != CASE_OK && !(even_failed && c->status == CASE_FAILED)) || strlen(c->suite) != suite ||
		    memcmp(c->suite, term->metric, suite) != 0 || !matches(c, term->where))
			continue;
		m = case_metric(c, term->metric);
		if (m)
			return m;
	}
	return NULL;
}

static double value_of(const struct result *result, const struct claim_term *term)
{
	const struct metric_value *m = find(result, term, false);

	return m ? m->value : NAN;
}

double claim_value(const struct result *result, const struct claim_measure *measure,
		   const char **unit)
{
	const struct metric_value *m;
	double value;

	if (unit)
		*unit = "1";
	if (!measure->a.metric)
		return NAN;
	m = find(result, &measure->a, measure->even_failed);
	value = m ? m->value : NAN;
	if (measure->b.metric)
		value /= value_of(result, &measure->b);
	else if (unit && m)
		*unit = m->unit;
	if (measure->c.metric)
		value /= value_of(result, &measure->c);
	value = measure->complement ? 1 - value : value;
	return isfinite(value) ? value : NAN;
}

bool claim_has_say(const struct claim_measure *measure)
{
	return measure->a.metric && !(isinf(measure->low) && isinf(measure->high) && measure->low < 0);
}

enum claim_verdict claim_judge(const struct result *result, const struct claim *claim)
{
	enum claim_verdict verdict = CLAIM_UNTESTED;

	for (size_t i = 0; i < CLAIM_MEASURES; i++) {
		const struct claim_measure *m = &claim->measures[i];
		double value = claim_value(result, m, NULL);
		enum claim_verdict one =
			value >= m->low && value <= m->high ? CLAIM_HOLDS : CLAIM_FAILS;

		if (isnan(value) || !claim_has_say(m))
			continue;
		if (verdict == CLAIM_UNTESTED)
			verdict = one;
		else if (verdict != one)
			verdict = CLAIM_DEPENDS;
	}
	return verdict;
}
