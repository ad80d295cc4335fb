#include "measure/telemetry/telemetry_window.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/stats.h"

/* The first reading of a series comes early, so that a short one has one, but not before the device is busy. */
#define FIRST_SHARE 0.25

enum quantity { SM_CLOCK, MEMORY_CLOCK, POWER, TEMPERATURE, QUANTITIES };

struct readings {
	double *values; /* NaN where unknown */
	size_t count, capacity;
};

struct telemetry_window {
	struct device *device;
	pthread_t thread;
	pthread_mutex_t lock; /* of everything below */
	pthread_cond_t changed;
	bool on, close;
	unsigned turn; /* of begin and end: a reading of an earlier turn does not count */
	double interval;
	struct readings readings[QUANTITIES];
	int64_t reasons; /* all, ORed; -1: unknown */
	size_t throttled, begun_readings, begun_throttled;
};

static void add(struct telemetry_window *w, const struct telemetry *t)
{
	const double values[QUANTITIES] = { t->sm_clock_hz, t->memory_clock_hz, t->power_watts,
					    t->temperature_celsius };

	for (size_t i = 0; i < QUANTITIES; i++) {
		struct readings *r = &w->readings[i];

		ARRAY_GROW(r->values, r->count, r->capacity);
		r->values[r->count++] = values[i];
	}
	if (t->throttle_reasons < 0)
		return;
	w->reasons = (w->reasons < 0 ? 0 : w->reasons) | t->throttle_reasons;
	w->throttled += (t->throttle_reasons & THROTTLE_SLOWS) != 0;
}

static void add_seconds(struct timespec *at, double seconds)
{
	double whole = floor(seconds);

	at->tv_sec += (time_t)whole;
	at->tv_nsec += (long)((seconds - whole) * 1e9);
	if (at->tv_nsec >= 1000000000) {
		at->tv_nsec -= 1000000000;
		at->tv_sec++;
	}
}

/* Waits, unlocked, until `seconds` have passed (true) or something changed. */
static bool sleep_for(struct telemetry_window *w, double seconds)
{
	unsigned turn = w->turn;
	struct timespec until;
	int timed_out = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	add_seconds(&until, seconds);
	while (!timed_out && !w->close && w->on && w->turn == turn)
		timed_out = pthread_cond_timedwait(&w->changed, &w->lock, &until);
	return timed_out && !w->close && w->on && w->turn == turn;
}

/* Asks the device, unlocked; a series that has ended meanwhile does not get the answer. */
static void take(struct telemetry_window *w)
{
	struct error ignored = ERROR_NONE;
	unsigned turn = w->turn;
	struct telemetry t;
	enum status status;

	pthread_mutex_unlock(&w->lock);
	status = backend_telemetry_quick(w->device, &t, &ignored);
	pthread_mutex_lock(&w->lock);
	if (status == STATUS_OK && w->turn == turn)
		add(w, &t);
}

static void *watch(void *context)
{
	struct telemetry_window *w = context;
	bool first = true;

	pthread_mutex_lock(&w->lock);
	while (!w->close) {
		if (!w->on) {
			first = true;
			pthread_cond_wait(&w->changed, &w->lock);
			continue;
		}
		if (sleep_for(w, w->interval * (first ? FIRST_SHARE : 1))) {
			take(w);
			first = false;
		} else {
			first = true;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* With all signals blocked: they are for the thread that drives the device. */
static int start_thread(struct telemetry_window *w)
{
	sigset_t all, old;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	failed = pthread_create(&w->thread, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return failed;
}

struct telemetry_window *telemetry_window_open(struct device *device, double interval_seconds)
{
	struct telemetry_window *w;
	pthread_condattr_t attributes;

	if (!device || !(interval_seconds > 0) || !device->backend->telemetry_quick)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->device = device;
	w->interval = interval_seconds;
	w->reasons = -1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (start_thread(w) == 0)
		return w;
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

void telemetry_window_close(struct telemetry_window *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->close = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	for (size_t i = 0; i < QUANTITIES; i++)
		free(w->readings[i].values);
	free(w);
}

static void set(struct telemetry_window *w, bool on)
{
	w->on = on;
	w->turn++;
	pthread_cond_signal(&w->changed);
}

void telemetry_window_begin(struct telemetry_window *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->begun_readings = w->readings[0].count;
	w->begun_throttled = w->throttled;
	set(w, true);
	pthread_mutex_unlock(&w->lock);
}

void telemetry_window_end(struct telemetry_window *w, size_t *readings, size_t *throttled)
{
	*readings = *throttled = 0;
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	set(w, false);
	*readings = w->readings[0].count - w->begun_readings;
	*throttled = w->throttled - w->begun_throttled;
	pthread_mutex_unlock(&w->lock);
}

/* Of the readings that say something. */
static struct telemetry_span span_of(const struct readings *r)
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
	pthread_mutex_lock(&w->lock);
	out->readings = w->readings[0].count;
	out->interval = w->interval;
	out->throttled = w->throttled;
	out->throttle_reasons = w->reasons;
	out->sm_clock_hz = span_of(&w->readings[SM_CLOCK]);
	out->memory_clock_hz = span_of(&w->readings[MEMORY_CLOCK]);
	out->power_watts = span_of(&w->readings[POWER]);
	out->temperature_celsius = span_of(&w->readings[TEMPERATURE]);
	pthread_mutex_unlock(&w->lock);
}
