/*
 * Attention against the definition in double. Tolerances are bounds of the rounding errors of each
 * step: an element of P has those of its exponent, P and dS those of the stored precision, sums
 * those of FP32.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/attention/attention.h"

/*
 * `padding`: elements between the tensors of a position: odd ones forbid reads of 16 bytes. Long
 * sequences go several times round the rings of tiles that kernels keep in shared memory.
 */
struct attention_case {
	unsigned batch, heads, sequence, head_size, padding;
	int causal;
};

static const struct attention_case cases[] = {
	{ 1, 1, 1, 8, 0, 0 },     { 1, 1, 1, 64, 0, 1 },    { 2, 3, 7, 24, 0, 1 },
	{ 1, 2, 64, 64, 0, 0 },   { 1, 2, 65, 64, 0, 1 },   { 2, 1, 129, 128, 0, 0 },
	{ 1, 2, 128, 128, 0, 1 }, { 2, 1, 200, 128, 8, 1 }, { 1, 1, 300, 72, 0, 1 },
	{ 1, 1, 257, 40, 3, 0 },  { 1, 1, 330, 64, 8, 1 },  { 1, 1, 270, 128, 0, 0 },
	{ 2, 1, 100, 16, 5, 1 },  { 2, 3, 140, 40, 0, 0 },  { 1, 3, 130, 104, 0, 1 },
	{ 2, 2, 129, 96, 8, 0 },  { 1, 1, 450, 64, 0, 1 },  { 1, 1, 330, 96, 0, 0 },
	{ 1, 1, 450, 128, 0, 0 }, { 1, 1, 450, 80, 0, 0 },  { 1, 1, 450, 112, 8, 1 },
};

/* Tensors of a case, and the reference of one batch and head. */
struct attention_data {
	struct attention_shape shape;
	struct tensor qkv, o, d_o, gradients;
	double *qkv_was, *d_o_was, *o_now, *gradients_now; /* elements of the tensors */
	float *lse, *lse_now;
	void *lse_device;
	double *s, *p, *dp, *ds, *error_p, *error_ds; /* sequence x sequence */
};

/* Element d of position s of q (0), k (1) or v (2). */
static size_t qkv_at(const struct attention_shape *s, unsigned part, unsigned b, unsigned h,
		     unsigned position, unsigned d)
{
	return ((size_t)b * s->sequence + position) * s->ld_qkv +
	       (size_t)part * s->heads * s->head_size + (size_t)h * s->head_size + d;
}

static size_t o_at(const struct attention_shape *s, unsigned b, unsigned h, unsigned position,
		   unsigned d)
{
	return ((size_t)b * s->sequence + position) * s->ld_o + (size_t)h * s->head_size + d;
}

static bool sees(const struct attention_shape *s, unsigned query, unsigned key)
{
	return !s->causal || key <= query;
}

/* The relative error of storing in `precision` where tensor cores multiply what was stored. */
static double stored_unit(enum precision precision)
{
	return precision == PRECISION_FP16 ? 0x1p-11 : precision == PRECISION_BF16 ? 0x1p-8 : 0;
}

/* The same for a number below the smallest normal one, as small probabilities are in FP16. */
static double stored_floor(enum precision precision)
{
	return precision == PRECISION_FP16 ? 0x1p-25 : 0;
}

/* Arithmetic of a sum of `terms` and of an approximate exponential. */
static double sum_unit(unsigned terms)
{
	return ((double)terms + 16) * 0x1p-24;
}

/* S, P, dP, dS and the bounds of their errors, from the stored tensors. */
static void make_reference(struct attention_data *x, unsigned b, unsigned h)
{
	const struct attention_shape *s = &x->shape;
	unsigned n = s->sequence, size = s->head_size;

	for (unsigned i = 0; i < n; i++) {
		double most = -INFINITY, sum = 0, worst = 0, delta = 0, error_delta = 0;

		for (unsigned j = 0; j < n; j++) {
			double dot = 0, magnitude = 0, gradient = 0, gradient_magnitude = 0;

			for (unsigned d = 0; d < size; d++) {
				double q = x->qkv_was[qkv_at(s, 0, b, h, i, d)],
				       k = x->qkv_was[qkv_at(s, 1, b, h, j, d)],
				       v = x->qkv_was[qkv_at(s, 2, b, h, j, d)],
				       g = x->d_o_was[o_at(s, b, h, i, d)];

				dot += q * k;
				magnitude += fabs(q * k);
				gradient += g * v;
				gradient_magnitude += fabs(g * v);
			}
			x->s[i * n + j] = sees(s, i, j) ? dot * (double)s->scale : -INFINITY;
			x->dp[i * n + j] = gradient;
			x->error_ds[i * n + j] = gradient_magnitude * sum_unit(size);
			if (!sees(s, i, j))
				continue;
			worst = fmax(worst, magnitude * (double)s->scale);
			most = fmax(most, x->s[i * n + j]);
		}
		for (unsigned j = 0; j < n; j++)
			sum += exp(x->s[i * n + j] - most);
		for (unsigned j = 0; j < n; j++)
			x->p[i * n + j] = exp(x->s[i * n + j] - most) / sum;
		/* Errors of the exponent, twice: also in the sum; and the sum itself. */
		x->error_p[i] = 4 * (worst + 1) * sum_unit(size) + sum_unit(n);
		for (unsigned d = 0; d < size; d++) {
			double g = x->d_o_was[o_at(s, b, h, i, d)], o = 0, error_o = 0;

			for (unsigned j = 0; j < n; j++) {
				double p = x->p[i * n + j],
				       v = x->qkv_was[qkv_at(s, 2, b, h, j, d)];

				o += p * v;
				error_o += fabs(v) *
					   (p * (stored_unit(x->qkv.precision) + x->error_p[i]) +
					    stored_floor(x->qkv.precision));
			}
			delta += g * o;
			/* The o that forward stored, of probabilities with their own errors. */
			error_delta += fabs(g) * (2 * element_rounding(x->qkv.precision, o) +
						  error_o + fabs(o) * sum_unit(size));
		}
		for (unsigned j = 0; j < n; j++) {
			size_t e = (size_t)i * n + j;
			double p = x->p[e], ds = p * (x->dp[e] - delta);

			x->error_ds[e] = p * (x->error_ds[e] + error_delta) +
					 fabs(ds) * (1.05 * stored_unit(x->qkv.precision) +
						     x->error_p[i] + 0x1p-22) +
					 stored_floor(x->qkv.precision);
			x->ds[e] = ds;
		}
		x->lse[i] = (float)(most + log(sum));
	}
}

static void check_output(struct bench *bench, struct attention_data *x, unsigned b, unsigned h)
{
	const struct attention_shape *s = &x->shape;
	unsigned n = s->sequence;
	enum precision precision = x->qkv.precision;
	const float *lse =
		x->lse_now + ((size_t)b * s->heads + h) * kernel_attention_padded(s->sequence);

	for (unsigned i = 0; i < n && bench_ok(bench); i++) {
		compare(bench->err, "attention_forward's lse", precision, i, (double)lse[i],
			(double)x->lse[i], x->error_p[i] + 0x1p-22 * (1 + fabs((double)x->lse[i])));
		for (unsigned d = 0; d < s->head_size && bench_ok(bench); d++) {
			double o = 0, magnitude = 0, values = 0;
			size_t at = o_at(s, b, h, i, d);

			for (unsigned j = 0; j < n; j++) {
				double v = x->qkv_was[qkv_at(s, 2, b, h, j, d)],
				       term = x->p[(size_t)i * n + j] * v;

				values += fabs(v);
				o += term;
				magnitude += fabs(term);
			}
			compare(bench->err, "attention_forward", precision, at, x->o_now[at], o,
				magnitude * (1.05 * stored_unit(precision) + x->error_p[i] +
					     sum_unit(n)) +
					values * stored_floor(precision) +
					1.01 * element_rounding(precision, o));
		}
	}
	for (uint64_t i = n; i < kernel_attention_padded(n) && bench_ok(bench); i++)
		if (lse[i] != INFINITY)
			error_set(bench->err, STATUS_MISMATCH,
				  "attention_forward: lse after the sequence is %g",
				  (double)lse[i]);
}

static void compare_gradient(struct bench *bench, struct attention_data *x, const char *what,
			     size_t at, double expected, double tolerance)
{
	enum precision precision = x->qkv.precision;

	compare(bench->err, what, precision, at, x->gradients_now[at], expected,
		tolerance + 1.01 * element_rounding(precision, expected));
}

static void check_gradients(struct bench *bench, struct attention_data *x, unsigned b, unsigned h)
{
	const struct attention_shape *s = &x->shape;
	unsigned n = s->sequence;
	double scale = (double)s->scale, unit = 1.05 * stored_unit(x->qkv.precision) + sum_unit(n);

	for (unsigned i = 0; i < n; i++)
		for (unsigned d = 0; d < s->head_size && bench_ok(bench); d++) {
			double dq = 0, dk = 0, dv = 0, error_q = 0, error_k = 0, error_v = 0;

			for (unsigned j = 0; j < n; j++) {
				size_t ij = (size_t)i * n + j, ji = (size_t)j * n + i;
				double k = x->qkv_was[qkv_at(s, 1, b, h, j, d)],
				       q = x->qkv_was[qkv_at(s, 0, b, h, j, d)],
				       g = x->d_o_was[o_at(s, b, h, j, d)];

				dq += x->ds[ij] * k * scale;
				error_q += (x->error_ds[ij] + fabs(x->ds[ij]) * sum_unit(n)) *
					   fabs(k) * scale;
				dk += x->ds[ji] * q * scale;
				error_k += (x->error_ds[ji] + fabs(x->ds[ji]) * sum_unit(n)) *
					   fabs(q) * scale;
				dv += x->p[ji] * g;
				error_v += (x->p[ji] * (unit + x->error_p[j]) +
					    stored_floor(x->qkv.precision)) *
					   fabs(g);
			}
			compare_gradient(bench, x, "attention_backward's dq",
					 qkv_at(s, 0, b, h, i, d), dq, error_q);
			compare_gradient(bench, x, "attention_backward's dk",
					 qkv_at(s, 1, b, h, i, d), dk, error_k);
			compare_gradient(bench, x, "attention_backward's dv",
					 qkv_at(s, 2, b, h, i, d), dv, error_v);
		}
}

/* Memory between the tensors' parts is not touched. */
static void check_gaps(struct bench *bench, const struct tensor *t, uint64_t ld, size_t used,
		       const char *what)
{
	for (size_t i = 0; i < t->count && bench_ok(bench); i++)
		if (i % ld >= used)
			compare(bench->err, what, t->precision, i, tensor_now(t, i),
				tensor_was(t, i), 0);
}

/* Elements of what was uploaded, or of what is there now. */
static double *decoded(const struct tensor *t, bool now)
{
	double *values = xcalloc(t->count, sizeof(*values));

	for (size_t i = 0; i < t->count; i++)
		values[i] = now ? tensor_now(t, i) : tensor_was(t, i);
	return values;
}

static void run_both(struct bench *b, struct attention_data *x)
{
	const struct attention_shape *s = &x->shape;
	size_t part = (size_t)s->heads * s->head_size * precision_bytes(s->precision);
	char *qkv = x->qkv.device, *gradients = x->gradients.device;

	bench_launch(b, "attention_forward",
		     &(struct attention_forward_arguments){ .shape = *s,
							    .q = qkv,
							    .k = qkv + part,
							    .v = qkv + 2 * part,
							    .o = x->o.device,
							    .lse = x->lse_device });
	bench_launch(b, "attention_backward",
		     &(struct attention_backward_arguments){
			     .shape = *s,
			     .q = qkv,
			     .k = qkv + part,
			     .v = qkv + 2 * part,
			     .o = x->o.device,
			     .d_o = x->d_o.device,
			     .lse = x->lse_device,
			     .dq = gradients,
			     .dk = gradients + part,
			     .dv = gradients + 2 * part,
			     .delta = bench_upload(
				     b, NULL, kernel_attention_row_values(s) * sizeof(float)) });
	tensor_fetch(b, &x->qkv, "attention");
	tensor_fetch(b, &x->d_o, "attention");
	tensor_fetch(b, &x->o, "attention");
	tensor_fetch(b, &x->gradients, "attention");
	bench_download(b, x->lse_now, x->lse_device,
		       kernel_attention_row_values(s) * sizeof(float));
}

static void check_attention_case(struct bench *b, enum precision precision,
				 const struct attention_case *c, double spread)
{
	unsigned n = c->sequence, width = c->heads * c->head_size;
	size_t square = (size_t)n * n;
	struct attention_data x = { .shape = { .precision = precision,
					       .batch = c->batch,
					       .heads = c->heads,
					       .sequence = n,
					       .head_size = c->head_size,
					       .ld_qkv = 3 * width + c->padding,
					       .ld_o = width + c->padding,
					       .scale = 1 / sqrtf((float)c->head_size),
					       .causal = c->causal } };
	const struct attention_shape *s = &x.shape;

	tensor_make(b, &x.qkv, precision, (size_t)c->batch * n * s->ld_qkv, 11, spread);
	tensor_make(b, &x.o, precision, (size_t)c->batch * n * s->ld_o, 12, 1);
	tensor_make(b, &x.d_o, precision, (size_t)c->batch * n * s->ld_o, 13, 1);
	tensor_make(b, &x.gradients, precision, x.qkv.count, 14, 1);
	x.lse = xcalloc(n, sizeof(*x.lse));
	x.lse_now = xcalloc(kernel_attention_row_values(s), sizeof(*x.lse_now));
	x.lse_device = bench_upload(b, NULL, kernel_attention_row_values(s) * sizeof(float));
	x.s = xcalloc(6 * square, sizeof(*x.s));
	x.p = x.s + square;
	x.dp = x.s + 2 * square;
	x.ds = x.s + 3 * square;
	x.error_ds = x.s + 4 * square;
	x.error_p = x.s + 5 * square;
	run_both(b, &x);
	x.qkv_was = decoded(&x.qkv, false);
	x.d_o_was = decoded(&x.d_o, false);
	x.o_now = decoded(&x.o, true);
	x.gradients_now = decoded(&x.gradients, true);
	for (unsigned i = 0; i < c->batch * c->heads && bench_ok(b); i++) {
		make_reference(&x, i / c->heads, i % c->heads);
		check_output(b, &x, i / c->heads, i % c->heads);
		check_gradients(b, &x, i / c->heads, i % c->heads);
	}
	check_gaps(b, &x.o, s->ld_o, width, "attention_forward, between positions");
	check_gaps(b, &x.gradients, s->ld_qkv, 3 * (size_t)width,
		   "attention_backward, between positions");
	tensor_free(&x.qkv);
	tensor_free(&x.o);
	tensor_free(&x.d_o);
	tensor_free(&x.gradients);
	free(x.qkv_was);
	free(x.d_o_was);
	free(x.o_now);
	free(x.gradients_now);
	free(x.lse);
	free(x.lse_now);
	free(x.s);
}

/*
 * Moderate scores, and ones whose exponential overflows FP32 where the largest is not taken away
 * first.
 */
static enum status check_attention_of(struct device *device, enum precision precision,
				      struct error *err)
{
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		const struct attention_case *c = &cases[i / 2];
		double spread = i % 2 ? 8 : 1;
		struct bench b;

		if ((i % 2 && c->sequence > 130) || (kernel_checks_small && c->sequence > 330))
			continue;
		bench_open(&b, device, err);
		check_attention_case(&b, precision, c, spread);
		if (err->status != STATUS_OK)
			error_prefix(err, "%u x %u heads, %u positions of %u, %s, spread %g",
				     c->batch, c->heads, c->sequence, c->head_size,
				     c->causal ? "causal" : "full", spread);
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status check_attention_fp32(struct device *device, struct error *err)
{
	return check_attention_of(device, PRECISION_FP32, err);
}

enum status check_attention_fp16(struct device *device, struct error *err)
{
	return check_attention_of(device, PRECISION_FP16, err);
}

enum status check_attention_bf16(struct device *device, struct error *err)
{
	return check_attention_of(device, PRECISION_BF16, err);
}

/* Shapes that no kernel is written for are refused, and the message has what is allowed. */
enum status check_attention_refuses(struct device *device, struct error *err)
{
	static const struct {
		struct attention_shape shape;
		const char *says;
	} wrong[] = {
		{ { PRECISION_FP64, 1, 1, 4, 64, 192, 64, 1, 0 }, "fp64" },
		{ { PRECISION_FP16, 1, 1, 4, 136, 408, 136, 1, 0 }, "multiples of 8 up to 128" },
		{ { PRECISION_FP16, 1, 1, 4, 12, 36, 12, 1, 0 }, "multiples of 8 up to 128" },
		{ { PRECISION_FP16, 1, 1, 4, 64, 192, 64, 0, 0 }, "greater than 0" },
		{ { PRECISION_FP16, 256, 256, 4, 64, 49152, 16384, 1, 0 }, "65,535" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error refusal = ERROR_NONE;
		struct bench b;

		bench_open(&b, device, &refusal);
		bench_launch(&b, "attention_forward",
			     &(struct attention_forward_arguments){ .shape = wrong[i].shape });
		bench_close(&b);
		if (refusal.status != STATUS_UNSUPPORTED || !strstr(refusal.message, wrong[i].says))
			return error_set(err, STATUS_MISMATCH, "shape %zu: status %d, \"%s\"", i,
					 (int)refusal.status, refusal.message);
	}
	return STATUS_OK;
}
