/*
 * Stacked bars: one for each case, also where a number varies often or two variants have the same
 * parameters.
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
#include "case_point.h"
#include "report/page/report.h"
#include "report/view/suite_page.h"
#include "suites/training/pages/pages.h"
#include "suites/training/pages/strategies.h"
#include "report/view/view.h"

static void set_metric(struct metric_value *m, const char *name, double value)
{
	*m = (struct metric_value){ .name = xstrdup(name),
				    .unit = xstrdup("B"),
				    .value = value,
				    .low = NAN,
				    .high = NAN,
				    .n = 1 };
}

static void add_case(struct result *result, const char *label, int batch, double bytes)
{
	struct case_result *c = result_add_case(result);

	c->suite = xstrdup("trainmem");
	c->label = xstrdup(label);
	c->id = xasprintf("trainmem:%s/step/%d", label, batch);
	c->parameters = xcalloc(2, sizeof(*c->parameters));
	c->parameter_count = 2;
	c->parameters[0] = (struct case_parameter){ xstrdup("study"), xstrdup("step"), NAN, NULL };
	c->parameters[1] = (struct case_parameter){ xstrdup("batch"), xasprintf("%d", batch), batch,
						    xstrdup("1") };
	case_derive_point(c);
	c->metrics = xcalloc(3, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 3;
	set_metric(&c->metrics[0], "trainmem.memory", bytes);
	set_metric(&c->metrics[1], "trainmem.memory_parameters", bytes / 4);
	set_metric(&c->metrics[2], "trainmem.memory_activations", bytes * 3 / 4);
}

/* 100 MB next to 6 GB: parts are shares, or those of the small step would be hairlines. */
static void far_totals_are_drawn_as_shares(void **state)
{
	static const struct report_options options = { .reference = "" };

	(void)state;
	for (int far = 0; far < 2; far++) {
		struct result result = { 0 };
		struct text html = TEXT_EMPTY;
		struct error err = ERROR_NONE;

		add_case(&result, "small", 64, 1e8);
		add_case(&result, "small", 128, far ? 6e9 : 5e8);
		if (html_render_report(&result, 1, &options, &html, &err) != STATUS_OK)
			fail_msg("%s", err.message);
		assert_true(!strstr(html.data, "share of the memory") == !far);
		assert_non_null(strstr(html.data, ">100.0 MB<"));
		text_release(&html);
		result_release(&result);
	}
}

/*
 * 8 MB of gradients of which 6 are activations' before, and 4 of activations' own: a bar of 12 MB.
 */
static void what_two_classes_use_in_turn_is_drawn_once(void **state)
{
	static const struct report_options options = { .reference = "" };
	struct result result = { 0 };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct case_result *c;

	(void)state;
	for (int batch = 64; batch <= 128; batch *= 2) {
		add_case(&result, "", batch, 12e6);
		c = &result.cases[result.case_count - 1];
		c->metrics = xrealloc(c->metrics, 4, sizeof(*c->metrics));
		c->metric_count = c->metric_capacity = 4;
		c->metrics[1].value = 8e6;
		c->metrics[2].value = 10e6;
		set_metric(&c->metrics[3], "trainmem.memory_shared", 6e6);
	}
	assert_int_equal(html_render_report(&result, 1, &options, &html, &err), STATUS_OK);
	assert_non_null(strstr(html.data, "only the rest is drawn as activations."));
	assert_non_null(strstr(html.data, ">12.00 MB</text>"));
	assert_null(strstr(html.data, ">shared</text>"));
	text_release(&html);
	result_release(&result);
}

static void every_case_has_a_bar_of_its_own(void **state)
{
	static const struct report_options options = { .reference = "" };
	struct result result = { 0 };
	struct text html = TEXT_EMPTY;
	struct error err = ERROR_NONE;

	(void)state;
	for (int i = 0; i < 5; i++)
		add_case(&result, "small", 64 << 2 * i, 1e9 * (1 + i));
	add_case(&result, "deep", 64, 7e9);
	if (html_render_report(&result, 1, &options, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_non_null(strstr(html.data, ">7.000 GB</text>"));
	assert_non_null(strstr(html.data, "batch 64 (section deep)"));
	text_release(&html);
	result_release(&result);
}

static struct case_result *add_plain(struct result *r, const char *precision, int batch,
				     double bytes, const char *allocator)
{
	struct case_result *c;

	add_case(r, "", batch, bytes);
	c = &r->cases[r->case_count - 1];
	c->parameters = xrealloc(c->parameters, 4, sizeof(*c->parameters));
	c->parameters[2] =
		(struct case_parameter){ xstrdup("precision"), xstrdup(precision), NAN, NULL };
	c->parameters[3] =
		(struct case_parameter){ xstrdup("allocator"), xstrdup(allocator), NAN, NULL };
	c->parameter_count = 4;
	c->metrics = xrealloc(c->metrics, 4, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 4;
	set_metric(&c->metrics[3], "trainmem.balance_batch", 4012.6);
	return c;
}

/*
 * Memory of a step over its batch, and what half the bytes save at either end; other allocators say
 * nothing about it.
 */
static void the_answer_says_what_a_precision_saves(void **state)
{
	static const char *const expected[] = {
		"FP32: a step needs 100 MB at batch 64 and 6.00 GB at 4096. From batch 4013 "
		"(B*) on, input and activations need more memory than parameters, gradients "
		"and optimizer state.",
		"FP16 mixed: a step needs 110 MB at batch 64 and 3.00 GB at 4096. From batch "
		"4013 (B*) on, input and activations need more memory than parameters, "
		"gradients and optimizer state. It needs 10\u00a0% more than FP32 at batch 64, "
		"50\u00a0% less at 4096.",
	};
	struct result r = { 0 };
	struct tree *answers = tree_new(TREE_LIST);
	struct view view;

	(void)state;
	add_plain(&r, "fp32", 4096, 6e9, "arena");
	add_plain(&r, "fp16_mixed", 64, 1.1e8, "arena");
	add_plain(&r, "fp32", 64, 1e8, "arena");
	add_plain(&r, "fp32", 64, 9e8, "malloc");
	add_plain(&r, "fp32", 8, 9e8, "arena")->status = CASE_ERROR;
	add_plain(&r, "fp32", 512, 7e8, "arena");
	add_plain(&r, "fp16_mixed", 4096, 3e9, "arena");
	view_init(&view, &r, 1);
	trainmem_page.answer(&view, "trainmem", answers, NULL, NULL);
	assert_int_equal(answers->count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(answers->children[i]->text, expected[i]);
	tree_free(answers);
	answers = tree_new(TREE_LIST);
	trainmem_page.answer(&view, "parallel", answers, NULL, NULL);
	assert_int_equal(answers->count, 0);
	tree_free(answers);
	view_release(&view);
	result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_has_a_bar_of_its_own),
		cmocka_unit_test(far_totals_are_drawn_as_shares),
		cmocka_unit_test(what_two_classes_use_in_turn_is_drawn_once),
		cmocka_unit_test(the_answer_says_what_a_precision_saves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
