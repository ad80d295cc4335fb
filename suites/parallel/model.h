/*
 * The multilayer perceptron: Y = relu(X W^T + b) per layer (no relu after the last), softmax cross
 * entropy.
 *
 * Parameters, gradients and optimizer state are flat arrays of `elements` values in the same order:
 * the last layer first, because backward reaches it first, so that a bucket of gradients that are
 * ready together is one range; in each layer W (out x in, row-major) and then b. Every tensor
 * starts at a multiple of MODEL_ALIGN elements; the gaps are zero.
 */
#ifndef GPUPROOF_PARALLEL_MODEL_H
#define GPUPROOF_PARALLEL_MODEL_H

#include "suites/parallel/setup.h"

/* Elements: 128 bytes in 16-bit storage, enough for tensor cores and vectorised kernels. */
#define MODEL_ALIGN 64

struct model_layer {
	uint64_t in, out;
	uint64_t weight, bias; /* first element in the flat order */
};

struct model {
	size_t layers;
	struct model_layer layer[SETUP_MAX_LAYERS];
	uint64_t parameters; /* without the gaps */
	uint64_t elements;   /* with them */
};

/* The part of one training step that one rank computes. */
struct share {
	size_t first, last; /* layers [first, last) */
	uint64_t row, rows; /* of the global batch */
};

void model_init(struct model *model, const struct setup *setup);

/* The flat range of layers [first, last): contiguous. */
uint64_t model_first(const struct model *model, size_t last);
uint64_t model_elements(const struct model *model, size_t first, size_t last);

/*
 * Floating-point operations of the matrix products of one step (MLPerf's count): 6 B sum(in out),
 * less the input gradient of the first layer, which nobody needs.
 */
double setup_flops(const struct setup *setup);
/* The same for one layer and `rows` rows. */
double setup_layer_flops(const struct setup *setup, size_t layer, uint64_t rows);

#endif
