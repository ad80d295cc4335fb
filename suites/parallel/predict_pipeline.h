/* The schedule of pipelines. For predict.c. */
#ifndef GPUPROOF_PARALLEL_PREDICT_PIPELINE_H
#define GPUPROOF_PARALLEL_PREDICT_PIPELINE_H

#include "suites/parallel/predict_work.h"

/*
 * Every stage takes its forwards and backwards in the order of the mode, each when the stage is free and what it needs
 * has come. What the stage before waits for has left with the backward or, where gradients of inputs go first
 * (turns.h), with the first half of it.
 */
double predict_pipeline(const struct setup *setup, struct curves *curves);

#endif
