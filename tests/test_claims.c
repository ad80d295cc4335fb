/*
 * Claims: every row of the table can come out each way it is able to, from values made to order; what
 * is not in a result is untested and says what it needs; and the shipped config plans the cases that
 * the rows look for.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/plan.h"
#include "report/claims.h"
#include "report/report.h"
#include "suites/suite.h"

/* A case as `where` describes it, with the one metric. */
static void add_case(struct result *result, const struct claim_term *term, double value)
{
	struct case_result *c = result_add_case(result);
	char *where = xstrdup(term->where), *rest = where, *pair;

	c->suite = xstrndup(term->metric, strcspn(term->metric, "."));
	c->id = xasprintf("%s/%zu", c->suite, result->case_count);
	c->parameters = xcalloc(8, sizeof(*c->parameters));
	while ((pair = strsep(&rest, ","))) {
		char *colon;

		pair += strspn(pair, " ");
		if (!(colon = strchr(pair, ':')))
			continue;
		*colon = '\0';
		if (strcmp(pair, "label") == 0) {
			c->label = xstrdup(colon + 1);
			continue;
		}
		c->parameters[c->parameter_count].name = xstrdup(pair);
		c->parameters[c->parameter_count++].text = xstrdup(colon + 1);
	}
	free(where);
	c->metrics = xcalloc(1, sizeof(*c->metrics));
	c->metrics[0] = (struct metric_value){ .name = xstrdup(term->metric),
					       .unit = xstrdup("1"),
					       .value = value,
					       .low = NAN,
					       .high = NAN };
	c->metric_count = c->metric_capacity = 1;
}

/* A value within, or beyond, the range in which the claim holds: without either the verdict would be known beforehand. */
static double pick(const struct claim_measure *m, bool inside)
{
	assert_true(isfinite(m->low) && m->low <= m->high && (m->low > 0 || isfinite(m->high)));
	if (inside)
		return isinf(m->high) ? m->low * 2 + 1 : (m->low + m->high) / 2;
	return m->low > 0 ? m->low / 2 : m->high * 2 + 1;
}

/* The cases of one measurement whose value is `value`. */
static void add_measure(struct result *result, const struct claim_measure *m, double value)
{
	if (m->complement)
		value = 1 - value;
	add_case(result, &m->a, value * (m->b.metric ? 4 : 1) * (m->c.metric ? 0.5 : 1));
	if (m->b.metric)
		add_case(result, &m->b, 4);
	if (m->c.metric)
		add_case(result, &m->c, 0.5);
}

static enum claim_verdict judged(const struct claim *claim, const struct claim_measure *m,
				 bool inside)
{
	struct result result = { 0 };
	struct claim alone = *claim;
	enum claim_verdict verdict;
	double value = pick(m, inside);

	alone.measures[0] = *m;
	alone.measures[1] = (struct claim_measure){ 0 };
	add_measure(&result, m, value);
	assert_float_equal(claim_value(&result, m, NULL), value, 1e-9 * fabs(value) + 1e-12);
	verdict = claim_judge(&result, &alone);
	result_release(&result);
	return verdict;
}

static void every_claim_comes_out_each_way(void **state)
{
	size_t measured = 0;

	(void)state;
	for (size_t g = 0; g < claim_group_count; g++)
		for (size_t i = 0; i < claim_groups[g].count; i++) {
			const struct claim *claim = &claim_groups[g].claims[i];

			assert_true(claim->id && claim->claim && claim->prediction && claim->needs);
			for (size_t k = 0; k < CLAIM_MEASURES && claim->measures[k].a.metric; k++) {
				if (!claim_has_say(&claim->measures[k]))
					continue;
				measured++;
				if (judged(claim, &claim->measures[k], true) != CLAIM_HOLDS ||
				    judged(claim, &claim->measures[k], false) != CLAIM_FAILS)
					fail_msg("%s, measurement %zu", claim->id, k + 1);
			}
		}
	assert_true(measured > 60);
}

static const struct claim two = {
	"X1", "claim", "prediction",
	{ { "first", { "s.a", "label:l, batch:64" }, { "s.b", "" }, .low = 1, .high = 2 },
	  { "second", { "s.a", "batch:128" }, .low = 1, .high = 2 } },
	"something"
};

static void measurements_that_disagree_depend(void **state)
{
	static const struct { double first, second; enum claim_verdict verdict; } cases[] = {
		{ 1.5, 1.5, CLAIM_HOLDS },   { 3, 3, CLAIM_FAILS },
		{ 1.5, 3, CLAIM_DEPENDS },   { 0.5, 1.5, CLAIM_DEPENDS },
		{ 1.5, NAN, CLAIM_HOLDS },   { NAN, 3, CLAIM_FAILS },
		{ NAN, NAN, CLAIM_UNTESTED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct result result = { 0 };

		if (!isnan(cases[i].first))
			add_measure(&result, &two.measures[0], cases[i].first);
		if (!isnan(cases[i].second))
			add_measure(&result, &two.measures[1], cases[i].second);
		assert_int_equal(claim_judge(&result, &two), cases[i].verdict);
		result_release(&result);
	}
}

/* Shown beside the others, whatever it is. */
static void what_has_no_say_decides_nothing(void **state)
{
	struct claim claim = two;
	struct result result = { 0 };

	(void)state;
	claim.measures[1].low = -HUGE_VAL;
	claim.measures[1].high = HUGE_VAL;
	assert_true(claim_has_say(&claim.measures[0]));
	assert_false(claim_has_say(&claim.measures[1]));
	assert_false(claim_has_say(&claim.measures[2]));
	add_measure(&result, &claim.measures[1], 7);
	assert_int_equal(claim_judge(&result, &claim), CLAIM_UNTESTED);
	add_measure(&result, &claim.measures[0], 1.5);
	assert_int_equal(claim_judge(&result, &claim), CLAIM_HOLDS);
	result_release(&result);
}

/* How wrong things were is told by the case that failed for it. */
static void a_failure_may_be_the_measurement(void **state)
{
	struct claim claim = { "X", "claim", "prediction",
			       { { "a", { "s.a", "label:l" }, .even_failed = true, .low = 0, .high = 1 } },
			       "something" };
	struct result result = { 0 };

	(void)state;
	add_measure(&result, &claim.measures[0], 15);
	result.cases[0].status = CASE_FAILED;
	assert_int_equal(claim_judge(&result, &claim), CLAIM_FAILS);
	result.cases[0].status = CASE_ERROR;
	assert_int_equal(claim_judge(&result, &claim), CLAIM_UNTESTED);
	result_release(&result);
}

static void only_the_case_that_is_meant_counts(void **state)
{
	static const struct claim_term wrong[] = {
		{ "s.a", "label:other, batch:64" }, { "s.a", "label:l, batch:6" },
		{ "s.a", "label:l, batch:640" },    { "s.a", "label:l" },
		{ "t.a", "label:l, batch:64" },     { "s.aa", "label:l, batch:64" },
	};
	struct claim_measure a = { "a", { "s.a", "label:l, batch:64" }, .low = 1, .high = 2 };
	struct result result = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		add_case(&result, &wrong[i], 1.5);
	add_case(&result, &a.a, 1.25);
	assert_float_equal(claim_value(&result, &a, NULL), 1.25, 0);
	result.cases[result.case_count - 1].status = CASE_FAILED;
	assert_true(isnan(claim_value(&result, &a, NULL)));
	result_release(&result);
}

static void assert_row(const char *html, const struct claim *claim)
{
	char *row = xasprintf("<th scope=\"row\">%s. ", claim->id);

	if (!strstr(html, row))
		fail_msg("%s is not on the page", claim->id);
	free(row);
}

static void render(struct result *result, bool wanted, struct text *html)
{
	static const struct report_options options = { .reference = "" };
	struct error err = ERROR_NONE;

	result->settings = xcalloc(1, sizeof(*result->settings));
	result->setting_count = 1;
	result->settings[0] = (struct result_setting){ xstrdup("report"), xstrdup("claims"),
						       xstrdup(wanted ? "yes" : "no"), xstrdup("") };
	if (report_render(result, 1, &options, html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static void the_page_has_the_table_when_asked(void **state)
{
	struct result result = { 0 }, other = { 0 }, empty = { 0 };
	struct text html = TEXT_EMPTY, half = TEXT_EMPTY, none = TEXT_EMPTY;
	const struct claim *c = &claim_groups[2].claims[0];

	(void)state;
	add_measure(&result, &c->measures[0], 0.25);
	add_measure(&result, &c->measures[1], 4);
	render(&result, true, &html);
	for (size_t g = 0; g < claim_group_count; g++)
		for (size_t i = 0; i < claim_groups[g].count; i++)
			assert_row(html.data, &claim_groups[g].claims[i]);
	assert_non_null(strstr(html.data, "<b>0.25</b> activations / optimizer state, batch 1024"));
	assert_non_null(strstr(html.data, "depends</b></td>"));
	/* Half of a claim's measurements are missing: the page says so. */
	add_measure(&other, &c->measures[0], 0.25);
	render(&other, true, &half);
	assert_non_null(strstr(half.data, "<b>not measured:</b> the same, batch 16,384"));
	text_release(&half);
	assert_non_null(strstr(html.data, "cannot be tested here</b>: needs two GPUs"));
	render(&empty, false, &none);
	assert_null(strstr(none.data, "Claims put to the test"));
	text_release(&html);
	text_release(&none);
	result_release(&result);
	result_release(&other);
	result_release(&empty);
}

static const char *parameter_of(const struct plan_case *c, const char *name)
{
	if (strcmp(name, "label") == 0)
		return c->section->label;
	for (size_t i = 0; i < c->parameter_count; i++)
		if (strcmp(key_parameter(c->parameters[i].key), name) == 0)
			return c->parameters[i].value->text;
	return "";
}

static bool is_as(const struct plan_case *c, const struct claim_term *term)
{
	char *where = xstrdup(term->where), *rest = where, *pair;
	bool same = strncmp(term->metric, c->suite->name, strcspn(term->metric, ".")) == 0 &&
		    !c->skip_reason;

	while (same && (pair = strsep(&rest, ",")) && *pair) {
		char *colon = strchr(pair += strspn(pair, " "), ':');

		assert_non_null(colon);
		*colon = '\0';
		same = strcmp(parameter_of(c, pair), colon + 1) == 0;
	}
	free(where);
	return same;
}

static void expect_planned(const struct plan *plan, const struct claim *claim,
			   const struct claim_term *term)
{
	if (!term->metric)
		return;
	for (size_t i = 0; i < plan->case_count; i++)
		if (is_as(&plan->cases[i], term))
			return;
	fail_msg("%s: no case of %s with %s", claim->id, term->metric, term->where);
}

/* On two GPUs that can do everything no row lacks its cases. */
static void the_shipped_config_plans_every_row(void **state)
{
	const struct device_info devices[] = {
		{ .id = "cuda:0", .backend = "cuda", .index = 0, .peer_mask = 3,
		  .capabilities = ~DEVICE_SHARES_HOST_MEMORY },
		{ .id = "cuda:1", .backend = "cuda", .index = 1, .peer_mask = 3,
		  .capabilities = ~DEVICE_SHARES_HOST_MEMORY },
	};
	struct text errors = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct config config;
	struct plan plan;

	(void)state;
	assert_int_equal(config_load(&config, "claims", NULL, 0, &errors), STATUS_OK);
	assert_int_equal(plan_build(&plan, &config, devices, 2, &err), STATUS_OK);
	for (size_t g = 0; g < claim_group_count; g++)
		for (size_t i = 0; i < claim_groups[g].count; i++)
			for (size_t k = 0; k < CLAIM_MEASURES; k++) {
				const struct claim *claim = &claim_groups[g].claims[i];

				expect_planned(&plan, claim, &claim->measures[k].a);
				expect_planned(&plan, claim, &claim->measures[k].b);
				expect_planned(&plan, claim, &claim->measures[k].c);
			}
	plan_release(&plan);
	config_release(&config);
	text_release(&errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shipped_config_plans_every_row),
		cmocka_unit_test(every_claim_comes_out_each_way),
		cmocka_unit_test(measurements_that_disagree_depend),
		cmocka_unit_test(what_has_no_say_decides_nothing),
		cmocka_unit_test(a_failure_may_be_the_measurement),
		cmocka_unit_test(only_the_case_that_is_meant_counts),
		cmocka_unit_test(the_page_has_the_table_when_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
