/*
 * Times of a convolutional layer on one rank (blocks/images.c): convolutions by the rates of suite
 * convolution, and what norms, ReLUs, sums and pools move. Seconds; NaN where a curve is missing.
 * For predict*.c.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_IMAGES_H
#define GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_IMAGES_H

#include "suites/parallel/predict/predict_work.h"

double images_forward_time(const struct work *work, size_t layer, double rows);
/* All but the gradient of the layer's input. */
double images_backward_time(const struct work *work, size_t layer, double rows);
double images_input_time(const struct work *work, size_t layer, double rows);

#endif
