/* A case in progress: the argument of suite->run(), with functions that record its results. */
#ifndef GPUPROOF_MEASURE_RUN_H
#define GPUPROOF_MEASURE_RUN_H

#include "measure/phases.h"
#include "measure/processes/world.h"
#include "measure/sampling/sampling.h"
#include "plan/plan.h"
#include "result/result.h"

struct fork_server;
struct telemetry_window;

struct run {
	const struct plan_case *c;
	/* open devices; in process-per-device suites only the rank's own, devices[0] */
	struct device **devices;
	size_t device_count;
	struct world *world;
	void *suite_state;                  /* of suite->open_state() */
	struct telemetry_window *telemetry; /* active while run_sample() samples; may be NULL */
	struct sampler sampler;             /* with rules, world, stop flag and progress */
	struct fork_server *fork_server;    /* for suites with fresh_processes; else NULL */
	struct phases *phases;              /* time by phase; NULL: not recorded */
	uint64_t seed; /* seed of this case, derived from [run] seed and the case's id */
	/* [run] seed itself, for data that several cases must share. */
	uint64_t run_seed;
	struct case_result *result;
	/* directory of the run, for files that a case writes next to its result; NULL: none */
	const char *folder;
	/* of the latest run_sample() of a workload with has_energy */
	struct work_energy energy;
};

/*
 * Samples `workload` into a new series `name` of the result. *out is owned by the result and valid
 * until the next run_sample(). Uses the clock of the device whose stream is timed. On failure *out
 * contains the samples so far.
 */
enum status run_sample(struct run *run, const struct workload *workload, const char *name,
		       const struct series **out, struct error *err);

/* Samples the values that `reporter` reports in `unit`, one of units_all(): sample_reports(). */
enum status run_sample_reports(struct run *run, const struct reporter *reporter, const char *name,
			       const char *unit, const struct series **out, struct error *err);

/*
 * As run_sample(), for `count` cases of a concurrent group (src/plan/suite.h) at the same time:
 * sample_together(). Each uses the clock of the device whose stream its workload times. out[i] and
 * errs[i] belong to runs[i].
 */
enum status run_sample_together(struct run *const *runs, const struct workload *workloads,
				enum pace pace, const char *name, size_t count,
				const struct series **out, struct error *errs);

/*
 * Samples two workloads of the run's device alternately: sample_interleaved(). names[2] is the
 * series of ratios of their durations (first / second), pair by pair; out[0..2] as out of
 * run_sample().
 */
enum status run_sample_interleaved(struct run *run, const struct workload workloads[2],
				   const char *const names[3], const struct series *out[3],
				   struct error *err);

/*
 * Record metrics. `name` must be in the suite's table (aborts otherwise). run_duration: median of
 * the series with its interval. run_rate: amount / median, with the inverted interval. run_scaled:
 * factor * median. run_value: a single value without interval.
 */
void run_duration(struct run *run, const char *name, const struct series *series);
void run_rate(struct run *run, const char *name, double amount, const struct series *series);
void run_scaled(struct run *run, const char *name, double factor, const struct series *series);
void run_value(struct run *run, const char *name, double value);
/*
 * factor * median of `series` / median of `divisor`, which were sampled at different times: the
 * relative half-widths are added in quadrature. Series and number of samples are those of the
 * divisor.
 */
void run_quotient(struct run *run, const char *name, double factor, const struct series *series,
		  const struct series *divisor);
/* A value that the suite computes from `samples` samples, with its 95 % interval (NaN: none). */
void run_interval(struct run *run, const char *name, double value, double low, double high,
		  size_t samples);
/* Removes the headline mark of a metric that was recorded before, for this case only. */
void run_demote_metric(struct run *run, const char *name);
/* A statistic of the series without interval: a quantile, the first sample. NaN records nothing. */
void run_statistic(struct run *run, const char *name, double value, const struct series *series);
/*
 * Sum of metrics recorded before, for concurrent directions. Its interval is the sum of theirs
 * (wider than 95 %), its n the smallest.
 */
void run_sum(struct run *run, const char *name, const char *const *parts, size_t count);

/*
 * Records the energy of the latest workload with has_energy, if the section requests it
 * (energy_time): the suite's metrics energy (J per operation), power, idle_power, and `efficiency`
 * ("flops_per_joule"), with `amount` per operation. Their intervals reflect the counter's update
 * interval. A note tells how it was measured, or why it was not: no counter, a window too short for
 * the counter, an idle device.
 */
void run_energy(struct run *run, const char *efficiency, double amount);
/* As run_energy(), for a window that the suite has measured itself. */
void run_energy_of(struct run *run, const struct work_energy *energy, const char *efficiency,
		   double amount);

/* Records what was verified and how; error and tolerance are NaN for an exact comparison. */
void run_verified(struct run *run, const char *method, double error, double tolerance);
/*
 * Code paths: which implementation a case ran if the device's capability selects one (struct
 * code_path). Before a case: drops the launches of the previous one; after it: stores the paths in
 * run->result->paths.
 */
void run_forget_paths(const struct run *run);
void run_record_paths(const struct run *run);
/* Adds a path chosen outside of kernels; takes ownership of `path`, "name: choice". */
void run_add_path(struct case_result *result, char *path);

/* Adds a note for the reader of this case; several are joined. */
void run_note(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
