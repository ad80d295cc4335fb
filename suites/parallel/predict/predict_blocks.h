/*
 * Times of layers that are not linear on one rank: of a transformer part by part as
 * blocks/transformer.c and blocks/blocks.c launch them, products, attention, and what the other
 * kernels move; of images by predict_images.h. Seconds; NaN where a curve is missing. For
 * predict*.c.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_BLOCKS_H
#define GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_BLOCKS_H

#include "suites/parallel/predict/predict_work.h"

/* Forward of a layer for `rows` tokens, without collectives. */
double blocks_forward_time(const struct work *work, size_t layer, double rows);
/*
 * Backward but for the gradient of the input: all of an embedding, all but the last addition of the
 * others.
 */
double blocks_backward_time(const struct work *work, size_t layer, double rows);
double blocks_input_time(const struct work *work, size_t layer, double rows);

/* Sums over parts that a layer makes, each of rows x hidden values: forward, or backward. */
int blocks_sums(const struct work *work, size_t layer, bool forward);
/*
 * Seconds of one of them: an all-reduce, or with sequence parallelism a reduce-scatter and what
 * gathers shares again.
 */
double blocks_sum_time(const struct work *work, size_t layer, double rows, bool forward);

/* Modes tensor and tensor_sequence: a sum in backward runs while one product is computed. */
double predict_tensor_blocks(const struct work *work);

#endif
