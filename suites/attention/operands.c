#include "suites/attention/operands.h"

#include "kernels/memory/fill.h"

uint64_t attention_operands_count(const struct attention *a, enum tensor tensor)
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
		return fused ? kernel_attention_row_values(s) : 0;
	case DELTA:
		return fused && backward ? kernel_attention_row_values(s) : 0;
	case HEAD:
		return (uint64_t)s->sequence * s->head_size;
	default:
		return fused ? 0 : (uint64_t)a->scored * s->sequence * s->sequence;
	}
}

size_t attention_operands_element_bytes(const struct attention *a, enum tensor tensor)
{
	return tensor == LSE || tensor == DELTA ? sizeof(float)
						: precision_bytes(a->shape.precision);
}

uint64_t attention_operands_bytes(const struct attention *a, bool all)
{
	const struct attention_shape *s = &a->shape;
	uint64_t bytes = 0, scores = attention_operands_count(a, SCORES);

	for (int t = 0; t < SCORES; t++)
		bytes += attention_operands_count(a, (enum tensor)t) *
			 attention_operands_element_bytes(a, (enum tensor)t);
	if (all)
		scores = scores / a->scored * s->heads * s->batch;
	return bytes + scores * attention_operands_element_bytes(a, SCORES);
}

char *attention_operands_at(const struct attention *a, enum tensor tensor, uint64_t element)
{
	return (char *)a->tensors[tensor].memory +
	       element * attention_operands_element_bytes(a, tensor);
}

uint64_t attention_operands_place(const struct attention *a, enum part part, uint64_t b, uint64_t i,
				  uint64_t h)
{
	return (b * a->shape.sequence + i) * a->shape.ld_qkv + (uint64_t)part * a->shape.ld_o +
	       h * a->shape.head_size;
}

uint64_t attention_operands_place_out(const struct attention *a, uint64_t b, uint64_t i, uint64_t h)
{
	return (b * a->shape.sequence + i) * a->shape.ld_o + h * a->shape.head_size;
}

enum status attention_operands_fill(struct attention *a, enum tensor tensor, struct error *err)
{
	static const enum fill_kind kind_of[PRECISION_COUNT] = { [PRECISION_FP32] = FILL_FP32,
								 [PRECISION_FP16] = FILL_FP16,
								 [PRECISION_BF16] = FILL_BF16 };
	struct fill_arguments fill = { .memory = a->tensors[tensor].memory,
				       .kind = kind_of[a->shape.precision],
				       .count = attention_operands_count(a, tensor),
				       .seed = a->seed + (uint64_t)tensor,
				       .scale = SPREAD };

	return backend_launch(a->stream, "fill", &fill, err);
}

enum status attention_operands_launch_fused(const struct attention *a, enum pass pass,
					    struct error *err)
{
	struct attention_forward_arguments forward = {
		.shape = a->shape,
		.q = attention_operands_at(a, INPUTS, attention_operands_place(a, QUERY, 0, 0, 0)),
		.k = attention_operands_at(a, INPUTS, attention_operands_place(a, KEY, 0, 0, 0)),
		.v = attention_operands_at(a, INPUTS, attention_operands_place(a, VALUE, 0, 0, 0)),
		.o = attention_operands_at(a, OUTPUTS, 0),
		.lse = (float *)attention_operands_at(a, LSE, 0),
	};
	struct attention_backward_arguments backward = {
		.shape = a->shape,
		.q = forward.q,
		.k = forward.k,
		.v = forward.v,
		.o = forward.o,
		.d_o = attention_operands_at(a, OUTPUT_GRADIENTS, 0),
		.lse = forward.lse,
		.dq = attention_operands_at(a, RESULTS,
					    attention_operands_place(a, QUERY, 0, 0, 0)),
		.dk = attention_operands_at(a, RESULTS, attention_operands_place(a, KEY, 0, 0, 0)),
		.dv = attention_operands_at(a, RESULTS,
					    attention_operands_place(a, VALUE, 0, 0, 0)),
		.delta = (float *)attention_operands_at(a, DELTA, 0),
	};

	return pass == FORWARD ? backend_launch(a->stream, "attention_forward", &forward, err)
			       : backend_launch(a->stream, "attention_backward", &backward, err);
}

/* Rows of a tensor, head by head. */
struct attention_rows {
	char *memory;
	uint64_t ld;
};

static struct attention_rows attention_operands_rows_of(const struct attention *a,
							enum tensor tensor, enum part part,
							uint64_t b, uint64_t h)
{
	bool parts = tensor == INPUTS || tensor == RESULTS;

	return (struct attention_rows){
		attention_operands_at(a, tensor,
				      parts ? attention_operands_place(a, part, b, 0, h)
					    : attention_operands_place_out(a, b, 0, h)),
		parts ? a->shape.ld_qkv : a->shape.ld_o
	};
}

double attention_operands_score_factor(const struct attention *a)
{
	return 1.0 / a->shape.head_size;
}
double attention_operands_sum_factor(const struct attention *a)
{
	return 1.0 / a->shape.sequence;
}

/* Column-major, scores (keys x queries) = K Q^T of `heads` heads. */
static enum status attention_operands_multiply_scores(const struct attention *a,
						      struct attention_rows q,
						      struct attention_rows k, unsigned heads,
						      struct error *err)
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
		.c = attention_operands_at(a, SCORES, 0),
		.ldc = n,
		.alpha = attention_operands_score_factor(a),
		.batch = heads,
		.stride_a = d,
		.stride_b = d,
		.stride_c = n * n,
	};

	return backend_gemm(a->stream, &gemm, err);
}

/* Y = scores X, or with the transposed scores. */
static enum status attention_operands_multiply_rows(const struct attention *a, bool transposed,
						    struct attention_rows x,
						    struct attention_rows y, unsigned heads,
						    struct error *err)
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
		.b = attention_operands_at(a, SCORES, 0),
		.ldb = n,
		.c = y.memory,
		.ldc = (int64_t)y.ld,
		.alpha = attention_operands_sum_factor(a),
		.batch = heads,
		.stride_a = d,
		.stride_b = n * n,
		.stride_c = d,
	};

	return backend_gemm(a->stream, &gemm, err);
}

/*
 * Forward S = Q K^T, O = S V. Backward dP = dO V^T, dV = dP^T dO, dQ = dP K, dK = dP^T Q: GEMMs
 * with the shapes of attention, but other values.
 */
static enum status attention_operands_launch_gemms(const struct attention *a, uint64_t b,
						   unsigned h, unsigned heads, struct error *err)
{
	struct attention_rows q = attention_operands_rows_of(a, INPUTS, QUERY, b, h),
			      k = attention_operands_rows_of(a, INPUTS, KEY, b, h),
			      v = attention_operands_rows_of(a, INPUTS, VALUE, b, h);
	struct attention_rows d_o;

	if (a->pass == FORWARD)
		return attention_operands_multiply_scores(a, q, k, heads, err) == STATUS_OK
			       ? attention_operands_multiply_rows(
					 a, false, v,
					 attention_operands_rows_of(a, OUTPUTS, QUERY, b, h), heads,
					 err)
			       : err->status;
	d_o = attention_operands_rows_of(a, OUTPUT_GRADIENTS, QUERY, b, h);
	if (attention_operands_multiply_scores(a, d_o, v, heads, err) != STATUS_OK ||
	    attention_operands_multiply_rows(a, true, d_o,
					     attention_operands_rows_of(a, RESULTS, VALUE, b, h),
					     heads, err) != STATUS_OK ||
	    attention_operands_multiply_rows(a, false, k,
					     attention_operands_rows_of(a, RESULTS, QUERY, b, h),
					     heads, err) != STATUS_OK)
		return err->status;
	return attention_operands_multiply_rows(a, true, q,
						attention_operands_rows_of(a, RESULTS, KEY, b, h),
						heads, err);
}

enum status attention_operands_launch(const struct attention *a, struct error *err)
{
	if (a->implementation == FUSED)
		return attention_operands_launch_fused(a, a->pass, err);
	for (uint64_t b = 0; b < a->shape.batch; b++)
		for (unsigned h = 0; h < a->shape.heads; h += a->scored) {
			unsigned rest = a->shape.heads - h;

			if (attention_operands_launch_gemms(a, b, h,
							    rest < a->scored ? rest : a->scored,
							    err) != STATUS_OK)
				return err->status;
		}
	return STATUS_OK;
}
