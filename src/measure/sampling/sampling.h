/* Times one workload: batch size, gate, samples, stop rule. All timing happens here. */
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
	/*
	 * events before and after the batch on streams[0]; all other streams fork from and join it
	 */
	CLOCK_DEVICE,
	/* the host's monotonic clock around launch(), which returns when the work is done */
	CLOCK_HOST
};

/*
 * One repeatable operation. launch(state, batch): with CLOCK_DEVICE it enqueues `batch` operations
 * on the streams and returns; with CLOCK_HOST it executes them. align: with CLOCK_DEVICE it
 * enqueues a barrier on streams[0] that lets no rank's batch start before all ranks have reached
 * theirs. Gates do not open at the same time, and ranks that wait for each other would include the
 * difference in their samples. prepare/finish: untimed, before and after each sample (finish
 * follows a stream synchronisation). resize: untimed, before the first sample with another batch
 * size, for objects made for one size (a graph).
 */
struct workload {
	void *state;
	enum status (*resize)(void *state, unsigned batch, struct error *err);
	enum status (*prepare)(void *state, struct error *err);
	enum status (*align)(void *state, struct error *err);
	enum status (*launch)(void *state, unsigned batch, struct error *err);
	enum status (*finish)(void *state, struct error *err);
	enum clock_kind clock;
	/* at most 32, of any devices; streams[0] belongs to the sampler's device */
	struct stream **streams;
	size_t stream_count;
	unsigned max_batch; /* 0: no limit; 1: a latency metric with one operation per sample */
	/* if consecutive operations overlap: enough operations to include the overlap; 0: one */
	unsigned min_batch;
	/*
	 * commands that one operation enqueues on its busiest stream (0: 1); keeps a gated batch
	 * within the queue
	 */
	unsigned commands;
	/*
	 * if more than the rules require, such as 100 for a p99; 0: as the rules. Abandoned after 4
	 * max_seconds
	 */
	int64_t min_samples;
	/* launch synchronises (pageable copies, allocation): the gate would deadlock */
	bool no_gate;
	/* the energy of its operations is a metric of the case, if the rules request it */
	bool has_energy;
	/* do not record power and clock of a load: another series records them */
	bool unwatched;
};

/* Energy of a workload's operations, executed after its samples for the requested time. */
struct work_energy {
	struct energy_window window, idle; /* idle: the same devices without work */
	double busy_seconds;               /* busy time in the window, by the workload's clock */
	double operations;
};

/*
 * Called between samples, about ten times per second: median so far, and relative half-width (NaN
 * if there is none yet).
 */
typedef void progress_fn(void *context, size_t samples, double median, double half_width);

struct sampler {
	const struct sampling *rules;
	struct device *device;
	/*
	 * ranks sample in step: a sample is that of the slowest rank, and rank 0 decides when to
	 * stop
	 */
	struct world *world;
	struct activity *activity;         /* updated after each sample; NULL: none */
	const volatile sig_atomic_t *stop; /* if set: finish the sample and stop */
	progress_fn *progress;
	void *progress_context;
	/* devices whose energy is measured, and where sample() stores it; NULL: none */
	struct device *const *energy_devices;
	size_t energy_device_count;
	struct work_energy *energy;
	/* called after the samples, before the work whose energy is measured; NULL: nothing */
	void (*energy_begins)(void *context);
	void *energy_context;
};

/*
 * Samples `workload` into `series` (released by the caller; with statistics). After
 * STATUS_INTERRUPTED or another failure, `series` contains the samples so far.
 */
enum status sample(const struct sampler *sampler, const struct workload *workload,
		   struct series *series, struct error *err);

enum pace {
	/*
	 * sample n of all starts when the last one is enqueued: shared resources are shared by all
	 */
	PACE_COMMON,
	/*
	 * each starts its next sample after its last one, and continues untimed work when it has
	 * enough: under a power limit, a device would be faster after a rest
	 */
	PACE_FREE_RUNNING
};

/* Values found by report(), in the order in which they were added. */
struct reported {
	double *values;
	size_t count, capacity;
};
void reported_add(struct reported *reported, double value);

/*
 * An operation that reports its own values instead of being timed here: each call executes it once
 * and adds one or several values.
 */
struct reporter {
	void *state;
	enum status (*report)(void *state, struct reported *out, struct error *err);
};

/*
 * Samples the values of `reporter` by the sampler's rules: `warmup` calls are not counted, and
 * sampling ends between calls. Single process: ignores the sampler's world, and measures no energy.
 * Otherwise as sample().
 */
enum status sample_reports(const struct sampler *sampler, const struct reporter *reporter,
			   struct series *series, struct error *err);

/*
 * Samples workloads of different devices at the same time; all work until each has enough. Each has
 * its own batch size, clock and series. Single process: ignores the samplers' worlds. errs[i],
 * cleared by the caller, explains a failure of workload i. If one fails (returned), all stop, with
 * the samples so far in their series.
 */
enum status sample_together(const struct sampler *samplers, const struct workload *workloads,
			    enum pace pace, struct series *const *series, size_t count,
			    struct error *errs);

/*
 * Samples two workloads of the sampler's device alternately until each and their ratio have enough
 * samples. series[0], series[1]: the workloads; series[2]: ratio of the durations of each pair
 * (first / second). A level that both follow, such as clocks under a power limit, cancels in the
 * ratio. Single process: ignores the sampler's world, and measures no energy.
 */
enum status sample_interleaved(const struct sampler *sampler, const struct workload workloads[2],
			       struct series *const series[3], struct error *err);

#endif
