/*
 * Self-test of the harness on the device: if it misses a planted slowdown or a planted wrong byte,
 * no other number is trustworthy. A check that fails makes its case FAILED.
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
	  .help = "clock: a kernel of known duration; empty: a sample of nothing; slowdown, "
		  "corruption: planted and found; telemetry: watching changes nothing; energy: "
		  "work for a known "
		  "part of the time takes its part of the power (not in the default)" },
	{ .name = "duration",
	  .type = KEY_DURATION,
	  .fallback = "1ms",
	  .min = 1e-5,
	  .max = 1,
	  .help = "of the kernel of clock and slowdown" },
	{ .name = "clock_tolerance",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-6,
	  .max = 1,
	  .help = "by which its measured duration may be off" },
	{ .name = "empty_limit",
	  .type = KEY_DURATION,
	  .fallback = "50us",
	  .min = 1e-9,
	  .max = 1,
	  .help = "most that a sample of nothing may take" },
	{ .name = "trials",
	  .type = KEY_INTEGER,
	  .fallback = "20",
	  .min = 1,
	  .max = 1e4,
	  .help = "of slowdown and of corruption" },
	{ .name = "slowdown",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-5,
	  .max = 1,
	  .help = "how much slower the second of two kernels is made" },
	{ .name = "detection",
	  .type = KEY_PERCENT,
	  .fallback = "99 %",
	  .min = 0.01,
	  .max = 1,
	  .help = "share of the trials in which the slowdown must be found" },
	{ .name = "disturbance",
	  .type = KEY_PERCENT,
	  .fallback = "1 %",
	  .min = 1e-5,
	  .max = 10,
	  .help = "by which reading telemetry may slow down launching" },
	{ .name = "energy_window",
	  .type = KEY_DURATION,
	  .fallback = "4s",
	  .min = 0.05,
	  .max = 600,
	  .help = "of energy: each of its five duty cycles, after half as long; an NVIDIA GPU's "
		  "counter needs 2s" },
	{ .name = "energy_tolerance",
	  .type = KEY_PERCENT,
	  .fallback = "3 %",
	  .min = 1e-4,
	  .max = 1,
	  .help = "of energy: by which it may be off, more than the counter's updates leave open" },
	{ 0 },
};

static const char *const axes[] = { "checks", NULL };

static const struct metric metrics[] = {
	{ "selftest.clock_error", "1", BETTER_LOWER, 1,
	  "by how much the fastest sample of a kernel of known duration is off", .percent = true },
	{ "selftest.host_overhead", "s", BETTER_LOWER, 0,
	  "what launching it and waiting for it adds on the host's clock", METRIC_HOST },
	{ "selftest.empty_sample", "s", BETTER_LOWER, 1, "a sample with nothing in it",
	  METRIC_HOST },
	{ "selftest.detected", "1", BETTER_HIGHER, 1,
	  "share of the planted slowdowns that were found", METRIC_EXACT, .percent = true },
	{ "selftest.false_alarms", "1", BETTER_LOWER, 0,
	  "share of equal kernels that came out different", METRIC_EXACT, .percent = true },
	{ "selftest.slowdown", "1", BETTER_NONE, 0, "the planted slowdown as it was measured",
	  .percent = true },
	{ "selftest.telemetry_effect", "1", BETTER_LOWER, 1,
	  "by how much launching and waiting are slower while telemetry is read", .percent = true },
	{ "selftest.found", "1", BETTER_HIGHER, 1,
	  "share of the planted wrong bits that were found", METRIC_EXACT, .percent = true },
	{ "selftest.energy_error", "1", BETTER_LOWER, 1,
	  "by how much the energy of a known duty cycle is off idle and busy power", METRIC_OTHER,
	  .percent = true },
	{ "selftest.power_error", "1", BETTER_LOWER, 0,
	  "by how much the energy counter is off mean power times time", METRIC_OTHER,
	  .percent = true },
	{ "selftest.busy_power", "W", BETTER_NONE, 0, "while memory is written all the time",
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
	.summary = "whether the measurement can be trusted here: known durations, planted "
		   "slowdowns and errors",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_ONE_PROCESS,
	.expand = selftest_expand,
	.run = selftest_run,
};
