/*
 * Every drawing of the pages of all stored results: no text leaves its drawing, and what a chart
 * draws is on its axis, whose unit is the unit of its data.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "report/claims/claims.h"
#include "report/page/view_sections.h"
#include "report/page/report.h"
#include "report/view/view.h"
#include "result/result.h"

/* px: a narrow system font at 11 px; no text of a page is narrower, so whatever leaves is cut. */
#define LEAST_CHARACTER 5.2

static const char *const stored[] = { "quick_h200",         "quick_h200_x2",  "compare_h200_x2",
				      "burn_h200_planted",  "claims_h200_x2", "acceptance_h100",
				      "acceptance_h200_x2", "nights/h100_1" };

static void read_stored(size_t index, struct result *result)
{
	char *path = xasprintf(TESTS_DIR "/data/%s.json", stored[index]);
	struct error err = ERROR_NONE;

	if (result_read(result, path, &err) != STATUS_OK)
		fail_msg("%s: %s", path, err.message);
	free(path);
}

/* The attribute's number in the tag that ends at `end`; `otherwise` where it has none. */
static double number_of(const char *tag, const char *end, const char *attribute, double otherwise)
{
	char *start = xasprintf(" %s=\"", attribute);
	const char *at = memmem(tag, (size_t)(end - tag), start, strlen(start));
	double value = at ? strtod(at + strlen(start), NULL) : otherwise;

	free(start);
	return value;
}

/* Characters of the text up to `end`: an entity is one. */
static double characters(const char *text, const char *end)
{
	double count = 0;

	for (; text < end; text++) {
		if (*text == '<') {
			text = memchr(text, '>', (size_t)(end - text));
			continue;
		}
		count += ((unsigned char)*text & 0xc0) != 0x80;
		if (*text == '&')
			text = memchr(text, ';', (size_t)(end - text));
	}
	return count;
}

static void check_text(const char *page, const char *tag, double width, double height)
{
	const char *open = strchr(tag, '>'), *close = strstr(open, "</text>");
	double long_ = LEAST_CHARACTER / 11 * number_of(tag, open, "font-size", 11) *
		       characters(open + 1, close);
	double x = number_of(tag, open, "x", 0) + number_of(tag, open, "dx", 0);
	double y = number_of(tag, open, "y", 0) + number_of(tag, open, "dy", 0);
	size_t tag_length = (size_t)(open - tag);
	double left = memmem(tag, tag_length, "\"end\"", 5)      ? x - long_
		      : memmem(tag, tag_length, "\"middle\"", 8) ? x - long_ / 2
								 : x;

	if (left < -1 || left + long_ > width + 1 || y < 6 || y > height)
		fail_msg("%s: '%.*s' from %.0f to %.0f at %.0f leaves a drawing of %.0f x %.0f",
			 page, (int)(close - open - 1), open + 1, left, left + long_, y, width,
			 height);
}

/* Returns how many texts there were. */
static size_t check_texts(const char *page, const char *html)
{
	size_t texts = 0;

	for (const char *svg = html; (svg = strstr(svg, "<svg ")); svg++) {
		const char *end = strstr(svg, "</svg>"), *open = strchr(svg, '>');
		double width = number_of(svg, open, "width", NAN);
		double height = number_of(svg, open, "height", NAN);

		for (const char *t = svg; (t = strstr(t, "<text ")) && t < end; t++, texts++)
			check_text(page, t, width, height);
	}
	return texts;
}

static void no_text_leaves_its_drawing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stored); i++) {
		struct report_options options = { .reference = i == 2 ? "all" : NULL,
						  .no_claims = true };
		struct text html = TEXT_EMPTY;
		struct error err = ERROR_NONE;
		struct result result;

		read_stored(i, &result);
		if (html_render_report(&result, 1, &options, &html, &err) != STATUS_OK)
			fail_msg("%s: %s", stored[i], err.message);
		assert_true(check_texts(stored[i], html.data) > 10);
		text_release(&html);
		result_release(&result);
	}
}

/* A label's value ("0.5" of an axis in TFLOP/s, or "100 µs") in `base`, the unit of the data. */
static double in_base(const char *chart, const char *label, const char *axis_unit, const char *base)
{
	static const struct {
		const char *prefix;
		double factor;
	} prefixes[] = { { "n", 1e-9 }, { "µ", 1e-6 },  { "m", 1e-3 },     { "k", 1e3 },
			 { "M", 1e6 },  { "G", 1e9 },   { "T", 1e12 },     { "P", 1e15 },
			 { "E", 1e18 }, { "Ki", 1024 }, { "Mi", 1048576 }, { "Gi", 1073741824 } };
	char digits[64], *end, *whole;
	double value, factor = NAN;
	size_t length = 0;
	const char *unit;

	/* "6,000,000" */
	for (; *label && length + 1 < sizeof(digits); label++)
		if (*label != ',')
			digits[length++] = *label;
	digits[length] = '\0';
	value = strtod(digits, &end);
	unit = *axis_unit ? axis_unit : end;
	while (strncmp(unit, "\u00a0", 2) == 0)
		unit += 2;
	if (strcmp(base, "1") == 0 && (!*unit || *unit == ' '))
		return value;
	if (strcmp(unit, base) == 0)
		factor = 1;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		whole = xasprintf("%s%s", prefixes[i].prefix, base);
		if (strcmp(unit, whole) == 0)
			factor = prefixes[i].factor;
		free(whole);
	}
	if (isnan(factor))
		fail_msg("%s: the axis is in '%s', its data in '%s'", chart, unit, base);
	return value * factor;
}

/* The field after the `skip`th comma of a line of CSV, whose texts are in quotation marks. */
static const char *field_of(const char *line, size_t skip)
{
	for (bool quoted = false; skip && *line && *line != '\n'; line++) {
		quoted ^= *line == '"';
		skip -= *line == ',' && !quoted;
	}
	return line;
}

/* "FLOP/s" of the head's `"throughput in FLOP/s"`; "1" where it names no unit. */
static char *unit_of_data(const char *csv)
{
	const char *field = field_of(csv, 3), *end = strchr(field + 1, '"');
	const char *in = memmem(field, (size_t)(end - field), " in ", 4);

	return in ? xasprintf("%.*s", (int)(end - in - 4), in + 4) : xstrdup("1");
}

/* An axis by two of its labelled ticks: px and the values that they stand for. */
struct axis {
	double at[2], value[2], first, last; /* first, last: px of its outer ticks */
	bool logarithmic;
};

/* False: fewer than two ticks have labels. */
static bool read_axis(const struct tree *chart, const struct tree *drawn, const char *base,
		      struct axis *axis)
{
	const struct tree *ticks = tree_member(drawn, "ticks");
	const struct tree *log = tree_member(drawn, "axis_log");
	const char *unit = tree_member_text(drawn, "axis_unit");
	size_t labels = 0;

	*axis = (struct axis){ .logarithmic = log && log->flag };
	for (size_t i = 0; ticks && i < ticks->count; i++) {
		const char *label = tree_member_text(ticks->children[i], "label");
		double at = strtod(tree_member_text(ticks->children[i], "at"), NULL);

		axis->last = at;
		if (!i)
			axis->first = at;
		/* The digits of powers of ten, all from ⁰ on, are no text that strtod() reads. */
		if (!*label || strstr(label, "×") || strstr(label, "\xe2\x81"))
			continue;
		axis->at[labels != 0] = at;
		axis->value[labels != 0] =
			in_base(tree_member_text(chart, "title"), label, unit, base);
		labels++;
	}
	return labels > 1;
}

/* px of a value on the axis, also outside it. */
static double place_on(const struct axis *axis, double value)
{
	double a = axis->logarithmic ? log(axis->value[0]) : axis->value[0];
	double b = axis->logarithmic ? log(axis->value[1]) : axis->value[1];
	double v = axis->logarithmic ? log(value) : value;

	return axis->at[0] + (v - a) / (b - a) * (axis->at[1] - axis->at[0]);
}

/*
 * An axis from the left to the right holds all values of its chart; an axis of shares is not about
 * the values.
 */
static bool check_axis(const struct tree *chart, const struct tree *drawn)
{
	const char *csv = chart->attached;
	bool shares = text_starts_with(tree_member_text(drawn, "axis_name"), "share of the ");
	char *base = unit_of_data(csv);
	struct axis axis;
	bool read = !shares && read_axis(chart, drawn, base, &axis);
	double step = read ? (axis.last - axis.first) / 2 : 0;

	free(base);
	for (const char *line = strstr(csv, "\r\n"); read && line[2];
	     line = strstr(line + 2, "\r\n")) {
		double y = strtod(field_of(line + 2, 3), NULL);
		double at = place_on(&axis, y);

		if (isfinite(y) && isfinite(at) &&
		    (at < axis.first - step || at > axis.last + step))
			fail_msg("%s: %g is not on the axis from %g",
				 tree_member_text(chart, "title"), y, axis.value[0]);
	}
	return read;
}

static size_t check_axes(const struct tree *tree)
{
	size_t checked = 0;

	for (size_t i = 0; i < tree->count; i++)
		checked += tree->attached && tree->children[i]->kind == TREE_MAP
				   ? check_axis(tree, tree->children[i])
				   : check_axes(tree->children[i]);
	return checked;
}

static void data_are_on_their_axis_in_its_unit(void **state)
{
	size_t checked = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stored); i++) {
		const struct claim_set none = { 0 };
		struct result result;
		struct tree *page;
		struct view view;

		read_stored(i, &result);
		view_init(&view, &result, 1);
		page = view_page(&view, &none, NULL);
		checked += check_axes(page);
		tree_free(page);
		view_release(&view);
		result_release(&result);
	}
	assert_true(checked > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_text_leaves_its_drawing),
		cmocka_unit_test(data_are_on_their_axis_in_its_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
