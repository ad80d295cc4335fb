/*
 * The claims themselves: each measurement can come out each way, the shipped config plans the cases
 * that they look for, and none is decided by less or by something else than what the guide says.
 * And the page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/text.h"
#include "claims_fixture.h"
#include "plan/plan.h"
#include "plan/suite.h"
#include "report/claims/claims.h"
#include "report/page/report.h"

static struct claim_set shipped;

static int load_shipped(void **state)
{
	struct error err = ERROR_NONE;

	(void)state;
	if (claims_read_load(&shipped, NULL, &err) != STATUS_OK)
		print_error("%s\n", err.message);
	return err.status != STATUS_OK;
}

static int release_shipped(void **state)
{
	(void)state;
	claims_read_release(&shipped);
	return 0;
}

static const struct claim *claim_named(const char *id)
{
	for (size_t g = 0; g < shipped.count; g++)
		for (size_t i = 0; i < shipped.groups[g].count; i++)
			if (strcmp(shipped.groups[g].claims[i].id, id) == 0)
				return &shipped.groups[g].claims[i];
	fail_msg("there is no claim %s", id);
	return NULL;
}

/*
 * A value within, or beyond, the range in which the claim holds: without either the verdict would
 * be known beforehand.
 */
static double selected(const struct claim_measure *m, bool inside)
{
	assert_true(m->low <= m->high && (m->low > 0 || isfinite(m->high)));
	if (inside)
		return isinf(m->high) ? m->low * 2 + 1 : (fmax(m->low, 0) + m->high) / 2;
	/* The larger over the smaller is never below 1. */
	if (m->across >= CLAIM_VERSIONS)
		return 1;
	if (m->better == CLAIM_BETTER_LOWER)
		return m->high * 2 + 1;
	return m->low > 0 ? m->low / 2 : m->high * 2 + 1;
}

/*
 * The cases of one measurement whose value is `value`, in one result or in two that differ in all
 * that counts.
 */
static void add_measure(struct result results[2], const struct claim_measure *m, double value)
{
	if (m->across < CLAIM_VERSIONS) {
		fixture_measure(&results[0], m, value);
		return;
	}
	fixture_case(&results[0], &m->terms[0], 4 * value);
	fixture_case(&results[1], &m->terms[0], 4);
	fixture_fact(&results[0], "hostname", "n1");
	fixture_fact(&results[1], "hostname", "n2");
	fixture_fact(&results[0], "driver", "535");
	fixture_fact(&results[1], "driver", "580");
}

static enum claim_verdict judged(const struct claim *claim, const struct claim_measure *m,
				 double value)
{
	struct result results[2] = { 0 };
	struct claim alone = *claim;
	struct claim_evidence evidence[CLAIM_MEASURES];
	enum claim_verdict verdict;

	memset(alone.measures, 0, sizeof(alone.measures));
	alone.measures[0] = *m;
	add_measure(results, m, value);
	verdict = claim_judge(results, 2, &alone, evidence);
	assert_int_equal(evidence[0].count, 1);
	assert_float_equal(evidence[0].readings[0].value, value, 1e-9 * fabs(value) + 1e-12);
	claim_evidence_release(evidence);
	fixture_release(results, 2);
	return verdict;
}

static void every_measurement_comes_out_each_way(void **state)
{
	size_t measured = 0;

	(void)state;
	for (size_t g = 0; g < shipped.count; g++)
		for (size_t i = 0; i < shipped.groups[g].count; i++) {
			const struct claim *c = &shipped.groups[g].claims[i];

			for (size_t k = 0; k < CLAIM_MEASURES; k++) {
				if (!claim_is_decisive(&c->measures[k]))
					continue;
				measured++;
				if (judged(c, &c->measures[k], selected(&c->measures[k], true)) !=
					    CLAIM_HOLDS ||
				    judged(c, &c->measures[k], selected(&c->measures[k], false)) !=
					    CLAIM_FAILS)
					fail_msg("%s, measurement %zu", c->id, k + 1);
			}
		}
	assert_true(measured > 90);
}

static bool has_percent_range(const struct claim_measure *m, double low, double high)
{
	double base = m->low >= 1 ? 1 : 0;

	return fabs(m->low - base - (low - 0.5) / 100) < 1e-9 &&
	       fabs(m->high - base - (high + 0.5) / 100) < 1e-9;
}

/* One rule for all: "40-50 %" is tested at both ends, half a point wider because it is rounded. */
static void a_claimed_range_is_tested_at_both_ends(void **state)
{
	size_t ranges = 0;

	(void)state;
	for (size_t g = 0; g < shipped.count; g++)
		for (size_t i = 0; i < shipped.groups[g].count; i++) {
			const struct claim *c = &shipped.groups[g].claims[i];
			int low, high, end;

			for (const char *at = c->source; *at; at++) {
				bool found = false;

				end = 0;
				if (*at < '0' || *at > '9' ||
				    (at != c->source && strchr("0123456789-", at[-1])))
					continue;
				if (sscanf(at, "%2d-%2d %%%n", &low, &high, &end) != 2 || !end)
					continue;
				ranges++;
				for (size_t k = 0; k < CLAIM_MEASURES; k++)
					found = found ||
						(claim_is_decisive(&c->measures[k]) &&
						 has_percent_range(&c->measures[k], low, high));
				if (!found)
					fail_msg("%s: %d to %d %% is not tested so", c->id, low,
						 high);
			}
		}
	assert_int_equal(ranges, 8);
}

/* Beyond the good end of a range is better than claimed, and no failure. */
static void a_range_can_be_exceeded(void **state)
{
	const struct claim *c = claim_named("C11");

	(void)state;
	assert_int_equal(judged(c, &c->measures[0], 0.45), CLAIM_HOLDS);
	assert_int_equal(judged(c, &c->measures[0], 0.6), CLAIM_EXCEEDED);
	assert_int_equal(judged(c, &c->measures[0], 0.3), CLAIM_FAILS);
	assert_int_equal(judged(c, &c->measures[1], 1.1), CLAIM_EXCEEDED);
	assert_int_equal(judged(c, &c->measures[1], 1.4), CLAIM_FAILS);
}

/*
 * Each has a source and either a measurement that decides it or a reason why this version has none.
 */
static void every_claim_is_complete(void **state)
{
	(void)state;
	for (size_t g = 0; g < shipped.count; g++)
		for (size_t i = 0; i < shipped.groups[g].count; i++) {
			const struct claim *c = &shipped.groups[g].claims[i];
			bool says = false;

			assert_true(c->id && c->claim && c->source && c->prediction);
			assert_int_equal(c->id[0], 'A' + (int)g);
			assert_int_equal(c->id[0], shipped.groups[g].id[0]);
			assert_int_equal(atoi(c->id + 1), i + 1);
			for (size_t k = 0; k < CLAIM_MEASURES; k++)
				says = says || claim_is_decisive(&c->measures[k]);
			if (says == (c->untestable != NULL))
				fail_msg("%s: measurements that decide, or a reason", c->id);
		}
}

/* By arithmetic or from a plan: quantities that come out as defined, whatever the device does. */
static void no_claim_is_decided_by_definition(void **state)
{
	static const char *const defined[] = {
		"matmul.memory",
		"parallel.wire_bytes",
		"trainmem.bytes_per_sample",
		"trainmem.losses",
		"trainmem.predicted",
		"trainmem.saved",
		"trainmem.activations_saved",
		"parallel.bubble_model",
	};

	(void)state;
	for (size_t g = 0; g < shipped.count; g++)
		for (size_t i = 0; i < shipped.groups[g].count; i++)
			for (size_t k = 0; k < CLAIM_MEASURES; k++) {
				const struct claim *c = &shipped.groups[g].claims[i];
				const struct claim_measure *m = &c->measures[k];
				const char *metrics[] = { m->terms[0].metric, m->terms[1].metric,
							  m->terms[2].metric };

				for (size_t t = 0; t < ARRAY_SIZE(metrics); t++)
					for (size_t d = 0; d < ARRAY_SIZE(defined); d++)
						if (metrics[t] &&
						    strcmp(metrics[t], defined[d]) == 0)
							fail_msg("%s is decided by %s", c->id,
								 defined[d]);
			}
}

/* Adam was not measured: momentum alone does not say that Adam keeps twice the parameters. */
static void half_of_the_evidence_is_not_enough(void **state)
{
	static const char *const ids[] = { "C1", "C4", "A9", "C14", "D7" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct claim *c = claim_named(ids[i]);
		struct result result = { 0 };

		fixture_measure(&result, &c->measures[1], selected(&c->measures[1], true));
		assert_int_equal(fixture_judge(&result, 1, c), CLAIM_PARTIAL);
		result_release(&result);
	}
}

static void judge_case(const char *id, const char *device, const char *backend,
		       const struct claim_term *term, double value, enum claim_verdict verdict)
{
	struct result result = { 0 };

	fixture_case_on(&result, fixture_device(&result, device, backend, 0), term, value);
	assert_int_equal(fixture_judge(&result, 1, claim_named(id)), verdict);
	result_release(&result);
}

/*
 * Behaviour of a CPU whose memory runs out, and memory of its process, are not what the guides are
 * about.
 */
static void a_cpu_decides_nothing_about_gpus(void **state)
{
	static const struct claim_term context = { "trainmem.context",
						   "label:small, precision:fp32, batch:1024" },
				       refusal = { "alloc.recovered", "label:failure" };

	(void)state;
	judge_case("C5", "AMD EPYC", "host", &context, 11.89e6, CLAIM_UNTESTED);
	judge_case("C5", "NVIDIA H200", "cuda", &context, 400e6, CLAIM_PARTIAL);
	judge_case("A4", "AMD EPYC", "host", &refusal, 1, CLAIM_UNTESTED);
	judge_case("A4", "NVIDIA H200", "cuda", &refusal, 1, CLAIM_FAILS);
}

/* GPUs that only PCIe joins. */
static void nvlink_is_judged_where_there_is_nvlink(void **state)
{
	const struct claim *c = claim_named("A3");
	struct result result = { 0 };

	(void)state;
	fixture_device(&result, "NVIDIA H200", "cuda", 0);
	fixture_measure(&result, &c->measures[0], 0.4);
	assert_int_equal(fixture_judge(&result, 1, c), CLAIM_UNTESTED);
	result.devices[0].nvlink_count = 18;
	assert_int_equal(fixture_judge(&result, 1, c), CLAIM_FAILS);
	result_release(&result);
}

/* A12 is about batches of 512 and more, which a step of 64 rows says nothing about. */
static void a_step_of_another_batch_is_no_evidence(void **state)
{
	static const struct claim_term step = { "trainmem.memory", "label:inputs, batch:64" },
				       search = { "trainmem.largest_batch",
						  "label:inputs, memory_limit:16160MiB" };

	(void)state;
	judge_case("A12", "NVIDIA H200", "cuda", &step, 2e8, CLAIM_UNTESTED);
	judge_case("A12", "NVIDIA H200", "cuda", &search, 300, CLAIM_FAILS);
	judge_case("A12", "NVIDIA H200", "cuda", &search, 3e5, CLAIM_HOLDS);
}

static void show_claims(struct result *result, bool wanted)
{
	result->settings = xcalloc(1, sizeof(*result->settings));
	result->setting_count = 1;
	result->settings[0] =
		(struct result_setting){ xstrdup("report"), xstrdup("claims"),
					 xstrdup(wanted ? "yes" : "no"), xstrdup("") };
}

static void render(const struct result *results, size_t count, bool claims, struct text *html)
{
	const struct report_options options = { .reference = "", .claims = claims ? "" : NULL };
	struct error err = ERROR_NONE;

	if (html_render_report(results, count, &options, html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static const char *find(const struct text *html, const char *text)
{
	const char *found = strstr(html->data, text);

	if (!found)
		fail_msg("the page lacks \"%s\"", text);
	return found;
}

static void find_every_claim(const struct text *html)
{
	for (size_t g = 0; g < shipped.count; g++)
		for (size_t i = 0; i < shipped.groups[g].count; i++) {
			char *row = xasprintf("<tr id=\"%s\">", shipped.groups[g].claims[i].id);

			find(html, row);
			free(row);
		}
}

/* By verdict, those that do not hold first; those that were not tested in one fold. */
static void the_page_has_the_table_when_asked(void **state)
{
	const struct claim *c = claim_named("C18");
	struct result result = { 0 }, empty = { 0 };
	struct text html = TEXT_EMPTY, none = TEXT_EMPTY;
	const char *row;

	(void)state;
	fixture_measure(&result, &c->measures[0], 1);
	show_claims(&result, true);
	render(&result, 1, false, &html);
	find_every_claim(&html);
	row = find(&html, "1 tested in part</h3>");
	assert_true(row < find(&html, "<b>C18</b> In-place"));
	assert_true(find(&html, "<b>C18</b> In-place") < find(&html, "Not tested: 75</h3>"));
	assert_true(find(&html, "Not tested: 75</h3>") < find(&html, "<b>A1</b> "));
	find(&html, "not measured: peak of the step, out of place / in place");
	find(&html, "<small>Managing GPU memory, on in-place operations");
	show_claims(&empty, false);
	render(&empty, 1, false, &none);
	assert_null(strstr(none.data, "id=\"claims\""));
	text_reset(&none);
	render(&empty, 1, true, &none);
	find(&none, "None of the claims could be tested.");
	text_release(&html);
	text_release(&none);
	result_release(&result);
	result_release(&empty);
}

/* A claim of one's own that nothing measures: the page says why. */
static void what_nothing_measures_says_why(void **state)
{
	static const char *const guide =
		"[guide A]\ntitle = t\nabout = a\n[claim A1]\ntext = t\n"
		"source = s\nprediction = p\nuntestable = it is far away\n";
	char path[] = "/tmp/claims-XXXXXX";
	struct report_options options = { .reference = "", .claims = path };
	struct result empty = { 0 };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	int file = mkstemp(path);

	(void)state;
	assert_int_equal(write(file, guide, strlen(guide)), strlen(guide));
	close(file);
	assert_int_equal(html_render_report(&empty, 1, &options, &html, &err), STATUS_OK);
	unlink(path);
	find(&html, "cannot be tested by this version");
	find(&html, "it is far away");
	text_release(&html);
}

/* `report A B --claims`: which run a value is of, and one claim from both. */
static void a_comparison_shows_claims_of_several_results(void **state)
{
	const struct claim *single = claim_named("C2"), *both = claim_named("A1");
	struct result results[2] = { 0 };
	struct text html = TEXT_EMPTY;

	(void)state;
	fixture_case(&results[0], &both->measures[0].terms[0], 800);
	fixture_case(&results[1], &both->measures[0].terms[1], 200);
	fixture_measure(&results[1], &single->measures[0], 1);
	render(results, 2, false, &html);
	assert_null(strstr(html.data, "id=\"claims\""));
	text_reset(&html);
	render(results, 2, true, &html);
	find(&html, "<b>4</b> copy within a V100 / within one die of a K80");
	find(&html, "claimed: at least 1.5; A / B, cuda:0");
	find(&html, "B, cuda:1");
	find(&html, "GTX 1080 Ti: this page has no such result");
	text_release(&html);
	fixture_release(results, 2);
}

static void reasons_from_a_result_are_escaped(void **state)
{
	const struct claim *c = claim_named("C3");
	struct result result = { 0 };
	struct text html = TEXT_EMPTY;
	struct case_result *wrong = fixture_case(&result, &c->measures[0].terms[0], 1);

	(void)state;
	wrong->status = CASE_ERROR;
	free(wrong->reason);
	wrong->reason = xstrdup("<script>alert(1)</script>");
	render(&result, 1, true, &html);
	find(&html, "ended in ERROR: &lt;script&gt;");
	assert_null(strstr(html.data, "<script>alert"));
	text_release(&html);
	result_release(&result);
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
		/* A table for any model: the config measures whatever is there. */
		same = strcmp(pair, "model") == 0 || strcmp(parameter_of(c, pair), colon + 1) == 0;
	}
	free(where);
	return same;
}

/* Marks the sections that have a case for the term. */
static void expect_planned(const struct plan *plan, const struct claim *claim,
			   const struct claim_term *term, const struct section **used,
			   size_t *count)
{
	bool found = false;

	if (!term->metric)
		return;
	for (size_t i = 0; i < plan->case_count; i++)
		if (is_as(&plan->cases[i], term)) {
			found = true;
			used[(*count)++] = plan->cases[i].section;
			break;
		}
	if (!found)
		fail_msg("%s: no case of %s with %s", claim->id, term->metric, term->where);
}

static void expect_used(const struct plan *plan, const struct section *const *used, size_t count)
{
	for (size_t i = 0; i < plan->case_count; i++) {
		bool found = false;

		for (size_t k = 0; k < count && !found; k++)
			found = used[k] == plan->cases[i].section;
		if (!found)
			fail_msg("no claim looks at [suite %s %s]", plan->cases[i].suite->name,
				 plan->cases[i].section->label);
	}
}

static void plan_claims(struct plan *plan, struct config *config, int gpus)
{
	struct device_info devices[8] = { 0 };
	struct text errors = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	assert_true(gpus <= 8);
	for (int i = 0; i < gpus; i++) {
		devices[i] = (struct device_info){ .backend = "cuda",
						   .index = i,
						   .peers = { { (1u << gpus) - 1 } },
						   .capabilities = ~(DEVICE_SHARES_HOST_MEMORY |
								     DEVICE_IS_HOST) };
		snprintf(devices[i].id, sizeof(devices[i].id), "cuda:%d", i);
	}
	assert_int_equal(config_load(config, "claims", NULL, 0, &errors), STATUS_OK);
	assert_int_equal(plan_build(plan, config, devices, (size_t)gpus, &err), STATUS_OK);
	text_release(&errors);
}

/* `used`: the sections with a case that a row looks for; room for all terms. */
static size_t expect_every_row(const struct plan *plan, bool eight, const struct section **used)
{
	size_t count = 0;

	for (size_t g = 0; g < shipped.count; g++)
		for (size_t i = 0; i < shipped.groups[g].count; i++)
			for (size_t k = 0; k < CLAIM_MEASURES; k++) {
				const struct claim *claim = &shipped.groups[g].claims[i];
				const struct claim_measure *m = &claim->measures[k];

				if (m->where_possible && !eight)
					continue;
				expect_planned(plan, claim, &m->terms[0], used, &count);
				expect_planned(plan, claim, &m->terms[1], used, &count);
				expect_planned(plan, claim, &m->terms[2], used, &count);
			}
	return count;
}

/* On GPUs that can do everything no row lacks its cases, and no section is measured in vain. */
static void the_shipped_config_plans_every_row(void **state)
{
	const struct section *used[1000];
	struct config config;
	struct plan plan;

	(void)state;
	for (int gpus = 2; gpus <= 8; gpus += 6) {
		size_t count;

		plan_claims(&plan, &config, gpus);
		count = expect_every_row(&plan, gpus == 8, used);
		/* Rows of what is optional are expected there only. */
		if (gpus == 8)
			expect_used(&plan, used, count);
		plan_release(&plan);
		config_release(&config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shipped_config_plans_every_row),
		cmocka_unit_test(every_claim_is_complete),
		cmocka_unit_test(every_measurement_comes_out_each_way),
		cmocka_unit_test(no_claim_is_decided_by_definition),
		cmocka_unit_test(half_of_the_evidence_is_not_enough),
		cmocka_unit_test(a_cpu_decides_nothing_about_gpus),
		cmocka_unit_test(nvlink_is_judged_where_there_is_nvlink),
		cmocka_unit_test(a_step_of_another_batch_is_no_evidence),
		cmocka_unit_test(a_claimed_range_is_tested_at_both_ends),
		cmocka_unit_test(a_range_can_be_exceeded),
		cmocka_unit_test(the_page_has_the_table_when_asked),
		cmocka_unit_test(what_nothing_measures_says_why),
		cmocka_unit_test(a_comparison_shows_claims_of_several_results),
		cmocka_unit_test(reasons_from_a_result_are_escaped),
	};

	return cmocka_run_group_tests(tests, load_shipped, release_shipped);
}
