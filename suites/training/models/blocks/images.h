/*
 * Convolutional layers (image_model.h) on the tensors of a network, with the interface of blocks.h:
 * a row is an image. For backward, a layer keeps the output of each convolution, with a batch norm
 * also the output of the ReLU, and the statistics.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_IMAGES_H
#define GPUPROOF_SUITES_TRAINING_MODELS_BLOCKS_IMAGES_H

#include "suites/training/models/blocks/blocks.h"

/* See blocks_kept(). */
size_t images_kept(struct network *network, size_t layer, uint64_t rows, struct kept_tensor *out);
/* Allocates scratch memory, but not the tensors that layers keep. */
enum status images_scratch_open(struct network *network, struct error *err);
/* Allocates scratch memory and kept tensors. */
enum status images_open(struct network *network, struct error *err);

enum status images_forward(const struct pass *pass, struct error *err);
enum status images_backward(const struct pass *pass, void *dy, struct error *err);
enum status images_input_gradient(const struct pass *pass, void *dx, struct error *err);

#endif
