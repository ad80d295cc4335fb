/* Batch normalization against its definition in double. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/layers/layers.h"

/*
 * After the norm: nothing, a ReLU, or a ReLU of the sum with another tensor, which has one gradient
 * or the sum of two.
 */
enum after { AFTER_NOTHING, AFTER_RELU, AFTER_RESIDUAL, AFTER_RESIDUAL_OF_TWO };

struct batch_norm {
	struct tensor x, gamma, beta, y, dy, dgamma, dbeta, residual, other, sum;
	enum after after;
	float *mean, *rstd;
	size_t rows, columns;
};

static void compare_now(struct bench *b, const char *what, const struct tensor *t, size_t index,
			double expected, double error)
{
	compare(b->err, what, t->precision, index, tensor_now(t, index), expected,
		error + 1.01 * element_rounding(t->precision, expected));
}

/* Gradient of the norm: the results of forward decide where a ReLU was on. */
static double norm_gradient(const struct batch_norm *n, size_t at)
{
	bool off = n->after != AFTER_NOTHING && !(tensor_now(&n->y, at) > 0);

	if (n->after >= AFTER_RESIDUAL)
		return tensor_now(&n->sum, at);
	return off ? 0 : tensor_was(&n->dy, at);
}

static double expected_output(const struct batch_norm *n, size_t at, double norm)
{
	if (n->after >= AFTER_RESIDUAL)
		norm += tensor_was(&n->residual, at);
	return n->after == AFTER_NOTHING ? norm : fmax(norm, 0);
}

/* The sum of gradients that backward stores, exact but for its last rounding. */
static void check_sum(struct bench *b, const struct batch_norm *n)
{
	for (size_t at = 0; at < n->rows * n->columns && bench_ok(b); at++) {
		double dy = tensor_was(&n->dy, at);

		if (n->after == AFTER_RESIDUAL_OF_TWO)
			dy += tensor_was(&n->other, at);
		compare_now(b, "batch_norm_backward's sum", &n->sum, at,
			    tensor_now(&n->y, at) > 0 ? dy : 0, fabs(dy) * 0x1p-23);
	}
}

static void check_column(struct bench *b, const struct batch_norm *n, size_t c, double keep)
{
	double rows = (double)n->rows, mean = 0, squares = 0, rstd, sum = 0, product = 0;
	double magnitude = 0, gamma = tensor_was(&n->gamma, c);
	double unit = (rows + 16) * 0x1p-23, scale;

	for (size_t r = 0; r < n->rows; r++)
		mean += tensor_was(&n->x, r * n->columns + c) / rows;
	for (size_t r = 0; r < n->rows; r++)
		squares += pow(tensor_was(&n->x, r * n->columns + c) - mean, 2);
	rstd = 1 / sqrt(squares / rows + 1e-5);
	/* A value that is next to the mean carries the mean's error times rstd. */
	scale = 4 * (1 + rstd) * (1 + rstd);
	compare(b->err, "batch_norm_forward's mean", n->x.precision, c, (double)n->mean[c], mean,
		2 * unit);
	compare(b->err, "batch_norm_forward's rstd", n->x.precision, c, (double)n->rstd[c], rstd,
		4 * unit * rstd * (1 + rstd));
	for (size_t r = 0; r < n->rows; r++) {
		size_t at = r * n->columns + c;
		double dy = norm_gradient(n, at), value = (tensor_was(&n->x, at) - mean) * rstd;

		sum += dy;
		product += dy * value;
		magnitude += fabs(dy) * (1 + fabs(value));
	}
	compare_now(b, "batch_norm_backward's dgamma", &n->dgamma, c,
		    product + keep * tensor_was(&n->dgamma, c), unit * scale * (magnitude + 1));
	compare_now(b, "batch_norm_backward's dbeta", &n->dbeta, c,
		    sum + keep * tensor_was(&n->dbeta, c), unit * (magnitude + 1));
	for (size_t r = 0; r < n->rows && bench_ok(b); r++) {
		size_t at = r * n->columns + c;
		double value = (tensor_was(&n->x, at) - mean) * rstd;

		compare_now(b, "batch_norm_forward", &n->y, at,
			    expected_output(n, at, value * gamma + tensor_was(&n->beta, c)),
			    unit * scale * (2 + fabs(value)));
		compare_now(b, "batch_norm_backward's dx", &n->dy, at,
			    gamma * rstd * (norm_gradient(n, at) - (sum + value * product) / rows),
			    unit * scale * rstd * (1 + fabs(value)) * (2 + magnitude / rows));
	}
}

static void check_norm(struct bench *b, enum precision precision, size_t rows, size_t columns,
		       float keep, enum after after)
{
	struct batch_norm n = { .rows = rows, .columns = columns, .after = after };
	void *mean = bench_upload(b, NULL, columns * sizeof(float)),
	     *rstd = bench_upload(b, NULL, columns * sizeof(float)),
	     *scratch = bench_upload(b, NULL, layers_batch_norm_scratch_bytes(columns));

	tensor_make(b, &n.x, precision, rows * columns, 81, 2);
	tensor_make(b, &n.gamma, precision, columns, 82, 1);
	tensor_make(b, &n.beta, precision, columns, 83, 1);
	tensor_make(b, &n.y, precision, rows * columns, 84, 1);
	tensor_make(b, &n.dy, precision, rows * columns, 85, 1);
	tensor_make(b, &n.dgamma, precision, columns, 86, 1);
	tensor_make(b, &n.dbeta, precision, columns, 87, 1);
	tensor_make(b, &n.residual, precision, rows * columns, 88, 1);
	tensor_make(b, &n.other, precision, rows * columns, 89, 1);
	tensor_make(b, &n.sum, precision, rows * columns, 90, 1);
	n.mean = xcalloc(columns, sizeof(float));
	n.rstd = xcalloc(columns, sizeof(float));
	bench_launch(b, "batch_norm_forward",
		     &(struct batch_norm_forward_arguments){
			     n.x.device, n.gamma.device, n.beta.device,
			     after >= AFTER_RESIDUAL ? n.residual.device : NULL, n.y.device, mean,
			     rstd, scratch, precision, rows, columns, 1e-5f,
			     after != AFTER_NOTHING });
	bench_launch(b, "batch_norm_backward",
		     &(struct batch_norm_backward_arguments){
			     n.x.device, n.dy.device, n.gamma.device,
			     after == AFTER_RELU ? n.beta.device : NULL,
			     after >= AFTER_RESIDUAL ? n.y.device : NULL,
			     after == AFTER_RESIDUAL_OF_TWO ? n.other.device : NULL, n.sum.device,
			     mean, rstd, n.dy.device, n.dgamma.device, n.dbeta.device, scratch,
			     precision, rows, columns, keep });
	tensor_fetch(b, &n.y, "batch_norm_forward");
	tensor_fetch(b, &n.dy, "batch_norm_backward");
	tensor_fetch(b, &n.sum, "batch_norm_backward");
	tensor_fetch(b, &n.dgamma, "batch_norm_backward");
	tensor_fetch(b, &n.dbeta, "batch_norm_backward");
	bench_download(b, n.mean, mean, columns * sizeof(float));
	bench_download(b, n.rstd, rstd, columns * sizeof(float));
	if (after >= AFTER_RESIDUAL)
		check_sum(b, &n);
	for (size_t c = 0; c < columns && bench_ok(b); c++)
		check_column(b, &n, c, (double)keep);
	tensor_free(&n.x);
	tensor_free(&n.gamma);
	tensor_free(&n.beta);
	tensor_free(&n.y);
	tensor_free(&n.dy);
	tensor_free(&n.dgamma);
	tensor_free(&n.dbeta);
	tensor_free(&n.residual);
	tensor_free(&n.other);
	tensor_free(&n.sum);
	free(n.mean);
	free(n.rstd);
}

enum status check_batch_norm(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16,
						     PRECISION_BF16 };
	static const size_t shapes[][2] = { { 1, 1 },    { 5, 3 },    { 70, 64 },   { 600, 72 },
					    { 67, 130 }, { 3, 1100 }, { 9000, 24 }, { 4100, 5 } };

	for (size_t i = 0; i < 12 * ARRAY_SIZE(shapes); i++) {
		const size_t *shape = shapes[i / 12];
		struct bench b;

		bench_open(&b, device, err);
		check_norm(&b, precisions[i / 4 % 3], shape[0], shape[1], i % 3 ? 0.5f : 0,
			   (enum after)(i % 4));
		if (err->status != STATUS_OK)
			error_prefix(err, "%zu x %zu", shape[0], shape[1]);
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}
