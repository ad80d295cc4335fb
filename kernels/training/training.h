/*
 * Elementwise and row-wise kernels of a training step. Tensors are stored in `precision`
 * (FP32/TF32: float, FP16, BF16, FP64: double); arithmetic is FP32 (FP64 for FP64). Every reduction
 * has a fixed order: results repeat bit for bit on one device model.
 */
#ifndef GPUPROOF_KERNELS_TRAINING_TRAINING_H
#define GPUPROOF_KERNELS_TRAINING_TRAINING_H

#include "kernels/kernel.h"
#include "kernels/training/loss_scale.h"

/* "convert": to[i] = (to_precision)from[i], round to nearest even. */
struct convert_arguments {
	void *to;
	const void *from;
	enum precision to_precision, from_precision;
	uint64_t count;
};

/*
 * "bias_relu": y[r][c] = relu ? max(0, y[r][c] + bias[c]) : y[r][c] + bias[c], in place. y: rows x
 * columns.
 */
struct bias_relu_arguments {
	void *y;
	const void *bias;
	enum precision precision;
	uint64_t rows, columns;
	int relu;
};

/*
 * "output_gradient": prepares the gradient of a layer's output for the GEMMs of backward, in one
 * pass over dy (rows x columns):
 *   dy[r][c] = y[r][c] > 0 ? dy[r][c] : 0, in place; y is the output of the forward ReLU (NULL: dy
 *   unchanged);
 *   transposed[c * ld + r] = dy[r][c], for GEMMs that read it along the rows (NULL: not needed);
 *   sum[c] = beta * sum[c] + sum over r of dy[r][c], the bias' gradient (NULL: not needed), in a
 *   fixed order that may differ with and without `transposed`. `scratch`:
 *   kernel_training_scratch_bytes(columns) bytes of device memory if `sum` is set.
 */
#define OUTPUT_GRADIENT_PARTS 64
struct output_gradient_arguments {
	void *dy;
	const void *y;
	void *transposed;
	uint64_t ld; /* at least `rows` */
	void *sum;
	double beta;
	void *scratch;
	enum precision precision;
	uint64_t rows, columns;
};
static inline uint64_t kernel_training_scratch_bytes(uint64_t columns)
{
	return OUTPUT_GRADIENT_PARTS * columns * sizeof(double);
}

/*
 * "softmax_cross_entropy": forward and backward in one pass. logits: rows x columns, replaced by
 * their gradient (softmax - onehot) * gradient_scale; row_loss[r] (double) = log(sum exp(logits)) -
 * logit[label], not divided. labels[r] < columns.
 */
struct softmax_cross_entropy_arguments {
	void *logits;
	const int32_t *labels;
	double *row_loss;
	enum precision precision;
	uint64_t rows, columns;
	double gradient_scale;               /* loss scale / global batch */
	const struct loss_scale *loss_scale; /* if not NULL, its `scale` is a further factor */
};

/*
 * As softmax_cross_entropy, for rows whose columns are split over several ranks (Shoeybi et al.
 * 2019, arXiv:1909.08053), in two kernels. "softmax_statistics": of each row of a part, rows x
 * columns, which starts at column `first` of the whole. "softmax_gradient": combines the statistics
 * of all parts, statistics[part * rows + row], in the order of the parts, and computes the loss
 * and, in place, the part's gradient.
 */
struct softmax_statistics {
	double highest, sum; /* logit; sum of exp(logit - highest) */
	double target;       /* the label's logit; 0 if another part has it */
};
struct softmax_part {
	void *logits;
	const int32_t *labels; /* below the columns of the whole */
	enum precision precision;
	uint64_t rows, columns, first;
};
struct softmax_statistics_arguments {
	struct softmax_part part;
	struct softmax_statistics *statistics; /* of each row */
};
struct softmax_gradient_arguments {
	struct softmax_part part;
	const struct softmax_statistics *statistics;
	unsigned parts;
	double *row_loss;
	double gradient_scale;
	const struct loss_scale *loss_scale;
};

/*
 * "optimizer_sgd", in PyTorch's form: g = gradient * gradient_scale; momentum ? (velocity =
 * momentum * velocity + g, w -= rate * velocity) : w -= rate * g. Weights and velocity are FP32
 * (FP64 if precision is FP64); the gradient is stored in `precision`. If `copy` is not NULL, the
 * new weights are also stored there in `precision`. If `weights` is NULL, `copy` has the only
 * weights (not in FP64).
 *
 * Launches at most `blocks` blocks, to leave room for concurrent kernels; 0: no limit. The host
 * ignores it.
 *
 * `loss_scale`, if not NULL, determines whether this step is skipped, a further factor of the
 * gradient, and Adam's corrections, which then count only the steps that were not skipped.
 */
struct optimizer_sgd_arguments {
	void *weights;
	void *velocity; /* NULL without momentum */
	const void *gradient;
	void *copy;
	enum precision precision;
	uint64_t count;
	double rate, momentum, gradient_scale;
	const struct loss_scale *loss_scale; /* device memory, or NULL */
	unsigned blocks;
};

/*
 * "optimizer_adam": Kingma & Ba with PyTorch's placement of epsilon: m = b1 m + (1-b1) g; v = b2 v
 * + (1-b2) g^2; w -= rate * (m / c1) / (sqrt(v / c2) + epsilon), c1 = 1 - b1^t and c2 = 1 - b2^t
 * computed by the caller in double. Storage as in optimizer_sgd.
 *
 * `clock`, if not NULL, contains the corrections instead, for recorded steps (graphs), whose
 * arguments cannot change.
 */
struct optimizer_clock; /* device memory */
struct optimizer_adam_arguments {
	void *weights, *m, *v;
	const void *gradient;
	void *copy;
	enum precision precision;
	uint64_t count;
	double rate, beta1, beta2, epsilon, correction1, correction2, gradient_scale;
	const struct loss_scale *loss_scale; /* device memory, or NULL */
	const struct optimizer_clock *clock; /* NULL if there is a loss_scale */
	unsigned blocks;
};

struct optimizer_clock {
	uint64_t updates;
	double correction1, correction2; /* of update number `updates` */
};

/*
 * "optimizer_tick": counts an update; its corrections are pair number `updates` of `corrections`,
 * device memory, counted from 1, and the last pair for all later ones.
 */
struct optimizer_tick_arguments {
	struct optimizer_clock *clock;
	const double *corrections;
	uint64_t count; /* pairs, at least 1 */
};

#endif
