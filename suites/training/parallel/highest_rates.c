#include "suites/training/parallel/highest_rates.h"

#include <math.h>
#include <string.h>

static bool highest_rates_parameter_is(const struct case_result *c, const char *name,
				       const char *text)
{
	const struct case_parameter *p = case_parameter(c, name);

	return p && strcmp(p->text, text) == 0;
}

static bool highest_rates_is_gemm(const struct case_result *c, const char *precision)
{
	return strcmp(c->suite, "matmul") == 0 &&
	       highest_rates_parameter_is(c, "precision", precision) &&
	       (highest_rates_parameter_is(c, "implementation", "blas") ||
		highest_rates_parameter_is(c, "implementation", "lt")) &&
	       highest_rates_parameter_is(c, "transpose", "nn") &&
	       highest_rates_parameter_is(c, "batch", "1") &&
	       highest_rates_parameter_is(c, "scale", "1");
}

/* Collectives without the parameter used the default transport. */
static bool highest_rates_is_all_reduce(const struct case_result *c, const char *transport,
					int ranks)
{
	return strcmp(c->suite, "collective") == 0 && c->device_count == (size_t)ranks &&
	       highest_rates_parameter_is(c, "operation", "all_reduce") &&
	       (case_parameter(c, "transport")
			? highest_rates_parameter_is(c, "transport", transport)
			: strcmp(transport, "auto") == 0);
}

struct highest_rates highest_rates_find(const struct result *result, const char *device,
					const struct setup *setup)
{
	struct highest_rates rates = { NAN, NAN };
	double n = setup->ranks;

	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		const struct metric_value *rate = case_metric(c, "matmul.throughput"),
					  *time = case_metric(c, "collective.time");
		const struct case_parameter *size = case_parameter(c, "size");

		if (c->status != CASE_OK || strcmp(c->device, device) != 0)
			continue;
		if (rate && highest_rates_is_gemm(c, precision_name(setup->precision)))
			rates.gemm = fmax(rates.gemm, rate->value);
		if (time && size && time->value > 0 &&
		    highest_rates_is_all_reduce(c, transport_names[setup->transport], setup->ranks))
			rates.bus = fmax(rates.bus, 2 * (n - 1) / n * size->number / time->value);
	}
	return rates;
}

double highest_rates_critical_batch(const struct setup *setup, const struct highest_rates *rates)
{
	return highest_rates_critical_width(setup, rates) / setup->ranks;
}

double highest_rates_critical_width(const struct setup *setup, const struct highest_rates *rates)
{
	return (setup->ranks - 1) * (double)precision_bytes(setup->precision) * rates->gemm /
	       (2 * rates->bus);
}
