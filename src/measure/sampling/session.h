/*
 * Inside of sampling (sampling.h): one workload and its series, from the cold first operation to
 * the statistics. sampling.c takes the samples of one, several.c of several.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_SESSION_H
#define GPUPROOF_MEASURE_SAMPLING_SESSION_H

#include "measure/sampling/sampling.h"
#include "measure/sampling/stop_rule.h"
#include "measure/sampling/timer.h"

struct session {
	struct timer timer;
	const struct sampler *sampler;
	const struct workload *w;
	struct series *series;
	struct stop_rule rule;
	double began;        /* host clock at the first counted sample */
	double next_report;  /* host clock */
	double warm_seconds; /* of the last sample of warm-up, in all ranks the slowest one's */
	/* of several at their own pace: */
	double preheats; /* samples of preheating that are left */
	double expected; /* host clock before which the sample in flight does not end */
	bool enough;
};

/* A failed session must be closed as well, which computes the series' statistics. */
enum status session_open(struct session *s, const struct sampler *sampler,
			 const struct workload *workload, struct series *series, struct error *err);
void session_close(struct session *s);
unsigned session_largest_batch(const struct session *s);
/* The cold first operation, warm-up, and the batch for which a sample lasts sample_seconds. */
enum status session_warm_up(struct session *s, struct error *err);
/* Samples of preheating: all ranks take the same number. */
double session_preheats(const struct session *s);
/* The stop rule's clock starts. */
void session_begin_counting(struct session *s);
/* Adds a sample, of `seconds` for the whole batch. */
void session_count(struct session *s, double seconds);
/* True if the stop rule ends the series, or the user the run. */
bool session_has_enough(struct session *s);
enum status session_interrupted(const struct session *s, struct error *err);

void series_add(struct series *series, double value);
/* The first samples turned out to be warm-up. */
void series_drop_first(struct series *series, size_t count);
/* Statistics; `tick`: resolution of a batch's duration, in seconds. */
void series_finish(struct series *series, double tick);

#endif
