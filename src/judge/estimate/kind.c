#include "judge/estimate/kind.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/stats.h"
#include "plan/metrics.h"

bool metric_is_exact(const struct metric_value *m)
{
	const struct metric *row;

	if (m->series && *m->series)
		return false;
	row = metric_find(m->name);
	return strcmp(m->unit, "B") == 0 || (row && row->kind == METRIC_EXACT);
}

#define SHORT_SECONDS 20e-6 /* a copy that lasts little longer than what starts it */

/* The time of one operation that the metric is made of; NaN: it was not timed itself. */
static double operation_seconds(const struct metric_value *m, const struct case_result *c)
{
	const struct series *series = m->series && *m->series ? case_series(c, m->series) : NULL;

	return series && strcmp(series->unit, "s") == 0 ? series->statistics.median : (double)NAN;
}

/*
 * True if the CPU decides the metric's time: always, or with this case's parameter ("pageable"
 * memory).
 */
static bool is_host_bound(const struct metric *row, const struct case_result *c)
{
	const struct case_parameter *p =
		row && row->host_parameter ? case_parameter(c, row->host_parameter) : NULL;

	return (row && row->kind == METRIC_HOST) ||
	       (p && p->text && strcmp(p->text, row->host_value) == 0);
}

enum figure_kind figure_kind_of(const struct metric_value *m, const struct case_result *c,
				const struct device_info *device)
{
	const struct metric *row = metric_find(m->name);

	if (metric_is_exact(m))
		return FIGURE_EXACT;
	if (is_host_bound(row, c))
		return FIGURE_HOST;
	if (device && device_is_host(device))
		return FIGURE_CPU;
	if (strcmp(m->unit, "FLOP/s") == 0)
		return FIGURE_PRODUCT;
	if (strcmp(m->unit, "B/s") != 0 || operation_seconds(m, c) < SHORT_SECONDS ||
	    (row && row->kind == METRIC_OTHER))
		return FIGURE_OTHER;
	return FIGURE_BANDWIDTH;
}

static const struct {
	const char *name;
	double visit_spread;
} kinds[FIGURE_KINDS] = {
	[FIGURE_EXACT] = { "exact", 0 },          [FIGURE_HOST] = { "host-bound", 0.20 },
	[FIGURE_CPU] = { "CPU", 0.03 },           [FIGURE_BANDWIDTH] = { "bandwidth", 0.0015 },
	[FIGURE_PRODUCT] = { "product", 0.0015 }, [FIGURE_OTHER] = { "other", 0.007 },
};

const char *figure_kind_name(enum figure_kind kind)
{
	return kinds[kind].name;
}

double figure_visit_spread(enum figure_kind kind)
{
	return kinds[kind].visit_spread;
}

double worst_value(const double *values, size_t n, enum better better)
{
	double worst = values[0];

	if (better == BETTER_NONE)
		return median_of(values, n);
	for (size_t i = 1; i < n; i++)
		worst = better == BETTER_LOWER ? fmax(worst, values[i]) : fmin(worst, values[i]);
	return worst;
}
