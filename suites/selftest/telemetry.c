/* Watching must not change what is watched: launching and waiting, which a thread would disturb first. */
#include <stdlib.h>

#include "kernels/timing.h"
#include "measure/telemetry_window.h"
#include "suites/selftest/checks.h"
#include "suites/selftest/trial.h"

struct watched {
	struct selftest *t;
	bool on;
	double interval;
	size_t readings;
};

static enum status launch_and_wait(void *state, unsigned batch, struct error *err)
{
	static const struct empty_arguments nothing;
	struct selftest *t = state;
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++) {
		status = backend_launch(t->stream, "empty", &nothing, err);
		if (status == STATUS_OK)
			status = backend_stream_synchronize(t->stream, err);
	}
	return status;
}

/* Samples as long as an interval, so that each but the first has a reading in it. */
static enum status measure(void *context, double *seconds, struct error *err)
{
	struct watched *c = context;
	struct sampling rules = { .min_samples = 3,
				  .max_samples = 3,
				  .target = 1e-9,
				  .max_seconds = 60,
				  .sample_seconds = c->interval };
	struct workload w = { .state = c->t, .launch = launch_and_wait, .clock = CLOCK_HOST };
	struct sampler sampler = c->t->run->sampler;
	struct series series = { 0 };
	size_t readings, throttled;
	enum status status;

	sampler.rules = &rules;
	sampler.progress = NULL;
	if (c->on)
		telemetry_window_begin(c->t->run->telemetry);
	status = sample(&sampler, &w, &series, err);
	if (c->on) {
		telemetry_window_end(c->t->run->telemetry, &readings, &throttled);
		c->readings += readings;
	}
	*seconds = series.statistics.median;
	free(series.samples);
	return status;
}

enum status selftest_telemetry(struct selftest *t, struct error *err)
{
	double limit = section_real(t->run->c->section, "disturbance");
	struct telemetry_during during;
	struct watched off = { .t = t }, on = { .t = t, .on = true };
	struct contender a = { measure, &off }, b = { measure, &on };
	struct ratio ratio;

	if (!t->run->telemetry)
		return error_set(
			err, STATUS_UNSUPPORTED,
			"nothing watches here: [run] telemetry is 0s, or the backend cannot tell");
	telemetry_window_summary(t->run->telemetry, &during);
	off.interval = on.interval = during.interval;
	if (trial_run(&a, &b, &ratio, err) != STATUS_OK)
		return err->status;
	run_value(t->run, "selftest.telemetry_effect", ratio.value - 1);
	run_note(t->run,
		 "Launching and waiting with and without %zu readings: between %.2f %% faster and "
		 "%.2f %% slower.",
		 on.readings, 100 * (1 - ratio.low), 100 * (ratio.high - 1));
	if (on.readings == 0)
		return error_set(err, STATUS_MISMATCH, "no reading was taken");
	if (ratio.low > 1 + limit)
		return error_set(
			err, STATUS_MISMATCH,
			"watching makes launching at least %.2g %% slower, more than %.2g %%",
			100 * (ratio.low - 1), 100 * limit);
	run_verified(t->run, "with and without, in turn", ratio.value - 1, limit);
	return STATUS_OK;
}
