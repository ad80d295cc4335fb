/* One case being carried out: what suite->run() gets, and how it records what it found. */
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
	/* opened; process-per-device suites: only the rank's own, devices[0] */
	struct device **devices;
	size_t device_count;
	struct world *world;
	void *suite_state;                  /* of suite->open_state() */
	struct telemetry_window *telemetry; /* watches while run_sample() samples; may be NULL */
	struct sampler sampler;             /* rules, world, stop flag and progress filled in */
	struct fork_server *fork_server;    /* of suites with fresh_processes; NULL elsewhere */
	struct phases *phases;              /* its time by phase; NULL: not recorded */
	uint64_t seed; /* of this case: derived from [run] seed and the case's id */
	/* [run] seed itself: for data that several cases must have in common. */
	uint64_t run_seed;
	struct case_result *result;
	/* of the run, for what a case leaves next to its result; NULL: there is none */
	const char *folder;
	/* of the latest run_sample() of a workload that has_energy */
	struct work_energy energy;
};

/*
 * Samples `workload` into a new series `name` of the result and returns it (owned by the result,
 * valid until the next run_sample). The clock is that of the device whose stream is timed. On
 * failure *out holds what was sampled so far.
 */
enum status run_sample(struct run *run, const struct workload *workload, const char *name,
		       const struct series **out, struct error *err);

/* Samples what `reporter` reports in `unit`, one of units_all(): sample_reports(). */
enum status run_sample_reports(struct run *run, const struct reporter *reporter, const char *name,
			       const char *unit, const struct series **out, struct error *err);

/*
 * The same for `count` cases of a concurrent group (src/plan/suite.h) at the same time:
 * sample_together(). The clock of each is that of the device whose stream its workload times.
 * out[i] and errs[i] belong to runs[i].
 */
enum status run_sample_together(struct run *const *runs, const struct workload *workloads,
				enum pace pace, const char *name, size_t count,
				const struct series **out, struct error *errs);

/*
 * Samples two workloads of the run's device in turns: sample_interleaved(). names[2] is the series
 * of the first's durations over the second's, pair by pair; out[0..2] as out of run_sample().
 */
enum status run_sample_interleaved(struct run *run, const struct workload workloads[2],
				   const char *const names[3], const struct series *out[3],
				   struct error *err);

/*
 * Metrics. `name` must be in the suite's table (aborts otherwise).
 * run_duration: the series' median with its interval. run_rate: amount / median, the interval
 * turned round.
 * run_scaled: factor * median. run_value: a single reading without interval.
 */
void run_duration(struct run *run, const char *name, const struct series *series);
void run_rate(struct run *run, const char *name, double amount, const struct series *series);
void run_scaled(struct run *run, const char *name, double factor, const struct series *series);
void run_value(struct run *run, const char *name, double value);
/*
 * factor * the median of `series` over that of `divisor`, which was sampled at another time: the
 * relative halves of both intervals are added in quadrature. Its series and number of samples are
 * the divisor's.
 */
void run_quotient(struct run *run, const char *name, double factor, const struct series *series,
		  const struct series *divisor);
/* A value that the suite derives from `samples` samples, with its 95 % interval (NaN: none). */
void run_interval(struct run *run, const char *name, double value, double low, double high,
		  size_t samples);
/*
 * The metric, recorded before, is no main figure of this case though the suite's table calls it
 * one.
 */
void run_demote_metric(struct run *run, const char *name);
/*
 * One of the series' statistics as it is, without interval: a quantile, the first sample. NaN
 * records nothing.
 */
void run_statistic(struct run *run, const char *name, double value, const struct series *series);
/*
 * The sum of metrics recorded before, for directions that are busy at the same time. Its interval
 * is the sum of theirs (wider than 95 %), its n the smallest.
 */
void run_sum(struct run *run, const char *name, const char *const *parts, size_t count);

/*
 * Records the energy of the latest workload that has_energy, where the section asks for it
 * (energy_time): the suite's metrics energy (J per operation), power and idle_power, and
 * `efficiency` ("flops_per_joule"), of which an operation is `amount`. Their intervals are
 * what the counter's updates leave open. A note says how it was measured, or why it was not: no
 * counter, a window too short for the counter, a device that was not busy.
 */
void run_energy(struct run *run, const char *efficiency, double amount);
/* The same of a window that the suite has measured itself. */
void run_energy_of(struct run *run, const struct work_energy *energy, const char *efficiency,
		   double amount);

/* Records what was verified and how; error and tolerance NaN when the comparison is exact. */
void run_verified(struct run *run, const char *method, double error, double tolerance);
/* A sentence that the reader of this case must know; several are joined. */
void run_note(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
