#include "suites/training/models/gemm/trial.h"

/*
 * Timed runs of each candidate, alternating, after one untimed run that loads the kernels; the
 * fastest run counts.
 */
#define RUNS 3

enum status trial_select(struct stream *stream, size_t candidates, trial_fn *run, void *context,
			 size_t *fastest, struct error *err)
{
	struct event *start = NULL, *end = NULL;
	double best[TRIAL_MAX_CANDIDATES] = { 0 }, seconds;

	if (backend_event_create(stream->device, &start, err) == STATUS_OK)
		backend_event_create(stream->device, &end, err);
	for (int turn = -1; turn < RUNS; turn++)
		for (size_t i = 0; i < candidates && err->status == STATUS_OK; i++)
			if (backend_event_record(start, stream, err) == STATUS_OK &&
			    run(context, i, err) == STATUS_OK &&
			    backend_event_record(end, stream, err) == STATUS_OK &&
			    backend_event_synchronize(end, err) == STATUS_OK &&
			    backend_event_elapsed(start, end, &seconds, err) == STATUS_OK &&
			    (turn <= 0 || seconds < best[i]))
				best[i] = seconds;
	backend_event_destroy(start);
	backend_event_destroy(end);
	if (err->status != STATUS_OK)
		return err->status;
	*fastest = 0;
	for (size_t i = 1; i < candidates; i++)
		if (best[i] < best[*fastest])
			*fastest = i;
	return STATUS_OK;
}
