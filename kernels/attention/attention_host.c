/*
 * Attention on the CPU with the tiles of the GPU kernels: K, V and the gradients of 64 positions at
 * a time in FP32, GEMMs as loops along lines, which the compiler vectorises.
 */
#include "kernels/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

#define TILE 64
#define HEAD ATTENTION_HEAD_MAX

/* Working memory of a thread. */
struct workspace {
	float rows[TILE * HEAD], other_rows[TILE * HEAD]; /* of the tile that the thread owns */
	float near[TILE * HEAD], other_near[TILE * HEAD]; /* of the tile in the loop */
	/* transposed: lines are elements of the head */
	float across[TILE * HEAD], other_across[TILE * HEAD];
	float s[TILE * TILE], dp[TILE * TILE], turned[TILE * TILE];
	float out[TILE * HEAD], other_out[TILE * HEAD];
};

static unsigned attention_host_min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* c += a b: m x k times k x n; `ldc` and `ldb` are the distances of lines of c and b. */
HOST_VECTORISED
static void attention_host_multiply(float *c, unsigned ldc, const float *a, unsigned lda,
				    const float *b, unsigned ldb, unsigned m, unsigned n,
				    unsigned k)
{
	for (unsigned i = 0; i < m; i++)
		for (unsigned l = 0; l < k; l++) {
			float factor = a[i * lda + l];

			for (unsigned j = 0; j < n; j++)
				c[i * ldc + j] += factor * b[l * ldb + j];
		}
}

static void attention_host_turn(float *to, unsigned ld_to, const float *from, unsigned ld_from,
				unsigned rows, unsigned columns)
{
	for (unsigned i = 0; i < rows; i++)
		for (unsigned j = 0; j < columns; j++)
			to[j * ld_to + i] = from[i * ld_from + j];
}

/* A tile of a head of one of the tensors. */
struct place {
	const struct attention_shape *shape;
	unsigned batch, head;
	const float *lse, *delta;
};

static uint64_t attention_host_element_of(const struct place *at, uint64_t ld, unsigned row)
{
	return ((uint64_t)at->batch * at->shape->sequence + row) * ld +
	       (uint64_t)at->head * at->shape->head_size;
}

/* Loads `count` positions from `row` on, each as a line of HEAD. */
static void attention_host_fetch(float *to, const struct place *at, const void *tensor, uint64_t ld,
				 unsigned row, unsigned count)
{
	unsigned size = at->shape->head_size;

	for (unsigned i = 0; i < count; i++) {
		float *line = to + i * HEAD;
		const float *from =
			elements_open(tensor, at->shape->precision,
				      attention_host_element_of(at, ld, row + i), size, line);

		if (from != line)
			memcpy(line, from, size * sizeof(*line));
	}
}

static void attention_host_store(const struct place *at, void *tensor, uint64_t ld, unsigned row,
				 unsigned count, float *lines, float factor)
{
	unsigned size = at->shape->head_size;

	for (unsigned i = 0; i < count; i++) {
		float *line = lines + i * HEAD;

		for (unsigned d = 0; d < size; d++)
			line[d] *= factor;
		elements_store(tensor, at->shape->precision,
			       attention_host_element_of(at, ld, row + i), size, line);
	}
}

/* Converts the index of a tile among all batches' heads. */
static struct place attention_host_place_of(const struct attention_shape *s, uint64_t index,
					    unsigned *row)
{
	unsigned tiles = (s->sequence + TILE - 1) / TILE;
	uint64_t of_all = index / tiles;
	struct place at = { .shape = s,
			    .batch = (unsigned)(of_all / s->heads),
			    .head = (unsigned)(of_all % s->heads) };

	*row = (unsigned)(index % tiles) * TILE;
	return at;
}

static uint64_t attention_host_tile_count(const struct attention_shape *s)
{
	return (uint64_t)s->batch * s->heads * ((s->sequence + TILE - 1) / TILE);
}

static uint64_t attention_host_first_value(const struct place *at)
{
	return ((uint64_t)at->batch * at->shape->heads + at->head) *
	       kernel_attention_padded(at->shape->sequence);
}

static bool attention_host_hidden(const struct attention_shape *s, unsigned query, unsigned key)
{
	return s->causal && key > query;
}

/* Online softmax: a row of S becomes exp(scale (s - most)); rescales the contents of `out`. */
static void attention_host_softmax_row(const struct attention_shape *shape, float *s,
				       unsigned count, float *most, float *sum, float *out)
{
	float now = *most, rescale, total = 0;

	for (unsigned j = 0; j < count; j++)
		now = s[j] > now || s[j] != s[j] ? s[j] : now;
	rescale = expf((*most - now) * shape->scale);
	for (unsigned j = 0; j < count; j++) {
		s[j] = expf((s[j] - now) * shape->scale);
		total += s[j];
	}
	for (unsigned d = 0; d < shape->head_size; d++)
		out[d] *= rescale;
	*sum = *sum * rescale + total;
	*most = now;
}

static void attention_host_forward_tile(const struct attention_forward_arguments *a,
					struct workspace *w, uint64_t index)
{
	const struct attention_shape *s = &a->shape;
	unsigned row, rows, size = s->head_size;
	struct place at = attention_host_place_of(s, index, &row);
	float most[TILE], sum[TILE] = { 0 };
	float *lse = a->lse + attention_host_first_value(&at);

	rows = attention_host_min(TILE, s->sequence - row);
	for (unsigned i = 0; i < rows; i++)
		most[i] = -INFINITY;
	memset(w->out, 0, sizeof(w->out));
	attention_host_fetch(w->rows, &at, a->q, s->ld_qkv, row, rows);
	for (unsigned key = 0; key < (s->causal ? row + rows : s->sequence); key += TILE) {
		unsigned keys = attention_host_min(TILE, s->sequence - key);

		attention_host_fetch(w->near, &at, a->k, s->ld_qkv, key, keys);
		attention_host_fetch(w->other_near, &at, a->v, s->ld_qkv, key, keys);
		attention_host_turn(w->across, TILE, w->near, HEAD, keys, size);
		memset(w->s, 0, sizeof(w->s));
		attention_host_multiply(w->s, TILE, w->rows, HEAD, w->across, TILE, rows, keys,
					size);
		for (unsigned i = 0; i < rows; i++) {
			for (unsigned j = 0; j < keys; j++)
				if (attention_host_hidden(s, row + i, key + j))
					w->s[i * TILE + j] = -INFINITY;
			attention_host_softmax_row(s, w->s + i * TILE, keys, &most[i], &sum[i],
						   w->out + i * HEAD);
		}
		attention_host_multiply(w->out, HEAD, w->s, TILE, w->other_near, HEAD, rows, size,
					keys);
	}
	for (unsigned i = 0; i < rows; i++) {
		for (unsigned d = 0; d < size; d++)
			w->out[i * HEAD + d] /= sum[i];
		lse[row + i] = most[i] * s->scale + logf(sum[i]);
	}
	attention_host_store(&at, a->o, s->ld_o, row, rows, w->out, 1);
	for (uint64_t i = s->sequence;
	     row + rows == s->sequence && i < kernel_attention_padded(s->sequence); i++)
		lse[i] = INFINITY;
}

static void attention_host_forward_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	struct workspace *w = xmalloc(sizeof(*w));

	(void)part;
	for (uint64_t i = begin; i < end; i++)
		attention_host_forward_tile(context, w, i);
	free(w);
}

static enum status attention_forward_run(struct stream *stream, const void *arguments,
					 struct error *err)
{
	struct attention_forward_arguments a =
		*(const struct attention_forward_arguments *)arguments;

	if (kernel_attention_check(&a.shape, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, attention_host_tile_count(&a.shape), 1,
			     attention_host_forward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(attention_forward)

static void attention_host_delta_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct attention_backward_arguments *a = context;
	const struct attention_shape *s = &a->shape;
	struct workspace *w = xmalloc(sizeof(*w));

	(void)part;
	for (uint64_t index = begin; index < end; index++) {
		unsigned row, rows;
		struct place at = attention_host_place_of(s, index, &row);
		float *delta = a->delta + attention_host_first_value(&at);

		rows = attention_host_min(TILE, s->sequence - row);
		attention_host_fetch(w->rows, &at, a->o, s->ld_o, row, rows);
		attention_host_fetch(w->other_rows, &at, a->d_o, s->ld_o, row, rows);
		for (unsigned i = 0; i < rows; i++) {
			float sum = 0;

			for (unsigned d = 0; d < s->head_size; d++)
				sum += w->rows[i * HEAD + d] * w->other_rows[i * HEAD + d];
			delta[row + i] = sum;
		}
		for (uint64_t i = s->sequence;
		     row + rows == s->sequence && i < kernel_attention_padded(s->sequence); i++)
			delta[i] = 0;
	}
	free(w);
}

/* P and dS of `queries` x `keys`, from `rows` = Q, `other_rows` = dO and, transposed, K and V. */
static void attention_host_gradients_of_tile(struct workspace *w, const struct place *at,
					     const float *q, const float *d_o, unsigned query,
					     unsigned queries, unsigned key, unsigned keys)
{
	const struct attention_shape *s = at->shape;

	memset(w->s, 0, sizeof(w->s));
	memset(w->dp, 0, sizeof(w->dp));
	attention_host_multiply(w->s, TILE, q, HEAD, w->across, TILE, queries, keys, s->head_size);
	attention_host_multiply(w->dp, TILE, d_o, HEAD, w->other_across, TILE, queries, keys,
				s->head_size);
	for (unsigned i = 0; i < queries; i++) {
		float lse = at->lse[query + i], delta = at->delta[query + i];

		for (unsigned j = 0; j < keys; j++) {
			unsigned e = i * TILE + j;

			w->s[e] = attention_host_hidden(s, query + i, key + j)
					  ? 0
					  : expf(w->s[e] * s->scale - lse);
			w->dp[e] = w->s[e] * (w->dp[e] - delta);
		}
	}
}

static void attention_host_queries_tile(const struct attention_backward_arguments *a,
					struct workspace *w, uint64_t index)
{
	const struct attention_shape *s = &a->shape;
	unsigned row, rows;
	struct place at = attention_host_place_of(s, index, &row);

	rows = attention_host_min(TILE, s->sequence - row);
	at.lse = a->lse + attention_host_first_value(&at);
	at.delta = a->delta + attention_host_first_value(&at);
	memset(w->out, 0, sizeof(w->out));
	attention_host_fetch(w->rows, &at, a->q, s->ld_qkv, row, rows);
	attention_host_fetch(w->other_rows, &at, a->d_o, s->ld_o, row, rows);
	for (unsigned key = 0; key < (s->causal ? row + rows : s->sequence); key += TILE) {
		unsigned keys = attention_host_min(TILE, s->sequence - key);

		attention_host_fetch(w->near, &at, a->k, s->ld_qkv, key, keys);
		attention_host_fetch(w->other_near, &at, a->v, s->ld_qkv, key, keys);
		attention_host_turn(w->across, TILE, w->near, HEAD, keys, s->head_size);
		attention_host_turn(w->other_across, TILE, w->other_near, HEAD, keys, s->head_size);
		attention_host_gradients_of_tile(w, &at, w->rows, w->other_rows, row, rows, key,
						 keys);
		attention_host_multiply(w->out, HEAD, w->dp, TILE, w->near, HEAD, rows,
					s->head_size, keys);
	}
	attention_host_store(&at, a->dq, s->ld_qkv, row, rows, w->out, s->scale);
}

static void attention_host_keys_tile(const struct attention_backward_arguments *a,
				     struct workspace *w, uint64_t index)
{
	const struct attention_shape *s = &a->shape;
	unsigned key, keys;
	struct place at = attention_host_place_of(s, index, &key);

	keys = attention_host_min(TILE, s->sequence - key);
	at.lse = a->lse + attention_host_first_value(&at);
	at.delta = a->delta + attention_host_first_value(&at);
	memset(w->out, 0, sizeof(w->out));
	memset(w->other_out, 0, sizeof(w->other_out));
	attention_host_fetch(w->rows, &at, a->k, s->ld_qkv, key, keys);
	attention_host_fetch(w->other_rows, &at, a->v, s->ld_qkv, key, keys);
	attention_host_turn(w->across, TILE, w->rows, HEAD, keys, s->head_size);
	attention_host_turn(w->other_across, TILE, w->other_rows, HEAD, keys, s->head_size);
	for (unsigned row = s->causal ? key : 0; row < s->sequence; row += TILE) {
		unsigned rows = attention_host_min(TILE, s->sequence - row);

		attention_host_fetch(w->near, &at, a->q, s->ld_qkv, row, rows);
		attention_host_fetch(w->other_near, &at, a->d_o, s->ld_o, row, rows);
		attention_host_gradients_of_tile(w, &at, w->near, w->other_near, row, rows, key,
						 keys);
		attention_host_turn(w->turned, TILE, w->s, TILE, rows, keys);
		attention_host_multiply(w->out, HEAD, w->turned, TILE, w->other_near, HEAD, keys,
					s->head_size, rows);
		attention_host_turn(w->turned, TILE, w->dp, TILE, rows, keys);
		attention_host_multiply(w->other_out, HEAD, w->turned, TILE, w->near, HEAD, keys,
					s->head_size, rows);
	}
	attention_host_store(&at, a->dv, s->ld_qkv, key, keys, w->out, 1);
	attention_host_store(&at, a->dk, s->ld_qkv, key, keys, w->other_out, s->scale);
}

static void attention_host_gradient_slice(void *context, unsigned part, uint64_t begin,
					  uint64_t end)
{
	struct workspace *w = xmalloc(sizeof(*w));

	(void)part;
	for (uint64_t i = begin; i < end; i++) {
		attention_host_queries_tile(context, w, i);
		attention_host_keys_tile(context, w, i);
	}
	free(w);
}

static enum status attention_backward_run(struct stream *stream, const void *arguments,
					  struct error *err)
{
	struct attention_backward_arguments a =
		*(const struct attention_backward_arguments *)arguments;

	if (kernel_attention_check(&a.shape, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, attention_host_tile_count(&a.shape), 1,
			     attention_host_delta_slice, &a);
	host_stream_parallel(stream, attention_host_tile_count(&a.shape), 1,
			     attention_host_gradient_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(attention_backward)
