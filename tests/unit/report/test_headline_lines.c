/*
 * The figures at the end of a run: few lines that fit a terminal, with the share of the data sheet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/run/run_figures.h"

static void read_data(struct result *r, const char *name)
{
	char path[512];
	struct error err = ERROR_NONE;

	snprintf(path, sizeof(path), "%s/data/%s", TESTS_DIR, name);
	if (result_read(r, path, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static size_t characters(const char *line, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += ((unsigned char)line[i] & 0xc0) != 0x80;
	return n;
}

/* How many lines there are; each must fit. */
static size_t count_lines(const char *text)
{
	size_t count = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");

		if (characters(text, length) > 80)
			fail_msg("wider than a terminal: %.*s", (int)length, text);
		count++;
		text += length + 1;
	}
	return count;
}

static const char *line_of(const char *text, const char *label)
{
	const char *at = strstr(text, label);

	if (!at)
		fail_msg("no line '%s' in\n%s", label, text);
	return at;
}

/* Wide intervals overlap on every line that has two, narrow ones of values apart on none. */
static void count_overlaps(struct result *r, const char *before)
{
	struct text out = TEXT_EMPTY, answers = TEXT_EMPTY;
	size_t overlapping, lines;

	for (int wide = 1; wide >= 0; wide--) {
		for (size_t i = 0; i < r->case_count; i++)
			for (size_t m = 0; m < r->cases[i].metric_count; m++) {
				struct metric_value *v = &r->cases[i].metrics[m];

				v->value = strstr(r->cases[i].id, "@cuda:1") ? 2 : 1;
				v->low = v->value - (wide ? 1 : 0.1);
				v->high = v->value + (wide ? 1 : 0.1);
			}
		text_reset(&out);
		text_reset(&answers);
		headline_lines(r, &out, &answers);
		if (!wide)
			assert_null(answers.data
					    ? strstr(answers.data, "are not distinguishable on")
					    : NULL);
		else if (sscanf(line_of(answers.data,
					"cuda:0 and cuda:1 are not distinguishable on "),
				"cuda:0 and cuda:1 are not distinguishable on %zu of %zu lines",
				&overlapping, &lines) != 2 ||
			 overlapping == 0 || overlapping != lines)
			fail_msg("%s\n%s", answers.data, before);
	}
	text_release(&out);
	text_release(&answers);
}

static void two_devices_have_a_column_each(void **state)
{
	struct text out = TEXT_EMPTY, answers = TEXT_EMPTY;
	struct result r;
	const char *line;
	size_t lines;

	(void)state;
	read_data(&r, "quick_h200_x2.json");
	headline_lines(&r, &out, &answers);
	lines = count_lines(out.data);
	if (lines < 9 || lines > HEADLINE_LINES + 1)
		fail_msg("%zu lines:\n%s", lines, out.data);
	assert_non_null(strstr(line_of(out.data, "cuda:0"), "cuda:1"));
	assert_non_null(strstr(line_of(out.data, "cuda:0"), "of data sheet\n"));
	line = line_of(out.data, "stream: triad, FP64");
	assert_memory_equal(line + 30, "4.366 TB/s ±", strlen("4.366 TB/s ±"));
	assert_non_null(strstr(line, " 91 %\n"));
	/* A sentence from the page. */
	line_of(answers.data, " is fastest, ");
	line_of(out.data, "matmul: ");
	line_of(out.data, "transfer: ");
	count_overlaps(&r, answers.data);
	text_release(&out);
	text_release(&answers);
	result_release(&r);
}

static void expect_mark(struct result *r, const char *before_value)
{
	struct text out = TEXT_EMPTY, answers = TEXT_EMPTY;
	const char *line;

	headline_lines(r, &out, &answers);
	line = line_of(out.data, "stream: triad, FP64");
	assert_memory_equal(line + 30, before_value, strlen(before_value));
	text_release(&out);
	text_release(&answers);
}

/* Bytes of memory are exact although the times of the same case scatter. */
static void a_figure_is_noisy_by_its_own_samples(void **state)
{
	struct case_result *triad = NULL;
	struct result r;

	(void)state;
	read_data(&r, "quick_h200_x2.json");
	for (size_t i = 0; i < r.case_count; i++)
		if (strstr(r.cases[i].id, "stream/triad/") && strstr(r.cases[i].id, "@cuda:0"))
			triad = &r.cases[i];
	assert_non_null(triad);
	for (size_t i = 0; i < triad->series_count; i++)
		triad->series[i].statistics.noisy = false;
	expect_mark(&r, "4.366 TB/s");
	for (size_t i = 0; i < triad->series_count; i++)
		triad->series[i].statistics.noisy = true;
	expect_mark(&r, "~4.366 TB/s");
	for (size_t i = 0; i < triad->metric_count; i++) {
		free(triad->metrics[i].series);
		triad->metrics[i].series = strdup("");
	}
	expect_mark(&r, "4.366 TB/s");
	result_release(&r);
}

/* The middle one of eight and the worst, which is 40 % down. */
static void many_devices_are_summed_up(void **state)
{
	struct text out = TEXT_EMPTY, answers = TEXT_EMPTY;
	struct result r;

	(void)state;
	read_data(&r, "quick_h200_x2.json");
	r.devices = realloc(r.devices, 3 * sizeof(*r.devices));
	assert_non_null(r.devices);
	r.devices[2] = r.devices[1];
	snprintf(r.devices[2].id, sizeof(r.devices[2].id), "cuda:2");
	r.device_count = 3;
	for (size_t i = 0; i < r.case_count; i++) {
		struct case_result *c = &r.cases[i];

		if (strcmp(c->suite, "stream") == 0 && strcmp(c->device, "cuda:1") == 0)
			for (size_t m = 0; m < c->metric_count; m++)
				c->metrics[m].value *= 0.6;
		/* The third one is a device of its own in the copies alone. */
		if (strcmp(c->id, "transfer/h2d/pinned/64MiB@cuda:1") == 0) {
			c->device[5] = c->devices[0][5] = '2';
			c->id[strlen(c->id) - 1] = '2';
		}
	}
	headline_lines(&r, &out, &answers);
	count_lines(out.data);
	line_of(out.data, "middle device");
	assert_non_null(strstr(line_of(out.data, "stream: triad, FP64"), "2.618 TB/s"));
	text_release(&out);
	text_release(&answers);
	result_release(&r);
}

/* A wrong result is no figure, and the best of other cases does not stand in its place. */
static void what_failed_has_no_figure(void **state)
{
	struct text out = TEXT_EMPTY, answers = TEXT_EMPTY;
	struct result r;
	const char *line;

	(void)state;
	read_data(&r, "quick_h200_x2.json");
	for (size_t i = 0; i < r.case_count; i++)
		if (strcmp(r.cases[i].id, "stream/triad/fp64/512MiB@cuda:1") == 0)
			r.cases[i].status = CASE_FAILED;
	headline_lines(&r, &out, &answers);
	count_lines(out.data);
	line = line_of(out.data, "stream: triad, FP64");
	assert_memory_equal(line + 30, "4.366 TB/s ±", strlen("4.366 TB/s ±"));
	if (!strstr(line, "1 case failed") || strstr(line, "1 case failed") > strchr(line, '\n'))
		fail_msg("%s", line);
	text_release(&out);
	text_release(&answers);
	result_release(&r);
}

static void nothing_measured_says_nothing(void **state)
{
	struct text out = TEXT_EMPTY, answers = TEXT_EMPTY;
	struct result r = { 0 };

	(void)state;
	headline_lines(&r, &out, &answers);
	assert_int_equal(out.length, 0);
	assert_int_equal(answers.length, 0);
	text_release(&out);
	text_release(&answers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_devices_have_a_column_each),
		cmocka_unit_test(a_figure_is_noisy_by_its_own_samples),
		cmocka_unit_test(many_devices_are_summed_up),
		cmocka_unit_test(what_failed_has_no_figure),
		cmocka_unit_test(nothing_measured_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
