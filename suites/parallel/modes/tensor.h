/* State of the mode `tensor` in addition to the network. */
#ifndef GPUPROOF_SUITES_PARALLEL_MODES_TENSOR_H
#define GPUPROOF_SUITES_PARALLEL_MODES_TENSOR_H

#include "suites/models/buffer_alias.h"
#include "suites/parallel/trainer/trainer.h"

#define TENSOR_CHUNKS_MAX 2

struct tensor {
	struct pair_buffers pairs;
	struct event *ready; /* summands that the communication stream may add up */
	struct event *summed[TENSOR_CHUNKS_MAX];
	uint64_t chunks;
};

#endif
