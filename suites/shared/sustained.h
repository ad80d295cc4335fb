/*
 * Sustained load: work that heats a GPU. At first it runs at full clock: a burst. Within about 0.1
 * s the power limit lowers the clock, in waves of about a second; the mean over these is the
 * sustained rate. Both are measured: the burst, then the same work without a pause.
 *
 * A suite with such work has SUSTAINED_KEY, SUSTAINED_METRICS, the metrics `throughput` and `time`,
 * and SUSTAINED_TABLE. Training steps (suite parallel) have separate metrics.
 */
#ifndef GPUPROOF_SUITES_SHARED_SUSTAINED_H
#define GPUPROOF_SUITES_SHARED_SUSTAINED_H

#include "measure/run.h"

struct device_info;
struct section;

#define SUSTAINED_KEY                                                                           \
	{                                                                                       \
		.name = "sustained_time", .type = KEY_DURATION, .fallback = "2s", .min = 0,     \
		.max = 3600,                                                                    \
		.help = "GPUs: time under continuous load, after the samples of the burst and " \
			"after a preheat of at least a quarter of it; the throughput is the "   \
			"mean over this time; 0s: report the throughput of the burst"           \
	}

/* Further arguments: the metric_kind of the burst, and its kinds. */
#define SUSTAINED_METRICS(suite, ...)                                                         \
	{ suite ".burst",                                                                     \
	  "FLOP/s",                                                                           \
	  BETTER_HIGHER,                                                                      \
	  0,                                                                                  \
	  "throughput of the first samples after a rest, before the power limit reduces the " \
	  "clock",                                                                            \
	  __VA_ARGS__ },                                                                      \
	{                                                                                     \
		suite ".sustained_share", "1", BETTER_HIGHER, 0,                              \
			"sustained throughput / burst throughput: effect of the power limit", \
			METRIC_OTHER, .percent = true                                         \
	}

#define SUSTAINED_TABLE(suite)                                                                   \
	{                                                                                        \
		.title = "Sustained and burst throughput",                                       \
		.columns = { suite ".sustained_share", suite ".throughput", suite ".burst" },    \
		.note = "Throughput: mean over seconds of sustained load. Burst: first samples " \
			"after a rest."                                                          \
	}

/* A case's work; one per device that works at the same time. */
struct sustained_work {
	struct run *run;
	struct workload workload;
	double operations; /* per call */
};

/* Additional seconds of a case of the section on that device; for the plan. */
double sustained_seconds(const struct section *section, const struct device_info *info);

/*
 * Building blocks for suites that sample several series: seconds of load that the section requests
 * on this device (0: none); the rules of a burst and of a load of that time.
 */
double sustained_load_seconds(const struct run *run);
struct sampling sustained_burst_rules(const struct sampling *rules);
struct sampling sustained_load_rules(const struct sampling *rules, double seconds);
/* True if `commands` calls take longer to execute than to enqueue. */
bool sustained_is_gapless(const struct series *burst, unsigned commands);
/* `burst` under load; gapless: no gate holds the device while a sample is enqueued. */
struct workload sustained_load_workload(const struct workload *burst, bool gapless);

/*
 * Samples the series SUITE.time and, if the section requests it and the device is a GPU,
 * SUITE.sustained.
 */
enum status sustained_sample(const struct sustained_work *work, struct error *err);

/*
 * As sustained_sample() on several devices at once, each at its own pace; errs[i] belongs to
 * work[i].
 */
enum status sustained_sample_together(const struct sustained_work *work, size_t count,
				      struct error *errs);

/* The series of the throughput; valid until the next series is added. */
const struct series *sustained_series(const struct sustained_work *work);

/* Records throughput, time, burst and share; adds a note if the load has gaps or is missing. */
void sustained_record(const struct sustained_work *work);

#endif
