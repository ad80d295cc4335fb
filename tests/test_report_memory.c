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
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_case_has_a_bar_of_its_own) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
