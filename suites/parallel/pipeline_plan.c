/* Which stage does what in which order, and what it costs by formula. */
#include "suites/parallel/pipeline.h"
#include "suites/parallel/stages.h"

/* Inputs beside those in flight: one is received while the last is computed with. */
#define SPARE_INPUTS 1

uint64_t pipeline_warmup_all(int stages, int stage, uint64_t micro)
{
	(void)stages;
	(void)stage;
	return micro;
}

uint64_t pipeline_warmup_plain(int stages, int stage, uint64_t micro)
{
	uint64_t behind = (uint64_t)(stages - 1 - stage);

	return behind < micro ? behind : micro;
}

uint64_t pipeline_warmup_eager(int stages, int stage, uint64_t micro)
{
	uint64_t behind = 2 * (uint64_t)(stages - 1 - stage);

	return behind < micro ? behind : micro;
}

uint64_t pipeline_in_flight(pipeline_warmup *warmup, int stages, int stage, uint64_t micro)
{
	uint64_t first = warmup(stages, stage, micro);

	return first < micro ? first + 1 : micro;
}

const char *pipeline_refusal(const struct setup *setup)
{
	if (setup->ranks < 2)
		return "a layer split needs at least two devices";
	if ((size_t)setup->ranks > setup->layers)
		return "more devices than layers";
	return setup->batch % setup->microbatches
		       ? "the batch does not divide by the number of micro-batches"
		       : NULL;
}

void pipeline_share(const struct setup *setup, int rank, pipeline_warmup *warmup,
		    struct share *share, uint64_t *step_rows)
{
	uint64_t rows = setup->batch / setup->microbatches;
	uint64_t kept = pipeline_in_flight(warmup, setup->ranks, rank, setup->microbatches);
	uint64_t inputs = kept + SPARE_INPUTS;
	size_t bounds[SETUP_MAX_RANKS + 1];

	if (inputs > setup->microbatches)
		inputs = setup->microbatches;
	stages_balance(setup, (size_t)setup->ranks, bounds);
	*share = (struct share){ .first = bounds[rank],
				 .last = bounds[rank + 1],
				 .rows = setup->batch,
				 .parts = 1,
				 .kept = kept * rows,
				 .kept_input = inputs * rows };
	*step_rows = rows;
}

double pipeline_wire_bytes(const struct setup *setup)
{
	double most = 0, bytes = (double)(setup->batch * precision_bytes(setup->precision));

	for (int rank = 0; rank < setup->ranks; rank++) {
		struct share share;
		uint64_t step_rows, width;

		setup->mode->share(setup, rank, &share, &step_rows);
		width = (share.first > 0 ? setup->widths[share.first] : 0) +
			(share.last < setup->layers ? setup->widths[share.last] : 0);
		most = bytes * (double)width > most ? bytes * (double)width : most;
	}
	return most;
}

double pipeline_bubble(const struct setup *setup)
{
	double stages = setup->ranks, micro = (double)setup->microbatches;

	return (stages - 1) / (micro + stages - 1);
}
