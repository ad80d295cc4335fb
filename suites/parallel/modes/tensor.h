/*
 * State of the mode `tensor` in addition to the network. Transposed copies and the gradients between the layers of a
 * pair reuse buffers that are dead by then (buffer_alias.h).
 */
#ifndef GPUPROOF_SUITES_PARALLEL_MODES_TENSOR_H
#define GPUPROOF_SUITES_PARALLEL_MODES_TENSOR_H

#include "suites/parallel/trainer/trainer.h"

#define TENSOR_CHUNKS_MAX 2

struct tensor {
	void *part;          /* gradients of the part between the layers of a pair */
	bool in_place;       /* a pair's gradient of its inputs replaces that of its outputs */
	bool part_aliased; /* the transposed copies occupy `part`, and the gradients reuse a dead buffer */
	struct event *ready; /* summands that the communication stream may add up */
	struct event *summed[TENSOR_CHUNKS_MAX];
	uint64_t chunks;
};

/* Layers [0, the number of those in pairs). */
size_t tensor_paired(const struct trainer *t);

/* Bytes of the gradients between the layers of the widest pair. */
uint64_t tensor_part_bytes(const struct setup *setup);
/* Bytes that the mode allocates in addition to the network. */
uint64_t tensor_buffers(const struct setup *setup, int rank);
/* Allocates temporary buffers for bias gradients, if other buffers alias their memory. */
enum status tensor_open_bias_sums(struct trainer *t, struct error *err);
/* Enqueues the copy of the bias gradient of layer `l` from its temporary buffer, if it has one. */
enum status tensor_place_bias_sum(struct trainer *t, size_t l, struct error *err);
/* The gradients between the layers of the pair that begins with layer `first`. */
void *tensor_part(const struct trainer *t, size_t first);
/* Call when the wgrad layouts are chosen: transposed copies replace buffers that they make unnecessary. */
void tensor_tuned(struct trainer *t);

#endif
