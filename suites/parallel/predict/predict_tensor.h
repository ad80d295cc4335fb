/* The schedule of tensor parallelism. For predict.c. */
#ifndef GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_TENSOR_H
#define GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_TENSOR_H

#include "suites/parallel/predict/predict_work.h"

/* Chunk by chunk, as mode_tensor.c enqueues them: products while the outputs of another chunk are added up. Seconds. */
double predict_tensor(const struct work *work);

#endif
