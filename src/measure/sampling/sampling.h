/*
 * Timing one workload: batch choice, gate, samples, stop rule. The only place where anything is
 * timed.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_SAMPLING_H
#define GPUPROOF_MEASURE_SAMPLING_SAMPLING_H

#include <signal.h>
#include <stdbool.h>

#include "device/backend.h"
#include "measure/telemetry/energy_meter.h"
#include "plan/sampling_rules.h"
#include "result/result.h"

struct activity;
struct work_energy;
struct world;

enum clock_kind {
	/* events around the batch on streams[0]; all other streams fork from and join it */
	CLOCK_DEVICE,
	/* the host's monotonic clock around launch(); launch returns when the work is done */
	CLOCK_HOST
};

/*
 * One repeatable operation.
 * launch(state, batch): CLOCK_DEVICE: enqueues `batch` operations on the streams and returns;
 * CLOCK_HOST: carries them out.
 * align: CLOCK_DEVICE: enqueues on streams[0] what lets no rank's batch begin before all ranks have
 * come to theirs. Gates are not opened at one moment, and ranks that wait for each other would have
 * that in their samples.
 * prepare/finish: untimed, before and after each sample (finish follows a stream synchronisation).
 * resize: untimed, before the first sample with another batch, for what is made for one batch (a
 * graph).
 */
struct workload {
	void *state;
	enum status (*resize)(void *state, unsigned batch, struct error *err);
	enum status (*prepare)(void *state, struct error *err);
	enum status (*align)(void *state, struct error *err);
	enum status (*launch)(void *state, unsigned batch, struct error *err);
	enum status (*finish)(void *state, struct error *err);
	enum clock_kind clock;
	struct stream **streams; /* at most 32; of any devices, streams[0] of the sampler's */
	size_t stream_count;
	unsigned max_batch; /* 0: no limit; 1: a latency metric, one operation a sample */
	/*
	 * where the end of an operation overlaps with the next: as many as show that; 0: one will
	 * do
	 */
	unsigned min_batch;
	/*
	 * what one operation enqueues on its busiest stream (0: 1); keeps a gated batch within the
	 * queue
	 */
	unsigned commands;
	/*
	 * more than the rules ask for, e.g. 100 for a p99; 0: the rules'. Given up after 4
	 * max_seconds
	 */
	int64_t min_samples;
	/* launch synchronises (pageable copies, allocation): the gate would dead-lock */
	bool no_gate;
	/* the energy of its operations is a figure of the case, where the rules ask for it */
	bool has_energy;
	/* no trace of power and clock of a load: another series' is the case's */
	bool unwatched;
};

/* The energy of a workload's operations, carried out after its samples for as long as asked. */
struct work_energy {
	struct energy_window window, idle; /* idle: the same devices without work */
	double busy_seconds;               /* of the window, on the workload's clock */
	double operations;
};

/*
 * Between samples, some ten times a second: median so far and relative half width (NaN before there
 * is one).
 */
typedef void progress_fn(void *context, size_t samples, double median, double half_width);

struct sampler {
	const struct sampling *rules;
	struct device *device;
	/* ranks sample in step: a sample is the slowest rank's, the stop decision rank 0's */
	struct world *world;
	struct activity *activity;         /* updated at each sample; NULL: none */
	const volatile sig_atomic_t *stop; /* set: finish the sample and stop */
	progress_fn *progress;
	void *progress_context;
	/* whose energy counts, and where sample() puts it; NULL: not measured */
	struct device *const *energy_devices;
	size_t energy_device_count;
	struct work_energy *energy;
	/* called after the samples, before the work whose energy counts; NULL: nothing */
	void (*energy_begins)(void *context);
	void *energy_context;
};

/*
 * Samples `workload` into `series` (released by the caller; statistics included). On
 * STATUS_INTERRUPTED, and on any other failure, the samples taken so far are in `series`.
 */
enum status sample(const struct sampler *sampler, const struct workload *workload,
		   struct series *series, struct error *err);

enum pace {
	/* sample n of all starts when the last one is enqueued: what they share is shared by all */
	PACE_COMMON,
	/*
	 * each begins its next sample when it has ended one, and works on untimed when it has
	 * enough: none rests, as a device under a power limit would be faster after it
	 */
	PACE_FREE_RUNNING
};

/* Figures that report() has found, in the order in which they are added. */
struct reported {
	double *values;
	size_t count, capacity;
};
void reported_add(struct reported *reported, double value);

/*
 * An operation that is not timed here and reports its own figures: each call carries it out once
 * and adds one or several.
 */
struct reporter {
	void *state;
	enum status (*report)(void *state, struct reported *out, struct error *err);
};

/*
 * Samples the figures of `reporter` by the sampler's rules: `warmup` calls are not counted, and it
 * ends after a call. Within one process: the sampler's world is not looked at, and no energy is
 * measured. Otherwise as sample().
 */
enum status sample_reports(const struct sampler *sampler, const struct reporter *reporter,
			   struct series *series, struct error *err);

/*
 * Samples workloads of different devices at the same time; all work until each has enough. Every
 * one keeps its own batch, clock and series. Within one process: the samplers' worlds are not
 * looked at. errs[i], cleared by the caller, says what went wrong with workload i; on a failure of
 * one (returned) all stop, with what was sampled so far in their series.
 */
enum status sample_together(const struct sampler *samplers, const struct workload *workloads,
			    enum pace pace, struct series *const *series, size_t count,
			    struct error *errs);

/*
 * Samples two workloads of the sampler's device in turns until each and their ratio have enough.
 * series[0], series[1]: of the workloads; series[2]: the first's duration over the second's of each
 * pair. A level that both follow, as clocks under a power limit, is not in the ratio. Within one
 * process: the sampler's world is not looked at, and no energy is measured.
 */
enum status sample_interleaved(const struct sampler *sampler, const struct workload workloads[2],
			       struct series *const series[3], struct error *err);

#endif
