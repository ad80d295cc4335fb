/*
 * The colours of the pages upon light and upon dark screens: each has a value for both, what is
 * read keeps its contrast, and no chart has a colour that a dark screen would show as it is.
 * Contrast is that of WCAG 2.2, 1.4.3 and 1.4.11.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "report/chart/chart.h"
#include "report/page/report.h"
#include "report/template/template.h"

#define NAMES 64
#define TEXT_CONTRAST 4.5
#define MARK_CONTRAST 3.0

enum screen { LIGHT, DARK, SCREENS };

static const char *const openings[SCREENS] = {
	[LIGHT] = ":root {",
	[DARK] = "@media screen and (prefers-color-scheme: dark) {\n\t:root {",
};

struct colour {
	double r, g, b; /* 0 to 1, as in the style */
};

struct palette {
	char name[NAMES][32];
	struct colour colour[NAMES];
	size_t count;
};

static char *css;
static struct palette palettes[SCREENS];

static struct colour colour_of(const char *hex)
{
	unsigned r, g, b;

	if (sscanf(hex, "#%2x%2x%2x", &r, &g, &b) != 3 || isxdigit((unsigned char)hex[7]))
		fail_msg("not a colour as #rrggbb: %.20s", hex);
	return (struct colour){ r / 255.0, g / 255.0, b / 255.0 };
}

static const struct colour *named(enum screen screen, const char *name)
{
	for (size_t i = 0; i < palettes[screen].count; i++)
		if (strcmp(palettes[screen].name[i], name) == 0)
			return &palettes[screen].colour[i];
	return NULL;
}

static struct colour value_of(enum screen screen, const char *name)
{
	const struct colour *found = named(screen, name);

	if (!found)
		fail_msg("--%s has no value on a %s screen", name,
			 screen == DARK ? "dark" : "light");
	return *found;
}

/* The block of values that begins with `opening`; *end is after it. */
static const char *block_of(enum screen screen, const char **end)
{
	const char *start = strstr(css, openings[screen]);

	if (!start)
		fail_msg("report.css lacks: %s", openings[screen]);
	start += strlen(openings[screen]);
	*end = strchr(start, '}');
	return start;
}

static void read_palette(enum screen screen)
{
	struct palette *p = &palettes[screen];
	const char *end, *at = block_of(screen, &end);

	while ((at = strstr(at, "--")) && at < end) {
		int length = 0;

		assert_true(p->count < NAMES);
		assert_int_equal(sscanf(at, "--%31[a-z0-9-]: %n", p->name[p->count], &length), 1);
		p->colour[p->count++] = colour_of(at + length);
		at += length;
	}
}

static double linear(double c)
{
	return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double luminance(struct colour c)
{
	return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

static double contrast(struct colour a, struct colour b)
{
	double x = luminance(a), y = luminance(b);

	return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static struct colour upon(struct colour above, double opacity, struct colour below)
{
	return (struct colour){ opacity * above.r + (1 - opacity) * below.r,
				opacity * above.g + (1 - opacity) * below.g,
				opacity * above.b + (1 - opacity) * below.b };
}

static void assert_contrast(enum screen screen, const char *what, const char *below_what,
			    struct colour above, struct colour below, double least)
{
	if (contrast(above, below) < least)
		fail_msg("%s upon %s has a contrast of %.2f on a %s screen, not %.1f", what,
			 below_what, contrast(above, below), screen == DARK ? "dark" : "light",
			 least);
}

/*
 * The rule that stands for an attribute of this colour; NULL when there is none. Its name into
 * `name`.
 */
static const char *rule_of(const char *attribute, const char *colour, char name[32])
{
	char *selector = xasprintf("\n[%s=\"%s\"] {", attribute, colour);
	char *inner = xasprintf(" [%s=\"%s\"] {", attribute, colour);
	const char *rule = strstr(css, selector);
	char property[16];

	rule = rule ? rule : strstr(css, inner);
	if (rule &&
	    (sscanf(strchr(rule, '{'), "{ %15[a-z]: var(--%31[a-z0-9-]) ;", property, name) != 2 ||
	     strcmp(property, attribute) != 0))
		rule = NULL;
	free(selector);
	free(inner);
	return rule;
}

/* The colour that the attribute shows. */
static struct colour shown(enum screen screen, const char *attribute, const char *colour)
{
	char name[32];

	if (!rule_of(attribute, colour, name))
		fail_msg("report.css has no rule for %s=\"%s\", which a dark screen would show as "
			 "it is",
			 attribute, colour);
	return value_of(screen, name);
}

static void both_screens_have_each_colour(void **state)
{
	(void)state;
	assert_true(palettes[LIGHT].count > 40);
	for (size_t i = 0; i < palettes[LIGHT].count; i++)
		value_of(DARK, palettes[LIGHT].name[i]);
	assert_int_equal(palettes[LIGHT].count, palettes[DARK].count);
	/* Paper is neither a screen nor dark. */
	assert_null(strstr(strstr(css, "prefers-color-scheme") + 1, "prefers-color-scheme"));
}

static void every_name_that_is_used_is_there(void **state)
{
	(void)state;
	for (const char *at = css; (at = strstr(at, "var(--"));) {
		char name[32];

		assert_int_equal(sscanf(at, "var(--%31[a-z0-9-])", name), 1);
		value_of(LIGHT, name);
		at++;
	}
	for (size_t i = 0; i < palettes[LIGHT].count; i++) {
		char *use = xasprintf("var(--%s)", palettes[LIGHT].name[i]);

		if (!strstr(css, use))
			fail_msg("--%s is used by nothing", palettes[LIGHT].name[i]);
		free(use);
	}
}

/* Elsewhere a colour is a name, or the attribute that a name stands for. */
static void colours_stand_in_the_two_blocks(void **state)
{
	const char *end;

	(void)state;
	block_of(DARK, &end);
	for (const char *at = end; (at = strchr(at, '#')); at++)
		if (strncmp(at - 2, "=\"", 2) != 0)
			fail_msg("report.css has a colour for one screen alone: %.40s", at - 10);
}

/* A chart without the style looks as it does with it upon white. */
static void attributes_are_the_light_values(void **state)
{
	static const char *const attributes[] = { "fill", "stroke" };
	size_t rules = 0;

	(void)state;
	for (size_t a = 0; a < ARRAY_SIZE(attributes); a++) {
		char *selector = xasprintf("[%s=\"#", attributes[a]);

		for (const char *at = css; (at = strstr(at, selector)); at++) {
			char colour[8], name[32];

			snprintf(colour, sizeof(colour), "%s", at + strlen(selector) - 1);
			if (!rule_of(attributes[a], colour, name))
				fail_msg("[%s=\"%s\"] has no rule of its own", attributes[a],
					 colour);
			assert_true(contrast(value_of(LIGHT, name), colour_of(colour)) < 1.0001);
			rules++;
		}
		free(selector);
	}
	assert_true(rules > 30);
}

static void check_attributes(const char *file, const char *text)
{
	static const char *const attributes[] = { "fill", "stroke" };

	for (size_t a = 0; a < ARRAY_SIZE(attributes); a++) {
		char *start = xasprintf(" %s=\"#", attributes[a]), name[32];

		for (const char *at = text; (at = strstr(at, start)); at++) {
			char colour[8];

			snprintf(colour, sizeof(colour), "%s", at + strlen(start) - 1);
			if (!rule_of(attributes[a], colour, name))
				fail_msg("%s: report.css has no rule for %s=\"%s\"", file,
					 attributes[a], colour);
		}
		free(start);
	}
}

static void check_page(const struct result *results, size_t count)
{
	const struct report_options options = { 0 };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	if (html_render_report(results, count, &options, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	check_attributes("page", html.data);
	text_release(&html);
}

/* Templates, and pages of real runs: one, two compared, a soak. */
static void every_colour_of_a_chart_has_a_rule(void **state)
{
	static const char *const runs[] = { TESTS_DIR "/data/quick_h200.json",
					    TESTS_DIR "/data/quick_h200_x2.json",
					    TESTS_DIR "/data/burn_h200_planted.json" };
	struct result results[ARRAY_SIZE(runs)];
	struct error err = ERROR_NONE;

	(void)state;
	for (const struct embedded_file *f = embedded_templates; f->name; f++)
		check_attributes(f->name, (const char *)f->data);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		if (result_read(&results[i], runs[i], &err) != STATUS_OK)
			fail_msg("%s", err.message);
	check_page(results, 1);
	check_page(results, 2);
	check_page(&results[1], 1);
	check_page(&results[2], 1);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		result_release(&results[i]);
	for (size_t i = 0; i < CHART_STYLES; i++) {
		shown(DARK, "fill", chart_key_style(i)->colour);
		shown(DARK, "stroke", chart_key_style(i)->colour);
	}
}

/* Foregrounds and their backgrounds on the pages. */
static void text_is_read(void **state)
{
	static const char
		*const all[] = { "paper",      "box",          "ok-back", "failed-back",
				 "error-back", "skipped-back", "edge" /* of what scrolls */ };
	static const char *const anywhere[] = { "text", "quiet", "link" };
	static const char *const on_paper[] = { "ok-text", "failed-text", "error-text",
						"noisy-text", "label" };

	(void)state;
	for (enum screen s = LIGHT; s < SCREENS; s++) {
		for (size_t t = 0; t < ARRAY_SIZE(anywhere); t++)
			for (size_t b = 0; b < ARRAY_SIZE(all); b++)
				assert_contrast(s, anywhere[t], all[b], value_of(s, anywhere[t]),
						value_of(s, all[b]), TEXT_CONTRAST);
		for (size_t t = 0; t < ARRAY_SIZE(on_paper); t++)
			assert_contrast(s, on_paper[t], "paper", value_of(s, on_paper[t]),
					value_of(s, "paper"), TEXT_CONTRAST);
	}
}

static void edges_are_seen(void **state)
{
	static const char *const edges[] = { "ok",    "failed", "error", "skipped",
					     "noisy", "axis",   "focus" };
	static const char *const backs[] = { "paper",       "box",        "ok-back",
					     "failed-back", "error-back", "skipped-back" };

	(void)state;
	for (enum screen s = LIGHT; s < SCREENS; s++)
		for (size_t e = 0; e < ARRAY_SIZE(edges); e++)
			for (size_t b = 0; b < ARRAY_SIZE(backs); b++)
				assert_contrast(s, edges[e], backs[b], value_of(s, edges[e]),
						value_of(s, backs[b]), MARK_CONTRAST);
}

/* The first attribute of this name in a template, as a number. */
static double number_of(const char *template, const char *attribute)
{
	const struct embedded_file *f = embedded_find(embedded_templates, template);
	const char *at = f ? strstr((const char *)f->data, attribute) : NULL;

	if (!at)
		fail_msg("%s has no %s", template, attribute);
	return strtod(at + strlen(attribute) + 2, NULL);
}

static void marks_are_seen(void **state)
{
	double opacity = number_of("chart_strip.mustache", "stroke-opacity");

	(void)state;
	for (enum screen s = LIGHT; s < SCREENS; s++) {
		struct colour paper = value_of(s, "paper"),
			      samples = shown(s, "stroke", chart_key_style(0)->colour);

		for (size_t i = 0; i < CHART_STYLES; i++)
			assert_contrast(s, chart_key_style(i)->colour, "paper",
					shown(s, "fill", chart_key_style(i)->colour), paper,
					MARK_CONTRAST);
		assert_contrast(s, "a sample", "paper", upon(samples, opacity, paper), paper,
				MARK_CONTRAST);
	}
}

/* In timelines text stands upon a series' colour, in maps upon a thin coat of it. */
static void text_upon_series_is_read(void **state)
{
	double opacity = number_of("chart_map.mustache", "fill-opacity");

	(void)state;
	for (enum screen s = LIGHT; s < SCREENS; s++) {
		for (size_t i = 0; i < CHART_STYLES; i++) {
			const struct chart_style *style = chart_key_style(i);
			struct colour colour = shown(s, "fill", style->colour);

			assert_contrast(s, style->ink, style->colour, shown(s, "fill", style->ink),
					colour, TEXT_CONTRAST);
			assert_contrast(s, "text", "a map's cell", value_of(s, "text"),
					upon(colour, opacity, value_of(s, "paper")), TEXT_CONTRAST);
		}
	}
}

/* The ink of a cell, which may have a rule for text after its colour. */
static struct colour cell_ink(enum screen screen, const struct chart_shade *shade)
{
	char *selector = xasprintf("[fill=\"%s\"] + text", shade->colour), name[32];
	const char *rule = strstr(css, selector);

	free(selector);
	if (!rule)
		return shown(screen, "fill", shade->ink);
	assert_int_equal(sscanf(strchr(rule, '{'), "{ fill: var(--%31[a-z0-9-])", name), 1);
	return value_of(screen, name);
}

static void text_upon_heat_maps_is_read(void **state)
{
	(void)state;
	for (enum screen s = LIGHT; s < SCREENS; s++) {
		double before = luminance(value_of(s, "paper"));

		for (size_t i = 0; i < CHART_SHADES; i++) {
			const struct chart_shade *shade =
				chart_key_shade((double)i / (CHART_SHADES - 1));
			struct colour cell = shown(s, "fill", shade->colour);

			assert_contrast(s, "text", shade->colour, cell_ink(s, shade), cell,
					TEXT_CONTRAST);
			/* A higher value is further from the paper. */
			assert_true(s == DARK ? luminance(cell) > before
					      : luminance(cell) < before);
			before = luminance(cell);
		}
	}
}

static int set_up(void **state)
{
	struct error err = ERROR_NONE;
	size_t length;

	(void)state;
	if (template_file("report.css", NULL, &css, &length, &err) != STATUS_OK)
		return -1;
	for (enum screen s = LIGHT; s < SCREENS; s++)
		read_palette(s);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(css);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_screens_have_each_colour),
		cmocka_unit_test(every_name_that_is_used_is_there),
		cmocka_unit_test(colours_stand_in_the_two_blocks),
		cmocka_unit_test(attributes_are_the_light_values),
		cmocka_unit_test(every_colour_of_a_chart_has_a_rule),
		cmocka_unit_test(text_is_read),
		cmocka_unit_test(edges_are_seen),
		cmocka_unit_test(marks_are_seen),
		cmocka_unit_test(text_upon_series_is_read),
		cmocka_unit_test(text_upon_heat_maps_is_read),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
