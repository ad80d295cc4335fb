/*
 * Layers between the GEMMs of a network: layer and batch normalization, activations, residual
 * additions, embeddings. Tensors are row-major and stored in `precision`: FP32 (and TF32), FP16,
 * BF16; arithmetic and sums are FP32 (on the host sums are FP64). Every sum has a fixed order:
 * results repeat bit for bit on one device model.
 */
#ifndef GPUPROOF_KERNELS_LAYERS_LAYERS_H
#define GPUPROOF_KERNELS_LAYERS_LAYERS_H

#include "kernels/kernel.h"

/* STATUS_OK if the kernels of layers support this precision. */
static inline enum status layer_check(const char *kernel, enum precision precision,
				      struct error *err)
{
	if (precision == PRECISION_FP64 || precision >= PRECISION_COUNT)
		return error_set(err, STATUS_UNSUPPORTED, "%s is not written for %s", kernel,
				 precision_name(precision));
	return STATUS_OK;
}

/*
 * "layer_norm_forward" (Ba et al. 2016): for each row of x, mean and the biased variance, then y =
 * (x - mean) * rstd * gamma + beta, rstd = 1 / sqrt(variance + epsilon). mean and rstd: one value
 * per row, for backward. y may be x without backward.
 */
struct layer_norm_forward_arguments {
	const void *x, *gamma, *beta;
	void *y;
	float *mean, *rstd;
	enum precision precision;
	uint64_t rows, columns;
	float epsilon;
};

/*
 * "layer_norm_backward": with n = (x - mean) * rstd and g = dy * gamma,
 * dx = rstd * (g - mean of g - n * mean of g n), which may be dy;
 * dgamma = keep * dgamma + sum over rows of dy n;  dbeta = keep * dbeta + sum over rows of dy.
 * `scratch`: layer_norm_scratch_bytes(columns). With keep 0 the old values are not read.
 */
#define LAYER_NORM_PARTS 64
struct layer_norm_backward_arguments {
	const void *x, *dy, *gamma;
	const float *mean, *rstd;
	void *dx, *dgamma, *dbeta;
	float *scratch;
	enum precision precision;
	uint64_t rows, columns;
	float keep;
};
static inline uint64_t layer_norm_scratch_bytes(uint64_t columns)
{
	return 2 * LAYER_NORM_PARTS * columns * sizeof(float);
}

/*
 * "batch_norm_forward" (Ioffe and Szegedy 2015, in training): for each column of x (a channel; rows
 * are the pixels of the whole batch) mean and the biased variance, then y = (x - mean) * rstd *
 * gamma + beta, rstd = 1 / sqrt(variance + epsilon). mean and rstd: one value per column, for
 * backward. No running averages. `scratch`: layers_batch_norm_scratch_bytes(columns). `residual`
 * (or NULL) is added to y; with `relu`, the positive part of the sum is stored.
 */
#define BATCH_NORM_PARTS 256
struct batch_norm_forward_arguments {
	const void *x, *gamma, *beta, *residual;
	void *y;
	float *mean, *rstd, *scratch;
	enum precision precision;
	uint64_t rows, columns;
	float epsilon;
	int relu;
};

/*
 * "batch_norm_backward": with n = (x - mean) * rstd, a = sum over rows of dy, b = sum over rows of
 * dy n: dx = gamma * rstd * (dy - (a + n b) / rows), which may be dy; dgamma = keep * dgamma + b;
 * dbeta = keep * dbeta + a. `beta`: the forward pass ended with a ReLU, so dy counts where the norm
 * was positive; NULL: everywhere. `y`: the forward pass added a residual and ended with a ReLU
 * whose output is y, so dy is dy + other (other NULL: dy) where y is positive; stored at `sum`,
 * which may be dy, for the residual. y NULL: no residual.
 */
struct batch_norm_backward_arguments {
	const void *x, *dy, *gamma, *beta;
	const void *y, *other;
	void *sum;
	const float *mean, *rstd;
	void *dx, *dgamma, *dbeta;
	float *scratch;
	enum precision precision;
	uint64_t rows, columns;
	float keep;
};
static inline uint64_t layers_batch_norm_scratch_bytes(uint64_t columns)
{
	return 2 * (BATCH_NORM_PARTS + 1) * columns * sizeof(float);
}

/*
 * GELU (Hendrycks and Gimpel 2016): x times the normal distribution function, with erf or the
 * paper's tanh formula.
 */
enum activation { ACTIVATION_RELU, ACTIVATION_GELU_TANH };

/*
 * "activation_forward": x[r][c] += bias[c], in place (bias NULL: x unchanged); y = f(x). y may be x
 * if backward does not need x; ReLU's backward uses y instead of x.
 */
struct activation_forward_arguments {
	void *x;
	const void *bias;
	void *y;
	enum activation activation;
	enum precision precision;
	uint64_t rows, columns;
};

/*
 * "activation_backward": dx = dy * f'(x), with the x that forward left; dx may be dy. For the
 * gradient of the bias see output_gradient.
 */
struct activation_backward_arguments {
	const void *x, *dy;
	void *dx;
	enum activation activation;
	enum precision precision;
	uint64_t count;
};

/* "residual_add": y = a + b; y may be a or b. */
struct residual_add_arguments {
	const void *a, *b;
	void *y;
	enum precision precision;
	uint64_t count;
};

/*
 * "embedding_gather": y[i] = table[ids[i]] + position[i % positions], rows of `columns` (position
 * NULL: without). `rows` 0: the whole table. Otherwise the table has rows [first, first + rows) of
 * a larger one, and other ids read as zeros.
 */
struct embedding_gather_arguments {
	const void *table, *position;
	const int32_t *ids;
	void *y;
	enum precision precision;
	uint64_t count, columns, positions;
	uint64_t first, rows;
};

/*
 * "embedding_scatter_add": dtable[v] = keep * dtable[v] + sum over i with ids[i] = v of dy[i], in
 * the order of i. Also writes the rows without ids. The table has rows [first, first + rows) of a
 * larger one; other ids are ignored. `scratch`: layers_embedding_scratch_bytes() of device memory.
 */
struct embedding_scatter_add_arguments {
	const void *dy;
	const int32_t *ids;
	void *dtable;
	void *scratch;
	enum precision precision;
	uint64_t count, columns, rows, first; /* count and rows below 2^31 */
	float keep;
};
static inline uint64_t layers_embedding_scratch_bytes(uint64_t count, uint64_t rows)
{
	return (count + rows + 1) * sizeof(uint32_t);
}

#endif
