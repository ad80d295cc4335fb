/*
 * Inside of sampling (sampling.h): one workload and its series, from the cold first operation to
 * the statistics, by sampling.c. several.c and reported.c take samples in other ways.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_SESSION_H
#define GPUPROOF_MEASURE_SAMPLING_SESSION_H

#include "measure/sampling/sampling.h"
#include "measure/sampling/stop_rule.h"

/*
 * One sample: a batch of operations between two events on the device's clock, or between two
 * readings of the host's. On the device's clock the batch is enqueued after a gate, so that the
 * time it takes to enqueue is not in the number; ranks open their gates together.
 */
struct timer {
	const struct sampler *sampler; /* with a world, if only of one */
	const struct workload *w;
	struct event *start, *end;
	struct event **join; /* of streams 1..; [0]: NULL */
	bool gated;
	unsigned sized; /* the batch that w->resize() was last told */
	/* The sample in progress. */
	bool begun;
	enum status status;
	double seconds;
};

/*
 * One sample in three steps, so that samples of several timers can run at the same time:
 * timer_begin() enqueues the batch after the gate (without one it starts at once, and on the host's
 * clock it is carried out), timer_release() opens the gate, timer_end() waits. After a failure of
 * timer_begin() the other two do nothing but tidy up. *seconds: of the whole batch, on the slowest
 * rank. All are collective (world.h).
 */
enum status timer_begin(struct timer *timer, unsigned batch, struct error *err);
void timer_release(struct timer *timer, struct error *err);
enum status timer_end(struct timer *timer, double *seconds, struct error *err);
/* True if timer_end() would not wait: the sample has ended, or failed. */
bool timer_ended(struct timer *timer, struct error *err);
/* All three. */
enum status timer_take(struct timer *timer, unsigned batch, double *seconds, struct error *err);

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
