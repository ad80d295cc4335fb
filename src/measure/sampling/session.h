/*
 * Private declarations of sampling (sampling.h): one workload and its series, from the cold first
 * operation to the statistics, in sampling.c. several.c samples in other ways.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_SESSION_H
#define GPUPROOF_MEASURE_SAMPLING_SESSION_H

#include "measure/sampling/sampling.h"
#include "measure/sampling/stop_rule.h"

/*
 * One sample: a batch of operations between two events (device clock), or between two readings of
 * the host clock. With the device clock, the batch is enqueued after a gate that excludes the time
 * to enqueue it; ranks open their gates together.
 */
struct timer {
	const struct sampler *sampler; /* its world may consist of a single rank */
	const struct workload *w;
	struct event *start, *end;
	struct event **join; /* for streams 1 and up; [0] is NULL */
	bool gated;
	unsigned sized; /* batch size of the last call of w->resize() */
	/* State of the sample in progress. */
	bool begun;
	enum status status;
	double seconds;
};

/*
 * One sample in three steps, so that samples of several timers can overlap: sampling_timer_begin()
 * enqueues the batch after the gate (without a gate it starts at once; with the host clock it is
 * executed), sampling_timer_release() opens the gate, sampling_timer_end() waits. If
 * sampling_timer_begin() fails, the other two only clean up. *seconds: of the whole batch, on the
 * slowest rank. All are collective (world.h).
 */
enum status sampling_timer_begin(struct timer *timer, unsigned batch, struct error *err);
void sampling_timer_release(struct timer *timer, struct error *err);
enum status sampling_timer_end(struct timer *timer, double *seconds, struct error *err);
/* True if sampling_timer_end() would not wait, because the sample has ended or failed. */
bool sampling_timer_ended(struct timer *timer, struct error *err);
/* All three. */
enum status sampling_timer_take(struct timer *timer, unsigned batch, double *seconds,
				struct error *err);

struct session {
	struct timer timer;
	const struct sampler *sampler;
	const struct workload *w;
	struct series *series;
	struct stop_rule rule;
	double began;        /* host clock at the start of the first counted sample */
	double next_report;  /* host clock */
	double warm_seconds; /* duration of the last warm-up sample, on the slowest rank */
	/* For PACE_FREE_RUNNING: */
	double preheats; /* remaining preheat samples */
	double expected; /* host clock before which the current sample does not end */
	bool enough;
};

/* Opens a session. Close it even after a failure; closing computes the statistics of the series. */
enum status sampling_session_open(struct session *s, const struct sampler *sampler,
				  const struct workload *workload, struct series *series,
				  struct error *err);
void sampling_session_close(struct session *s);
/* Runs the cold first operation and the warm-up, and chooses the batch size for sample_seconds. */
enum status sampling_session_warm_up(struct session *s, struct error *err);
/* Number of preheat samples, equal on all ranks. */
double sampling_session_preheats(const struct session *s);
/* Starts the clock of the stop rule. */
void sampling_session_begin_counting(struct session *s);
/* Adds a sample; `seconds` for the whole batch. */
void sampling_session_count(struct session *s, double seconds);
/* True if the stop rule ends the series, or the user the run. */
bool sampling_session_has_enough(struct session *s);
enum status sampling_session_interrupted(const struct session *s, struct error *err);

void sampling_series_add(struct series *series, double value);
/* Drops the first samples, which were warm-up. */
void sampling_series_drop_first(struct series *series, size_t count);
/* Computes the statistics; `tick`: resolution of a batch's duration, in seconds. */
void sampling_series_finish(struct series *series, double tick);

#endif
