#include "measure/telemetry/telemetry_window.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"
#include "measure/telemetry/poller.h"

/*
 * The first reading of a series is early, so that a short series has one, but not before the device
 * is busy.
 */
#define FIRST_SHARE 0.25

enum quantity { SM_CLOCK, MEMORY_CLOCK, POWER, TEMPERATURE, QUANTITIES };

struct window_readings {
	double *values; /* NaN if unknown */
	size_t count, capacity;
};

struct telemetry_window {
	double interval;
	struct telemetry_poller *poller; /* its lock guards all members below */
	struct window_readings readings[QUANTITIES];
	int64_t reasons; /* bitwise OR of all; -1: unknown */
	size_t throttled, begun_readings, begun_throttled;
};

static void telemetry_window_add_reading(void *context, const struct telemetry *t)
{
	struct telemetry_window *w = context;
	const double values[QUANTITIES] = { t->sm_clock_hz, t->memory_clock_hz, t->power_watts,
					    t->temperature_celsius };

	for (size_t i = 0; i < QUANTITIES; i++) {
		struct window_readings *r = &w->readings[i];

		ARRAY_GROW(r->values, r->count, r->capacity);
		r->values[r->count++] = values[i];
	}
	if (t->throttle_reasons < 0)
		return;
	w->reasons = (w->reasons < 0 ? 0 : w->reasons) | t->throttle_reasons;
	w->throttled += (t->throttle_reasons & THROTTLE_SLOWS) != 0;
}

struct telemetry_window *telemetry_window_open(struct device *device, double interval_seconds)
{
	struct telemetry_window *w = xcalloc(1, sizeof(*w));
	const struct telemetry_poller_options options = {
		.first_seconds = FIRST_SHARE * interval_seconds,
		.interval_seconds = interval_seconds,
		.add = telemetry_window_add_reading,
		.context = w,
	};

	w->interval = interval_seconds;
	w->reasons = -1;
	w->poller = telemetry_poller_open(device, &options);
	if (w->poller)
		return w;
	free(w);
	return NULL;
}

void telemetry_window_close(struct telemetry_window *w)
{
	if (!w)
		return;
	telemetry_poller_close(w->poller);
	for (size_t i = 0; i < QUANTITIES; i++)
		free(w->readings[i].values);
	free(w);
}

void telemetry_window_begin(struct telemetry_window *w)
{
	if (!w)
		return;
	w->begun_readings = w->readings[0].count;
	w->begun_throttled = w->throttled;
	telemetry_poller_switch(w->poller, true);
}

void telemetry_window_end(struct telemetry_window *w, size_t *readings, size_t *throttled)
{
	*readings = *throttled = 0;
	if (!w)
		return;
	telemetry_poller_switch(w->poller, false);
	*readings = w->readings[0].count - w->begun_readings;
	*throttled = w->throttled - w->begun_throttled;
}

/* Span over the known readings. */
static struct telemetry_span telemetry_window_span_of(const struct window_readings *r)
{
	struct telemetry_span span = { (double)NAN, (double)NAN, (double)NAN };
	double *known = xcalloc(r->count + 1, sizeof(*known));
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++) {
		double value = r->values[i];

		if (isnan(value))
			continue;
		span.min = n == 0 || value < span.min ? value : span.min;
		span.max = n == 0 || value > span.max ? value : span.max;
		known[n++] = value;
	}
	span.median = median_of(known, n);
	free(known);
	return span;
}

void telemetry_window_summary(struct telemetry_window *w, struct telemetry_during *out)
{
	telemetry_during_unknown(out);
	if (!w)
		return;
	telemetry_poller_lock(w->poller);
	out->readings = w->readings[0].count;
	out->interval = w->interval;
	out->throttled = w->throttled;
	out->throttle_reasons = w->reasons;
	out->sm_clock_hz = telemetry_window_span_of(&w->readings[SM_CLOCK]);
	out->memory_clock_hz = telemetry_window_span_of(&w->readings[MEMORY_CLOCK]);
	out->power_watts = telemetry_window_span_of(&w->readings[POWER]);
	out->temperature_celsius = telemetry_window_span_of(&w->readings[TEMPERATURE]);
	telemetry_poller_unlock(w->poller);
}
