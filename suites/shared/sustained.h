/*
 * Work that heats a GPU. At first it runs at the full clock: a burst. Within some 0.1 s the power
 * limit lowers the clock, in waves of about a second, and the mean over these is sustained. Both
 * are measured: the burst, then the same work without a pause.
 *
 * A suite with such work has SUSTAINED_KEY, SUSTAINED_METRICS, the metrics `throughput` and `time`,
 * and SUSTAINED_TABLE. Training steps (suite parallel) have metrics of their own.
 */
#ifndef GPUPROOF_SUITES_SHARED_SUSTAINED_H
#define GPUPROOF_SUITES_SHARED_SUSTAINED_H

#include "measure/run.h"

struct device_info;
struct section;

#define SUSTAINED_KEY                                                                              \
	{                                                                                          \
		.name = "sustained_time", .type = KEY_DURATION, .fallback = "2s", .min = 0,        \
		.max = 3600,                                                                       \
		.help = "GPUs: time under continuous load after the burst of samples and preheat " \
			"(at least a quarter of this); the throughput is the mean over it, at "    \
			"the power limit; 0s: the throughput is that of the burst"                 \
	}

/* The rest: the metric_kind of the burst, and its kinds. */
#define SUSTAINED_METRICS(suite, ...)                                                         \
	{ suite ".burst",                                                                     \
	  "FLOP/s",                                                                           \
	  BETTER_HIGHER,                                                                      \
	  0,                                                                                  \
	  "throughput of the first samples after a rest, before the power limit acts",        \
	  __VA_ARGS__ },                                                                      \
	{                                                                                     \
		suite ".sustained_share", "1", BETTER_HIGHER, 0,                              \
			"sustained throughput / burst throughput: effect of the power limit", \
			METRIC_OTHER, .percent = true                                         \
	}

#define SUSTAINED_TABLE(suite)                                                                \
	{                                                                                     \
		.title = "Sustained and burst",                                               \
		.columns = { suite ".sustained_share", suite ".throughput", suite ".burst" }, \
		.note = "Throughput: mean over seconds of load. Burst: after a rest."         \
	}

/* A case's work; one of these for each device that works at the same time. */
struct sustained_work {
	struct run *run;
	struct workload workload;
	double operations; /* of a call */
};

/* Seconds that it adds to a case of the section on that device; for the plan. */
double sustained_seconds(const struct section *section, const struct device_info *info);

/*
 * The parts of it, for suites that sample several series: seconds of load that the section asks for
 * on this device, 0: none; the rules of a burst and of a load of that time.
 */
double sustained_load_seconds(const struct run *run);
struct sampling sustained_burst_rules(const struct sampling *rules);
struct sampling sustained_load_rules(const struct sampling *rules, double seconds);
/* Calls of `commands` last longer than they take to enqueue. */
bool sustained_is_gapless(const struct series *burst, unsigned commands);
/* `burst` under load; gapless: no gate holds the device while a sample is enqueued. */
struct workload sustained_load_workload(const struct workload *burst, bool gapless);

/*
 * Samples the series SUITE.time, and SUITE.sustained where the section asks for it and the device
 * is a GPU.
 */
enum status sustained_sample(const struct sustained_work *work, struct error *err);

/* The same on several devices at once, each at its own pace; errs[i] belongs to work[i]. */
enum status sustained_sample_together(const struct sustained_work *work, size_t count,
				      struct error *errs);

/* The series that the throughput comes from; valid until the next series is added. */
const struct series *sustained_series(const struct sustained_work *work);

/* Records throughput, time, burst and share; a note says that the load has gaps or is missing. */
void sustained_record(const struct sustained_work *work);

#endif
