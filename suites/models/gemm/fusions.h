/*
 * Choice of the forward GEMM's epilogue: bias and ReLU fused, or in a kernel of their own. With
 * some algorithms the fused epilogue is slower than the kernel it saves.
 *
 * Backward has no such choice. cuBLASLt's epilogues for it cost more than they save: masks as bits
 * (RELU_AUX_BIAS, DRELU) and the bias' gradient with them (DRELU_BGRAD). On an H200 at its power
 * limit, cuBLAS 13.1, products of 8192^3: in TF32 RELU_AUX_BIAS costs 0.49 ms, DRELU 0.58,
 * DRELU_BGRAD 0.59; in FP16 0.04, 0.04 and 0.42. The pass "output_gradient", which does all of it,
 * takes 0.27 and 0.10 ms.
 */
#ifndef GPUPROOF_SUITES_MODELS_GEMM_FUSIONS_H
#define GPUPROOF_SUITES_MODELS_GEMM_FUSIONS_H

#include "suites/models/setup.h"

struct network;

/*
 * Sets network->fusions[layer], once per layer: as the setup says, or if `auto` by timing both on
 * rows [row, row + rows). Only while the network is tuned.
 */
enum status fusion_tune(struct network *network, struct stream *stream, size_t layer, uint64_t row,
			uint64_t rows, struct error *err);

#endif
