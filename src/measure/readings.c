#include "measure/readings.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "result/statistics.h"

#define TICK_SECONDS 50e-9

/* True if the first series is complete; sets its reason. */
static bool readings_are_enough(const struct run *run, const struct readings *r,
				struct series *first, double began)
{
	const struct sampling *rules = run->sampler.rules;
	int64_t least = rules->min_samples < r->least ? rules->min_samples : r->least;
	int64_t n = (int64_t)first->count;
	bool drifts;

	first->stop = STOP_INTERRUPTED;
	if (run->sampler.stop && *run->sampler.stop)
		return true;
	first->stop = STOP_CONVERGED;
	if (n < least)
		return false;
	if (stats_median_half_width(first->samples, first->count, &drifts) <= rules->target)
		return true;
	first->stop = n >= rules->max_samples ? STOP_MAX_SAMPLES : STOP_MAX_TIME;
	return n >= rules->max_samples || clock_seconds() - began >= rules->max_seconds;
}

static enum status readings_take_all(struct run *run, const struct readings *r,
				     struct series *series, struct error *err)
{
	double seconds[READINGS_MOST], began;

	if (r->take(r->state, seconds, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < r->count; i++)
		series[i].first = seconds[i];
	began = clock_seconds();
	do {
		if (r->take(r->state, seconds, err) != STATUS_OK)
			return err->status;
		for (size_t i = 0; i < r->count; i++) {
			struct series *one = &series[i];

			if (isnan(seconds[i]))
				continue;
			ARRAY_GROW(one->samples, one->count, one->capacity);
			one->samples[one->count++] = seconds[i];
		}
	} while (!readings_are_enough(run, r, &series[0], began));
	if (series[0].stop == STOP_INTERRUPTED)
		return error_set(err, STATUS_INTERRUPTED, "interrupted after %zu samples",
				 series[0].count);
	return STATUS_OK;
}

enum status run_readings(struct run *run, const struct readings *r, const struct series **out,
			 struct error *err)
{
	size_t first = run->result->series_count;
	struct series *series;
	enum status status;

	if (r->count > READINGS_MOST)
		return error_set(err, STATUS_INTERNAL, "%zu readings at a time", r->count);
	for (size_t i = 0; i < r->count; i++) {
		series = case_result_add_times(run->result, r->names[i]);
		series->batch = 1;
		series->first = NAN;
	}
	series = &run->result->series[first];
	status = readings_take_all(run, r, series, err);
	for (size_t i = 0; i < r->count; i++) {
		series[i].stop = series[0].stop;
		statistics_compute(series[i].samples, series[i].count, 1, TICK_SECONDS, NULL,
				   &series[i].statistics);
	}
	*out = series;
	return status;
}
