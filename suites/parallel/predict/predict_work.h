/*
 * The parts of a predicted step: what one rank does for one layer, by what the run measured of
 * products, memory and collectives. Seconds throughout; NaN where a curve is missing. For
 * predict*.c.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_WORK_H
#define GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_WORK_H

#include "suites/models/mode.h"
#include "suites/models/segments.h"
#include "suites/parallel/predict/curves.h"

/* The layers of one rank, as it has them. */
struct work {
	const struct setup *setup;
	struct curves *curves;
	struct model model;
	struct rank_partition partition; /* partition.parts: of every tensor-parallel layer */
	struct segments segments;
	bool copies;    /* the optimizer writes weights in addition to masters */
	uint64_t rows;  /* of one forward, where the mode says how many */
	unsigned steps; /* of a sample */
};

void work_open(struct work *work, const struct setup *setup, int rank, struct curves *curves);

/* Seconds of one layer for `rows` rows: the product, bias and ReLU; others: predict_blocks.h. */
double work_forward(const struct work *work, size_t layer, double rows);
/* Bias and ReLU where they are not the product's own. */
double work_activation(const struct work *work, size_t layer, double rows);
double work_loss(const struct work *work, double rows);

/*
 * Backward of one layer: recomputation before it and the gradients of its outputs; the product that
 * makes those of its inputs; that of its weights'. Together: work_backward().
 */
double work_outputs_back(const struct work *work, size_t layer, double rows);
double work_inputs_back(const struct work *work, size_t layer, double rows);
double work_weights_back(const struct work *work, size_t layer, double rows);
double work_backward(const struct work *work, size_t layer, double rows);
/*
 * More, where backward adds to gradients that are there instead of replacing them: they are read.
 */
double work_adding(const struct work *work, size_t layer);
double work_adding_all(const struct work *work);

/* Seconds of the optimizer on `parameters` parameters; its fixed cost per step. */
double work_update(const struct work *work, double parameters);
double work_update_begin(const struct work *work);
/* Seconds of rounding as many masters to weights. */
double work_rounding(const struct work *work, double parameters);

double work_collective(const struct work *work, const char *operation, int ranks, double elements);
/*
 * Cost of an event in a stream; time between the end of work in one stream and the begin of work
 * that waits for it in another, beyond what passes within one: as suite launch measured, else half
 * of the latency of this collective.
 */
double work_event_record(const struct work *work);
double work_stream_wait(const struct work *work, const char *operation, int ranks);

/*
 * predict_tensor.c: chunk by chunk, as mode_tensor.c enqueues them: GEMMs while the outputs of
 * another chunk are reduced.
 */
double predict_tensor(const struct work *work);
/*
 * predict_pipeline.c: the schedule (schedule.h) with the times of GEMMs, memory and messages that
 * the run measured.
 */
double predict_pipeline(const struct setup *setup, struct curves *curves);

#endif
