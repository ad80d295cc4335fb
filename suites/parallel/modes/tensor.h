/*
 * What the mode `tensor` holds besides the network, and where it lies: transposed copies and the
 * gradients between the layers of a pair lodge in memory that is done with (lodging.h).
 */
#ifndef GPUPROOF_SUITES_PARALLEL_MODES_TENSOR_H
#define GPUPROOF_SUITES_PARALLEL_MODES_TENSOR_H

#include "suites/parallel/trainer/trainer.h"

#define TENSOR_CHUNKS_MAX 2

struct tensor {
	void *part;          /* gradients of the part between the layers of a pair */
	bool in_place;       /* a pair's gradient of its inputs replaces that of its outputs */
	bool part_lodged;    /* `part` has the transposed copies, the part lies in what is done with */
	struct event *ready; /* summands that the communication stream may add up */
	struct event *summed[TENSOR_CHUNKS_MAX];
	uint64_t chunks;
};

/* Layers [0, the number of those in pairs). */
size_t tensor_paired(const struct trainer *t);

/* Bytes of the gradients between the layers of the widest pair. */
uint64_t tensor_part_bytes(const struct setup *setup);
/* Bytes of all that the mode allocates besides the network. */
uint64_t tensor_buffers(const struct setup *setup, int rank);
/* Where biases' gradients wait, if anything lodges in their place. */
enum status tensor_open_bias_sums(struct trainer *t, struct error *err);
/* Enqueues: the gradient of the bias of layer `l`, if it waited, goes to its place. */
enum status tensor_place_bias_sum(struct trainer *t, size_t l, struct error *err);
/* The gradients between the layers of the pair that begins with layer `first`. */
void *tensor_part(const struct trainer *t, size_t first);
/* Once the routes are chosen: transposed copies take the place of what they make unnecessary. */
void tensor_settled(struct trainer *t);

#endif
