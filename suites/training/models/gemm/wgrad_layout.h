/*
 * Layout of the wgrad GEMM, dW = dY^T X. It reads dY as stored, or a transposed copy that the
 * kernel which masks dY also writes: some devices are far slower if both operands are strided along
 * the sum (TF32 on Hopper: 250 instead of 400 TFLOP/s).
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_GEMM_WGRAD_LAYOUT_H
#define GPUPROOF_SUITES_TRAINING_MODELS_GEMM_WGRAD_LAYOUT_H

#include "suites/training/models/setup.h"

struct network;
struct world;

/*
 * Sets network->wgrad_layouts[layer] and allocates what it needs, once per layer: as the setup
 * says, or if `auto` by timing both on `dy` and `y` (see network_output_gradient()), all rows of a
 * backward call. Only while the network is
 * tuned: allocates memory and synchronizes.
 */
enum status wgrad_layout_tune(struct network *network, struct stream *stream, size_t layer,
			      void *dy, const void *y, struct error *err);

/*
 * Collective; call when all layouts are chosen. Every rank of a row-parallel layer computes its
 * whole bias gradient, and the order of that sum may depend on the layout: if one rank has chosen
 * WGRAD_DIRECT, all use it.
 */
void wgrad_layouts_agree(struct network *network, struct world *world);

#endif
