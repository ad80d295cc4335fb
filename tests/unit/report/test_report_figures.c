/*
 * Which charts a suite gets, what they are called, and what is on one line, in one bar, in one
 * cell.
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
#include "report/page/report.h"

/* A case on the devices "cuda:FIRST" and, unless it is negative, "cuda:SECOND". */
static struct case_result *add_case(struct result *r, const char *suite, const char *metric,
				    double value, int first, int second)
{
	struct case_result *c = result_add_case(r);

	c->suite = xstrdup(suite);
	c->label = xstrdup("");
	c->id = xasprintf("%zu", r->case_count); /* names no parameter: all are of interest */
	c->status = CASE_OK;
	c->device = xasprintf("cuda:%d", first);
	c->devices = xcalloc(2, sizeof(*c->devices));
	c->devices[c->device_count++] = xasprintf("cuda:%d", first);
	if (second >= 0)
		c->devices[c->device_count++] = xasprintf("cuda:%d", second);
	c->metrics = xcalloc(1, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 1;
	c->metrics[0] = (struct metric_value){ .name = xstrdup(metric),
					       .unit = xstrdup("B/s"),
					       .value = value,
					       .headline = true,
					       .better = BETTER_HIGHER,
					       .low = NAN,
					       .high = NAN,
					       .n = 1 };
	return c;
}

static void add_parameter(struct case_result *c, const char *name, const char *text, double number,
			  const char *unit)
{
	c->parameters = xrealloc(c->parameters, c->parameter_count + 1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup(name), xstrdup(text), number, xstrdup(unit) };
}

static void add_point(struct case_result *c, const char *name, const char *value)
{
	c->point = xrealloc(c->point, c->point_count + 1, sizeof(*c->point));
	c->point[c->point_count++] = (struct case_axis){ xstrdup(name), xstrdup(value), true };
}

static char *page_of(struct result *r)
{
	static const struct report_options options = { .reference = "" };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	if (html_render_report(r, 1, &options, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	result_release(r);
	return text_detach(&html);
}

/* The chart of that title, up to its end; fails without one. Shares `html`, which it cuts. */
static char *chart_of(char *html, const char *title)
{
	char *heading = xasprintf("<strong>%s</strong>", title), *at = strstr(html, heading), *end;

	if (!at)
		fail_msg("no chart %s", title);
	end = strstr(at, "</figure>");
	assert_non_null(end);
	*end = '\0';
	free(heading);
	return at;
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
		n++;
	return n;
}

/*
 * Messages over the transport that a plan takes by itself, and over one that it was told to take.
 */
static void what_a_case_does_not_name_is_no_part_of_another_line(void **state)
{
	struct result r = { 0 };
	char *html, *chart;

	(void)state;
	for (int named = 0; named < 2; named++) {
		for (int size = 1; size <= 8; size *= 2) {
			struct case_result *c = add_case(&r, "collective", "collective.busbw",
							 (named ? 3e9 : 7e9) * size, 0, 1);
			char *text = xasprintf("%dMiB", size);

			if (named)
				add_parameter(c, "transport", "peer_copy", NAN, "");
			add_parameter(c, "size", text, size * 0x1p20, "B");
			free(text);
		}
	}
	html = page_of(&r);
	chart = chart_of(html, "Bus bandwidth");
	assert_int_equal(count(chart, "<th scope=\"col\">default transport</th>"), 1);
	assert_int_equal(count(chart, "<th scope=\"col\">by copies to the other device</th>"), 1);
	assert_non_null(
		strstr(chart, "<th scope=\"row\">1\u00a0MiB<td>7.000 GB/s<td>3.000 GB/s\n"));
	free(html);
}

/*
 * A parameter that merely does not apply to some cases makes no difference between lines that
 * differ anyway.
 */
static void what_does_not_apply_is_not_named(void **state)
{
	struct result r = { 0 };
	char *html, *chart;

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		for (int size = 1; size <= 8; size *= 2) {
			struct case_result *c =
				add_case(&r, "collective", "collective.busbw", 1e9 * size, 0, 1);
			char *text = xasprintf("%dMiB", size);

			add_parameter(c, "place", kind ? "in_place" : "out_of_place", NAN, "");
			if (kind)
				add_parameter(c, "precision", "fp32", NAN, "");
			add_parameter(c, "size", text, size * 0x1p20, "B");
			free(text);
		}
	}
	html = page_of(&r);
	chart = chart_of(html, "Bus bandwidth");
	assert_null(strstr(chart, "default"));
	assert_null(strstr(chart, "FP32"));
	assert_int_equal(count(chart, "<th scope=\"col\">in place</th>"), 1);
	free(html);
}

/* A pair has two bars; from three devices on a map shows which link is slow. */
static void few_devices_have_no_map(void **state)
{
	(void)state;
	for (int devices = 2; devices <= 3; devices++) {
		struct result r = { 0 };
		char *html;

		for (int from = devices - 1; from >= 0; from--)
			for (int to = 0; to < devices; to++)
				if (from != to)
					add_parameter(add_case(&r, "transfer", "transfer.bandwidth",
							       1e9 * (2 * from + to), from, to),
						      "direction", "p2p", NAN, "");
		html = page_of(&r);
		assert_int_equal(count(html, "<strong>Bandwidth by pair</strong>"), devices == 3);
		/* Nor are there bars where a map says it. */
		assert_int_equal(count(html, "<strong>Bandwidth</strong>"), devices == 2);
		if (devices == 3) {
			char *chart = chart_of(html, "Bandwidth by pair");

			assert_true(strstr(chart, ">cuda:0</text>") <
				    strstr(chart, ">cuda:1</text>"));
			chart = strstr(chart, "text-anchor=\"end\">cuda:");
			assert_int_equal(strncmp(chart, "text-anchor=\"end\">cuda:0<", 25), 0);
		}
		free(html);
	}
}

/* Both directions at once belong to no end of a pair. */
static void pairs_without_direction_have_none(void **state)
{
	(void)state;
	for (int both = 0; both < 2; both++) {
		struct result r = { 0 };
		char *html, *chart;

		for (int from = 0; from < 3; from++)
			for (int to = 0; to < 3; to++)
				if (both ? from < to : from != to)
					add_parameter(add_case(&r, "transfer", "transfer.bandwidth",
							       1e9 * (1 + from + 3 * to), from, to),
						      "direction", both ? "p2p_both" : "p2p", NAN,
						      "");
		html = page_of(&r);
		chart = chart_of(html, "Bandwidth by pair");
		assert_int_equal(count(chart, "between the row and the column"), both);
		assert_int_equal(count(chart, "from the row to the column"), !both);
		free(html);
	}
}

/* A single bar, and a line through fewer than four sizes, are no charts. */
static void few_points_make_no_chart(void **state)
{
	static const char *const directions[] = { "h2d", "all_to_one_write" };
	struct result r = { 0 };
	char *html;

	(void)state;
	for (int d = 0; d < 2; d++) {
		for (int size = d ? 256 : 32; size <= 256; size *= 2) {
			struct case_result *c =
				add_case(&r, "transfer", "transfer.bandwidth", 1e8 * size, 0, -1);
			char *text = xasprintf("%dMiB", size);

			add_parameter(c, "direction", directions[d], NAN, "");
			add_parameter(c, "size", text, size * 0x1p20, "B");
			free(text);
		}
	}
	html = page_of(&r);
	/* Sizes are in powers of two, also where they are near each other. */
	assert_non_null(strstr(html, ">128\u00a0MiB</text>"));
	assert_null(strstr(html, "<strong>Bandwidth: all devices write to one"));
	free(html);
}

/* Two of many devices are named, where that is enough to tell a set from the others. */
static void large_sets_are_named_by_their_first(void **state)
{
	(void)state;
	for (int alike = 0; alike < 2; alike++) {
		struct result r = { 0 };
		char *html;

		for (int first = 0; first < 2; first++) {
			struct case_result *c =
				add_case(&r, "transfer", "transfer.bandwidth", 1e9 + first, 0, 1);

			c->devices = xrealloc(c->devices, 6, sizeof(*c->devices));
			if (!alike && first) {
				free(c->devices[1]);
				c->devices[1] = xstrdup("cuda:9");
			}
			for (int d = 2; d < 6; d++)
				c->devices[c->device_count++] = xasprintf("cuda:%d", d + first);
		}
		html = page_of(&r);
		assert_int_equal(count(html, ">cuda:0 + cuda:1 + 4 others</text>"), !alike);
		assert_int_equal(count(html, ">cuda:0 + cuda:9 + 4 others</text>"), !alike);
		assert_int_equal(strstr(html, " others") != NULL, !alike);
		free(html);
	}
}

/* Devices of one model share a line, and its range shows the slow one; others have their own. */
static void identical_devices_are_one_line(void **state)
{
	enum { DEVICES = 70, SLOW = 68 };

	(void)state;
	for (int models = 1; models <= 2; models++) {
		struct result r = { 0 };
		char *html, *chart;

		r.devices = xcalloc(DEVICES, sizeof(*r.devices));
		r.device_count = DEVICES;
		for (int d = 0; d < DEVICES; d++) {
			snprintf(r.devices[d].id, sizeof(r.devices[d].id), "cuda:%d", d);
			snprintf(r.devices[d].name, sizeof(r.devices[d].name), "NVIDIA %s",
				 models == 2 && d ? "H100" : "H200");
		}
		for (int d = 0; d < DEVICES; d++)
			for (int size = 1; size <= 8; size *= 2) {
				struct case_result *c =
					add_case(&r, "transfer", "transfer.bandwidth",
						 d == SLOW ? 0.5e9 : 1e9 + d * 1e5, d, -1);
				char *text = xasprintf("%dMiB", size);

				add_parameter(c, "direction", "h2d", NAN, "");
				add_parameter(c, "size", text, size * 0x1p20, "B");
				add_point(c, "size", text);
				free(text);
			}
		html = page_of(&r);
		chart = chart_of(html, "Bandwidth");
		/* The range of the line reaches down to the slow device. */
		assert_int_equal(strstr(chart, "±50") != NULL, models == 1);
		assert_int_equal(strstr(chart, "from the lowest to the highest device") != NULL,
				 models == 1);
		assert_int_equal(strstr(chart, ">cuda:1</text>") == NULL, models == 1);
		free(html);
	}
}

/* The data tables of all charts together have no more rows for many cases than for 10,000. */
static void tables_of_very_many_cases_are_sampled(void **state)
{
	enum { SIZES = 15000 };
	static const char *const suites[] = { "transfer", "collective" };
	static const char *const metrics[] = { "transfer.bandwidth", "collective.busbw" };
	static const char *const titles[] = { "Bandwidth", "Bus bandwidth" };
	struct result r = { 0 };
	char *html, *whole, *chart;

	(void)state;
	for (int s = 0; s < 2; s++)
		for (int size = 1; size <= SIZES; size++) {
			struct case_result *c =
				add_case(&r, suites[s], metrics[s], 1e9 + size, 0, 1);
			char *text = xasprintf("%dKiB", size);

			add_parameter(c, "size", text, size * 1024.0, "B");
			free(text);
		}
	html = page_of(&r);
	for (int s = 0; s < 2; s++) {
		whole = xstrdup(html);
		chart = chart_of(whole, titles[s]);
		assert_non_null(strstr(chart, "1 row in 3;"));
		assert_int_equal(count(chart, "<th scope=\"row\">"), SIZES / 3 + 1);
		assert_non_null(strstr(chart, ">15000\u00a0KiB<"));
		free(whole);
	}
	free(html);
}

/* Devices of two nodes: a map of their pairs would grow with the nodes, whose page shows them. */
static void pairs_of_several_nodes_have_no_map(void **state)
{
	struct result r = { 0 };
	char *html;

	(void)state;
	for (int node = 0; node < 2; node++)
		for (int pair = 0; pair < 6; pair++) {
			struct case_result *c =
				add_case(&r, "transfer", "transfer.bandwidth", 1e9 + pair, pair % 3,
					 (pair + 1 + pair / 3) % 3);

			c->node = xasprintf("rack%d", node);
			add_parameter(c, "direction", "p2p", NAN, "");
		}
	html = page_of(&r);
	assert_null(strstr(html, "Bandwidth by pair"));
	free(html);
}

static void add_copy(struct result *r, const char *direction, int mebibytes)
{
	/* No two values are equal, so that bars are worth drawing. */
	struct case_result *c = add_case(r, "transfer", "transfer.bandwidth",
					 1e9 + 1e6 * (double)r->case_count, 0, -1);
	char *text = xasprintf("%dMiB", mebibytes);

	add_parameter(c, "direction", direction, NAN, "");
	add_parameter(c, "size", text, mebibytes * 0x1p20, "B");
	free(text);
}

/*
 * Directions of one size each compare in one chart, in parts where it would have too many bars;
 * one of several sizes keeps its lines. No case is lost.
 */
static void charts_of_single_bars_join(void **state)
{
	struct result r = { 0 };
	char *html, *chart;

	(void)state;
	for (int size = 1; size <= 64; size *= 4)
		add_copy(&r, "h2d", size);
	add_copy(&r, "d2h", 64);
	add_copy(&r, "local", 256);
	html = page_of(&r);
	assert_non_null(strstr(html, "<strong>Bandwidth: host to device</strong>"));
	chart = chart_of(html, "Bandwidth: each direction");
	assert_int_equal(count(chart, "<rect "), 2);
	assert_non_null(strstr(chart, "64\u00a0MiB"));
	free(html);

	r = (struct result){ 0 };
	for (int i = 0; i < 50; i++) {
		char *direction = xasprintf("way%d", i);

		add_copy(&r, direction, 64);
		free(direction);
	}
	html = page_of(&r);
	chart = chart_of(html, "Bandwidth: each direction, part 2 of 2");
	assert_int_equal(count(chart, "<rect "), 2);
	assert_non_null(strstr(html, "part 1 of 2"));
	free(html);
}

/* Bars that are all equal say what the table of cases says. */
static void equal_bars_make_no_chart(void **state)
{
	(void)state;
	for (int equal = 0; equal < 2; equal++) {
		struct result r = { 0 };
		char *html;

		for (int i = 0; i < 2; i++)
			add_parameter(add_case(&r, "selftest", "selftest.found", equal ? 1 : i + 1,
					       0, -1),
				      "kind", i ? "corruption" : "leak", NAN, "");
		html = page_of(&r);
		assert_int_equal(strstr(html, "<figure class=\"chart\"") == NULL, equal);
		free(html);
	}
}

/* Bars that a linear axis hides are on a logarithmic one, also where the suite asks for none. */
static void bars_stay_visible(void **state)
{
	static const char *const operations[] = { "latency", "callback" };

	(void)state;
	for (double factor = 100; factor <= 1000; factor *= 10) {
		struct result r = { 0 };
		char *html, *chart;

		for (size_t i = 0; i < 2; i++)
			add_parameter(add_case(&r, "launch", "launch.time",
					       i ? 1e-6 * factor : 1e-6, 0, -1),
				      "operation", operations[i], NAN, "");
		html = page_of(&r);
		chart = chart_of(html, "Time");
		assert_int_equal(count(chart, ", logarithmic</text>"), factor > 300);
		free(html);
	}
}

/* A heading over each single bar would take twice the room. */
static void single_bars_have_no_headings(void **state)
{
	static const char *const precisions[] = { "fp32", "fp16" };

	(void)state;
	for (size_t several = 1; several <= 2; several++) {
		struct result r = { 0 };
		char *html, *chart;

		for (int size = 64; size <= 256; size *= 2) {
			for (size_t p = 0; p < several; p++) {
				struct case_result *c = add_case(&r, "matmul", "matmul.throughput",
								 1e9 * size, 0, -1);
				char *text = xasprintf("%dx32x%d", size, size);

				add_parameter(c, "precision", precisions[p], NAN, "");
				add_parameter(c, "size", text, NAN, "");
				free(text);
			}
		}
		html = page_of(&r);
		chart = chart_of(html, "Throughput");
		assert_int_equal(count(chart, "font-weight=\"600\""), several == 1 ? 0 : 3);
		assert_int_equal(count(chart, "text-anchor=\"end\">64\u00d732\u00d764</text>"),
				 several == 1);
		free(html);
	}
}

/* Times of allocators on the device and of those on the host are two charts, and have two names. */
static void charts_of_two_kinds_of_memory_have_two_names(void **state)
{
	static const char *const allocators[] = { "device", "pinned" };
	struct result r = { 0 };
	char *html;

	(void)state;
	for (size_t a = 0; a < 2; a++) {
		for (int size = 1; size <= 8; size *= 2) {
			struct case_result *c =
				add_case(&r, "alloc", "alloc.latency", 1e-6 * size, 0, -1);
			char *text = xasprintf("%dMiB", size);

			add_parameter(c, "allocator", allocators[a], NAN, "");
			add_parameter(c, "size", text, size * 0x1p20, "B");
			free(text);
		}
	}
	html = page_of(&r);
	assert_int_equal(count(html, "<strong>Latency: device memory</strong>"), 1);
	assert_int_equal(count(html, "<strong>Latency: host memory</strong>"), 1);
	free(html);
}

/*
 * A figure that accompanies another case's main one is no headline: how much memory a search for a
 * batch took is none.
 */
static void headlines_are_main_figures(void **state)
{
	struct result r = { 0 };
	struct case_result *c;
	char *html;

	(void)state;
	add_parameter(add_case(&r, "trainmem", "trainmem.memory", 5e9, 0, -1), "study", "step", NAN,
		      "");
	c = add_case(&r, "trainmem", "trainmem.memory", 9e9, 0, -1);
	add_parameter(c, "study", "search", NAN, "");
	c->metrics = xrealloc(c->metrics, 2, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 2;
	c->metrics[1] = c->metrics[0];
	c->metrics[1].name = xstrdup("trainmem.largest_batch");
	c->metrics[1].unit = xstrdup("samples");
	c->metrics[0].headline = false;
	c->metrics[1].value = 12345678;
	html = page_of(&r);
	assert_non_null(strstr(html, "id=\"plain\""));
	*strstr(strstr(html, "id=\"plain\""), "</section>") = '\0';
	assert_non_null(strstr(html, "<b>5.000 GB/s</b>"));
	assert_null(strstr(html, "<b>9.000 GB/s</b>"));
	assert_non_null(strstr(html, "<b>12,345,678 samples</b>"));
	free(html);
}

/* Rates of a soak have their share of a data sheet that has the value. */
static void a_soak_is_compared_with_the_data_sheet(void **state)
{
	static const struct {
		const char *load;
		double rate;
		const char *expected;
	} loads[] = {
		{ "fp16", 672.9e12, "<td>673 TFLOP/s, 68 %" },
		{ "int8", 1385.3e12, "<td>1.39 Pops/s, 70 %" },
		{ "links", 100e9, "<td>100 GFLOP/s<td>" },
	};
	struct result r = { 0 };
	char *html;

	(void)state;
	r.devices = xcalloc(1, sizeof(*r.devices));
	r.device_count = 1;
	snprintf(r.devices[0].id, sizeof(r.devices[0].id), "cuda:0");
	snprintf(r.devices[0].name, sizeof(r.devices[0].name), "NVIDIA H200");
	r.devices[0].capability_major = 9;
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		struct case_result *c =
			add_case(&r, "burn", "burn.throughput", loads[i].rate, 0, -1);

		free(c->metrics[0].unit);
		c->metrics[0].unit = xstrdup("FLOP/s");
		add_parameter(c, "load", loads[i].load, NAN, "");
		c->metrics = xrealloc(c->metrics, 2, sizeof(*c->metrics));
		c->metrics[1] = (struct metric_value){ .name = xstrdup("burn.wrong"),
						       .unit = xstrdup("1") };
		c->metric_count = c->metric_capacity = 2;
	}
	html = page_of(&r);
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++)
		if (!strstr(html, loads[i].expected))
			fail_msg("the page lacks %s", loads[i].expected);
	/* The table has them: no second one repeats them. */
	assert_null(strstr(html, "id=\"plain\""));
	free(html);
}

/* Which split is fastest is said before the figures, and where its table is. */
static void answers_come_first(void **state)
{
	static const char *const modes[] = { "ddp", "tensor" };
	struct result r = { 0 };
	char *html, *answer;

	(void)state;
	for (size_t m = 0; m < 2; m++) {
		struct case_result *c = add_case(&r, "parallel", "parallel.step_time",
						 1e-3 * (double)(m + 1), 0, 1);

		c->metrics[0].low = c->metrics[0].high = c->metrics[0].value;
		add_parameter(c, "mode", modes[m], NAN, "");
	}
	r.state = xstrdup("complete");
	html = page_of(&r);
	assert_non_null(strstr(html, ": DDP is fastest</title>"));
	answer = strstr(strstr(html, "id=\"answers\">In short<"), "DDP is fastest");
	assert_non_null(answer);
	/* Nothing failed and nothing was judged: the answer comes before the counts of cases. */
	assert_true(answer < strstr(html, "class=\"verdict"));
	assert_true(answer < strstr(html, "class=\"splits\""));
	assert_non_null(strstr(answer, "<a href=\"#suite-1\">parallel</a>"));
	free(html);
}

/* The colour of the first bar or line after `name` in a chart's drawing. */
static void assert_colour(const char *chart, const char *name, const char *colour)
{
	const char *at = strstr(chart, name), *fill = at ? strstr(at, "fill=\"#") : NULL;

	while (fill && strncmp(fill + 6, "#1a1a1a", 7) == 0)
		fill = strstr(fill + 1, "fill=\"#");
	if (!fill || strncmp(fill + 6, colour, strlen(colour)) != 0)
		fail_msg("%s has %.7s, not %s", name, fill ? fill + 6 : "nothing", colour);
}

/* A precision has one colour, though the second chart lacks the first of them. */
static void a_thing_keeps_its_colour(void **state)
{
	static const char *const precisions[] = { "fp64", "fp32", "fp16" };
	struct result r = { 0 };
	char *html, *first, *second;

	(void)state;
	for (size_t p = 0; p < 3; p++) {
		struct case_result *c = add_case(&r, "one", "one.rate", 1e9 + (double)p, 0, -1);

		add_parameter(c, "precision", precisions[p], NAN, "");
	}
	for (size_t p = 2; p > 0; p--) {
		struct case_result *c = add_case(&r, "two", "two.rate", 2e9 + (double)p, 0, -1);

		add_parameter(c, "precision", precisions[p], NAN, "");
	}
	html = page_of(&r);
	first = chart_of(html, "Rate");
	second = chart_of(first + strlen(first) + 1, "Rate");
	assert_colour(first, ">fp64</text>", "#0b5cad");
	assert_colour(first, ">fp32</text>", "#d55e00");
	assert_colour(first, ">fp16</text>", "#009e73");
	assert_colour(second, ">fp32</text>", "#d55e00");
	assert_colour(second, ">fp16</text>", "#009e73");
	free(html);
}

static struct case_result *add_product(struct result *r, double rate, double bytes)
{
	struct case_result *c = add_case(r, "matmul", "matmul.throughput", rate, 0, -1);

	add_parameter(c, "precision", "fp32", NAN, "");
	c->metrics = xrealloc(c->metrics, 3, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 3;
	for (size_t m = 1; m < 3; m++)
		c->metrics[m] = (struct metric_value){ .name = xstrdup(m == 1 ? "matmul.time"
									      : "matmul.memory"),
						       .unit = xstrdup(m == 1 ? "s" : "B"),
						       .value = m == 1 ? 1 : bytes,
						       .low = NAN,
						       .high = NAN,
						       .n = 1 };
	return c;
}

/*
 * 4 TB/s and 40 TFLOP/s meet at 10 FLOP/B: a product below it is limited by memory, one above it by
 * arithmetic. The rate of small arrays is a cache's.
 */
static void roofs_limit_cases(void **state)
{
	static const int mebibytes[] = { 1, 512, 512 };
	static const double rates[] = { 9e12, 4e12, 3e12 };
	struct result r = { 0 };
	char *html, *chart, *copy;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct case_result *c = add_case(&r, "stream", "stream.bandwidth", rates[i], 0, -1);
		char *text = xasprintf("%dMiB", mebibytes[i]);

		add_parameter(c, "size", text, mebibytes[i] * 0x1p20, "B");
		free(text);
	}
	add_product(&r, 1e13, 2e12); /* 5 FLOP/B: half of 20 TFLOP/s */
	add_product(&r, 3e13, 3e11); /* 100 FLOP/B: three quarters of 40 TFLOP/s */
	html = page_of(&r);
	/* Without a peak rate, what products reached is no roof of theirs. */
	assert_non_null(strstr(html, "arithmetic, whose peak was not measured"));
	free(html);

	for (size_t i = 1; i < 3; i++) {
		struct case_result *c = add_case(&r, "stream", "stream.bandwidth", rates[i], 0, -1);

		add_parameter(c, "size", "512MiB", 0x1p29, "B");
	}
	add_product(&r, 1e13, 2e12);
	add_product(&r, 3e13, 3e11);
	add_parameter(add_case(&r, "peak", "peak.throughput", 4e13, 0, -1), "precision", "fp32",
		      NAN, "");
	/* Another device is not under this one's roofs. */
	add_parameter(add_case(&r, "peak", "peak.throughput", 9e13, 1, -1), "precision", "fp32",
		      NAN, "");
	html = page_of(&r);
	copy = xstrdup(html);
	chart = chart_of(copy, "Roofline of cuda:0");
	assert_non_null(strstr(chart, "Roofs: 4.00 TB/s of memory"));
	assert_non_null(strstr(chart, "FP32, 40.0 TFLOP/s"));
	assert_non_null(strstr(chart, "limited by arithmetic; farthest"));
	assert_non_null(strstr(chart, "75\u00a0%"));
	assert_non_null(strstr(chart, "50\u00a0%"));
	free(copy);
	free(html);

	/* No bandwidth, no roofline. */
	add_product(&r, 1e13, 2e12);
	html = page_of(&r);
	assert_null(strstr(html, "Roofline of"));
	free(html);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_case_does_not_name_is_no_part_of_another_line),
		cmocka_unit_test(what_does_not_apply_is_not_named),
		cmocka_unit_test(few_devices_have_no_map),
		cmocka_unit_test(pairs_without_direction_have_none),
		cmocka_unit_test(few_points_make_no_chart),
		cmocka_unit_test(large_sets_are_named_by_their_first),
		cmocka_unit_test(identical_devices_are_one_line),
		cmocka_unit_test(tables_of_very_many_cases_are_sampled),
		cmocka_unit_test(pairs_of_several_nodes_have_no_map),
		cmocka_unit_test(charts_of_single_bars_join),
		cmocka_unit_test(equal_bars_make_no_chart),
		cmocka_unit_test(bars_stay_visible),
		cmocka_unit_test(single_bars_have_no_headings),
		cmocka_unit_test(charts_of_two_kinds_of_memory_have_two_names),
		cmocka_unit_test(headlines_are_main_figures),
		cmocka_unit_test(a_soak_is_compared_with_the_data_sheet),
		cmocka_unit_test(answers_come_first),
		cmocka_unit_test(a_thing_keeps_its_colour),
		cmocka_unit_test(roofs_limit_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
