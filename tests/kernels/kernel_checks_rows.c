/*
 * Kernels over rows and columns: bias, the pass over outputs' gradients, softmax with cross
 * entropy.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/training/training.h"

static const struct shape {
	size_t rows, columns;
} shapes[] = { { 1, 1 },    { 3, 5 },     { 130, 67 }, { 65, 1030 }, { 1000, 10 },
	       { 130, 72 }, { 4500, 64 }, { 5, 2056 }, { 2, 8200 } };

typedef void check_shape_fn(struct bench *b, enum precision precision, const struct shape *shape);

static enum status each_precision_and_shape(struct device *device, check_shape_fn *check,
					    struct error *err)
{
	for (int precision = 0; precision < PRECISION_COUNT; precision++) {
		for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
			struct bench b;

			bench_open(&b, device, err);
			check(&b, (enum precision)precision, &shapes[i]);
			if (err->status != STATUS_OK)
				error_prefix(err, "%zu x %zu", shapes[i].rows, shapes[i].columns);
			if (bench_close(&b) != STATUS_OK)
				return err->status;
		}
	}
	return STATUS_OK;
}

static void check_bias(struct bench *b, enum precision precision, const struct shape *s, int relu)
{
	struct tensor y, bias;

	tensor_make(b, &y, precision, s->rows * s->columns, 5, 1);
	tensor_make(b, &bias, precision, s->columns, 6, 1);
	bench_launch(b, "bias_relu",
		     &(struct bias_relu_arguments){ y.device, bias.device, precision, s->rows,
						    s->columns, relu });
	tensor_fetch(b, &y, "bias_relu");
	for (size_t i = 0; i < y.count && bench_ok(b); i++) {
		double sum = tensor_was(&y, i) + tensor_was(&bias, i % s->columns);
		double expected = relu && sum < 0 ? 0 : sum;

		compare(b->err, relu ? "bias_relu" : "bias", precision, i, tensor_now(&y, i),
			expected,
			2 * arithmetic_rounding(precision) * fabs(sum) +
				1.01 * element_rounding(precision, expected));
	}
	tensor_free(&y);
	tensor_free(&bias);
}

static void check_bias_shape(struct bench *b, enum precision precision, const struct shape *s)
{
	check_bias(b, precision, s, 0);
	check_bias(b, precision, s, 1);
}

enum status check_bias_relu(struct device *device, struct error *err)
{
	return each_precision_and_shape(device, check_bias_shape, err);
}

/* Arguments of one call of output_gradient. */
struct pass {
	bool masks, transposes, sums;
	double beta;
	size_t extra; /* beyond the rows of the transposed copy */
};

/* dy, with every third output at the edge: there is no gradient at 0. */
static void check_masked(struct bench *b, const struct tensor *dy, const struct tensor *y,
			 const struct pass *pass)
{
	for (size_t i = 0; i < dy->count && bench_ok(b); i++)
		compare(b->err, "output_gradient", dy->precision, i, tensor_now(dy, i),
			!pass->masks || tensor_was(y, i) > 0 ? tensor_was(dy, i) : 0, 0);
}

static void check_transposed(struct bench *b, const struct tensor *dy, const struct tensor *copy,
			     const struct shape *s, const struct pass *pass)
{
	size_t ld = s->rows + pass->extra;

	for (size_t i = 0; i < copy->count && bench_ok(b); i++) {
		size_t row = i % ld, column = i / ld;
		bool inside = pass->transposes && row < s->rows;

		compare(b->err, "output_gradient's copy", dy->precision, i, tensor_now(copy, i),
			inside ? tensor_now(dy, row * s->columns + column) : tensor_was(copy, i),
			0);
	}
}

static void check_sums(struct bench *b, const struct tensor *dy, const struct tensor *out,
		       const struct shape *s, const struct pass *pass)
{
	for (size_t c = 0; c < s->columns && bench_ok(b); c++) {
		double sum = pass->beta * tensor_was(out, c), magnitude = fabs(sum), allowed = 0;

		for (size_t r = 0; r < s->rows && pass->sums; r++) {
			sum += tensor_now(dy, r * s->columns + c);
			magnitude += fabs(tensor_now(dy, r * s->columns + c));
		}
		if (pass->sums)
			allowed = ((double)s->rows + 4) * arithmetic_rounding(dy->precision) *
					  magnitude +
				  1.01 * element_rounding(dy->precision, sum);
		else
			sum = tensor_was(out, c);
		compare(b->err, "output_gradient's sum", dy->precision, c, tensor_now(out, c), sum,
			allowed);
	}
}

static void check_pass(struct bench *b, enum precision precision, const struct shape *s,
		       const struct pass *pass)
{
	struct tensor dy, y, copy, out;
	void *scratch = bench_upload(b, NULL, kernel_training_scratch_bytes(s->columns));

	tensor_make(b, &dy, precision, s->rows * s->columns, 7, 1);
	tensor_make(b, &y, precision, s->rows * s->columns, 2, 1);
	tensor_make(b, &copy, precision, (s->rows + pass->extra) * s->columns, 3, 1);
	tensor_make(b, &out, precision, s->columns, 8, 1);
	for (size_t i = 0; i < y.count; i += 3)
		element_set(y.was, precision, i, 0);
	if (bench_ok(b))
		backend_copy(b->stream, y.device, y.was, y.count * precision_bytes(precision),
			     b->err);
	bench_launch(b, "output_gradient",
		     &(struct output_gradient_arguments){
			     .dy = dy.device,
			     .y = pass->masks ? y.device : NULL,
			     .transposed = pass->transposes ? copy.device : NULL,
			     .ld = s->rows + pass->extra,
			     .sum = pass->sums ? out.device : NULL,
			     .beta = pass->beta,
			     .scratch = scratch,
			     .precision = precision,
			     .rows = s->rows,
			     .columns = s->columns });
	tensor_fetch(b, &dy, "output_gradient");
	tensor_fetch(b, &y, "output_gradient");
	tensor_fetch(b, &copy, "output_gradient");
	tensor_fetch(b, &out, "output_gradient");
	check_masked(b, &dy, &y, pass);
	check_transposed(b, &dy, &copy, s, pass);
	check_sums(b, &dy, &out, s, pass);
	tensor_free(&dy);
	tensor_free(&y);
	tensor_free(&copy);
	tensor_free(&out);
}

static void check_pass_shape(struct bench *b, enum precision precision, const struct shape *s)
{
	static const struct pass passes[] = {
		{ true, true, true, 0, 0 },   { true, true, true, 0.5, 24 },
		{ false, true, true, 1, 3 },  { true, false, false, 0, 0 },
		{ false, false, true, 0, 0 }, { true, false, true, 0.5, 0 },
		{ false, true, false, 0, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(passes); i++) {
		struct bench own;

		bench_open(&own, b->device, b->err);
		check_pass(&own, precision, s, &passes[i]);
		if (bench_close(&own) != STATUS_OK)
			error_prefix(b->err, "pass %zu", i + 1);
	}
}

enum status check_output_gradient(struct device *device, struct error *err)
{
	return each_precision_and_shape(device, check_pass_shape, err);
}

static void check_row(struct bench *b, const struct tensor *logits, const double *loss, size_t row,
		      size_t columns, size_t label, double scale)
{
	double sum = 0, most = -INFINITY, expected;
	double unit = ((double)columns + 64) * arithmetic_rounding(logits->precision);

	for (size_t c = 0; c < columns; c++)
		most = fmax(most, tensor_was(logits, row * columns + c));
	for (size_t c = 0; c < columns; c++)
		sum += exp(tensor_was(logits, row * columns + c) - most);
	expected = log(sum) + most - tensor_was(logits, row * columns + label);
	compare(b->err, "softmax_cross_entropy's loss", logits->precision, row, loss[row], expected,
		unit * (1 + fabs(expected) + fabs(most)));
	for (size_t c = 0; c < columns && bench_ok(b); c++) {
		size_t at = row * columns + c;

		expected = (exp(tensor_was(logits, at) - most) / sum - (c == label)) * scale;
		compare(b->err, "softmax_cross_entropy", logits->precision, at,
			tensor_now(logits, at), expected,
			unit * scale + 1.01 * element_rounding(logits->precision, expected));
	}
}

static void check_softmax_scaled(struct bench *b, enum precision precision, const struct shape *s,
				 double spread)
{
	const double scale = 0.125;
	double *loss = xcalloc(s->rows, sizeof(*loss));
	int32_t *labels = xcalloc(s->rows, sizeof(*labels));
	void *device_loss = bench_upload(b, NULL, s->rows * sizeof(*loss));
	struct tensor logits;

	tensor_make(b, &logits, precision, s->rows * s->columns, 9, spread);
	for (size_t r = 0; r < s->rows; r++)
		labels[r] = (int32_t)(r * 7 % s->columns);
	bench_launch(b, "softmax_cross_entropy",
		     &(struct softmax_cross_entropy_arguments){
			     logits.device, bench_upload(b, labels, s->rows * sizeof(*labels)),
			     device_loss, precision, s->rows, s->columns, scale, NULL });
	tensor_fetch(b, &logits, "softmax_cross_entropy");
	bench_download(b, loss, device_loss, s->rows * sizeof(*loss));
	for (size_t r = 0; r < s->rows && bench_ok(b); r++)
		check_row(b, &logits, loss, r, s->columns, (size_t)labels[r], scale);
	tensor_free(&logits);
	free(loss);
	free(labels);
}

/*
 * Moderate logits, and ones whose exponential overflows FP32 where the largest is not taken away
 * first.
 */
static void check_softmax_shape(struct bench *b, enum precision precision, const struct shape *s)
{
	check_softmax_scaled(b, precision, s, 4);
	check_softmax_scaled(b, precision, s, 300);
}

enum status check_softmax_cross_entropy(struct device *device, struct error *err)
{
	return each_precision_and_shape(device, check_softmax_shape, err);
}

#define PARTS 3

/* Part `p` of a row of columns, the last the shortest. */
static size_t part_first(size_t columns, size_t p)
{
	return p < PARTS ? p * ((columns + PARTS - 1) / PARTS) : columns;
}

/* Column `c` of a row of parts, as it was; `now`: its gradient. */
static double part_value(const struct tensor *parts, size_t columns, size_t row, size_t c, bool now)
{
	size_t p = 0;

	while (c >= part_first(columns, p + 1))
		p++;
	c += row * (part_first(columns, p + 1) - part_first(columns, p)) - part_first(columns, p);
	return now ? tensor_now(&parts[p], c) : tensor_was(&parts[p], c);
}

static void check_row_of_parts(struct bench *b, const struct tensor *parts, const double *loss,
			       size_t row, size_t columns, size_t label, double scale)
{
	enum precision precision = parts->precision;
	double sum = 0, most = -INFINITY, unit;
	double expected;

	for (size_t c = 0; c < columns; c++)
		most = fmax(most, part_value(parts, columns, row, c, false));
	for (size_t c = 0; c < columns; c++)
		sum += exp(part_value(parts, columns, row, c, false) - most);
	expected = log(sum) + most - part_value(parts, columns, row, label, false);
	unit = ((double)columns + 64) * arithmetic_rounding(precision) * (1 + fabs(most));
	for (size_t p = 0; p < PARTS; p++)
		compare(b->err, "softmax_gradient's loss", precision, row, loss[p], expected,
			unit * (1 + fabs(expected)));
	for (size_t c = 0; c < columns && bench_ok(b); c++) {
		expected = (exp(part_value(parts, columns, row, c, false) - most) / sum -
			    (c == label)) *
			   scale;
		compare(b->err, "softmax_gradient", precision, row * columns + c,
			part_value(parts, columns, row, c, true), expected,
			unit * scale + 1.01 * element_rounding(precision, expected));
	}
}

static void check_parts_scaled(struct bench *b, enum precision precision, const struct shape *s,
			       double spread)
{
	const double scale = 0.125;
	size_t bytes = s->rows * sizeof(struct softmax_statistics);
	double *loss = xcalloc(PARTS * s->rows, sizeof(*loss));
	int32_t *labels = xcalloc(s->rows, sizeof(*labels));
	char *statistics = bench_upload(b, NULL, PARTS * bytes);
	double *device_loss = bench_upload(b, NULL, PARTS * s->rows * sizeof(*loss));
	struct softmax_part part[PARTS];
	struct tensor logits[PARTS];

	for (size_t r = 0; r < s->rows; r++)
		labels[r] = (int32_t)(r * 7 % s->columns);
	for (size_t p = 0; p < PARTS; p++) {
		size_t first = part_first(s->columns, p),
		       columns = part_first(s->columns, p + 1) - first;

		tensor_make(b, &logits[p], precision, s->rows * columns, 19 + p, spread);
		part[p] = (struct softmax_part){
			logits[p].device, bench_upload(b, labels, s->rows * sizeof(*labels)),
			precision,        s->rows,
			columns,          first
		};
		bench_launch(b, "softmax_statistics",
			     &(struct softmax_statistics_arguments){
				     part[p], (void *)(statistics + p * bytes) });
	}
	for (size_t p = 0; p < PARTS; p++) {
		bench_launch(b, "softmax_gradient",
			     &(struct softmax_gradient_arguments){ part[p], (void *)statistics,
								   PARTS, device_loss + p * s->rows,
								   scale, NULL });
		tensor_fetch(b, &logits[p], "softmax_gradient");
	}
	bench_download(b, loss, device_loss, PARTS * s->rows * sizeof(*loss));
	for (size_t r = 0; r < s->rows && bench_ok(b); r++) {
		double own[PARTS];

		for (size_t p = 0; p < PARTS; p++)
			own[p] = loss[p * s->rows + r];
		check_row_of_parts(b, logits, own, r, s->columns, (size_t)labels[r], scale);
	}
	for (size_t p = 0; p < PARTS; p++)
		tensor_free(&logits[p]);
	free(loss);
	free(labels);
}

static void check_parts_shape(struct bench *b, enum precision precision, const struct shape *s)
{
	/* Every part has a column. */
	if (part_first(s->columns, PARTS - 1) >= s->columns)
		return;
	check_parts_scaled(b, precision, s, 4);
	check_parts_scaled(b, precision, s, 300);
}

enum status check_softmax_of_parts(struct device *device, struct error *err)
{
	return each_precision_and_shape(device, check_parts_shape, err);
}
