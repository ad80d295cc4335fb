/*
 * Checks that telemetry polling does not slow down kernel launch and wait, which are the most
 * sensitive to another thread.
 */
#include <math.h>

#include "base/clock.h"
#include "kernels/timing.h"
#include "measure/telemetry/telemetry_window.h"
#include "suites/selftest/checks.h"
#include "suites/selftest/trial.h"

struct watched {
	struct selftest *t;
	bool on;
	double interval;
	size_t readings;
};

static enum status selftest_launch_and_wait(struct selftest *t, struct error *err)
{
	static const struct empty_arguments nothing;
	enum status status = backend_launch(t->stream, "empty", &nothing, err);

	return status == STATUS_OK ? backend_stream_synchronize(t->stream, err) : status;
}

/* Length of one measurement, which contains readings whatever else the machine does. */
#define INTERVALS 4

/*
 * Counts the launches within several polling intervals. Not sampled as in other suites: a batch or
 * a count chosen during a reading would exclude another one, and a median would hide a cost in few
 * samples.
 */
static enum status telemetry_count_launches(void *context, double *seconds, struct error *err)
{
	struct watched *c = context;
	double start = clock_seconds(), spent;
	size_t launches = 0, readings, throttled;
	enum status status;

	if (c->on)
		telemetry_window_begin(c->t->run->telemetry);
	do {
		status = selftest_launch_and_wait(c->t, err);
		launches++;
		spent = clock_seconds() - start;
	} while (status == STATUS_OK && spent < INTERVALS * c->interval);
	if (c->on) {
		telemetry_window_end(c->t->run->telemetry, &readings, &throttled);
		c->readings += readings;
	}
	*seconds = spent / (double)launches;
	return status;
}

enum status selftest_telemetry(struct selftest *t, struct error *err)
{
	double limit = section_real(t->run->c->section, "disturbance");
	struct telemetry_during during;
	struct watched off = { .t = t }, on = { .t = t, .on = true };
	struct contender a = { telemetry_count_launches, &off },
			 b = { telemetry_count_launches, &on };
	struct ratio ratio;

	if (!t->run->telemetry)
		return error_set(err, STATUS_UNSUPPORTED,
				 "no telemetry: [run] telemetry is 0s, or the backend has no "
				 "sensors");
	telemetry_window_summary(t->run->telemetry, &during);
	off.interval = on.interval = during.interval;
	if (trial_run(&a, &b, &ratio, err) != STATUS_OK)
		return err->status;
	run_value(t->run, "selftest.telemetry_effect", ratio.value - 1);
	run_note(t->run,
		 "Launch and wait with %zu readings, against without: between %.2f %% faster and "
		 "%.2f %% slower.",
		 on.readings, 100 * (1 - ratio.low), 100 * (ratio.high - 1));
	if (on.readings == 0)
		return error_set(err, STATUS_MISMATCH, "no reading was taken");
	if (ratio.low > 1 + limit)
		return error_set(err, STATUS_MISMATCH,
				 "telemetry slows down launches by at least %.2g %%, tolerance "
				 "%.2g %%",
				 100 * (ratio.low - 1), 100 * limit);
	/* Compares the lower bound with the limit: a noisy host is not a wrong result. */
	run_verified(t->run, "with and without telemetry, alternating", fmax(0, ratio.low - 1),
		     limit);
	return STATUS_OK;
}
