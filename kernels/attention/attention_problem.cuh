/* Arguments of an attention call for the kernels: a grid of blocks with one tile of rows each. */
#ifndef GPUPROOF_KERNELS_ATTENTION_PROBLEM_CUH
#define GPUPROOF_KERNELS_ATTENTION_PROBLEM_CUH

#include "kernels/attention/attention.h"

struct attention_problem {
	attention_shape shape;
	const void *q, *k, *v, *o, *d_o;
	void *out, *dq, *dk, *dv;
	float *lse, *delta;
	int tiles; /* tiles of rows per batch and head */
	/* heads whose blocks run together, so that they share K and V in the cache */
	int heads_near;
};

/*
 * Blocks that run at the same time read at most this much of K and V: half of the smallest L2 cache
 * of GPUs with tensor cores.
 */
#define ATTENTION_NEAR_BYTES (16 << 20)

static inline void attention_problem_tile_rows(attention_problem *p, unsigned rows)
{
	const attention_shape *s = &p->shape;
	uint64_t heads = (uint64_t)s->batch * s->heads;
	uint64_t bytes = 2 * (uint64_t)s->sequence * s->head_size * precision_bytes(s->precision);
	uint64_t near = ATTENTION_NEAR_BYTES / bytes;

	p->tiles = (int)((s->sequence + rows - 1) / rows);
	p->heads_near = (int)(near < 8 ? (heads < 8 ? heads : 8) : near > heads ? heads : near);
}

static inline attention_problem attention_problem_of(const attention_forward_arguments *a,
						     unsigned rows)
{
	attention_problem p = {};

	p.shape = a->shape;
	p.q = a->q;
	p.k = a->k;
	p.v = a->v;
	p.out = a->o;
	p.lse = a->lse;
	attention_problem_tile_rows(&p, rows);
	return p;
}

static inline attention_problem attention_problem_of(const attention_backward_arguments *a,
						     unsigned rows)
{
	attention_problem p = {};

	p.shape = a->shape;
	p.q = a->q;
	p.k = a->k;
	p.v = a->v;
	p.o = a->o;
	p.d_o = a->d_o;
	p.lse = (float *)a->lse;
	p.dq = a->dq;
	p.dk = a->dk;
	p.dv = a->dv;
	p.delta = a->delta;
	attention_problem_tile_rows(&p, rows);
	return p;
}

static inline unsigned attention_problem_blocks(const attention_problem &p)
{
	return (unsigned)p.tiles * p.shape.batch * p.shape.heads;
}

/*
 * The part compiled only for compute capability 9.0. True for FP16 and BF16; the caller checks that
 * addresses and lines are multiples of 16 bytes.
 */
extern "C" bool attention_wgmma_takes(const struct attention_shape *shape);
extern "C" enum status attention_wgmma_forward(struct stream *stream,
					       const attention_forward_arguments *a,
					       struct error *err);
/* Call after `delta` has been computed. */
extern "C" enum status attention_wgmma_backward(struct stream *stream,
						const attention_backward_arguments *a,
						struct error *err);

#endif
