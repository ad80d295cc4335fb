/* Detection rate and false-alarm rate for an injected slowdown. */
#include <math.h>
#include <stdlib.h>

#include "suites/selftest/checks.h"
#include "suites/selftest/trial.h"

/* Median of three samples in a separate series, as if it were a launch. */
static enum status slowdown_measure_median(void *context, double *seconds, struct error *err)
{
	static const struct sampling rules = { .min_samples = 3,
					       .max_samples = 3,
					       .target = 1e-9,
					       .max_seconds = 10,
					       .sample_seconds = 1e-6,
					       .warmup = 1 };
	struct spinning *s = context;
	struct workload w = { .state = s,
			      .launch = selftest_spin,
			      .clock = CLOCK_DEVICE,
			      .streams = &s->t->stream,
			      .stream_count = 1,
			      .max_batch = 1 };
	struct sampler sampler = s->t->run->sampler;
	struct series series = { 0 };
	enum status status;

	sampler.rules = &rules;
	sampler.progress = NULL;
	status = sample(&sampler, &w, &series, err);
	*seconds = series.statistics.median;
	free(series.samples);
	if (status == STATUS_OK && !(*seconds > 0))
		return error_set(err, STATUS_MISMATCH, "a kernel took no measurable time");
	return status;
}

struct slowdown_tally {
	int64_t trials, found, alarms;
	double ratios; /* sum of the logs */
};

static enum status slowdown_take_trials(struct selftest *t, double seconds, double slowdown,
					struct slowdown_tally *tally, struct error *err)
{
	struct spinning plain = { t, seconds }, slow = { t, seconds * (1 + slowdown) };
	struct contender a = { slowdown_measure_median, &plain },
			 b = { slowdown_measure_median, &slow };
	struct ratio ratio;

	for (int64_t i = 0; i < tally->trials; i++) {
		if (trial_run(&a, &b, &ratio, err) != STATUS_OK)
			return err->status;
		tally->found += ratio.low > 1;
		tally->ratios += log(ratio.value);
		if (trial_run(&a, &a, &ratio, err) != STATUS_OK)
			return err->status;
		tally->alarms += ratio.low > 1 || ratio.high < 1;
	}
	return STATUS_OK;
}

/* One above the chance rate plus four standard deviations. */
static double most_alarms(int64_t trials)
{
	double expected = (double)trials * TRIAL_FALSE_ALARMS;

	return expected + 4 * sqrt(expected * (1 - TRIAL_FALSE_ALARMS)) + 1;
}

enum status selftest_slowdown(struct selftest *t, struct error *err)
{
	const struct section *section = t->run->c->section;
	double slowdown = section_real(section, "slowdown"),
	       wanted = section_real(section, "detection");
	struct slowdown_tally tally = { .trials = section_integer(section, "trials") };
	double trials = (double)tally.trials;

	if (slowdown_take_trials(t, section_real(section, "duration"), slowdown, &tally, err) !=
	    STATUS_OK)
		return err->status;
	run_value(t->run, "selftest.detected", (double)tally.found / trials);
	run_value(t->run, "selftest.false_alarms", (double)tally.alarms / trials);
	run_value(t->run, "selftest.slowdown", exp(tally.ratios / trials) - 1);
	run_note(t->run, "%lld trials, each of five medians of three samples against five.",
		 (long long)tally.trials);
	if ((double)tally.found < wanted * trials)
		return error_set(err, STATUS_MISMATCH,
				 "an injected slowdown of %.3g %% was detected in %lld of %lld "
				 "trials; required %.3g %%",
				 100 * slowdown, (long long)tally.found, (long long)tally.trials,
				 100 * wanted);
	if ((double)tally.alarms > most_alarms(tally.trials))
		return error_set(err, STATUS_MISMATCH,
				 "%lld of %lld trials reported a slowdown of identical kernels",
				 (long long)tally.alarms, (long long)tally.trials);
	run_verified(t->run,
		     "injected slowdowns are detected, and identical kernels are not reported", NAN,
		     NAN);
	return STATUS_OK;
}
