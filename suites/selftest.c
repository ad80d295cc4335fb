/*
 * Self-test of the harness on the device: if it misses an injected slowdown or an injected wrong
 * byte, no other number is trustworthy. A failed check makes its case FAILED.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "kernels/generator.h"
#include "kernels/timing.h"
#include "measure/telemetry/telemetry_window.h"
#include "plan/suite.h"
#include "suites/selftest/selftest.h"
#include "suites/shared/buffers.h"

/*
 * Checks, each a row of the table below. A check records its metrics and returns STATUS_MISMATCH if
 * the harness cannot be trusted.
 */

/* A kernel that is busy for `seconds` on the stream. */
struct spinning {
	struct selftest *t;
	double seconds;
};

/* Checks the clocks with a kernel of known duration and an empty sample. */
static enum status selftest_spin(void *spinning, unsigned batch, struct error *err)
{
	const struct spinning *s = spinning;
	struct spin_arguments arguments = { s->seconds };
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++)
		status = backend_launch(s->t->stream, "spin", &arguments, err);
	return status;
}

static enum status selftest_spin_and_wait(void *spinning, unsigned batch, struct error *err)
{
	const struct spinning *s = spinning;

	if (selftest_spin(spinning, batch, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(s->t->stream, err);
}

static enum status selftest_clock_wrong_time(const char *clock, double took, double real,
					     double tolerance, struct error *err)
{
	char text[2][32];

	return error_set(err, STATUS_MISMATCH,
			 "a kernel of %s took %s on the clock of the %s: %.2g %% off, tolerance "
			 "%.2g %%",
			 units_format(real, "s", text[0], sizeof(text[0])),
			 units_format(took, "s", text[1], sizeof(text[1])), clock,
			 100 * fabs(took / real - 1), 100 * tolerance);
}

/*
 * The kernel times itself; the device's events must agree, and the host must not see it end early.
 * The fastest sample counts, because other processes can only lengthen it.
 */
static enum status selftest_clock(struct selftest *t, struct error *err)
{
	const struct section *section = t->run->c->section;
	double tolerance = section_real(section, "clock_tolerance");
	struct spinning s = { t, section_real(section, "duration") };
	struct workload w = { .state = &s,
			      .launch = selftest_spin,
			      .clock = CLOCK_DEVICE,
			      .streams = &t->stream,
			      .stream_count = 1,
			      .max_batch = 1 };
	const struct series *time;
	double took, error;

	if (run_sample(t->run, &w, "selftest.spin", &time, err) != STATUS_OK)
		return err->status;
	took = time->statistics.min;
	error = fabs(took / s.seconds - 1);
	run_value(t->run, "selftest.clock_error", error);
	if (!(error <= tolerance))
		return selftest_clock_wrong_time("device", took, s.seconds, tolerance, err);
	w.launch = selftest_spin_and_wait;
	w.clock = CLOCK_HOST;
	if (run_sample(t->run, &w, "selftest.spin_host", &time, err) != STATUS_OK)
		return err->status;
	took = time->statistics.min;
	run_value(t->run, "selftest.host_overhead", took - s.seconds);
	if (took < (1 - tolerance) * s.seconds)
		return selftest_clock_wrong_time("host", took, s.seconds, tolerance, err);
	run_verified(t->run,
		     "duration that the kernel reports, against device events and the host clock",
		     error, tolerance);
	return STATUS_OK;
}

static enum status selftest_clock_launch_nothing(void *state, unsigned batch, struct error *err)
{
	(void)state;
	(void)batch;
	(void)err;
	return STATUS_OK;
}

static enum status selftest_empty(struct selftest *t, struct error *err)
{
	double limit = section_real(t->run->c->section, "empty_limit");
	struct workload w = { .launch = selftest_clock_launch_nothing,
			      .clock = CLOCK_DEVICE,
			      .streams = &t->stream,
			      .stream_count = 1,
			      .max_batch = 1 };
	const struct series *time;
	char text[2][32];

	if (run_sample(t->run, &w, "selftest.empty", &time, err) != STATUS_OK)
		return err->status;
	run_duration(t->run, "selftest.empty_sample", time);
	if (!(time->statistics.median >= 0 && time->statistics.median <= limit))
		return error_set(err, STATUS_MISMATCH, "an empty sample takes %s; limit %s",
				 units_format(time->statistics.median, "s", text[0],
					      sizeof(text[0])),
				 units_format(limit, "s", text[1], sizeof(text[1])));
	run_verified(t->run, "duration of an empty sample against the limit",
		     time->statistics.median, limit);
	return STATUS_OK;
}

/*
 * Checks that telemetry polling does not slow down kernel launch and wait, which are the most
 * sensitive to another thread.
 */
struct watched {
	struct selftest *t;
	bool on;
	double interval;
	size_t readings;
};

/* Length of one measurement, which contains readings whatever else the machine does. */
#define INTERVALS 4

/*
 * Counts the launches within several polling intervals. Not sampled as in other suites: a batch or
 * a count chosen during a reading would exclude another one, and a median would hide a cost in few
 * samples.
 */
static enum status selftest_telemetry_count_launches(void *context, double *seconds,
						     struct error *err)
{
	static const struct empty_arguments nothing;
	struct watched *c = context;
	double start = clock_seconds(), spent;
	size_t launches = 0, readings, throttled;
	enum status status;

	if (c->on)
		telemetry_window_begin(c->t->run->telemetry);
	do {
		status = backend_launch(c->t->stream, "empty", &nothing, err);
		if (status == STATUS_OK)
			status = backend_stream_synchronize(c->t->stream, err);
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

static enum status selftest_telemetry(struct selftest *t, struct error *err)
{
	double limit = section_real(t->run->c->section, "disturbance");
	struct telemetry_during during;
	struct watched off = { .t = t }, on = { .t = t, .on = true };
	struct contender a = { selftest_telemetry_count_launches, &off },
			 b = { selftest_telemetry_count_launches, &on };
	struct ratio ratio;

	if (!t->run->telemetry)
		return error_set(err, STATUS_UNSUPPORTED,
				 "no telemetry: [run] telemetry is 0s, or the backend has no "
				 "sensors");
	telemetry_window_summary(t->run->telemetry, &during);
	off.interval = on.interval = during.interval;
	if (selftest_trial_run(&a, &b, &ratio, err) != STATUS_OK)
		return err->status;
	run_value(t->run, "selftest.telemetry_effect", ratio.value - 1);
	run_note(t->run,
		 "With %zu telemetry readings, launch and wait are between %.2f %% faster and %.2f "
		 "%% slower than without telemetry.",
		 on.readings, 100 * (1 - ratio.low), 100 * (ratio.high - 1));
	if (on.readings == 0)
		return error_set(err, STATUS_MISMATCH, "the telemetry thread took no reading");
	if (ratio.low > 1 + limit)
		return error_set(err, STATUS_MISMATCH,
				 "telemetry slows down launches by at least %.2g %%, tolerance "
				 "%.2g %%",
				 100 * (ratio.low - 1), 100 * limit);
	/* Compares the lower bound with the limit: a noisy host is not a wrong result. */
	run_verified(t->run, "time of launch and wait with and without telemetry, alternating",
		     fmax(0, ratio.low - 1), limit);
	return STATUS_OK;
}

/* Detection rate and false-alarm rate for an injected slowdown. */
/* Median of three samples in a separate series, as if it were a launch. */
static enum status selftest_slowdown_measure_median(void *context, double *seconds,
						    struct error *err)
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

static enum status selftest_slowdown_take_trials(struct selftest *t, double seconds,
						 double slowdown, struct slowdown_tally *tally,
						 struct error *err)
{
	struct spinning plain = { t, seconds }, slow = { t, seconds * (1 + slowdown) };
	struct contender a = { selftest_slowdown_measure_median, &plain },
			 b = { selftest_slowdown_measure_median, &slow };
	struct ratio ratio;

	for (int64_t i = 0; i < tally->trials; i++) {
		if (selftest_trial_run(&a, &b, &ratio, err) != STATUS_OK)
			return err->status;
		tally->found += ratio.low > 1;
		tally->ratios += log(ratio.value);
		if (selftest_trial_run(&a, &a, &ratio, err) != STATUS_OK)
			return err->status;
		tally->alarms += ratio.low > 1 || ratio.high < 1;
	}
	return STATUS_OK;
}

static enum status selftest_slowdown(struct selftest *t, struct error *err)
{
	const struct section *section = t->run->c->section;
	double slowdown = section_real(section, "slowdown"),
	       wanted = section_real(section, "detection");
	struct slowdown_tally tally = { .trials = section_integer(section, "trials") };
	double trials = (double)tally.trials, by_chance = trials * TRIAL_FALSE_ALARMS;

	if (selftest_slowdown_take_trials(t, section_real(section, "duration"), slowdown, &tally,
					  err) != STATUS_OK)
		return err->status;
	run_value(t->run, "selftest.detected", (double)tally.found / trials);
	run_value(t->run, "selftest.false_alarms", (double)tally.alarms / trials);
	run_value(t->run, "selftest.slowdown", exp(tally.ratios / trials) - 1);
	run_note(t->run,
		 "%lld trials; each compares five medians of three samples with five others.",
		 (long long)tally.trials);
	if ((double)tally.found < wanted * trials)
		return error_set(err, STATUS_MISMATCH,
				 "an injected slowdown of %.3g %% was detected in %lld of %lld "
				 "trials; required %.3g %%",
				 100 * slowdown, (long long)tally.found, (long long)tally.trials,
				 100 * wanted);
	/* One above the chance rate plus four standard deviations. */
	if ((double)tally.alarms > by_chance + 4 * sqrt(by_chance * (1 - TRIAL_FALSE_ALARMS)) + 1)
		return error_set(err, STATUS_MISMATCH,
				 "%lld of %lld trials reported a slowdown of identical kernels",
				 (long long)tally.alarms, (long long)tally.trials);
	run_verified(t->run,
		     "injected slowdowns are detected, and identical kernels are not reported as "
		     "different",
		     NAN, NAN);
	return STATUS_OK;
}

/* Detection of an injected wrong bit at its address. */
/* Not a multiple of the word size, so that the last word is partial. */
#define BYTES ((16u << 20) + 5)

static enum status selftest_corruption_put_byte(struct selftest *t, struct buffer *buffer,
						size_t at, unsigned flip, struct error *err)
{
	unsigned char byte =
		(unsigned char)(generator_bits(t->run->seed, at / 8) >> (8 * (at % 8)));
	enum status status;

	byte ^= (unsigned char)flip;
	status = backend_copy(t->stream, (char *)buffer->memory + at, &byte, 1, err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(t->stream, err);
	return status;
}

/* A trial finds the wrong bit if the check names exactly its one word. */
static enum status selftest_corruption_take_trials(struct selftest *t, struct buffer *buffer,
						   int64_t trials, int64_t *found, size_t *missed,
						   struct error *err)
{
	uint64_t seed = t->run->seed;

	for (int64_t i = 0; i < trials; i++) {
		/* First, last, then random positions. */
		size_t at = i == 0   ? 0
			    : i == 1 ? BYTES - 1
				     : (size_t)(generator_bits(seed, (uint64_t)i) % BYTES);
		struct error wrong = ERROR_NONE;
		enum status status;
		char place[64];
		bool seen;

		if (selftest_corruption_put_byte(t, buffer, at, 1u << (i % 8), err) != STATUS_OK)
			return err->status;
		status = buffer_check(buffer, t->stream, 0, BYTES, seed, &wrong);
		if (status != STATUS_OK && status != STATUS_MISMATCH)
			return error_set(err, status, "%s", wrong.message);
		snprintf(place, sizeof(place), "at byte %zu:", at / 8 * 8);
		seen = status == STATUS_MISMATCH && strstr(wrong.message, place) &&
		       strstr(wrong.message, "(1 of ");
		*found += seen;
		*missed = seen ? *missed : at;
		if (selftest_corruption_put_byte(t, buffer, at, 0, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status selftest_corruption_inject(struct selftest *t, struct buffer *buffer,
					      struct error *err)
{
	int64_t trials = section_integer(t->run->c->section, "trials"), found = 0;
	size_t missed = 0;

	if (buffer_fill(buffer, t->stream, t->run->seed, err) != STATUS_OK ||
	    buffer_check(buffer, t->stream, 0, BYTES, t->run->seed, err) != STATUS_OK ||
	    selftest_corruption_take_trials(t, buffer, trials, &found, &missed, err) != STATUS_OK)
		return err->status;
	run_value(t->run, "selftest.found", (double)found / (double)trials);
	if (found < trials)
		return error_set(err, STATUS_MISMATCH,
				 "%" PRId64 " of %" PRId64
				 " injected wrong bits were not detected, the last at byte %zu",
				 trials - found, trials, missed);
	if (buffer_check(buffer, t->stream, 0, BYTES, t->run->seed, err) != STATUS_OK)
		return error_prefix(err, "after all injected bits were corrected");
	run_verified(t->run, "injected wrong bits are found at their addresses", NAN, NAN);
	return STATUS_OK;
}

static enum status selftest_corruption(struct selftest *t, struct error *err)
{
	struct buffer buffer;

	if (buffer_alloc(&buffer, t->device, ALLOCATOR_DEVICE, BYTES, err) != STATUS_OK)
		return err->status;
	selftest_corruption_inject(t, &buffer, err);
	backend_stream_synchronize(t->stream, NULL);
	buffer_free(&buffer);
	return err->status;
}

enum { CLOCK, EMPTY, SLOWDOWN, CORRUPTION, TELEMETRY, ENERGY };

static const char *const names[] = { "clock",     "empty",  "slowdown", "corruption",
				     "telemetry", "energy", NULL };

static enum status (*const checks[])(struct selftest *, struct error *) = {
	[CLOCK] = selftest_clock,         [EMPTY] = selftest_empty,
	[SLOWDOWN] = selftest_slowdown,   [CORRUPTION] = selftest_corruption,
	[TELEMETRY] = selftest_telemetry, [ENERGY] = selftest_energy,
};

static const struct key keys[] = {
	{ .name = "checks",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "clock, empty, slowdown, corruption, telemetry",
	  .choices = names,
	  .parameter = "check",
	  .help = "clock: time a kernel of known duration; empty: time an empty sample; slowdown, "
		  "corruption: detect an injected slowdown or wrong bit; telemetry: polling must "
		  "not slow down launches; energy: a known duty cycle must use the expected energy "
		  "(not in the default)" },
	{ .name = "duration",
	  .type = KEY_DURATION,
	  .fallback = "1ms",
	  .min = 1e-5,
	  .max = 1,
	  .help = "duration of the kernel in clock and slowdown" },
	{ .name = "clock_tolerance",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-6,
	  .max = 1,
	  .help = "clock: largest allowed error of the kernel's measured duration" },
	{ .name = "empty_limit",
	  .type = KEY_DURATION,
	  .fallback = "50us",
	  .min = 1e-9,
	  .max = 1,
	  .help = "empty: longest allowed time of an empty sample" },
	{ .name = "trials",
	  .type = KEY_INTEGER,
	  .fallback = "20",
	  .min = 1,
	  .max = 1e4,
	  .help = "slowdown, corruption: number of trials" },
	{ .name = "slowdown",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-5,
	  .max = 1,
	  .help = "slowdown: injected slowdown of the second of two kernels" },
	{ .name = "detection",
	  .type = KEY_PERCENT,
	  .fallback = "99 %",
	  .min = 0.01,
	  .max = 1,
	  .help = "slowdown: fraction of the trials that must detect the slowdown" },
	{ .name = "disturbance",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-5,
	  .max = 10,
	  .help = "telemetry: largest allowed slowdown of launches by polling" },
	{ .name = "energy_window",
	  .type = KEY_DURATION,
	  .fallback = "4s",
	  .min = 0.05,
	  .max = 600,
	  .help = "energy: time of each of the five duty cycles, which run half as long before; "
		  "the counter of an NVIDIA GPU needs 2s" },
	{ .name = "energy_tolerance",
	  .type = KEY_PERCENT,
	  .fallback = "3 %",
	  .min = 1e-4,
	  .max = 1,
	  .help = "energy: largest allowed error, in addition to the uncertainty from the "
		  "counter's update interval" },
	{ 0 },
};

static const char *const axes[] = { "checks", NULL };

static const struct metric metrics[] = {
	{ "selftest.clock_error", "1", BETTER_LOWER, 1,
	  "relative error of the fastest sample of a kernel of known duration", METRIC_LAUNCH,
	  .percent = true },
	{ "selftest.host_overhead", "s", BETTER_LOWER, 0,
	  "extra time of launch and wait on the host clock, for a kernel of known duration",
	  METRIC_HOST },
	{ "selftest.empty_sample", "s", BETTER_LOWER, 1, "time of an empty sample", METRIC_LAUNCH },
	{ "selftest.detected", "1", BETTER_HIGHER, 1,
	  "fraction of the injected slowdowns that were detected", METRIC_EXACT, .percent = true },
	{ "selftest.false_alarms", "1", BETTER_LOWER, 0,
	  "fraction of identical kernels reported as different", METRIC_EXACT, .percent = true },
	{ "selftest.slowdown", "1", BETTER_NONE, 0,
	  "measured slowdown of the trials with an injected slowdown", .percent = true },
	{ "selftest.telemetry_effect", "1", BETTER_LOWER, 1,
	  "slowdown of launch and wait while telemetry is polled", METRIC_LAUNCH, .percent = true },
	{ "selftest.found", "1", BETTER_HIGHER, 1,
	  "fraction of the injected wrong bits that were detected", METRIC_EXACT, .percent = true },
	{ "selftest.energy_error", "1", BETTER_LOWER, 1,
	  "relative error of the energy of a known duty cycle, compared with idle and busy power",
	  METRIC_OTHER, .percent = true },
	{ "selftest.power_error", "1", BETTER_LOWER, 0,
	  "relative error of the energy counter, compared with mean power x time", METRIC_OTHER,
	  .percent = true },
	{ "selftest.busy_power", "W", BETTER_NONE, 0, "power while memory is written continuously",
	  METRIC_OTHER },
	{ "selftest.idle_power", "W", BETTER_NONE, 0, "power with one empty launch every 37 ms",
	  METRIC_OTHER },
	{ 0 },
};

static enum status selftest_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	int64_t check = case_integer(point, "checks");
	double trials = (double)section_integer(point->section, "trials");

	point->device_bytes = check == CORRUPTION ? (BYTES + BUFFER_CHECK_BYTES)
			      : check == ENERGY   ? selftest_energy_bytes()
						  : 0;
	point->setup_seconds = 0.02;
	if (check == SLOWDOWN) /* twice ten series of five samples */
		point->setup_seconds += trials * 100 * section_real(point->section, "duration");
	if (check == TELEMETRY)
		point->setup_seconds += 1;
	if (check == CORRUPTION)
		point->setup_seconds += trials * 2e-3;
	if (check == ENERGY)
		point->setup_seconds += selftest_energy_seconds(point->section);
	return plan_add_each(plan, point, err);
}

static enum status selftest_run(struct run *run, struct error *err)
{
	struct selftest t = { .run = run, .device = run->devices[0] };

	if (backend_stream_create(t.device, false, &t.stream, err) == STATUS_OK)
		checks[case_integer(run->c, "checks")](&t, err);
	if (t.stream)
		backend_stream_synchronize(t.stream, NULL);
	backend_stream_destroy(t.stream);
	return err->status;
}

const struct suite suite_selftest = {
	.name = "selftest",
	.summary = "trust in the measurements on this machine: known durations, injected slowdowns "
		   "and wrong bits",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_ONE_PROCESS,
	.expand = selftest_expand,
	.run = selftest_run,
};
