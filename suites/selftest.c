/*
 * Self-test of the harness on the device: if it misses an injected slowdown or an injected wrong
 * byte, no other number is trustworthy. A failed check makes its case FAILED.
 */
#include "base/memory.h"
#include "plan/suite.h"
#include "suites/selftest/checks.h"

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
	  .help = "clock: a kernel of known duration; empty: an empty sample; slowdown, "
		  "corruption: injected and detected; telemetry: polling does not slow down "
		  "launches; energy: a known duty cycle uses its fraction of the power (not in the "
		  "default)" },
	{ .name = "duration",
	  .type = KEY_DURATION,
	  .fallback = "1ms",
	  .min = 1e-5,
	  .max = 1,
	  .help = "duration of the kernel of clock and slowdown" },
	{ .name = "clock_tolerance",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-6,
	  .max = 1,
	  .help = "largest error of its measured duration" },
	{ .name = "empty_limit",
	  .type = KEY_DURATION,
	  .fallback = "50us",
	  .min = 1e-9,
	  .max = 1,
	  .help = "longest time of an empty sample" },
	{ .name = "trials",
	  .type = KEY_INTEGER,
	  .fallback = "20",
	  .min = 1,
	  .max = 1e4,
	  .help = "number of trials of slowdown and corruption" },
	{ .name = "slowdown",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-5,
	  .max = 1,
	  .help = "injected slowdown of the second of two kernels" },
	{ .name = "detection",
	  .type = KEY_PERCENT,
	  .fallback = "99 %",
	  .min = 0.01,
	  .max = 1,
	  .help = "fraction of the trials that must detect the slowdown" },
	{ .name = "disturbance",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-5,
	  .max = 10,
	  .help = "largest slowdown of launches by telemetry polling" },
	{ .name = "energy_window",
	  .type = KEY_DURATION,
	  .fallback = "4s",
	  .min = 0.05,
	  .max = 600,
	  .help = "energy: time of each of its five duty cycles, after half as long; the counter "
		  "of an NVIDIA GPU needs 2s" },
	{ .name = "energy_tolerance",
	  .type = KEY_PERCENT,
	  .fallback = "3 %",
	  .min = 1e-4,
	  .max = 1,
	  .help = "energy: largest error beyond the uncertainty of the counter's updates" },
	{ 0 },
};

static const char *const axes[] = { "checks", NULL };

static const struct metric metrics[] = {
	{ "selftest.clock_error", "1", BETTER_LOWER, 1,
	  "relative error of the fastest sample of a kernel of known duration", METRIC_LAUNCH,
	  .percent = true },
	{ "selftest.host_overhead", "s", BETTER_LOWER, 0,
	  "time that launch and wait add to that kernel on the host clock", METRIC_HOST },
	{ "selftest.empty_sample", "s", BETTER_LOWER, 1, "time of an empty sample", METRIC_HOST },
	{ "selftest.detected", "1", BETTER_HIGHER, 1,
	  "fraction of the injected slowdowns that were detected", METRIC_EXACT, .percent = true },
	{ "selftest.false_alarms", "1", BETTER_LOWER, 0,
	  "fraction of identical kernels reported as different", METRIC_EXACT, .percent = true },
	{ "selftest.slowdown", "1", BETTER_NONE, 0, "measured value of the injected slowdown",
	  .percent = true },
	{ "selftest.telemetry_effect", "1", BETTER_LOWER, 1,
	  "slowdown of launch and wait while telemetry is polled", METRIC_LAUNCH, .percent = true },
	{ "selftest.found", "1", BETTER_HIGHER, 1,
	  "fraction of the injected wrong bits that were detected", METRIC_EXACT, .percent = true },
	{ "selftest.energy_error", "1", BETTER_LOWER, 1,
	  "relative error of the energy of a known duty cycle, against idle and busy power",
	  METRIC_OTHER, .percent = true },
	{ "selftest.power_error", "1", BETTER_LOWER, 0,
	  "relative error of the energy counter, against mean power x time", METRIC_OTHER,
	  .percent = true },
	{ "selftest.busy_power", "W", BETTER_NONE, 0, "while memory is written continuously",
	  METRIC_OTHER },
	{ "selftest.idle_power", "W", BETTER_NONE, 0, "with an empty launch every 37 ms",
	  METRIC_OTHER },
	{ 0 },
};

static enum status selftest_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	int64_t check = case_integer(point, "checks");
	double trials = (double)section_integer(point->section, "trials");

	point->device_bytes = check == CORRUPTION ? selftest_corruption_bytes()
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
	.summary = "trust in measurements on this machine: known durations, injected slowdowns and "
		   "errors",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_ONE_PROCESS,
	.expand = selftest_expand,
	.run = selftest_run,
};
