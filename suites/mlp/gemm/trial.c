#include "suites/mlp/gemm/trial.h"

/* Timed runs of each way, in turns, behind one that loads kernels; the fastest counts. */
#define RUNS 3

struct clock_pair {
	struct event *start, *end;
};

static enum status time_one(const struct clock_pair *clock, struct stream *stream, trial_fn *run,
			    void *context, size_t way, double *seconds, struct error *err)
{
	if (backend_event_record(clock->start, stream, err) != STATUS_OK ||
	    run(context, stream, way, err) != STATUS_OK ||
	    backend_event_record(clock->end, stream, err) != STATUS_OK ||
	    backend_event_synchronize(clock->end, err) != STATUS_OK)
		return err->status;
	return backend_event_elapsed(clock->start, clock->end, seconds, err);
}

static enum status time_all(const struct clock_pair *clock, struct stream *stream, size_t ways,
			    trial_fn *run, void *context, size_t *fastest, struct error *err)
{
	double best[TRIAL_MAX_WAYS] = { 0 };

	for (int turn = -1; turn < RUNS; turn++)
		for (size_t way = 0; way < ways; way++) {
			double seconds;

			if (time_one(clock, stream, run, context, way, &seconds, err) != STATUS_OK)
				return err->status;
			if (turn <= 0 || seconds < best[way])
				best[way] = seconds;
		}
	*fastest = 0;
	for (size_t way = 1; way < ways; way++)
		if (best[way] < best[*fastest])
			*fastest = way;
	return STATUS_OK;
}

enum status trial_fastest(struct stream *stream, size_t ways, trial_fn *run, void *context,
			  size_t *fastest, struct error *err)
{
	struct clock_pair clock = { NULL, NULL };

	if (backend_event_create(stream->device, &clock.start, err) == STATUS_OK &&
	    backend_event_create(stream->device, &clock.end, err) == STATUS_OK)
		time_all(&clock, stream, ways, run, context, fastest, err);
	backend_event_destroy(clock.start);
	backend_event_destroy(clock.end);
	return err->status;
}
