/*
 * One sample: a batch of operations between two events on the device's clock, or between two
 * readings of the host's. On the device's clock the batch is enqueued after a gate, so that the
 * time it takes to enqueue is not in the number; ranks open their gates together. What to sample,
 * how often and when to stop is sampling.c's business.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_TIMER_H
#define GPUPROOF_MEASURE_SAMPLING_TIMER_H

#include "measure/sampling/sampling.h"

/*
 * A gated batch must fit the device's queue, or enqueueing blocks on the closed gate: CUDA holds
 * 1,024 commands.
 */
#define GATED_COMMANDS 512

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

/* A failed timer must be closed as well. Collective, as all of these: see world.h. */
enum status timer_open(struct timer *timer, const struct sampler *sampler,
		       const struct workload *workload, struct error *err);
void timer_close(struct timer *timer);

/*
 * One sample in three steps, so that samples of several timers can run at the same time:
 * timer_begin() enqueues the batch after the gate (without one it starts at once, and on the host's
 * clock it is carried out),
 * timer_release() opens the gate, timer_end() waits. After a failure of timer_begin() the other two
 * do nothing but tidy up. *seconds: of the whole batch, on the slowest rank.
 */
enum status timer_begin(struct timer *timer, unsigned batch, struct error *err);
void timer_release(struct timer *timer, struct error *err);
enum status timer_end(struct timer *timer, double *seconds, struct error *err);
/* True if timer_end() would not wait: the sample has ended, or failed. */
bool timer_ended(struct timer *timer, struct error *err);
/* All three. */
enum status timer_take(struct timer *timer, unsigned batch, double *seconds, struct error *err);

/* Resolution of one reading, in seconds. */
double timer_tick(const struct timer *timer);

#endif
