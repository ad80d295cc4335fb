#include "judge/estimate/kind.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/stats.h"
#include "plan/metrics.h"

bool figure_kind_metric_is_exact(const struct metric_value *m)
{
	const struct metric *row;

	if (m->series && *m->series)
		return false;
	row = schema_metric_find(m->name);
	return strcmp(m->unit, "B") == 0 || (row ? row->kind : m->kind) == METRIC_EXACT;
}

#define SHORT_SECONDS 20e-6 /* copies shorter than this are dominated by their start */

/* Time of the single operation that the metric measures; NaN: not timed by itself. */
static double figure_kind_operation_seconds(const struct metric_value *m,
					    const struct case_result *c)
{
	const struct series *series = m->series && *m->series ? case_series(c, m->series) : NULL;

	return series && strcmp(series->unit, "s") == 0 ? series->statistics.median : (double)NAN;
}

/* Tensor-core GEMMs longer than this meet the power limit. */
#define HOT_SECONDS 0.1

enum figure_kind figure_kind_of(const struct metric_value *m, const struct case_result *c,
				const struct device_info *device)
{
	const struct metric *row = schema_metric_find(m->name);
	enum metric_kind kind = row ? metric_kind_of(row, c) : m->kind;
	const struct series *series = m->series && *m->series ? case_series(c, m->series) : NULL;
	bool small = figure_kind_operation_seconds(m, c) < SHORT_SECONDS, hot;

	if (figure_kind_metric_is_exact(m))
		return FIGURE_EXACT;
	if (device && device_is_host(device))
		return kind == METRIC_HOST || kind == METRIC_LAUNCH ? FIGURE_CPU_CALL
								    : FIGURE_CPU_WORK;
	/* A mean over seconds of load averages the power limit's oscillation. */
	if (series && series->load)
		return FIGURE_LOAD;
	switch (kind) {
	case METRIC_HOST:
		return FIGURE_HOST;
	case METRIC_OTHER:
		return FIGURE_STEP;
	case METRIC_TENSOR:
		/* By the telemetry; without readings, by the duration of the samples. */
		hot = c->during.readings
			      ? 2 * c->during.throttled > c->during.readings
			      : figure_kind_operation_seconds(m, c) * (double)m->n > HOT_SECONDS;
		return hot ? FIGURE_POWER_LIMIT : FIGURE_PRODUCT;
	case METRIC_PEAK:
		return FIGURE_PEAK;
	case METRIC_LINK:
		return small ? FIGURE_SMALL_COPY : FIGURE_LINK;
	case METRIC_LOCAL:
		return small ? FIGURE_SMALL_LOCAL : FIGURE_BANDWIDTH;
	case METRIC_LAUNCH:
		return FIGURE_LAUNCH;
	case METRIC_PAGEABLE:
		return FIGURE_PAGEABLE;
	default:
		if (strcmp(m->unit, "FLOP/s") == 0)
			return FIGURE_PRODUCT;
		if (strcmp(m->unit, "B/s") != 0)
			return FIGURE_STEP;
		return small ? FIGURE_SMALL_COPY : FIGURE_BANDWIDTH;
	}
}

static const struct {
	const char *name;
	double spread, visit_spread;
	bool states;
} kinds[FIGURE_KINDS] = {
	[FIGURE_EXACT] = { "exact", 0, 0, false },
	[FIGURE_BANDWIDTH] = { "bandwidth", 0.0010, 0.0010, false },
	[FIGURE_PRODUCT] = { "matrix product", 0.0010, 0.0010, false },
	[FIGURE_PEAK] = { "arithmetic in registers", 0.0043, 0.002, false },
	[FIGURE_LINK] = { "copy from the host", 0.0041, 0.0015, false },
	[FIGURE_LOAD] = { "load that lasts", 0.0018, 0.0015, false },
	[FIGURE_STEP] = { "step", 0.0056, 0.004, false },
	[FIGURE_SMALL_COPY] = { "small copy", 0.0079, 0.005, false },
	[FIGURE_POWER_LIMIT] = { "matrix product at the power limit", 0.0091, 0.0015, false },
	[FIGURE_LAUNCH] = { "launch on the GPU", 0.024, 0.03, false },
	[FIGURE_SMALL_LOCAL] = { "small copy within the GPU", 0.031, 0.01, false },
	[FIGURE_PAGEABLE] = { "copy of pageable memory", 0.09, 0.15, true },
	[FIGURE_HOST] = { "host call", 0.125, 0.15, true },
	[FIGURE_CPU_WORK] = { "work on a CPU", 0.11, 0.20, true },
	[FIGURE_CPU_CALL] = { "call on a CPU", 0.36, 0.25, true },
};

const char *figure_kind_name(enum figure_kind kind)
{
	return kinds[kind].name;
}

enum figure_kind figure_kind_named(const char *name)
{
	enum figure_kind kind = 0;

	while (kind < FIGURE_KINDS && strcmp(kinds[kind].name, name) != 0)
		kind++;
	return kind;
}

bool figure_kind_is_of_host(enum figure_kind kind)
{
	return kind == FIGURE_HOST || kind == FIGURE_PAGEABLE || kind == FIGURE_CPU_CALL;
}

struct repeat figure_kind_repeat(enum figure_kind kind)
{
	return (struct repeat){ .spread = kinds[kind].spread, .states = kinds[kind].states };
}

double figure_kind_visit_spread(enum figure_kind kind)
{
	return kinds[kind].visit_spread;
}

double figure_kind_session_spread(enum figure_kind kind)
{
	return kind < FIGURE_KINDS ? root_sum_square(kinds[kind].spread, kinds[kind].visit_spread)
				   : (double)NAN;
}

double figure_kind_worst_value(const double *values, size_t n, enum better better)
{
	double worst = values[0];

	if (better == BETTER_NONE)
		return median_of(values, n);
	for (size_t i = 1; i < n; i++)
		worst = better == BETTER_LOWER ? fmax(worst, values[i]) : fmin(worst, values[i]);
	return worst;
}
