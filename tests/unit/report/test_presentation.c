/*
 * A suite's rows travel in the result, and pages are drawn from them alone: also those of a suite
 * that this program lacks.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "plan/suite.h"
#include "report/page/report.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "sample_result.h"

#define ENDS(names) ((names)[ARRAY_SIZE(names) - 1] == NULL)

/* A list that fills its array would be read on into the next one. */
static void lists_of_names_have_an_end(void **state)
{
	(void)state;
	for (size_t i = 0; suites[i]; i++) {
		const struct presentation p = suite_presentation(suites[i]);

		for (const struct table_row *row = p.tables; row && row->title; row++)
			if (!ENDS(row->columns) || !ENDS(row->without))
				fail_msg("%s: table '%s'", p.suite, row->title);
		for (const struct figure_row *row = p.figures; row && row->metric; row++)
			if (!ENDS(row->facets) || !ENDS(row->only) || !ENDS(row->bars) ||
			    !ENDS(row->compare) || !ENDS(row->overlap) || !ENDS(row->together))
				fail_msg("%s: figure of %s", p.suite, row->metric);
		for (const struct sheet_row *row = p.sheet; row && row->metric; row++)
			if (!ENDS(row->only))
				fail_msg("%s: data sheet of %s", p.suite, row->metric);
	}
}

static struct case_result *add_case(struct result *r, const char *suite, const char *shape)
{
	struct case_result *c = result_add_case(r);

	c->suite = xstrdup(suite);
	c->label = xstrdup("");
	c->id = xasprintf("%zu", r->case_count);
	c->device = xstrdup("host:0");
	c->devices = xcalloc(1, sizeof(*c->devices));
	c->devices[c->device_count++] = xstrdup(c->device);
	c->status = CASE_OK;
	c->parameters = xcalloc(1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup("shape"), xstrdup(shape), NAN, xstrdup("") };
	return c;
}

static void add_metric(struct case_result *c, const char *name, double value, bool headline)
{
	ARRAY_GROW(c->metrics, c->metric_count, c->metric_capacity);
	c->metrics[c->metric_count++] = (struct metric_value){ .name = xstrdup(name),
							       .unit = xstrdup("1"),
							       .value = value,
							       .headline = headline,
							       .low = NAN,
							       .high = NAN,
							       .n = 1 };
}

/* As a file would hold it: written and read. */
static char *page_of(struct result *made)
{
	static const struct report_options options = { .reference = "" };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result read;
	char *json;

	made->version = RESULT_VERSION;
	made->planned = made->case_count;
	made->devices = xcalloc(1, sizeof(*made->devices));
	made->device_count = 1;
	made->devices[0] =
		(struct device_info){ .id = "host:0", .backend = "host", .name = "a CPU" };
	json = result_to_json(made);
	result_release(made);
	if (result_from_json(&read, json, strlen(json), &err) != STATUS_OK ||
	    html_render_report(&read, 1, &options, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	result_release(&read);
	free(json);
	return text_detach(&html);
}

static void assert_has(const char *page, const char *words)
{
	if (!strstr(page, words))
		fail_msg("the page lacks: %s", words);
}

static const struct metric metrics[] = { { "knitting.tightness", "1", BETTER_HIGHER, 1, "how tight",
					   .title = "tightness of the knot" },
					 { "knitting.dropped", "1", BETTER_LOWER, 0,
					   "part of the stitches", .title = "dropped stitches",
					   .percent = true },
					 { 0 } };
static const struct figure_row figures[] = {
	{ .metric = "knitting.tightness",
	  .kind = "bars",
	  .bars = { "shape" },
	  .means = "Tension over thickness",
	  .compare = { "shape", "sock", "hat" } },
	{ 0 },
};
static const struct table_row tables[] = {
	{ .title = "What was dropped",
	  .columns = { "knitting.dropped", "knitting.tightness" },
	  .note = "Stitches fall." },
	{ 0 },
};
static const struct word_row words[] = {
	{ "shape", "sock", "a warm sock" },
	{ "shape", "*", "shape <*>" },
	{ 0 },
};
static const struct presentation knitting = { .suite = "knitting",
					      .metrics = metrics,
					      .figures = figures,
					      .tables = tables,
					      .words = words };

static void a_suite_from_elsewhere_is_drawn_by_its_rows(void **state)
{
	struct result r = { 0 };
	struct case_result *c;
	char *page;

	(void)state;
	result_present(&r, &knitting);
	c = add_case(&r, "knitting", "sock");
	add_metric(c, "knitting.tightness", 3, true);
	add_metric(c, "knitting.dropped", 0.125, false);
	c = add_case(&r, "knitting", "hat");
	add_metric(c, "knitting.tightness", 1.5, true);
	page = page_of(&r);
	assert_has(page, "<strong>Tightness of the knot</strong>");
	assert_has(page, "Tension over thickness");
	assert_has(page,
		   "Tightness of the knot of a warm sock: 2.00\xC3\x97 that of shape &lt;hat&gt;");
	assert_has(page, "What was dropped");
	assert_has(page, "Dropped stitches");
	assert_has(page, "12.5\u00a0%");
	assert_has(page, "Stitches fall.");
	assert_null(strstr(page, "<hat>"));
	free(page);
}

/* Without rows, as of an earlier program, names are words and numbers are numbers. */
static void without_rows_names_are_words(void **state)
{
	struct result r = { 0 };
	struct case_result *c = add_case(&r, "knitting", "sock");
	char *page;

	(void)state;
	add_metric(c, "knitting.dropped", 0.125, true);
	page = page_of(&r);
	assert_has(page, "case of knitting</summary>");
	assert_null(strstr(page, "12.5\u00a0%"));
	free(page);
}

/*
 * A newcomer's change: one more row in a suite's table, and the page has its words, its percent and
 * its table.
 */
static void a_metric_needs_only_its_row(void **state)
{
	struct presentation selftest = suite_presentation(suite_find("selftest"));
	struct metric rows[32] = { { 0 } };
	struct result r = { 0 };
	struct case_result *c = add_case(&r, "selftest", "round");
	size_t count = 0;
	char *page;

	(void)state;
	while (selftest.metrics[count].name) {
		rows[count] = selftest.metrics[count];
		count++;
	}
	rows[count] = (struct metric){ "selftest.planted", "1",
				       BETTER_HIGHER,      0,
				       "as planted",       .title = "bits that were planted",
				       .percent = true };
	selftest.metrics = rows;
	result_present(&r, &selftest);
	add_metric(c, "selftest.found", 1, true);
	add_metric(c, "selftest.planted", 0.0625, false);
	page = page_of(&r);
	assert_has(page, "bits that were planted 6.25\u00a0%");
	free(page);
}

/*
 * The suite of that name stands in for results that carry nothing; what a result carries is what
 * counts.
 */
static void carried_rows_come_before_built_in_ones(void **state)
{
	static const struct metric renamed[] = {
		{ "collective.busbw", "B/s", BETTER_HIGHER, 1, "", .title = "its own words" }, { 0 }
	};
	const struct presentation own = { .suite = "collective", .metrics = renamed };
	struct result r = { 0 };
	struct view view;

	(void)state;
	view_init(&view, &r, 1);
	assert_string_equal(presented_metric_title(&view, "collective.busbw").text,
			    "bus bandwidth");
	result_present(&r, &own);
	assert_string_equal(presented_metric_title(&view, "collective.busbw").text,
			    "its own words");
	/* A row that is not carried is this program's. */
	assert_string_equal(presented_metric_title(&view, "collective.algbw").text,
			    "algorithm bandwidth");
	/* One copy of each suite. */
	result_present(&r, &own);
	assert_int_equal(r.presentation_count, 1);
	view_release(&view);
	result_release(&r);
}

/*
 * A file may hold anything: too many names, roles and kinds of chart that this program does not
 * know.
 */
static void rows_from_files_are_checked(void **state)
{
	static const struct {
		const char *rows, *message;
	} bad[] = {
		{ "{\"figures\": [{\"metric\": \"a.b\", \"kind\": \"bars\", \"facets\": "
		  "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\"]}]}",
		  "presentation.a.figures[0].facets: more than 5 names" },
		{ "{\"tables\": [{\"columns\": []}]}",
		  "presentation.a.tables[0].title: is missing" },
		{ "{\"words\": [{\"parameter\": 1}]}",
		  "presentation.a.words[0].parameter: expected a string" },
		{ "{\"metrics\": {}}", "presentation.a.metrics: expected an array" },
		{ "{\"roles\": [{\"name\": \"x\", \"role\": 7}]}",
		  "presentation.a.roles[0].role: expected a string" },
	};
	struct error err = ERROR_NONE;
	struct result r;
	char *json, *at, *text;

	(void)state;
	sample_result(&r);
	presentation_release(&r.presentations[0]);
	r.presentation_count = 0;
	json = result_to_json(&r);
	result_release(&r);
	at = strstr(json, "\"environment\"");
	assert_non_null(at);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		text = xasprintf("%.*s\"presentation\": {\"a\": %s}, %s", (int)(at - json), json,
				 bad[i].rows, at);
		error_clear(&err);
		assert_int_equal(result_from_json(&r, text, strlen(text), &err), STATUS_USAGE);
		assert_string_equal(err.message, bad[i].message);
		free(text);
	}
	text = xasprintf("%.*s\"presentation\": {\"a\": {\"roles\": [{\"name\": \"x\", \"role\": "
			 "\"of tomorrow\"}], \"figures\": [{\"metric\": \"a.b\", \"kind\": "
			 "\"hologram\"}]}}, %s",
			 (int)(at - json), json, at);
	error_clear(&err);
	assert_int_equal(result_from_json(&r, text, strlen(text), &err), STATUS_OK);
	assert_int_equal(r.presentations[0].roles[0].role, ROLE_NONE);
	result_release(&r);
	free(text);
	free(json);
}

/*
 * Rows that are half there draw what they can: a comparison without its values, parts without a
 * name, a chart of no metric.
 */
static void half_rows_do_no_harm(void **state)
{
	static const struct figure_row odd[] = {
		{ .metric = "knitting.tightness", .kind = "bars", .compare = { "shape" } },
		{ .metric = "knitting.tightness", .kind = "stacked", .overlap = { "shape" } },
		{ .metric = "knitting.tightness",
		  .kind = "heatmap",
		  .together = { "shape" },
		  .only = { "shape" } },
		{ .metric = "knitting.tightness", .kind = "strip", .axis = "shape" },
		{ .metric = "knitting.tightness",
		  .kind = "lines",
		  .axis = "shape",
		  .facets = { "shape" } },
		{ .metric = "knitting.unravelled", .kind = "lines" },
		{ 0 },
	};
	static const struct word_row starless[] = { { "shape", "*", "no star" }, { 0 } };
	static const struct role_row roles[] = { { "shape", ROLE_ARROW },
						 { "shape", ROLE_PRECISION },
						 { 0 } };
	const struct presentation own = { "knitting", metrics, odd, NULL, starless, roles };
	struct result r = { 0 };
	char *page;

	(void)state;
	result_present(&r, &own);
	add_metric(add_case(&r, "knitting", "sock"), "knitting.tightness", 3, true);
	add_metric(add_case(&r, "knitting", "hat"), "knitting.tightness", 1.5, true);
	page = page_of(&r);
	assert_has(page, "<strong>Tightness of the knot</strong>");
	free(page);
}

static void add_bytes(struct result *r, const char *parameter, const char *size)
{
	struct case_result *c = add_case(r, "knitting", "sock");

	c->parameters = xrealloc(c->parameters, 2, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup(parameter), xstrdup(size), 65536, xstrdup("B") };
	add_metric(c, "knitting.wool", 66044, true);
	free(c->metrics[0].unit);
	c->metrics[0].unit = xstrdup("B");
}

/* One unit per suite, and only for sizes that were asked for. */
static void sizes_have_the_unit_of_the_request(void **state)
{
	static const struct {
		const char *parameter, *size, *shown, *not ;
	} rows[] = {
		{ "size", "64KiB", "64.50 KiB", "66.04 kB" },
		{ "size", "65536B", "66.04 kB", "64.50 KiB" },
		{ "bucket", "64KiB", "66.04 kB", "64.50 KiB" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r = { 0 };
		char *page;

		add_bytes(&r, rows[i].parameter, rows[i].size);
		assert_string_equal(case_unit(&r.cases[0], &r.cases[0].metrics[0]),
				    strstr(rows[i].shown, "KiB") ? "iB" : "B");
		page = page_of(&r);
		assert_has(page, rows[i].shown);
		assert_null(strstr(page, rows[i].not ));
		free(page);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_names_have_an_end),
		cmocka_unit_test(a_suite_from_elsewhere_is_drawn_by_its_rows),
		cmocka_unit_test(without_rows_names_are_words),
		cmocka_unit_test(a_metric_needs_only_its_row),
		cmocka_unit_test(carried_rows_come_before_built_in_ones),
		cmocka_unit_test(rows_from_files_are_checked),
		cmocka_unit_test(half_rows_do_no_harm),
		cmocka_unit_test(sizes_have_the_unit_of_the_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
