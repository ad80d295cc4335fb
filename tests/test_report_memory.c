/* Stacked bars: one for each case, also where a number varies often or two variants have the same parameters. */
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
#include "report/report.h"
#include "report/view.h"

static void set_metric(struct metric_value *m, const char *name, double value)
{
	*m = (struct metric_value){ .name = xstrdup(name), .unit = xstrdup("B"), .value = value,
				    .low = NAN, .high = NAN, .n = 1 };
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
	c->metrics = xcalloc(3, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 3;
	set_metric(&c->metrics[0], "trainmem.memory", bytes);
	set_metric(&c->metrics[1], "trainmem.memory_parameters", bytes / 4);
	set_metric(&c->metrics[2], "trainmem.memory_activations", bytes * 3 / 4);
}

/* 100 MB beside 6 GB: parts are shares, or those of the small step would be hairlines. */
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
		if (report_render(&result, 1, &options, &html, &err) != STATUS_OK)
			fail_msg("%s", err.message);
		assert_true(!strstr(html.data, "share of the memory") == !far);
		assert_non_null(strstr(html.data, ">100.0 MB<"));
		text_release(&html);
		result_release(&result);
	}
}

/* An id leaves usual values out, and so do labels: of two parameters that are "none" the last one was named. */
static void usual_values_are_no_names(void **state)
{
	static const struct { const char *id; bool named[4]; } rows[] = {
		{ "trainmem:a/step/arena/none@cuda:0", { true, true, false, true } },
		{ "trainmem/step/arena/host/8GiB@cuda:0", { true, true, true, true } },
		{ "trainmem/step/arena/offload=none/none@cuda:0", { true, true, true, true } },
		{ "trainmem/step@cuda:0", { true, false, false, false } },
		/* Of another program. */
		{ "nccl all_reduce", { true, true, true, true } },
		{ "other/42/x", { true, true, true, true } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool second = strstr(rows[i].id, "8GiB") != NULL;
		char *values[] = { (char *)"step", (char *)"arena", (char *)(second ? "host" : "none"),
				   (char *)(second ? "8GiB" : "none") };
		char *names[] = { (char *)"study", (char *)"allocator", (char *)"offload",
				  (char *)"memory_limit" };
		struct case_parameter p[4] = { 0 };
		struct case_result c = { .id = (char *)rows[i].id, .parameters = p, .parameter_count = 4 };

		for (size_t k = 0; k < 4; k++) {
			p[k].name = names[k];
			p[k].text = values[k];
		}
		for (size_t k = 0; k < 4; k++)
			if (view_is_named(&c, &p[k]) != rows[i].named[k])
				fail_msg("%s: %s", rows[i].id, p[k].name);
	}
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
	if (report_render(&result, 1, &options, &html, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	assert_non_null(strstr(html.data, "Highest 7.000 GB, "));
	assert_non_null(strstr(html.data, "its largest part is activations: 5.250 GB"));
	assert_non_null(strstr(html.data, "deep: batch 64"));
	text_release(&html);
	result_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_has_a_bar_of_its_own),
		cmocka_unit_test(far_totals_are_drawn_as_shares),
		cmocka_unit_test(usual_values_are_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
