/* A pipeline's step. For predict.c. */
#ifndef GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_PIPELINE_H
#define GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_PIPELINE_H

#include "suites/parallel/predict/predict_work.h"

/* The schedule (schedule.h) with the times of products, memory and messages that the run measured. */
double predict_pipeline(const struct setup *setup, struct curves *curves);

#endif
