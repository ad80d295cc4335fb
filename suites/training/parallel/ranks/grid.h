/*
 * Position of a rank in the grid of data, tensor and pipeline parallelism. The parts of a layer are
 * adjacent, because they communicate most; then the stages of a pipeline; then whole pipelines,
 * each with its part of the batch.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_GRID_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_GRID_H

#include "suites/training/models/setup.h"

struct grid_place {
	int data, stage, part;
};

/* The setup's grid; for a pipeline mode without a grid: one pipeline of all ranks. */
struct grid grid_of(const struct setup *setup);
struct grid_place grid_place(const struct setup *setup, int rank);
int grid_rank(const struct setup *setup, struct grid_place place);

/* "2x2x2": data x tensor x pipeline. False: the text has another form. */
bool grid_parse(const char *text, struct grid *out);

#endif
