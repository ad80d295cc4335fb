/*
 * Layer normalization, activations, residual additions and embeddings against their definitions in
 * double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/layers/layers.h"

static const struct shape {
	size_t rows, columns;
} shapes[] = { { 1, 1 }, { 3, 5 }, { 130, 67 }, { 9, 1030 }, { 70, 64 }, { 2, 4104 } };

static const enum precision precisions[] = { PRECISION_FP32, PRECISION_TF32, PRECISION_FP16,
					     PRECISION_BF16 };

typedef void check_shape_fn(struct bench *b, enum precision precision, const struct shape *shape);

static enum status each_precision_and_shape(struct device *device, check_shape_fn *check,
					    struct error *err)
{
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
		for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
			struct bench b;

			bench_open(&b, device, err);
			check(&b, precisions[p], &shapes[i]);
			if (err->status != STATUS_OK)
				error_prefix(err, "%zu x %zu", shapes[i].rows, shapes[i].columns);
			if (bench_close(&b) != STATUS_OK)
				return err->status;
		}
	}
	return STATUS_OK;
}

/* `unit`: relative error of the arithmetic on a result whose terms add up to `magnitude`. */
static void compare_now(struct bench *b, const char *what, const struct tensor *t, size_t index,
			double expected, double unit, double magnitude)
{
	compare(b->err, what, t->precision, index, tensor_now(t, index), expected,
		unit * magnitude + 1.01 * element_rounding(t->precision, expected));
}

/* mean and rstd of a row. */
struct moments {
	double mean, rstd;
};

static struct moments moments_of(const struct tensor *x, size_t row, size_t columns, double epsilon)
{
	struct moments m = { 0, 0 };
	double squares = 0;

	for (size_t c = 0; c < columns; c++)
		m.mean += tensor_was(x, row * columns + c);
	m.mean /= (double)columns;
	for (size_t c = 0; c < columns; c++)
		squares += pow(tensor_was(x, row * columns + c) - m.mean, 2);
	m.rstd = 1 / sqrt(squares / (double)columns + epsilon);
	return m;
}

struct layer_norm {
	struct tensor x, gamma, beta, y, dy, dgamma, dbeta;
	float *mean, *rstd;
};

static void check_layer_norm_rows(struct bench *b, const struct layer_norm *n,
				  const struct shape *s)
{
	double unit = ((double)s->columns + 16) * 0x1p-23;

	for (size_t row = 0; row < s->rows && bench_ok(b); row++) {
		struct moments m = moments_of(&n->x, row, s->columns, 1e-5);
		double sum = 0, product = 0, magnitude = 0;

		compare(b->err, "layer_norm_forward's mean", n->x.precision, row,
			(double)n->mean[row], m.mean, unit);
		compare(b->err, "layer_norm_forward's rstd", n->x.precision, row,
			(double)n->rstd[row], m.rstd, 4 * unit * m.rstd * (1 + m.rstd));
		for (size_t c = 0; c < s->columns; c++) {
			double g = tensor_was(&n->dy, row * s->columns + c) *
				   tensor_was(&n->gamma, c),
			       value = (tensor_was(&n->x, row * s->columns + c) - m.mean) * m.rstd;

			sum += g / (double)s->columns;
			product += g * value / (double)s->columns;
			magnitude = fmax(magnitude, fabs(g) * (1 + value * value));
		}
		for (size_t c = 0; c < s->columns && bench_ok(b); c++) {
			size_t at = row * s->columns + c;
			double value = (tensor_was(&n->x, at) - m.mean) * m.rstd,
			       gamma = tensor_was(&n->gamma, c);
			/* A value that is next to the mean carries the mean's error times rstd. */
			double scale = (1 + m.rstd) * (1 + m.rstd) * 4;

			compare_now(b, "layer_norm_forward", &n->y, at,
				    value * gamma + tensor_was(&n->beta, c), unit,
				    scale * (fabs(gamma) * (1 + fabs(value)) + 1));
			compare_now(b, "layer_norm_backward's dx", &n->dy, at,
				    m.rstd * (tensor_was(&n->dy, at) * gamma - sum -
					      value * product),
				    unit, scale * m.rstd * (1 + fabs(value)) * 4 * (1 + magnitude));
		}
	}
}

static void check_layer_norm_columns(struct bench *b, const struct layer_norm *n,
				     const struct shape *s, double keep)
{
	double unit = ((double)s->rows + (double)s->columns + 16) * 0x1p-23;
	struct moments *m = xcalloc(s->rows, sizeof(*m));

	for (size_t row = 0; row < s->rows; row++)
		m[row] = moments_of(&n->x, row, s->columns, 1e-5);
	for (size_t c = 0; c < s->columns && bench_ok(b); c++) {
		double gamma = keep * tensor_was(&n->dgamma, c), magnitude = fabs(gamma);
		double beta = keep * tensor_was(&n->dbeta, c), beta_magnitude = fabs(beta);

		for (size_t row = 0; row < s->rows; row++) {
			size_t at = row * s->columns + c;
			double dy = tensor_was(&n->dy, at),
			       value = (tensor_was(&n->x, at) - m[row].mean) * m[row].rstd;

			gamma += dy * value;
			magnitude += fabs(dy) * (1 + fabs(value)) * 4 * (1 + m[row].rstd) *
				     (1 + m[row].rstd);
			beta += dy;
			beta_magnitude += fabs(dy);
		}
		compare_now(b, "layer_norm_backward's dgamma", &n->dgamma, c, gamma, unit,
			    magnitude);
		compare_now(b, "layer_norm_backward's dbeta", &n->dbeta, c, beta, unit,
			    beta_magnitude);
	}
	free(m);
}

static void check_layer_norm_keeping(struct bench *b, enum precision precision,
				     const struct shape *s, float keep)
{
	struct layer_norm n;
	struct bench own;
	void *mean, *rstd;

	bench_open(&own, b->device, b->err);
	b = &own;
	tensor_make(b, &n.x, precision, s->rows * s->columns, 21, 2);
	tensor_make(b, &n.gamma, precision, s->columns, 22, 1);
	tensor_make(b, &n.beta, precision, s->columns, 23, 1);
	tensor_make(b, &n.y, precision, s->rows * s->columns, 24, 1);
	tensor_make(b, &n.dy, precision, s->rows * s->columns, 25, 1);
	tensor_make(b, &n.dgamma, precision, s->columns, 26, 1);
	tensor_make(b, &n.dbeta, precision, s->columns, 27, 1);
	n.mean = xcalloc(s->rows, sizeof(float));
	n.rstd = xcalloc(s->rows, sizeof(float));
	mean = bench_upload(b, NULL, s->rows * sizeof(float));
	rstd = bench_upload(b, NULL, s->rows * sizeof(float));
	bench_launch(b, "layer_norm_forward",
		     &(struct layer_norm_forward_arguments){
			     n.x.device, n.gamma.device, n.beta.device, n.y.device, mean, rstd,
			     precision, s->rows, s->columns, 1e-5f });
	bench_launch(b, "layer_norm_backward",
		     &(struct layer_norm_backward_arguments){
			     n.x.device, n.dy.device, n.gamma.device, mean, rstd, n.dy.device,
			     n.dgamma.device, n.dbeta.device,
			     bench_upload(b, NULL, layer_norm_scratch_bytes(s->columns)), precision,
			     s->rows, s->columns, keep });
	tensor_fetch(b, &n.y, "layer_norm_forward");
	tensor_fetch(b, &n.dy, "layer_norm_backward");
	tensor_fetch(b, &n.dgamma, "layer_norm_backward");
	tensor_fetch(b, &n.dbeta, "layer_norm_backward");
	bench_download(b, n.mean, mean, s->rows * sizeof(float));
	bench_download(b, n.rstd, rstd, s->rows * sizeof(float));
	check_layer_norm_rows(b, &n, s);
	check_layer_norm_columns(b, &n, s, (double)keep);
	tensor_free(&n.x);
	tensor_free(&n.gamma);
	tensor_free(&n.beta);
	tensor_free(&n.y);
	tensor_free(&n.dy);
	tensor_free(&n.dgamma);
	tensor_free(&n.dbeta);
	free(n.mean);
	free(n.rstd);
	bench_close(b);
}

static void check_layer_norm_shape(struct bench *b, enum precision precision, const struct shape *s)
{
	check_layer_norm_keeping(b, precision, s, 0);
	check_layer_norm_keeping(b, precision, s, 0.5f);
}

enum status check_layer_norm(struct device *device, struct error *err)
{
	return each_precision_and_shape(device, check_layer_norm_shape, err);
}

/* f and its derivative as published. */
static double value_of(enum activation activation, double x)
{
	return activation == ACTIVATION_RELU
		       ? fmax(x, 0)
		       : 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* By central differences of the value; ReLU's at 0 is 0. */
static double slope_of(enum activation activation, double x)
{
	const double h = 1e-5;

	if (activation == ACTIVATION_RELU)
		return x > 0;
	return (value_of(activation, x + h) - value_of(activation, x - h)) / (2 * h);
}

static void check_activation_of(struct bench *b, enum precision precision, const struct shape *s,
				enum activation activation, bool bias)
{
	struct tensor x, add, y, dy;
	size_t count = s->rows * s->columns;
	struct bench own;

	bench_open(&own, b->device, b->err);
	b = &own;
	tensor_make(b, &x, precision, count, 31, 6);
	tensor_make(b, &add, precision, s->columns, 32, 1);
	tensor_make(b, &y, precision, count, 33, 1);
	tensor_make(b, &dy, precision, count, 34, 1);
	bench_launch(b, "activation_forward",
		     &(struct activation_forward_arguments){ x.device, bias ? add.device : NULL,
							     y.device, activation, precision,
							     s->rows, s->columns });
	bench_launch(b, "activation_backward",
		     &(struct activation_backward_arguments){ x.device, dy.device, dy.device,
							      activation, precision, count });
	tensor_fetch(b, &x, "activation_forward");
	tensor_fetch(b, &y, "activation_forward");
	tensor_fetch(b, &dy, "activation_backward");
	for (size_t i = 0; i < count && bench_ok(b); i++) {
		double sum = tensor_was(&x, i) + (bias ? tensor_was(&add, i % s->columns) : 0),
		       at = tensor_now(&x, i);

		compare_now(b, "activation_forward's x", &x, i, sum, 0x1p-23, fabs(sum));
		compare_now(b, "activation_forward", &y, i, value_of(activation, at), 0x1p-20,
			    1 + fabs(at));
		compare_now(b, "activation_backward", &dy, i,
			    tensor_was(&dy, i) * slope_of(activation, at), 0x1p-20, 1 + fabs(at));
	}
	tensor_free(&x);
	tensor_free(&add);
	tensor_free(&y);
	tensor_free(&dy);
	if (bench_close(b) != STATUS_OK)
		error_prefix(b->err, "activation %d, %s bias", (int)activation,
			     bias ? "with" : "without");
}

static void check_activation_shape(struct bench *b, enum precision precision, const struct shape *s)
{
	for (int a = ACTIVATION_RELU; a <= ACTIVATION_GELU_TANH && bench_ok(b); a++) {
		check_activation_of(b, precision, s, (enum activation)a, false);
		check_activation_of(b, precision, s, (enum activation)a, true);
	}
}

enum status check_activation(struct device *device, struct error *err)
{
	return each_precision_and_shape(device, check_activation_shape, err);
}

static void check_add_shape(struct bench *b, enum precision precision, const struct shape *s)
{
	struct tensor x, y;
	size_t count = s->rows * s->columns;

	tensor_make(b, &x, precision, count, 41, 1);
	tensor_make(b, &y, precision, count, 42, 1);
	bench_launch(b, "residual_add",
		     &(struct residual_add_arguments){ x.device, y.device, y.device, precision,
						       count });
	tensor_fetch(b, &y, "residual_add");
	for (size_t i = 0; i < count && bench_ok(b); i++) {
		double sum = tensor_was(&x, i) + tensor_was(&y, i);

		compare_now(b, "residual_add", &y, i, sum, 0x1p-24, fabs(sum));
	}
	tensor_free(&x);
	tensor_free(&y);
}

enum status check_residual_add(struct device *device, struct error *err)
{
	return each_precision_and_shape(device, check_add_shape, err);
}

/* A third of the ids are the same one, and some rows are named by none. */
static int32_t *make_ids(size_t count, size_t rows)
{
	int32_t *ids = xcalloc(count ? count : 1, sizeof(*ids));
	uint64_t state = 99;

	for (size_t i = 0; i < count; i++)
		ids[i] = i % 3 == 0 ? (int32_t)(rows / 2)
				    : (int32_t)((random_uniform(&state) + 1) / 2 * (double)rows);
	return ids;
}

static void check_gathered(struct bench *b, const struct tensor *table,
			   const struct tensor *position, const struct tensor *y,
			   const int32_t *ids, size_t columns, size_t positions, size_t first)
{
	for (size_t i = 0; i < y->count && bench_ok(b); i++) {
		size_t at = ((size_t)ids[i / columns] - first) * columns + i % columns;
		double sum = at < table->count ? tensor_was(table, at) : 0;

		if (positions)
			sum += tensor_was(position,
					  i / columns % positions * columns + i % columns);
		compare_now(b, "embedding_gather", y, i, sum, 0x1p-24, fabs(sum));
	}
}

static void check_scattered(struct bench *b, const struct tensor *dy, const struct tensor *dtable,
			    const int32_t *ids, size_t columns, double keep, size_t first)
{
	double *sum = xcalloc(2 * dtable->count, sizeof(*sum)), *magnitude = sum + dtable->count;

	for (size_t i = 0; i < dtable->count; i++) {
		sum[i] = keep * tensor_was(dtable, i);
		magnitude[i] = fabs(sum[i]);
	}
	for (size_t i = 0; i < dy->count; i++) {
		size_t at = ((size_t)ids[i / columns] - first) * columns + i % columns;

		if (at >= dtable->count)
			continue;
		sum[at] += tensor_was(dy, i);
		magnitude[at] += fabs(tensor_was(dy, i));
	}
	for (size_t i = 0; i < dtable->count && bench_ok(b); i++)
		compare_now(b, "embedding_scatter_add", dtable, i, sum[i],
			    ((double)dy->count / (double)columns + 2) * 0x1p-24, magnitude[i]);
	free(sum);
}

/* The last `rows` of a table with `all` rows. */
static void check_embedding_of(struct bench *b, enum precision precision, const struct shape *s,
			       size_t all, size_t rows, float keep)
{
	const size_t positions = keep != 0 ? 7 : 0, first = all - rows;
	int32_t *ids = make_ids(s->rows, all);
	struct tensor table, position, y, dtable;
	struct bench own;
	void *ids_device;

	bench_open(&own, b->device, b->err);
	b = &own;
	tensor_make(b, &table, precision, rows * s->columns, 51, 1);
	tensor_make(b, &position, precision, 7 * s->columns, 52, 1);
	tensor_make(b, &y, precision, s->rows * s->columns, 53, 1);
	tensor_make(b, &dtable, precision, rows * s->columns, 54, 1);
	ids_device = bench_upload(b, ids, s->rows * sizeof(*ids));
	bench_launch(b, "embedding_scatter_add",
		     &(struct embedding_scatter_add_arguments){
			     y.device, ids_device, dtable.device,
			     bench_upload(b, NULL, layers_embedding_scratch_bytes(s->rows, rows)),
			     precision, s->rows, s->columns, rows, first, keep });
	bench_launch(b, "embedding_gather",
		     &(struct embedding_gather_arguments){
			     table.device, positions ? position.device : NULL, ids_device, y.device,
			     precision, s->rows, s->columns, positions, first,
			     first > 0 ? rows : 0 });
	tensor_fetch(b, &y, "embedding_gather");
	tensor_fetch(b, &dtable, "embedding_scatter_add");
	check_gathered(b, &table, &position, &y, ids, s->columns, positions, first);
	check_scattered(b, &y, &dtable, ids, s->columns, (double)keep, first);
	tensor_free(&table);
	tensor_free(&position);
	tensor_free(&y);
	tensor_free(&dtable);
	free(ids);
	bench_close(b);
}

static void check_embedding_shape(struct bench *b, enum precision precision, const struct shape *s)
{
	size_t many = s->columns > 100 ? 60 : 1500;

	check_embedding_of(b, precision, s, 1, 1, 0);
	check_embedding_of(b, precision, s, 40, 40, 0);
	check_embedding_of(b, precision, s, many, many, 0.5f);
	check_embedding_of(b, precision, s, 40, 23, 0.5f);
}

/* More ids than a block sorts. */
enum status check_embedding(struct device *device, struct error *err)
{
	static const struct shape many = { 700, 3 };
	struct bench b;

	bench_open(&b, device, err);
	check_embedding_shape(&b, PRECISION_FP16, &many);
	if (bench_close(&b) != STATUS_OK)
		return error_prefix(err, "700 ids");
	return each_precision_and_shape(device, check_embedding_shape, err);
}
