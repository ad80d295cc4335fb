/* Limits on a node as a whole: how many devices, their links, ECC, the driver. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"

/* The node knows one condition, "model". */
static bool selected(const struct limit *limit, const struct device_info *device)
{
	for (size_t c = 0; c < limit->condition_count; c++)
		if (!condition_is_about(&limit->conditions[c], device->name))
			return false;
	return true;
}

/* One device's part of a metric; NaN: unknown. */
typedef double device_value_fn(const struct link *link, const struct device_info *device);

static double pcie_generation(const struct link *link, const struct device_info *device)
{
	(void)device;
	return link->generation ? link->generation : (double)NAN;
}

static double pcie_width(const struct link *link, const struct device_info *device)
{
	(void)device;
	return link->width ? link->width : (double)NAN;
}

static double nvlink_links(const struct link *link, const struct device_info *device)
{
	(void)link;
	return device->nvlink_count;
}

/* The lowest value over the devices; `worst` names the last device that has it. */
static double lowest(const struct judge_input *input, const struct limit *limit,
		     device_value_fn *value_of, const char **worst)
{
	const struct result *result = &input->results[0];
	struct link *links = judge_links(input);
	double value = (double)NAN;

	for (size_t i = 0; i < result->device_count; i++) {
		const struct device_info *d = &result->devices[i];
		double own;

		if (!selected(limit, d))
			continue;
		own = value_of(&links[i], d);
		if (!(value < own))
			*worst = d->id;
		value = value < own ? value : own;
		if (isnan(own))
			break;
	}
	free(links);
	return value;
}

static double count_devices(const struct result *result, const struct limit *limit)
{
	double n = 0;

	for (size_t i = 0; i < result->device_count; i++)
		n += selected(limit, &result->devices[i]);
	return n;
}

static double share_with_ecc(const struct result *result, const struct limit *limit,
			     const char **worst)
{
	double on = 0, devices = 0;

	for (size_t i = 0; i < result->device_count; i++) {
		if (!selected(limit, &result->devices[i]))
			continue;
		devices++;
		on += result->devices[i].ecc == 1;
		if (result->devices[i].ecc != 1)
			*worst = result->devices[i].id;
	}
	return devices > 0 ? on / devices : (double)NAN;
}

static double driver_version(const struct result *result)
{
	const char *version = result_fact(result, "driver");
	long branch = version ? strtol(version, NULL, 10) : 0;

	return branch > 0 ? (double)branch : (double)NAN;
}

static double value_of(const struct judge_input *input, const struct limit *limit,
		       const char **worst)
{
	static const struct {
		const char *metric;
		device_value_fn *value;
	} rows[] = { { "node.pcie_generation", pcie_generation },
		     { "node.pcie_width", pcie_width },
		     { "node.nvlink_links", nvlink_links } };
	const struct result *result = &input->results[0];

	if (strcmp(limit->metric->name, "node.devices") == 0)
		return count_devices(result, limit);
	if (strcmp(limit->metric->name, "node.ecc") == 0)
		return share_with_ecc(result, limit, worst);
	if (strcmp(limit->metric->name, "node.driver") == 0)
		return driver_version(result);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(limit->metric->name, rows[i].metric) == 0)
			return lowest(input, limit, rows[i].value, worst);
	return (double)NAN;
}

static void judge_value(const struct limit *limit, const struct bound *bound,
			enum check_kind comparison, double value, const char *worst,
			struct verdicts *verdicts)
{
	struct verdict_check *check = verdicts_add(verdicts);
	bool fits = comparison == AT_LEAST ? value >= bound->factor : value <= bound->factor;

	judging_set(&check->limit, limit->name);
	judging_set(&check->metric, limit->metric->name);
	judging_set(&check->unit, limit->metric->unit);
	judging_set(&check->place, bound->place);
	judging_set(&check->bound_text, bound->text);
	judging_set(&check->bound_origin, limit->origin);
	check->comparison = comparison;
	check->value = check->low = check->high = value;
	check->bound = bound->factor;
	check->launches = 1;
	if (isnan(value)) {
		check_decide(check, limit, VERDICT_ERROR, "it is not known here");
		return;
	}
	if (!fits && *worst)
		judging_set(&check->devices, worst);
	check_decide(check, limit, fits ? VERDICT_PASS : VERDICT_FAIL, NULL);
}

void judge_node(const struct judge_input *input, const struct limit *limit,
		struct verdicts *verdicts)
{
	const char *worst = "";
	double value = input->count ? value_of(input, limit, &worst) : 0;

	if (limit->min.kind)
		judge_value(limit, &limit->min, AT_LEAST, value, worst, verdicts);
	if (limit->max.kind)
		judge_value(limit, &limit->max, AT_MOST, value, worst, verdicts);
}
