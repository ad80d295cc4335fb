/*
 * Detects impossible values: a rate above the peak of memory, link or arithmetic unit, a metric
 * that does not match its own samples, a value outside its repetitions. A timer or a file is then
 * broken, and every check that uses the value is an ERROR.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "judge/judging.h"
#include "plan/metrics.h"
#include "reference/derived.h"
#include "reference/spec.h"
#include "result/statistics.h"

#define PEAK_TOLERANCE 1.02  /* tolerance of clocks and counters in driver and data sheet */
#define VALUE_TOLERANCE 1e-6 /* samples are stored with ten digits */
#define CACHE_SHARE 4.0      /* arrays of at least this many L2 cache sizes are in memory */
#define CACHE_UNKNOWN ((double)(256 << 20))

static char *impossible_above_peak(const struct case_result *c, const struct metric_value *m,
				   const struct device_info *device)
{
	const struct case_parameter *size = case_parameter(c, PARAMETER_SIZE);
	double cache = device->l2_bytes ? (double)device->l2_bytes : CACHE_UNKNOWN;
	/* Arrays that fit into a cache are legitimately faster than memory. */
	bool cached =
		!size || strcmp(size->unit, "B") != 0 || !(size->number >= CACHE_SHARE * cache);
	struct spec_peak peak;
	char value[48], most[48];
	double derived, limit;

	if (m->better != BETTER_HIGHER ||
	    !spec_peak(schema_metric_sheet(m->name), c, m->name, device, &peak) ||
	    (strcmp(peak.key, "memory_bandwidth") == 0 && cached))
		return NULL;
	limit = peak.most;
	/* Data sheets state rates at a clock that GPUs may exceed. */
	if (reference_derived_figure(device, peak.key, &derived, NULL) && derived > peak.figure)
		limit *= derived / peak.figure;
	if (!isfinite(m->value) || !(m->value > PEAK_TOLERANCE * limit))
		return NULL;
	return xasprintf("%s = %s exceeds the maximum of %s (%s %s)", m->name,
			 units_format(m->value, m->unit, value, sizeof(value)), device->name,
			 peak.key, units_format(limit, m->unit, most, sizeof(most)));
}

/* Samples of pooled results belong to the first launch. */
static char *impossible_unlike_samples(const struct case_result *c, const struct metric_value *m)
{
	const struct series *series = *m->series ? case_series(c, m->series) : NULL;
	double first = m->launch_count ? m->launches[0] : m->value;
	double level = series ? statistics_series_level(series) : NAN, expected = NAN;
	char value[48], other[48];

	/* Other files do not define how the value follows from the samples. */
	if (level > 0 && m->amount > 0)
		expected = m->amount / level;
	else if (level > 0 && m->headline && strcmp(m->name, series->name) == 0 &&
		 strcmp(m->unit, series->unit) == 0)
		expected = level;
	if (!isfinite(first) || !isfinite(expected) ||
	    fabs(first / expected - 1) <= VALUE_TOLERANCE)
		return NULL;
	return xasprintf("%s = %s contradicts its samples, which give %s", m->name,
			 units_format(first, m->unit, value, sizeof(value)),
			 units_format(expected, m->unit, other, sizeof(other)));
}

static char *impossible_outside_launches(const struct metric_value *m)
{
	double low = INFINITY, high = -INFINITY;
	char value[48], from[48], to[48];

	for (size_t i = 0; i < m->launch_count; i++) {
		low = fmin(low, m->launches[i]);
		high = fmax(high, m->launches[i]);
	}
	if (!(low <= high) || !isfinite(m->value) ||
	    (m->value >= low - VALUE_TOLERANCE * fabs(low) &&
	     m->value <= high + VALUE_TOLERANCE * fabs(high)))
		return NULL;
	return xasprintf("%s = %s is outside the range of its repetitions: %s to %s", m->name,
			 units_format(m->value, m->unit, value, sizeof(value)),
			 units_format(low, m->unit, from, sizeof(from)),
			 units_format(high, m->unit, to, sizeof(to)));
}

char *impossible_figure(const struct device_info *device, const struct case_result *c)
{
	char *words = NULL;

	for (size_t i = 0; i < c->metric_count && !words && c->status == CASE_OK; i++) {
		const struct metric_value *m = &c->metrics[i];

		words = impossible_unlike_samples(c, m);
		if (!words)
			words = impossible_outside_launches(m);
		if (!words && device)
			words = impossible_above_peak(c, m, device);
	}
	return words;
}

static int impossible_by_id(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted IDs of cases that checks call impossible; malloc'ed, with strings of `verdicts`. */
static const char **impossible_reported(const struct verdicts *verdicts, size_t *count)
{
	const char **ids = xcalloc(verdicts->count + 1, sizeof(*ids));

	*count = 0;
	for (size_t i = 0; i < verdicts->count; i++)
		if (verdicts->checks[i].cause == CAUSE_IMPOSSIBLE)
			ids[(*count)++] = verdicts->checks[i].case_id;
	qsort(ids, *count, sizeof(*ids), impossible_by_id);
	return ids;
}

/* IDs are unique within a result. */
static void impossible_of(const struct result *result, struct verdicts *verdicts)
{
	size_t count;
	const char **reported = impossible_reported(verdicts, &count);

	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		char *words = bsearch(&c->id, reported, count, sizeof(*reported), impossible_by_id)
				      ? NULL
				      : impossible_figure(result_device(result, c->device), c);

		if (words)
			run_findings_add(verdicts, result, c, NULL, ASPECT_CORRECTNESS,
					 VERDICT_ERROR, CAUSE_IMPOSSIBLE, "%s", words);
		free(words);
	}
	free(reported);
}

void judge_impossible(const struct judge_input *input, struct verdicts *verdicts)
{
	for (size_t r = 0; r < input->count; r++)
		impossible_of(&input->results[r], verdicts);
}
