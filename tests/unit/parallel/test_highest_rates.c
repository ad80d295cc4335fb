/* The highest rates of a result, and the critical sizes that follow from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/memory.h"
#include "suites/training/parallel/derived.h"

static struct case_result *add_case(struct result *r, const char *suite, const char *metric,
				    double value, size_t devices)
{
	struct case_result *c = result_add_case(r);

	c->suite = xstrdup(suite);
	c->device = xstrdup("cuda:0");
	c->device_count = devices;
	c->devices = xcalloc(devices, sizeof(*c->devices));
	c->metrics = xcalloc(1, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 1;
	c->metrics[0].name = xstrdup(metric);
	c->metrics[0].value = value;
	return c;
}

static void add_parameter(struct case_result *c, const char *name, const char *text, double number)
{
	c->parameters = xrealloc(c->parameters, c->parameter_count + 1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup(name), xstrdup(text), number, xstrdup("") };
}

static void add_gemm(struct result *r, const char *precision, const char *transpose, double rate)
{
	struct case_result *c = add_case(r, "matmul", "matmul.throughput", rate, 1);

	add_parameter(c, "precision", precision, NAN);
	add_parameter(c, "implementation", "lt", NAN);
	add_parameter(c, "transpose", transpose, NAN);
	add_parameter(c, "batch", "1", 1);
	add_parameter(c, "scale", "1", 1);
}

static void add_all_reduce(struct result *r, const char *transport, size_t ranks, double seconds)
{
	struct case_result *c = add_case(r, "collective", "collective.time", seconds, ranks);

	add_parameter(c, "operation", "all_reduce", NAN);
	add_parameter(c, "size", "400MB", 400e6);
	if (transport)
		add_parameter(c, "transport", transport, NAN);
}

/* d* = (n - 1) e F / (2 beta) for 400 TFLOP/s and 400 GB/s. */
static void critical_width_follows_from_the_highest_rates(void **state)
{
	struct setup s = { .ranks = 2, .precision = PRECISION_TF32 };
	struct result r = { 0 };
	struct highest_rates rates;

	(void)state;
	rates = parallel_derived_highest_rates_find(&r, "cuda:0", &s);
	assert_true(isnan(rates.gemm) && isnan(rates.bus));
	add_gemm(&r, "tf32", "nn", 100e12);
	add_gemm(&r, "tf32", "nn", 400e12);
	add_gemm(&r, "tf32", "tn", 900e12);
	add_gemm(&r, "fp16", "nn", 900e12);
	add_gemm(&r, "tf32", "nn", 900e12);
	r.cases[r.case_count - 1].status = CASE_FAILED;
	add_all_reduce(&r, NULL, 2, 1e-3);
	add_all_reduce(&r, NULL, 2, 2e-3);
	add_all_reduce(&r, NULL, 4, 1e-6);
	add_all_reduce(&r, "host_copy", 2, 1e-6);
	rates = parallel_derived_highest_rates_find(&r, "cuda:0", &s);
	assert_true(rates.gemm == 400e12);
	assert_float_equal(rates.bus, 400e9, 1);
	assert_float_equal(parallel_derived_critical_width(&s, &rates), 2000, 1e-6);
	rates = parallel_derived_highest_rates_find(&r, "cuda:1", &s);
	assert_true(isnan(rates.gemm) && isnan(parallel_derived_critical_width(&s, &rates)));
	result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(critical_width_follows_from_the_highest_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
