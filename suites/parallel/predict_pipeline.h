/* The parts of a predicted step, and the schedule of pipelines. For predict.c. */
#ifndef GPUPROOF_PARALLEL_PREDICT_PIPELINE_H
#define GPUPROOF_PARALLEL_PREDICT_PIPELINE_H

#include "suites/parallel/curves.h"
#include "suites/parallel/mode.h"

/* The layers of one rank, as it has them. */
struct work {
	const struct setup *setup;
	struct curves *curves;
	struct model model;
	int parts; /* of every layer that is cut; 1: whole */
};

/* Seconds of one layer for so many rows, of the loss, of updating so many parameters. */
double work_forward(const struct work *work, size_t layer, double rows);
double work_backward(const struct work *work, size_t layer, double rows);
/* Its halves: the gradients of the outputs and of the input, and those of the weights. */
double work_inputs_back(const struct work *work, size_t layer, double rows);
double work_weights_back(const struct work *work, size_t layer, double rows);
/* More, where backward adds to gradients that are there instead of replacing them: they are read. */
double work_adding(const struct work *work, size_t layer);
double work_loss(const struct work *work, double rows);
double work_update(const struct work *work, double parameters);
/* Bias and ReLU where they are not the product's own. */
double work_activation(const struct work *work, size_t layer, double rows);
double work_collective(const struct work *work, const char *operation, int ranks, double elements);
/* Of all ranks, between products: it waits for their stream, and they wait for it. */
double work_sum(const struct work *work, const char *operation, double elements);

/*
 * Every stage takes its forwards and backwards in the order of the mode, each when the stage is free and what it needs
 * has come. What the stage before waits for has left with the backward or, where gradients of inputs go first
 * (turns.h), with the first half of it.
 */
double predict_pipeline(const struct setup *setup, struct curves *curves);

#endif
