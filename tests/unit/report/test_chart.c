/*
 * Scales and charts are legal whatever they are fed: no data, one point, all equal, NaN, thousands
 * of points.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "report/chart/chart.h"
#include "report/template/template.h"

static struct scale scale_in(enum scale_kind kind, double min, double max, const char *unit)
{
	struct scale scale;

	scale_init(&scale, kind, (struct extent){ min, max }, unit, 0, 400);
	return scale;
}

static struct scale scale_of(enum scale_kind kind, double min, double max)
{
	return scale_in(kind, min, max, "");
}

static void assert_ticks(enum scale_kind kind, double min, double max, const char *unit,
			 double factor, const char *expected)
{
	struct scale scale = scale_in(kind, min, max, unit);
	struct tick ticks[SCALE_TICKS];
	size_t count = scale_ticks(&scale, unit, factor, ticks);
	struct text labels = TEXT_EMPTY;

	for (size_t i = 0; i < count; i++)
		text_addf(&labels, "%s%s", i ? "|" : "", ticks[i].label.text);
	assert_string_equal(labels.data ? labels.data : "", expected);
	text_release(&labels);
}

static void ticks_are_round(void **state)
{
	(void)state;
	assert_ticks(SCALE_LINEAR, 0, 55e9, "B/s", 1e9, "0|20|40|60");
	assert_ticks(SCALE_LINEAR, -3, 4, "1", 1, "−4|−2|0|2|4");
	assert_ticks(SCALE_LINEAR, 5, 5, "1", 1, "0|1|2|3|4|5");
	assert_ticks(SCALE_LOG10, 1.2e-6, 3e-2, "s", 1,
		     "1\u00a0µs|10\u00a0µs|100\u00a0µs|1\u00a0ms|10\u00a0ms|100\u00a0ms");
	assert_ticks(SCALE_LOG10, 3, 8, "1", 1, "2|5|10");
	assert_ticks(SCALE_LOG2, 1024, 0x1p29, "B", 1,
		     "1\u00a0KiB|8\u00a0KiB|64\u00a0KiB|512\u00a0KiB|4\u00a0MiB|32\u00a0MiB|"
		     "256\u00a0MiB");
	assert_ticks(SCALE_LINEAR, 0, 900.0 * 0x1p20, "iB", 0x1p20, "0|200|400|600|800|1000");
	assert_ticks(SCALE_LOG10, 4096, 0x1p26, "iB", 1,
		     "4\u00a0KiB|16\u00a0KiB|64\u00a0KiB|256\u00a0KiB|1\u00a0MiB|4\u00a0MiB|"
		     "16\u00a0MiB|64\u00a0MiB");
	assert_ticks(SCALE_LOG2, 0.25, 8, "×", 1, "0.25×|0.5×|1×|2×|4×|8×");
	assert_ticks(SCALE_LOG2, 0.54, 1.63, "×", 1, "0.75×|1×|1.25×|1.5×");
	assert_ticks(SCALE_LOG10, 2e-7, 4e-3, "1", 1,
		     "10⁻⁷|10⁻⁶|10⁻⁵|10⁻⁴|10⁻³|"
		     "0.01");
}

static void scales_are_legal(void **state)
{
	static const double values[] = { 0, 1, -1, 1e-300, 1e300, 5e-324, -1e300, 42 };
	const double nan = (double)NAN;

	(void)state;
	for (int kind = SCALE_LINEAR; kind <= SCALE_LOG2; kind++) {
		for (size_t i = 0; i <= ARRAY_SIZE(values); i++) {
			double value = i < ARRAY_SIZE(values) ? values[i] : nan;
			struct scale scale = scale_of((enum scale_kind)kind, value, value);
			struct tick ticks[SCALE_TICKS];
			size_t count = scale_ticks(&scale, "s", 1, ticks);

			assert_true(scale.low < scale.high);
			assert_true(count <= SCALE_TICKS);
			for (size_t t = 0; t < count; t++) {
				double at = scale_at(&scale, ticks[t].value);

				assert_true(at >= -0.01 && at <= 400.01);
			}
			assert_true(isnan(scale_at(&scale, nan)));
		}
	}
}

static void values_outside_stay_at_the_end(void **state)
{
	struct scale scale = scale_of(SCALE_LOG10, 1, 1000);

	(void)state;
	assert_float_equal(scale_at(&scale, 1e9), 400, 1e-9);
	assert_float_equal(scale_at(&scale, 0), 0, 1e-9);
	assert_float_equal(scale_at(&scale, -5), 0, 1e-9);
	assert_float_equal(scale_at(&scale, 10), 400.0 / 3, 1e-9);
}

static void chart_of(struct chart *chart, enum chart_kind kind)
{
	chart_init(chart, kind);
	chart->id = xstrdup("c");
	chart->title = xstrdup("Title");
	chart->shows = xstrdup("What it shows.");
	chart->note = xstrdup("");
	chart->x_name = xstrdup("size");
	chart->x_unit = xstrdup("B");
	chart->x_scale = SCALE_LOG2;
	chart->y_name = xstrdup("bandwidth");
	chart->y_unit = xstrdup("B/s");
	chart->better = BETTER_HIGHER;
}

static void add_point(struct chart_series *series, const char *text, double x, double y, double low,
		      double high)
{
	struct chart_point *point = chart_point_new(series, text);

	point->x = x;
	point->y = y;
	point->low = low;
	point->high = high;
	point->p50 = point->p95 = y;
	point->samples = &point->y;
	point->sample_count = 0;
}

/* The figure as HTML; the caller frees it. */
static char *render(const struct chart *chart)
{
	struct tree *root = tree_new(TREE_MAP);
	struct text page = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	chart_draw(chart, tree_list(root, "charts"));
	/* chart.mustache sees the first chart's members by Mustache's lookup of names. */
	assert_int_equal(template_render("chart", NULL, root->children[0]->children[0], &page,
					 &err),
			 STATUS_OK);
	tree_free(root);
	return text_detach(&page);
}

static void assert_legal(const char *html)
{
	assert_null(strstr(html, "nan"));
	assert_null(strstr(html, "inf"));
	assert_null(strstr(html, "=\"-\""));
	assert_non_null(strstr(html, "<figure"));
	assert_non_null(strstr(html, "</figure>"));
}

static void no_data_says_so(void **state)
{
	(void)state;
	for (int kind = CHART_LINES; kind <= CHART_MAP; kind++) {
		struct chart chart;
		char *html;

		chart_of(&chart, (enum chart_kind)kind);
		chart_series_named(&chart, "empty");
		add_point(chart_series_named(&chart, "only NaN"), "1 KiB", 1024, (double)NAN,
			  (double)NAN, (double)NAN);
		html = render(&chart);
		assert_legal(html);
		assert_null(strstr(html, "<svg"));
		assert_non_null(strstr(html, "Nothing was measured"));
		assert_null(
			strstr(strstr(html, "Nothing was measured") + 1, "Nothing was measured"));
		free(html);
		chart_release(&chart);
	}
}

static void odd_data_is_drawn(void **state)
{
	static const double odd[][3] = {
		{ 5, 5, 5 },          /* no width */
		{ 0, NAN, NAN },      /* zero */
		{ 1e-300, 0, 1e300 }, /* an absurd interval */
		{ -7, -8, INFINITY },
	};

	(void)state;
	for (int kind = CHART_LINES; kind <= CHART_MAP; kind++) {
		for (int scale = SCALE_LINEAR; scale <= SCALE_LOG2; scale++) {
			for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
				struct chart chart;
				char *html;

				chart_of(&chart, (enum chart_kind)kind);
				chart.y_scale = (enum scale_kind)scale;
				add_point(chart_series_named(&chart, "one"), "1 KiB", 1024,
					  odd[i][0], odd[i][1], odd[i][2]);
				html = render(&chart);
				assert_legal(html);
				assert_non_null(strstr(html, "<svg"));
				free(html);
				chart_release(&chart);
			}
		}
	}
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)); text++)
		count++;
	return count;
}

static void gap_is_not_bridged(void **state)
{
	struct chart chart;
	struct chart_series *series;
	const char *line;
	char *html;

	(void)state;
	chart_of(&chart, CHART_LINES);
	series = chart_series_named(&chart, "");
	add_point(series, "1 KiB", 1024, 1, 1, 1);
	add_point(series, "2 KiB", 2048, 2, 2, 2);
	add_point(series, "4 KiB", 4096, (double)NAN, (double)NAN, (double)NAN);
	add_point(series, "8 KiB", 8192, 3, 3, 3);
	html = render(&chart);
	line = strstr(html, "stroke-width=\"1.8\"");
	assert_non_null(line);
	while (strncmp(line, "<path d=\"", 9) != 0)
		line--;
	line = strndup(line + 9, strcspn(line + 9, "\""));
	assert_int_equal(count_of(line, "M"), 2);
	assert_int_equal(count_of(line, "L"), 1);
	free((char *)line);
	free(html);
	chart_release(&chart);
}

static void many_points_are_thinned(void **state)
{
	struct chart chart;
	struct chart_series *series;
	char *html;
	char text[32];

	(void)state;
	chart_of(&chart, CHART_LINES);
	chart.x_scale = SCALE_LINEAR;
	series = chart_series_named(&chart, "");
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "%d",
			 i % 10); /* few texts: this is not about the table */
		add_point(series, text, i, i == 7777 ? 100 : sin(i), (double)NAN, (double)NAN);
	}
	html = render(&chart);
	assert_legal(html);
	assert_true(strlen(html) < 40000);
	/*
	 * The one peak survives: it is the top of its pixel column, drawn at the end of the axis.
	 */
	assert_true(count_of(html, "L") > 500);
	free(html);
	chart_release(&chart);
}

/* The y of every label, in order of appearance. */
static size_t label_heights(const char *html, double *out, size_t capacity)
{
	size_t count = 0;

	while (count < capacity && (html = strstr(html, "<path d=\"M")) != NULL) {
		const char *text = strstr(html, "<text x=\"");

		html++;
		if (!strstr(html, "stroke-width=\"0.8\""))
			break;
		html = strstr(html, "stroke-width=\"0.8\"");
		text = strstr(html, "<text x=\"");
		out[count++] = strtod(strstr(text, "y=\"") + 3, NULL);
	}
	return count;
}

static void labels_of_equal_lines_do_not_collide(void **state)
{
	struct chart chart;
	double heights[8];
	char *html, name[16];

	(void)state;
	chart_of(&chart, CHART_LINES);
	for (int s = 0; s < 8; s++) {
		struct chart_series *series;

		snprintf(name, sizeof(name), "series %d", s);
		series = chart_series_named(&chart, name);
		add_point(series, "1 KiB", 1024, 0.001 * s, (double)NAN, (double)NAN);
		add_point(series, "2 KiB", 2048, 1e-6 * s, (double)NAN, (double)NAN);
	}
	html = render(&chart);
	assert_int_equal(label_heights(html, heights, 8), 8);
	for (int i = 1; i < 8; i++)
		assert_true(heights[i] - heights[i - 1] > 12);
	assert_true(heights[0] > 0 && heights[7] < 270);
	free(html);
	chart_release(&chart);
}

/* Words that bars share are left out of long names; those that tell them apart stay. */
static void long_names_keep_what_differs(void **state)
{
	static const char *const names[] = {
		"FP32, batch 1024, single, 1 device, strong scaling",
		"FP32, batch 1024, DDP, 2 devices, strong scaling",
		"FP32, batch 1024, tensor, 2 devices, strong scaling",
		"short",
	};
	static const char *const shown[] = {
		"\u2026, single, 1 device, strong scaling",
		"\u2026, DDP, 2 devices, strong scaling",
		"\u2026, tensor, 2 devices, strong scaling",
		"short",
	};
	static const char *const words = "nothingbutonewordthatislongerthanitmaybe";

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char *name = chart_short_name(names[i], names, 4, 38);

		assert_string_equal(name, shown[i]);
		free(name);
	}
	for (size_t longest = 4; longest < 40; longest++) {
		char *name = chart_short_name(words, &words, 1, longest);

		assert_int_equal(chart_characters(name), longest);
		free(name);
	}
}

/* Bars start at zero, which an axis of decades does not have. */
static void logarithmic_values_are_marks(void **state)
{
	struct chart chart;
	char *html;

	(void)state;
	chart_of(&chart, CHART_BARS);
	add_point(chart_series_named(&chart, ""), "fast", (double)NAN, 1e9, (double)NAN,
		  (double)NAN);
	add_point(chart_series_named(&chart, ""), "slow", (double)NAN, 1e6, (double)NAN,
		  (double)NAN);
	html = render(&chart);
	assert_null(strstr(html, "width=\"7\" height=\"12\""));
	free(html);
	chart.y_scale = SCALE_LOG10;
	html = render(&chart);
	assert_non_null(strstr(html, "width=\"7\" height=\"12\""));
	assert_non_null(
		strstr(strstr(html, "width=\"7\" height=\"12\"") + 1, "width=\"7\" height=\"12\""));
	free(html);
	chart_release(&chart);
}

/* A message of a microsecond in a step of milliseconds; an outline would cover it. */
static void short_spans_are_seen(void **state)
{
	struct chart chart;
	char *html;

	(void)state;
	chart_of(&chart, CHART_TIMELINE);
	free(chart.y_unit);
	chart.y_unit = xstrdup("s");
	add_point(chart_series_named(&chart, "0 compute"), "F0", 0, 5e-3, (double)NAN, (double)NAN);
	add_point(chart_series_named(&chart, "0 send"), "S0", 5e-3, 5.001e-3, (double)NAN,
		  (double)NAN);
	html = render(&chart);
	assert_non_null(strstr(html, "width=\"0.8\" height=\"14\" fill=\"#0b5cad\"/>"));
	assert_non_null(strstr(html, "height=\"14\" fill=\"#0b5cad\" stroke=\"#ffffff\""));
	free(html);
	chart_release(&chart);
}

/*
 * Short names leave room for the plot on a telephone; long ones are above their bars, and lines
 * with long ones scroll.
 */
static void charts_fit_a_telephone_where_names_do(void **state)
{
	static const enum chart_kind kinds[] = { CHART_LINES, CHART_STRIP, CHART_BARS,
						 CHART_STACKED };
	static const struct {
		const char *name, *width, *bar;
	} names[] = {
		{ "pool", "width=\"360\"", " text-anchor=\"end\">pool</text>" },
		{ "a name of thirty-six characters long", "width=\"480\"",
		  " stroke-width=\"3\">a name of thirty-six characters long</text>" },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
			bool line = kinds[k] == CHART_LINES;
			bool bar = kinds[k] == CHART_BARS || kinds[k] == CHART_STACKED;
			bool named = line || kinds[k] == CHART_STACKED;
			struct chart chart;
			char *html;

			chart_of(&chart, kinds[k]);
			for (int i = 1; i < 3; i++)
				add_point(chart_series_named(&chart, named ? names[n].name : ""),
					  named ? i > 1 ? "2" : "1" : names[n].name, i, i * 5e9,
					  (double)NAN, (double)NAN);
			html = render(&chart);
			assert_non_null(strstr(html, names[bar ? 0 : n].width));
			assert_true(!bar || strstr(html, names[n].bar));
			free(html);
			chart_release(&chart);
		}
}

/* A wide unit at each tick of a logarithmic axis, as of a roofline. */
static void labels_of_the_axis_stay_inside(void **state)
{
	static const char label[] = "100\u00a0TFLOP/s</text>";
	struct chart chart;
	const char *at, *x;
	char *html;

	(void)state;
	chart_of(&chart, CHART_LINES);
	chart.y_scale = SCALE_LOG10;
	free(chart.y_unit);
	chart.y_unit = xstrdup("FLOP/s");
	for (int i = 1; i < 3; i++)
		add_point(chart_series_named(&chart, "H200"), i > 1 ? "2" : "1", i, i * 5e13,
			  (double)NAN, (double)NAN);
	html = render(&chart);
	at = strstr(html, label);
	assert_non_null(at);
	for (x = at; strncmp(x, "<text x=\"", 9) != 0; x--)
		;
	assert_true(strtod(x + 9, NULL) - 5 >= CHART_CHARACTER * 11);
	free(html);
	chart_release(&chart);
}

/* Labels that would touch are left out evenly. */
static void labels_of_ticks_are_even(void **state)
{
	struct chart chart;
	struct tree *map = tree_new(TREE_MAP), *ticks;
	struct scale scale;

	(void)state;
	chart_init(&chart, CHART_BARS);
	scale_init(&scale, SCALE_LINEAR, (struct extent){ 0, 1.25 }, "1", 0, 105);
	chart_ticks(map, "ticks", &scale, "1", 1, 110);
	ticks = map->children[0];
	assert_true(ticks->count > 4);
	for (size_t i = 0; i < ticks->count; i++)
		assert_int_equal(*tree_member_text(ticks->children[i], "label") != '\0',
				 i % 2 == 0);
	tree_free(map);
	chart_release(&chart);
}

/* Times over sizes come with their latency and bandwidth; a line too short for that is left out. */
/* Also the widest value, at the end of the longest bar. */
static void values_of_bars_stay_inside(void **state)
{
	static const char value[] = "12,350,000 samples</text>";
	struct chart chart;
	const char *at, *x;
	char *html;

	(void)state;
	chart_of(&chart, CHART_BARS);
	free(chart.y_unit);
	chart.y_unit = xstrdup("samples");
	add_point(chart_series_named(&chart, ""), "FP16 mixed", (double)NAN, 1.235e7, (double)NAN,
		  (double)NAN);
	html = render(&chart);
	at = strstr(html, value);
	assert_non_null(at);
	for (x = at; strncmp(x, "<text x=\"", 9) != 0; x--)
		;
	assert_true(strtod(x + 9, NULL) + CHART_CHARACTER * 18 <= CHART_WIDTH);
	free(html);
	chart_release(&chart);
}

static void times_over_sizes_are_fitted(void **state)
{
	struct chart chart;
	struct chart_series *series;
	char *html;

	(void)state;
	chart_of(&chart, CHART_LINES);
	chart.fitted = true;
	series = chart_series_named(&chart, "four ranks");
	for (double size = 1024; size <= 0x1p30; size *= 4)
		add_point(series, "size", size, 6e-6 + size / 350e9, (double)NAN, (double)NAN);
	series = chart_series_named(&chart, "two sizes only");
	add_point(series, "size", 1024, 1e-6, (double)NAN, (double)NAN);
	add_point(series, "size", 2048, 2e-6, (double)NAN, (double)NAN);
	html = render(&chart);
	assert_legal(html);
	assert_non_null(strstr(html, "<tr><th scope=\"row\">four ranks<td>6.000 µs ± "));
	assert_non_null(strstr(html, "<td>350.0 GB/s ± "));
	assert_null(strstr(html, "<tr><th scope=\"row\">two sizes only<td>"));
	free(html);
	chart_release(&chart);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_round),
		cmocka_unit_test(scales_are_legal),
		cmocka_unit_test(values_outside_stay_at_the_end),
		cmocka_unit_test(no_data_says_so),
		cmocka_unit_test(odd_data_is_drawn),
		cmocka_unit_test(gap_is_not_bridged),
		cmocka_unit_test(many_points_are_thinned),
		cmocka_unit_test(labels_of_equal_lines_do_not_collide),
		cmocka_unit_test(logarithmic_values_are_marks),
		cmocka_unit_test(long_names_keep_what_differs),
		cmocka_unit_test(short_spans_are_seen),
		cmocka_unit_test(charts_fit_a_telephone_where_names_do),
		cmocka_unit_test(labels_of_the_axis_stay_inside),
		cmocka_unit_test(labels_of_ticks_are_even),
		cmocka_unit_test(values_of_bars_stay_inside),
		cmocka_unit_test(times_over_sizes_are_fitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
