#include "judge/kind.h"

#include <math.h>
#include <string.h>

#include "judge/difference.h"
#include "plan/metrics.h"

bool metric_is_exact(const struct metric_value *m)
{
	const struct metric *row;

	if (m->series && *m->series)
		return false;
	row = metric_find(m->name);
	return strcmp(m->unit, "B") == 0 || (row && row->kind == METRIC_EXACT);
}

double worst_value(const double *values, size_t n, enum better better)
{
	double worst = values[0];

	if (better == BETTER_NONE)
		return series_median(values, n);
	for (size_t i = 1; i < n; i++)
		worst = better == BETTER_LOWER ? fmax(worst, values[i]) : fmin(worst, values[i]);
	return worst;
}
