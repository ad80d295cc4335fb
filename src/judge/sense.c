/*
 * Checks limits against data sheets. A widely used table of limits requires 2333 MB/s from a GPU
 * with 4.8 TB/s: that limit can never fail.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "judge/limits.h"
#include "plan/metrics.h"
#include "reference/spec.h"

#define LEAST_SHARE 0.01
#define MOST_SHARE 2.0
#define LARGE_BYTES (16 << 20) /* larger copies are limited by bandwidth, not by latency */
#define LARGE_SHAPE 2048

/* Small cases legitimately stay far below every peak. */
static bool is_large(const struct case_result *c)
{
	const struct case_parameter *size = case_parameter(c, PARAMETER_SIZE);

	if (!size)
		return true;
	return strcmp(size->unit, "B") == 0 ? size->number >= LARGE_BYTES
					    : size->number >= LARGE_SHAPE;
}

/* False: reported. */
static bool bound_makes_sense(const struct limit *limit, const struct bound *bound, const char *key,
			      const struct case_result *c, const struct device_info *device,
			      struct text *errors)
{
	struct spec_peak peak;
	char figure_text[48];
	double share;

	if (!spec_peak(metric_sheet(limit->metric->name), c, limit->metric->name, device, &peak))
		return true;
	share = bound->factor / peak.most;
	units_format(peak.figure, limit->metric->unit, figure_text, sizeof(figure_text));
	if (share < LEAST_SHARE && is_large(c))
		text_addf(errors,
			  "%s: [limit %s] %s = %s: only %.2g %% of the peak of a %s (%s %s), "
			  "so it could never fail. Check the unit\n",
			  bound->place, limit->name, key, bound->text, 100 * share, device->name,
			  peak.key, figure_text);
	else if (share > MOST_SHARE && strcmp(key, "min") == 0)
		text_addf(errors,
			  "%s: [limit %s] %s = %s: %.3g times the peak of a %s (%s %s), so it "
			  "would always fail. Check the unit\n",
			  bound->place, limit->name, key, bound->text, share, device->name,
			  peak.key, figure_text);
	else
		return true;
	return false;
}

/* Reports each bound once, for the first case that contradicts it. */
static bool limit_makes_sense(const struct limit *limit, const struct bound *bound, const char *key,
			      const struct result *result, struct text *errors)
{
	if (bound->kind != BOUND_ABSOLUTE)
		return true;
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		const struct device_info *device = result_device(result, c->device);

		if (device && limit_selects(limit, c, device->name) &&
		    !bound_makes_sense(limit, bound, key, c, device, errors))
			return false;
	}
	return true;
}

bool limits_make_sense(const struct limits *limits, const struct result *result,
		       struct text *errors)
{
	bool all = true;

	for (size_t i = 0; i < limits->count; i++) {
		const struct limit *limit = &limits->items[i];

		all = limit_makes_sense(limit, &limit->min, "min", result, errors) && all;
		all = limit_makes_sense(limit, &limit->max, "max", result, errors) && all;
	}
	return all;
}
