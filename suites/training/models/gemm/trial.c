#include "suites/training/models/gemm/trial.h"

/*
 * Timed runs of each candidate, alternating, after one untimed run that loads the kernels; the
 * fastest run counts.
 */
#define RUNS 3

struct clock_pair {
	struct event *start, *end;
};

static enum status gemm_trial_time_one(const struct clock_pair *clock, struct stream *stream,
				       trial_fn *run, void *context, size_t candidate,
				       double *seconds, struct error *err)
{
	if (backend_event_record(clock->start, stream, err) != STATUS_OK ||
	    run(context, stream, candidate, err) != STATUS_OK ||
	    backend_event_record(clock->end, stream, err) != STATUS_OK ||
	    backend_event_synchronize(clock->end, err) != STATUS_OK)
		return err->status;
	return backend_event_elapsed(clock->start, clock->end, seconds, err);
}

static enum status gemm_trial_time_all(const struct clock_pair *clock, struct stream *stream,
				       size_t candidates, trial_fn *run, void *context,
				       size_t *fastest, struct error *err)
{
	double best[TRIAL_MAX_CANDIDATES] = { 0 };

	for (int turn = -1; turn < RUNS; turn++)
		for (size_t candidate = 0; candidate < candidates; candidate++) {
			double seconds;

			if (gemm_trial_time_one(clock, stream, run, context, candidate, &seconds,
						err) != STATUS_OK)
				return err->status;
			if (turn <= 0 || seconds < best[candidate])
				best[candidate] = seconds;
		}
	*fastest = 0;
	for (size_t candidate = 1; candidate < candidates; candidate++)
		if (best[candidate] < best[*fastest])
			*fastest = candidate;
	return STATUS_OK;
}

enum status trial_select(struct stream *stream, size_t candidates, trial_fn *run, void *context,
			 size_t *fastest, struct error *err)
{
	struct clock_pair clock = { NULL, NULL };

	if (backend_event_create(stream->device, &clock.start, err) == STATUS_OK &&
	    backend_event_create(stream->device, &clock.end, err) == STATUS_OK)
		gemm_trial_time_all(&clock, stream, candidates, run, context, fastest, err);
	backend_event_destroy(clock.start);
	backend_event_destroy(clock.end);
	return err->status;
}
