/*
 * Softmax attention and its gradients by this program's own fused kernels, next to the matrix
 * products alone, by the library: time, throughput, and the memory that their tensors take.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/attention/attention.h"
#include "kernels/generator.h"
#include "kernels/memory/fill.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/models/reference/values.h"
#include "suites/shared/buffers.h"
#include "suites/shared/estimate.h"
#include "suites/shared/words.h"

enum pass { FORWARD, BACKWARD };
static const char *const passes[] = { "forward", "backward", NULL };
enum implementation { FUSED, PRODUCTS };
static const char *const implementations[] = { "fused", "products", NULL };
static const char *const precisions[] = { "fp32", "fp16", "bf16", NULL };
enum mask { CAUSAL, FULL };
static const char *const masks[] = { "causal", "full", NULL };

static const struct key keys[] = {
	{ .name = "passes",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "forward, backward",
	  .choices = passes,
	  .parameter = "pass",
	  .help = "outputs; gradients of queries, keys and values" },
	{ .name = "implementations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fused, products",
	  .choices = implementations,
	  .parameter = "implementation",
	  .help = "fused: one kernel with an online softmax; products: only the matrix products, "
		  "by the library, of all positions and with the scores stored, which attention "
		  "that is not fused cannot be faster than" },
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp16, bf16",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "how tensors are stored; sums and softmax are FP32" },
	{ .name = "masks",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "causal",
	  .choices = masks,
	  .parameter = "mask",
	  .help = "causal: a position sees itself and those before; full: all" },
	{ .name = "head_size",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "64, 128",
	  .min = 8,
	  .max = ATTENTION_HEAD_MAX,
	  .help = "values of a head, a multiple of 8" },
	{ .name = "sequence",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1024, 4096, 16384",
	  .min = 1,
	  .max = 1 << 24,
	  .help = "positions of a sample" },
	{ .name = "tokens",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1 << 30,
	  .help = "positions of all samples together, as published figures keep them; 0: 16384, "
		  "on a CPU 1024" },
	{ .name = "hidden",
	  .type = KEY_INTEGER,
	  .fallback = "0",
	  .min = 0,
	  .max = 1e6,
	  .help = "heads times their size; 0: 2048, on a CPU 256" },
	{ 0 },
};

static const char *const axes[] = { "passes",    "implementations", "precisions", "masks",
				    "head_size", "sequence",        NULL };

static const struct metric metrics[] = {
	{ "attention.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "operations of two products of sequence x sequence x head size forward, five backward, "
	  "causal half of them, per second" },
	{ "attention.time", "s", BETTER_LOWER, 0, "one pass" },
	{ "attention.memory", "B", BETTER_LOWER, 0,
	  "sum of the tensors of the pass, with one score for each pair of positions and head "
	  "where the products store them" },
	{ "attention.error", "1", BETTER_LOWER, 0,
	  "relative L2 difference of sampled rows from double precision, worst tensor",
	  METRIC_EXACT },
	{ 0 },
};

static const struct figure_row figures[] = {
	{ .metric = "attention.throughput",
	  .kind = "lines",
	  .axis = "sequence",
	  .facets = { "pass", "precision" } },
	{ .metric = "attention.memory",
	  .kind = "lines",
	  .logarithmic = true,
	  .axis = "sequence",
	  .facets = { "pass", "precision" } },
	{ 0 },
};

static const struct word_row words[] = {
	PRECISION_WORDS,
	{ "implementation", "products", "products alone" },
	{ 0 },
};

/* Queries, keys and values are parts of a row of INPUTS, their gradients of one of RESULTS. */
enum tensor {
	INPUTS,
	OUTPUT_GRADIENTS,
	OUTPUTS,
	RESULTS,
	LSE,
	DELTA,
	SCORES,
	HEAD, /* of verification: a head's rows on their way to the host */
	TENSORS
};
enum part { QUERY, KEY, VALUE };

struct attention {
	struct attention_shape shape;
	enum pass pass;
	enum implementation implementation;
	unsigned scored; /* heads whose scores are stored at a time */
	struct stream *stream;
	struct buffer tensors[TENSORS];
	uint64_t seed;
};

/* Scores of as many heads as fit here are stored at a time: those of all can exceed a device. */
#define SCORE_BYTES (1ull << 30)

/* A part of a batch's heads, in one call of the library. */
static unsigned scored_of(const struct attention_shape *s)
{
	uint64_t head = (uint64_t)s->sequence * s->sequence * precision_bytes(s->precision),
		 heads = SCORE_BYTES / head;

	return heads > s->heads ? s->heads : heads > 0 ? (unsigned)heads : 1;
}

static uint64_t usual(const struct plan_case *c, const char *key, bool cpu, uint64_t large,
		      uint64_t small)
{
	int64_t value = section_integer(c->section, key);

	return value > 0 ? (uint64_t)value : cpu ? small : large;
}

/* False: `why` says what cannot be. */
static bool shape_of(const struct plan_case *c, const struct device_info *info,
		     struct attention_shape *s, struct error *why)
{
	bool cpu = info->capabilities & DEVICE_SHARES_HOST_MEMORY;
	uint64_t tokens = usual(c, "tokens", cpu, 16384, 1024),
		 hidden = usual(c, "hidden", cpu, 2048, 256),
		 sequence = (uint64_t)case_integer(c, "sequence"),
		 head = (uint64_t)case_integer(c, "head_size");

	*s = (struct attention_shape){ .batch = (unsigned)(tokens / sequence),
				       .heads = (unsigned)(hidden / head),
				       .sequence = (unsigned)sequence,
				       .head_size = (unsigned)head,
				       .ld_qkv = 3 * (hidden / head) * head,
				       .ld_o = hidden / head * head,
				       .scale = 1 / sqrtf((float)head),
				       .causal = case_integer(c, "masks") == CAUSAL };
	precision_from_name(case_text(c, "precisions"), &s->precision);
	if (s->batch == 0)
		return error_set(why, STATUS_UNSUPPORTED,
				 "%llu positions are more than tokens, %llu",
				 (unsigned long long)sequence, (unsigned long long)tokens),
		       false;
	if (s->heads == 0)
		return error_set(why, STATUS_UNSUPPORTED,
				 "a head of %llu is more than hidden, %llu",
				 (unsigned long long)head, (unsigned long long)hidden),
		       false;
	return attention_check(s, why) == STATUS_OK;
}

static uint64_t count_of(const struct attention *a, enum tensor tensor)
{
	const struct attention_shape *s = &a->shape;
	uint64_t rows = (uint64_t)s->batch * s->sequence;
	bool fused = a->implementation == FUSED, backward = a->pass == BACKWARD;

	switch (tensor) {
	case INPUTS:
		return rows * s->ld_qkv;
	case OUTPUT_GRADIENTS:
		return backward ? rows * s->ld_o : 0;
	case OUTPUTS:
		return fused || !backward ? rows * s->ld_o : 0;
	case RESULTS:
		return backward ? rows * s->ld_qkv : 0;
	case LSE:
		return fused ? attention_row_values(s) : 0;
	case DELTA:
		return fused && backward ? attention_row_values(s) : 0;
	case HEAD:
		return (uint64_t)s->sequence * s->head_size;
	default:
		return fused ? 0 : (uint64_t)a->scored * s->sequence * s->sequence;
	}
}

static size_t element_bytes(const struct attention *a, enum tensor tensor)
{
	return tensor == LSE || tensor == DELTA ? sizeof(float)
						: precision_bytes(a->shape.precision);
}

/* With the scores of all heads, or of those that are stored at a time. */
static uint64_t bytes_of_all(const struct attention *a, bool all)
{
	const struct attention_shape *s = &a->shape;
	uint64_t bytes = 0, scores = count_of(a, SCORES);

	for (int t = 0; t < SCORES; t++)
		bytes += count_of(a, (enum tensor)t) * element_bytes(a, (enum tensor)t);
	if (all)
		scores = scores / a->scored * s->heads * s->batch;
	return bytes + scores * element_bytes(a, SCORES);
}

static char *at(const struct attention *a, enum tensor tensor, uint64_t element)
{
	return (char *)a->tensors[tensor].memory + element * element_bytes(a, tensor);
}

/* The first element of a head's row in INPUTS and RESULTS. */
static uint64_t place(const struct attention *a, enum part part, uint64_t b, uint64_t i, uint64_t h)
{
	return (b * a->shape.sequence + i) * a->shape.ld_qkv + (uint64_t)part * a->shape.ld_o +
	       h * a->shape.head_size;
}

/* The same in OUTPUTS and their gradients. */
static uint64_t place_out(const struct attention *a, uint64_t b, uint64_t i, uint64_t h)
{
	return (b * a->shape.sequence + i) * a->shape.ld_o + h * a->shape.head_size;
}

static enum status launch_fused(const struct attention *a, enum pass pass, struct error *err)
{
	struct attention_forward_arguments forward = {
		.shape = a->shape,
		.q = at(a, INPUTS, place(a, QUERY, 0, 0, 0)),
		.k = at(a, INPUTS, place(a, KEY, 0, 0, 0)),
		.v = at(a, INPUTS, place(a, VALUE, 0, 0, 0)),
		.o = at(a, OUTPUTS, 0),
		.lse = (float *)at(a, LSE, 0),
	};
	struct attention_backward_arguments backward = {
		.shape = a->shape,
		.q = forward.q,
		.k = forward.k,
		.v = forward.v,
		.o = forward.o,
		.d_o = at(a, OUTPUT_GRADIENTS, 0),
		.lse = forward.lse,
		.dq = at(a, RESULTS, place(a, QUERY, 0, 0, 0)),
		.dk = at(a, RESULTS, place(a, KEY, 0, 0, 0)),
		.dv = at(a, RESULTS, place(a, VALUE, 0, 0, 0)),
		.delta = (float *)at(a, DELTA, 0),
	};

	return pass == FORWARD ? backend_launch(a->stream, "attention_forward", &forward, err)
			       : backend_launch(a->stream, "attention_backward", &backward, err);
}

/* Rows of a tensor, head by head. */
struct rows {
	char *memory;
	uint64_t ld;
};

static struct rows rows_of(const struct attention *a, enum tensor tensor, enum part part,
			   uint64_t b, uint64_t h)
{
	bool parts = tensor == INPUTS || tensor == RESULTS;

	return (struct rows){ at(a, tensor,
				 parts ? place(a, part, b, 0, h) : place_out(a, b, 0, h)),
			      parts ? a->shape.ld_qkv : a->shape.ld_o };
}

/* The factor of scores, and of what is made of them, so that FP16 overflows nowhere. */
static double score_factor(const struct attention *a)
{
	return 1.0 / a->shape.head_size;
}
static double sum_factor(const struct attention *a)
{
	return 1.0 / a->shape.sequence;
}

/* Column-major, scores (keys x queries) = K Q^T of `heads` heads. */
static enum status multiply_scores(const struct attention *a, struct rows q, struct rows k,
				   unsigned heads, struct error *err)
{
	int64_t n = a->shape.sequence, d = a->shape.head_size;
	struct gemm gemm = {
		.precision = a->shape.precision,
		.transpose_a = true,
		.m = n,
		.n = n,
		.k = d,
		.a = k.memory,
		.lda = (int64_t)k.ld,
		.b = q.memory,
		.ldb = (int64_t)q.ld,
		.c = at(a, SCORES, 0),
		.ldc = n,
		.alpha = score_factor(a),
		.batch = heads,
		.stride_a = d,
		.stride_b = d,
		.stride_c = n * n,
	};

	return backend_gemm(a->stream, &gemm, err);
}

/* Y = scores X, or of their transpose. */
static enum status multiply_rows(const struct attention *a, bool transposed, struct rows x,
				 struct rows y, unsigned heads, struct error *err)
{
	int64_t n = a->shape.sequence, d = a->shape.head_size;
	struct gemm gemm = {
		.precision = a->shape.precision,
		.transpose_b = transposed,
		.m = d,
		.n = n,
		.k = n,
		.a = x.memory,
		.lda = (int64_t)x.ld,
		.b = at(a, SCORES, 0),
		.ldb = n,
		.c = y.memory,
		.ldc = (int64_t)y.ld,
		.alpha = sum_factor(a),
		.batch = heads,
		.stride_a = d,
		.stride_b = n * n,
		.stride_c = d,
	};

	return backend_gemm(a->stream, &gemm, err);
}

/*
 * Forward S = Q K^T, O = S V. Backward dP = dO V^T, dV = dP^T dO, dQ = dP K, dK = dP^T Q: products
 * of the same shapes as attention's, of other values.
 */
static enum status launch_products(const struct attention *a, uint64_t b, unsigned h,
				   unsigned heads, struct error *err)
{
	struct rows q = rows_of(a, INPUTS, QUERY, b, h), k = rows_of(a, INPUTS, KEY, b, h),
		    v = rows_of(a, INPUTS, VALUE, b, h);
	struct rows d_o;

	if (a->pass == FORWARD)
		return multiply_scores(a, q, k, heads, err) == STATUS_OK
			       ? multiply_rows(a, false, v, rows_of(a, OUTPUTS, QUERY, b, h), heads,
					       err)
			       : err->status;
	d_o = rows_of(a, OUTPUT_GRADIENTS, QUERY, b, h);
	if (multiply_scores(a, d_o, v, heads, err) != STATUS_OK ||
	    multiply_rows(a, true, d_o, rows_of(a, RESULTS, VALUE, b, h), heads, err) !=
		    STATUS_OK ||
	    multiply_rows(a, false, k, rows_of(a, RESULTS, QUERY, b, h), heads, err) != STATUS_OK)
		return err->status;
	return multiply_rows(a, true, q, rows_of(a, RESULTS, KEY, b, h), heads, err);
}

static enum status launch_one(const struct attention *a, struct error *err)
{
	if (a->implementation == FUSED)
		return launch_fused(a, a->pass, err);
	for (uint64_t b = 0; b < a->shape.batch; b++)
		for (unsigned h = 0; h < a->shape.heads; h += a->scored) {
			unsigned rest = a->shape.heads - h;

			if (launch_products(a, b, h, rest < a->scored ? rest : a->scored, err) !=
			    STATUS_OK)
				return err->status;
		}
	return STATUS_OK;
}

static enum status launch(void *state, unsigned batch, struct error *err)
{
	for (unsigned i = 0; i < batch; i++)
		if (launch_one(state, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* Inputs are uniform in +-SPREAD, so that rows of scores have weights of very different size. */
#define SPREAD 2.0f

static enum status fill(struct attention *a, enum tensor tensor, struct error *err)
{
	static const enum fill_kind kind_of[PRECISION_COUNT] = { [PRECISION_FP32] = FILL_FP32,
								 [PRECISION_FP16] = FILL_FP16,
								 [PRECISION_BF16] = FILL_BF16 };
	struct fill_arguments fill = { .memory = a->tensors[tensor].memory,
				       .kind = kind_of[a->shape.precision],
				       .count = count_of(a, tensor),
				       .seed = a->seed + (uint64_t)tensor,
				       .scale = SPREAD };

	return backend_launch(a->stream, "fill", &fill, err);
}

/* A head's values of a row of INPUTS or OUTPUT_GRADIENTS, as stored. */
static void input_row(const struct attention *a, enum tensor tensor, uint64_t first, double *row)
{
	for (unsigned d = 0; d < a->shape.head_size; d++)
		row[d] = value_round((double)(SPREAD * generator_uniform(a->seed + (uint64_t)tensor,
									 first + d)),
				     a->shape.precision);
}

static double dot(const double *x, const double *y, unsigned count)
{
	double sum = 0;

	for (unsigned d = 0; d < count; d++)
		sum += x[d] * y[d];
	return sum;
}

static void add(double *sum, double factor, const double *x, unsigned count)
{
	for (unsigned d = 0; d < count; d++)
		sum[d] += factor * x[d];
}

/* One batch and head, in double precision as far as samples need it. */
struct head {
	const struct attention *a;
	uint64_t b, h;
	double *values[4];   /* rows of queries, keys, values, gradients of outputs */
	double *lse, *delta; /* of every row, by what the device computed forward */
	double *outputs;     /* the device's */
	double *expected[3]; /* of one row: see expected_row(), expected_column() */
	double *weights;     /* of one row of scores */
};

/* Errors of each tensor: OUTPUTS, gradients of queries, keys, values. */
struct errors {
	double difference[4], square[4], lse;
};

static double score(const struct head *e, uint64_t i, uint64_t j)
{
	unsigned d = e->a->shape.head_size;

	return (double)e->a->shape.scale * dot(e->values[QUERY] + i * d, e->values[KEY] + j * d, d);
}

/* Row i: the output in expected[0], the gradient of the query in [1]; returns its lse. */
static double expected_row(const struct head *e, uint64_t i)
{
	const struct attention_shape *s = &e->a->shape;
	unsigned d = s->head_size;
	uint64_t end = s->causal ? i + 1 : s->sequence;
	double most = -INFINITY, sum = 0, delta;

	for (uint64_t j = 0; j < end; j++)
		most = fmax(most, e->weights[j] = score(e, i, j));
	for (uint64_t j = 0; j < end; j++)
		sum += e->weights[j] = exp(e->weights[j] - most);
	for (int k = 0; k < 2; k++)
		for (unsigned x = 0; x < d; x++)
			e->expected[k][x] = 0;
	for (uint64_t j = 0; j < end; j++)
		add(e->expected[0], e->weights[j] / sum, e->values[VALUE] + j * d, d);
	if (e->a->pass == FORWARD)
		return most + log(sum);
	delta = dot(e->expected[0], e->values[3] + i * d, d);
	for (uint64_t j = 0; j < end; j++)
		add(e->expected[1],
		    (double)s->scale * e->weights[j] / sum *
			    (dot(e->values[3] + i * d, e->values[VALUE] + j * d, d) - delta),
		    e->values[KEY] + j * d, d);
	return most + log(sum);
}

/* Gradients of key j in expected[1] and of value j in [2], from the rows' lse and delta. */
static void expected_column(const struct head *e, uint64_t j)
{
	const struct attention_shape *s = &e->a->shape;
	unsigned d = s->head_size;

	for (int k = 1; k < 3; k++)
		for (unsigned x = 0; x < d; x++)
			e->expected[k][x] = 0;
	for (uint64_t i = s->causal ? j : 0; i < s->sequence; i++) {
		const double *d_o = e->values[3] + i * d;
		double p = exp(score(e, i, j) - e->lse[i]);

		add(e->expected[2], p, d_o, d);
		add(e->expected[1],
		    (double)s->scale * p * (dot(d_o, e->values[VALUE] + j * d, d) - e->delta[i]),
		    e->values[QUERY] + i * d, d);
	}
}

/* The products' row or column: sums of other weights, by the same formula with `x` and `y`. */
static void expected_product(const struct head *e, uint64_t i, bool column, const double *q,
			     const double *k, const double *x, double *out)
{
	unsigned d = e->a->shape.head_size;

	for (unsigned c = 0; c < d; c++)
		out[c] = 0;
	for (uint64_t j = 0; j < e->a->shape.sequence; j++) {
		double weight = dot(q + (column ? j : i) * d, k + (column ? i : j) * d, d);

		add(out,
		    value_round(score_factor(e->a) * weight, e->a->shape.precision) *
			    sum_factor(e->a),
		    x + j * d, d);
	}
}

/* `rows` rows of a head, `ld` elements apart. */
static enum status found_row(const struct attention *a, enum tensor tensor, uint64_t first,
			     uint64_t rows, uint64_t ld, double *out, struct error *err)
{
	size_t bytes = element_bytes(a, tensor), width = a->shape.head_size * bytes;
	void *raw = xmalloc(rows * width), *packed = at(a, HEAD, 0);

	if (backend_copy_rows(a->stream, packed, width, at(a, tensor, first), ld * bytes, width,
			      rows, err) == STATUS_OK &&
	    backend_copy(a->stream, raw, packed, rows * width, err) == STATUS_OK &&
	    backend_stream_synchronize(a->stream, err) == STATUS_OK)
		values_decode(out, raw, a->shape.precision, rows * a->shape.head_size);
	free(raw);
	return err->status;
}

static enum status compare(const struct head *e, enum tensor tensor, uint64_t first,
			   const double *expected, int which, struct errors *errors,
			   struct error *err)
{
	unsigned d = e->a->shape.head_size;
	double found[ATTENTION_HEAD_MAX];

	if (found_row(e->a, tensor, first, 1, d, found, err) != STATUS_OK)
		return err->status;
	for (unsigned x = 0; x < d; x++) {
		errors->difference[which] += pow(found[x] - expected[x], 2);
		errors->square[which] += expected[x] * expected[x];
	}
	return STATUS_OK;
}

static enum status check_fused(const struct head *e, uint64_t i, struct errors *errors,
			       struct error *err)
{
	const struct attention *a = e->a;
	double lse = expected_row(e, i);

	errors->lse = fmax(errors->lse, fabs(e->lse[i] - lse) / (1 + fabs(lse)));
	if (isnan(e->lse[i]))
		errors->lse = NAN;
	if (compare(e, OUTPUTS, place_out(a, e->b, i, e->h), e->expected[0], 0, errors, err) !=
		    STATUS_OK ||
	    a->pass == FORWARD)
		return err->status;
	if (compare(e, RESULTS, place(a, QUERY, e->b, i, e->h), e->expected[1], 1, errors, err) !=
	    STATUS_OK)
		return err->status;
	expected_column(e, i);
	if (compare(e, RESULTS, place(a, KEY, e->b, i, e->h), e->expected[1], 2, errors, err) !=
	    STATUS_OK)
		return err->status;
	return compare(e, RESULTS, place(a, VALUE, e->b, i, e->h), e->expected[2], 3, errors, err);
}

static enum status check_products(const struct head *e, uint64_t i, struct errors *errors,
				  struct error *err)
{
	const struct attention *a = e->a;
	const double *q = e->values[QUERY], *k = e->values[KEY], *v = e->values[VALUE],
		     *d_o = e->values[3];
	double *out = e->expected[0];

	if (a->pass == FORWARD) {
		expected_product(e, i, false, q, k, v, out);
		return compare(e, OUTPUTS, place_out(a, e->b, i, e->h), out, 0, errors, err);
	}
	expected_product(e, i, false, d_o, v, k, out);
	if (compare(e, RESULTS, place(a, QUERY, e->b, i, e->h), out, 1, errors, err) != STATUS_OK)
		return err->status;
	expected_product(e, i, true, d_o, v, q, out);
	if (compare(e, RESULTS, place(a, KEY, e->b, i, e->h), out, 2, errors, err) != STATUS_OK)
		return err->status;
	expected_product(e, i, true, d_o, v, d_o, out);
	return compare(e, RESULTS, place(a, VALUE, e->b, i, e->h), out, 3, errors, err);
}

/* The forward's results of the head, which gradients are computed from. */
static enum status fetch_forward(struct head *e, struct error *err)
{
	const struct attention *a = e->a;
	unsigned n = a->shape.sequence, d = a->shape.head_size;
	float *lse = xmalloc(n * sizeof(*lse));
	uint64_t row = (e->b * a->shape.heads + e->h) * attention_padded(n);

	if (found_row(a, OUTPUTS, place_out(a, e->b, 0, e->h), n, a->shape.ld_o, e->outputs, err) ==
		    STATUS_OK &&
	    backend_copy(a->stream, lse, at(a, LSE, row), n * sizeof(*lse), err) == STATUS_OK)
		backend_stream_synchronize(a->stream, err);
	for (unsigned i = 0; i < n && err->status == STATUS_OK; i++) {
		e->lse[i] = (double)lse[i];
		e->delta[i] = a->pass == BACKWARD ? dot(e->outputs + (uint64_t)i * d,
							e->values[3] + (uint64_t)i * d, d)
						  : 0;
	}
	free(lse);
	return err->status;
}

static void head_values(struct head *e)
{
	const struct attention *a = e->a;
	unsigned d = a->shape.head_size;

	for (uint64_t i = 0; i < a->shape.sequence; i++) {
		for (int part = QUERY; part <= VALUE; part++)
			input_row(a, INPUTS, place(a, (enum part)part, e->b, i, e->h),
				  e->values[part] + i * d);
		if (a->pass == BACKWARD)
			input_row(a, OUTPUT_GRADIENTS, place_out(a, e->b, i, e->h),
				  e->values[3] + i * d);
	}
}

/* Rows of each of two heads: the first and the last, and others in between. */
#define HEADS 2
#define ROWS 6

static enum status check_head(struct head *e, struct errors *errors, struct error *err)
{
	const struct attention *a = e->a;
	uint64_t n = a->shape.sequence;

	head_values(e);
	if (a->implementation == FUSED && fetch_forward(e, err) != STATUS_OK)
		return err->status;
	for (uint64_t k = 0; k < ROWS; k++) {
		uint64_t i = k == 0 ? 0 : k == 1 ? n - 1 : generator_bits(a->seed, k) % n;

		if ((a->implementation == FUSED ? check_fused(e, i, errors, err)
						: check_products(e, i, errors, err)) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static double tolerance_of(enum precision precision)
{
	return precision == PRECISION_FP32 ? 2e-5 : precision == PRECISION_FP16 ? 3e-3 : 2e-2;
}

static double worst_of(const struct errors *errors)
{
	double worst = errors->lse;

	for (int t = 0; t < 4; t++) {
		double error = sqrt(errors->difference[t] / errors->square[t]);

		/* NaN of a tensor that was compared is a difference. */
		if (errors->square[t] > 0 && !(error <= worst))
			worst = error;
	}
	return worst;
}

static enum status check_heads(struct attention *a, struct errors *errors, struct error *err)
{
	uint64_t n = a->shape.sequence, row = a->shape.head_size;
	double *memory = xcalloc(5 * n * row + 3 * n + 3 * row, sizeof(*memory)),
	       *rest = memory + 5 * n * row;
	struct head e = { .a = a,
			  .outputs = memory + 4 * n * row,
			  .lse = rest,
			  .delta = rest + n,
			  .weights = rest + 2 * n };

	for (int i = 0; i < 4; i++)
		e.values[i] = memory + (uint64_t)i * n * row;
	for (int i = 0; i < 3; i++)
		e.expected[i] = rest + 3 * n + (uint64_t)i * row;
	for (uint64_t k = 0; k < HEADS && err->status == STATUS_OK; k++) {
		e.b = k * (a->shape.batch - 1);
		e.h = k * (a->shape.heads - 1);
		check_head(&e, errors, err);
	}
	free(memory);
	return err->status;
}

static enum status verify(struct run *run, struct attention *a, struct error *err)
{
	double tolerance = tolerance_of(a->shape.precision), error;
	struct errors errors = { .lse = 0 };
	char method[80];

	if ((a->implementation == FUSED && a->pass == BACKWARD &&
	     launch_fused(a, FORWARD, err) != STATUS_OK) ||
	    launch_one(a, err) != STATUS_OK || check_heads(a, &errors, err) != STATUS_OK)
		return err->status;
	error = worst_of(&errors);
	run_value(run, "attention.error", error);
	if (!(error <= tolerance))
		return error_set(err, STATUS_MISMATCH,
				 "%d rows of %d heads differ by %.3g from double precision, and "
				 "%.3g is allowed",
				 ROWS, HEADS, error, tolerance);
	snprintf(method, sizeof(method), "%d rows of %d heads against double precision", ROWS,
		 HEADS);
	run_verified(run, method, error, tolerance);
	return STATUS_OK;
}

static enum status open_tensors(struct run *run, struct attention *a, struct error *err)
{
	if (backend_stream_create(run->devices[0], false, &a->stream, err) != STATUS_OK)
		return err->status;
	for (int t = 0; t < TENSORS; t++) {
		uint64_t bytes = count_of(a, (enum tensor)t) * element_bytes(a, (enum tensor)t);

		if (bytes > 0 && (buffer_alloc(&a->tensors[t], run->devices[0], ALLOCATOR_DEVICE,
					       bytes, err) != STATUS_OK ||
				  (t <= OUTPUT_GRADIENTS ? fill(a, (enum tensor)t, err)
							 : buffer_poison(&a->tensors[t], a->stream,
									 err)) != STATUS_OK))
			return err->status;
	}
	run_value(run, "attention.memory", (double)bytes_of_all(a, true));
	return STATUS_OK;
}

static enum status measure(struct run *run, struct attention *a, struct error *err)
{
	struct workload w = { .state = a,
			      .launch = launch,
			      .clock = CLOCK_DEVICE,
			      .streams = &a->stream,
			      .stream_count = 1,
			      .commands = 4 };
	const struct series *time;

	if (a->implementation == PRODUCTS)
		w.commands = 4 * a->shape.batch * (a->shape.heads / a->scored + 1);
	if (run_sample(run, &w, "attention.time", &time, err) != STATUS_OK)
		return err->status;
	run_duration(run, "attention.time", time);
	run_rate(run, "attention.throughput",
		 attention_operations(&a->shape, a->pass == FORWARD ? 2 : 5), time);
	return STATUS_OK;
}

static struct attention attention_of(const struct plan_case *c, const struct attention_shape *shape)
{
	return (struct attention){ .shape = *shape,
				   .pass = (enum pass)case_integer(c, "passes"),
				   .implementation =
					   (enum implementation)case_integer(c, "implementations"),
				   .scored = scored_of(shape) };
}

static enum status attention_run(struct run *run, struct error *err)
{
	struct attention_shape shape;
	struct attention a;

	if (!shape_of(run->c, &run->devices[0]->info, &shape, err))
		return err->status;
	a = attention_of(run->c, &shape);
	a.seed = run->seed;
	if (open_tensors(run, &a, err) == STATUS_OK && verify(run, &a, err) == STATUS_OK)
		measure(run, &a, err);
	if (a.stream)
		backend_stream_synchronize(a.stream, NULL);
	for (int t = 0; t < TENSORS; t++)
		buffer_free(&a.tensors[t]);
	backend_stream_destroy(a.stream);
	return err->status;
}

/* Seconds of a sampled row on the CPU, with a margin. */
#define CHECK_SECONDS_PER_VALUE 4e-8

static enum status attention_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		struct error wrong = ERROR_NONE;
		struct attention_shape shape;
		bool possible = shape_of(point, info, &shape, &wrong);
		const char *reason = possible ? NULL : wrong.message;

		if (possible && !(info->capabilities & precision_capability(shape.precision)))
			reason = "the device has not this precision";
		point->device_bytes = 0;
		point->setup_seconds = 1;
		if (!reason) {
			struct attention a = attention_of(point, &shape);

			point->device_bytes = bytes_of_all(&a, false) +
					      count_of(&a, HEAD) * element_bytes(&a, HEAD);
			point->setup_seconds += HEADS * ROWS * CHECK_SECONDS_PER_VALUE *
							(double)shape.sequence * shape.head_size +
						10 * attention_operations(&shape, 7) /
							estimate_flops(info, PRECISION_FP32);
		}
		if ((reason ? plan_add_skipped(plan, point, &i, 1, reason, err)
			    : plan_add(plan, point, &i, 1, err)) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static const struct aspect_row aspects[] = {
	{ "attention.error", NULL, NULL, ASPECT_CORRECTNESS },
	{ 0 },
};

const struct suite suite_attention = {
	.name = "attention",
	.summary = "softmax attention and its gradients, fused, next to the products alone",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.words = words,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = attention_expand,
	.run = attention_run,
};
