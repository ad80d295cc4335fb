/*
 * Layout of the wgrad GEMM, dW = dY^T X. It reads dY as stored, or a transposed copy, which the
 * kernel that masks dY also writes: some devices are far slower if both operands are strided along
 * the sum (TF32 on Hopper: 250 instead of 400 TFLOP/s).
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_GEMM_WGRAD_LAYOUT_H
#define GPUPROOF_SUITES_TRAINING_MODELS_GEMM_WGRAD_LAYOUT_H

#include "suites/training/models/setup.h"

struct network;
struct world;

/*
 * Sets network->wgrad_layouts[layer] and allocates its buffers, once per layer: as in the setup, or
 * for `auto` by timing both layouts on `dy` and `y` (see network_output_gradient()), all rows of a
 * backward call. Only during tuning, because it allocates memory and synchronizes.
 */
enum status wgrad_layout_tune(struct network *network, size_t layer, void *dy, const void *y,
			      struct error *err);

/*
 * Collective; call after all layouts are chosen. Every rank of a row-parallel layer computes the
 * whole bias gradient, and the order of that sum may depend on the layout: if one rank has chosen
 * WGRAD_DIRECT, all ranks use it.
 */
void wgrad_layouts_agree(struct network *network, struct world *world);

#endif
