/*
 * Fused softmax attention: "attention_forward" and "attention_backward". For each batch and head
 *
 *	S = scale Q K^T;  causal: S[i][j] = -inf for j > i;
 *	P = softmax of each row of S;  O = P V
 *
 * by tiles with an online softmax, so that memory is linear in the sequence: Dao et al.,
 * FlashAttention (2022), algorithm 1, and Dao, FlashAttention-2 (2023), algorithms 1 and 2.
 * Backward recomputes S and P from Q, K and `lse`:
 *
 *	delta[i] = sum of dO[i] O[i];  dV = P^T dO;  dS = P (dO V^T - delta);
 *	dQ = scale dS K;  dK = scale dS^T Q
 *
 * dQ and (dK, dV) come from two kernels; each writes only its own output. There are no atomic
 * additions, so results repeat bit for bit on one device model, at the cost of two more GEMMs than
 * the minimum (seven instead of five).
 *
 * A tensor is batch x sequence x heads x head_size: element (b, s, h, d) is at (b * sequence + s) *
 * ld + h * head_size + d, so that Q, K and V may be parts of one GEMM's result (ld = 3 * heads *
 * head_size). Precisions: FP32, FP16 and BF16; TF32 is computed as FP32. Sums, softmax and `lse`
 * are FP32. P and dS are rounded to FP16 or BF16 before tensor cores multiply them: FP16 from
 * compute capability 7.0 (wmma; mma.sync from 7.5), BF16 from 8.0, both with wgmma on 9.0.
 *
 * head_size must be a multiple of 8, at most ATTENTION_HEAD_MAX; others are STATUS_UNSUPPORTED.
 */
#ifndef GPUPROOF_KERNELS_ATTENTION_ATTENTION_H
#define GPUPROOF_KERNELS_ATTENTION_ATTENTION_H

#include "kernels/kernel.h"

#define ATTENTION_HEAD_MAX 128
#define ATTENTION_HEADS_MAX 65535 /* over all batches */

/* Shape of all tensors of one call. */
struct attention_shape {
	enum precision precision;
	unsigned batch, heads, sequence, head_size;
	/* of q, k, v and their gradients: elements between consecutive positions */
	uint64_t ld_qkv;
	uint64_t ld_o; /* of o and do */
	float scale;   /* usually 1 / sqrt(head_size) */
	int causal;
};

/*
 * Values of `lse` and of `delta` per batch and head: the sequence, rounded up to whole tiles.
 * Forward fills the rest of `lse` with infinity, backward the rest of `delta` with 0.
 */
#define ATTENTION_TILE 128
static inline uint64_t kernel_attention_padded(unsigned sequence)
{
	return ((uint64_t)sequence + ATTENTION_TILE - 1) / ATTENTION_TILE * ATTENTION_TILE;
}
static inline uint64_t kernel_attention_row_values(const struct attention_shape *s)
{
	return (uint64_t)s->batch * s->heads * kernel_attention_padded(s->sequence);
}

/*
 * Floating-point operations of the GEMMs as counted in publications: forward two GEMMs of sequence
 * x sequence x head_size, backward five; causal: half of them.
 */
static inline double kernel_attention_operations(const struct attention_shape *s, int products)
{
	return 2.0 * products * s->batch * s->heads * s->sequence * s->sequence * s->head_size /
	       (s->causal ? 2 : 1);
}

/*
 * lse[i] = log of the sum over j of exp(S[i][j]): kernel_attention_row_values() floats, for
 * backward.
 */
struct attention_forward_arguments {
	struct attention_shape shape;
	const void *q, *k, *v;
	void *o;
	float *lse;
};

/*
 * Computes the gradients from the forward's tensors and `d_o`, the gradient of o. `delta`: scratch
 * of kernel_attention_row_values() floats.
 */
struct attention_backward_arguments {
	struct attention_shape shape;
	const void *q, *k, *v, *o, *d_o;
	const float *lse;
	void *dq, *dk, *dv;
	float *delta;
};

/* STATUS_OK if the kernels support this shape. */
static inline enum status kernel_attention_check(const struct attention_shape *s, struct error *err)
{
	if (s->precision == PRECISION_FP64 || s->precision >= PRECISION_COUNT)
		return error_set(err, STATUS_UNSUPPORTED, "attention is not written for %s",
				 precision_name(s->precision));
	if (s->head_size == 0 || s->head_size % 8 != 0 || s->head_size > ATTENTION_HEAD_MAX)
		return error_set(err, STATUS_UNSUPPORTED,
				 "attention: head size %u; allowed: multiples of 8 up to %d",
				 s->head_size, ATTENTION_HEAD_MAX);
	if ((uint64_t)s->batch * s->heads > ATTENTION_HEADS_MAX || s->sequence > 1u << 24)
		return error_set(err, STATUS_UNSUPPORTED,
				 "attention: %u x %u heads of %u positions; allowed: 65,535 heads "
				 "in all, 2^24 positions",
				 s->batch, s->heads, s->sequence);
	if (!(s->scale > 0))
		return error_set(err, STATUS_UNSUPPORTED,
				 "attention: scale %g; allowed: greater than 0", (double)s->scale);
	return STATUS_OK;
}

#endif
