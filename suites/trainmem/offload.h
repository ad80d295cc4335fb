/*
 * Outputs of hidden layers wait for backward in pinned memory of the host. A copy overlaps with
 * computation on a stream of its own: out while the next layer computes, back while the layer above
 * does. The last hidden layer's output stays: backward begins with it.
 */
#ifndef GPUPROOF_TRAINMEM_OFFLOAD_H
#define GPUPROOF_TRAINMEM_OFFLOAD_H

#include "suites/trainmem/training.h"

enum status offload_open(struct training *training, struct error *err);
void offload_close(struct training *training);

/* activations[l] has just been computed: starts copying it out. */
enum status offload_start(struct training *training, size_t l, struct error *err);
/* Nothing on the device reads activations[l] any more: its memory is freed after the copy. */
enum status offload_leave(struct training *training, size_t l, struct error *err);
/* Layer l is next in backward: waits for its input, and prefetches that of the layer below. */
enum status offload_fetch(struct training *training, size_t l, struct error *err);

/* training.c: memory for activations[l], and back. */
enum status training_take(struct training *training, size_t l, struct error *err);
void training_give(struct training *training, size_t l);

#endif
