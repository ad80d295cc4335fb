#include "suites/parallel/predict/predict_blocks.h"

#include "kernels/attention/attention.h"
#include "suites/models/buffer_alias.h"
#include "suites/parallel/predict/predict_images.h"
#include "suites/parallel/predict/predict_reductions.h"

/* Y = X W^T of one rank: in and out columns. */
struct product {
	double in, out;
};
enum { QKV, OUT, UP, DOWN, PRODUCTS };

static double hidden_of(const struct work *w)
{
	return (double)w->setup->transformer.hidden;
}

static double parts_of(const struct work *w)
{
	return (double)w->partition.parts;
}

static struct product product_of(const struct work *w, int product)
{
	double h = hidden_of(w), mine = h / parts_of(w);
	const struct product all[PRODUCTS] = {
		[QKV] = { h, 3 * mine },
		[OUT] = { mine, h },
		[UP] = { h, 4 * mine },
		[DOWN] = { 4 * mine, h },
	};

	return all[product];
}

static double forward_product(const struct work *w, struct product p, double rows)
{
	return curves_product(w->curves, "tn", p.out, rows, p.in);
}

static double inputs_product(const struct work *w, struct product p, double rows)
{
	return curves_product(w->curves, "nn", p.in, rows, p.out);
}

static double weights_product(const struct work *w, struct product p, double rows)
{
	return curves_product(w->curves, "nt", p.in, p.out, rows);
}

/* A kernel that reads and writes `tensors` tensors of rows x columns. */
static double pass(const struct work *w, double tensors, double rows, double columns)
{
	return curves_memory(w->curves, tensors * rows * columns *
						(double)precision_bytes(w->setup->precision));
}

/* Rows between products of which this rank has a share. */
static double shared_rows(const struct work *w, double rows)
{
	return w->partition.sequence ? rows / parts_of(w) : rows;
}

static double attention(const struct work *w, double rows, bool forward)
{
	const struct transformer_shape *t = &w->setup->transformer;
	struct attention_shape shape = {
		.batch = (unsigned)(rows / (double)t->sequence),
		.heads = (unsigned)(t->heads / (uint64_t)w->partition.parts),
		.sequence = (unsigned)t->sequence,
		.head_size = (unsigned)(t->hidden / t->heads),
		.causal = 1,
	};

	return curves_attention(w->curves, forward, shape.head_size, shape.sequence,
				attention_operations(&shape, forward ? 2 : 5));
}

static double norms(const struct work *w, double rows, double count)
{
	return count * pass(w, 2, shared_rows(w, rows), hidden_of(w));
}

/* GELU reads sums, writes them with their bias unless it was added before, and its output. */
static double gelu(const struct work *w, double rows, bool again)
{
	return pass(w, again ? 2 : 3, rows, product_of(w, UP).out);
}

/* Biases of products whose sums ranks add up; elsewhere they are the products' own. */
static double summed_biases(const struct work *w, double rows)
{
	return w->partition.parts > 1 ? 2 * pass(w, 2, shared_rows(w, rows), hidden_of(w)) : 0;
}

/* All but the last product and the addition after it. */
static double block_kept_time(const struct work *w, double rows)
{
	return norms(w, rows, 2) + forward_product(w, product_of(w, QKV), rows) +
	       attention(w, rows, true) + forward_product(w, product_of(w, OUT), rows) +
	       pass(w, 3, shared_rows(w, rows), hidden_of(w)) +
	       forward_product(w, product_of(w, UP), rows) + gelu(w, rows, false);
}

static struct product head_product(const struct work *w, size_t l)
{
	return (struct product){ hidden_of(w), (double)w->model.layer[l].out };
}

/* Products of chunks of the rows, each of which adds to the weights' gradients. */
static double head_backward(const struct work *w, size_t l, double rows)
{
	double chunks = (double)buffer_alias_loss_chunks(w->setup);
	struct product p = head_product(w, l);

	return chunks * (inputs_product(w, p, rows / chunks) +
			 weights_product(w, p, rows / chunks)) +
	       (chunks - 1) * pass(w, 1, p.out, p.in);
}

double blocks_forward_time(const struct work *w, size_t l, double rows)
{
	double h = hidden_of(w);

	switch (setup_layer_kind(w->setup, l)) {
	case LAYER_EMBEDDING:
		return pass(w, 3, rows, h);
	case LAYER_CONVOLUTION:
		return images_forward_time(w, l, rows);
	case LAYER_HEAD:
		return norms(w, rows, 1) + forward_product(w, head_product(w, l), rows);
	default:
		return block_kept_time(w, rows) + forward_product(w, product_of(w, DOWN), rows) +
		       pass(w, 3, shared_rows(w, rows), h) + summed_biases(w, rows);
	}
}

/* Computes again what was not kept. */
static double recomputed(const struct work *w, double rows)
{
	if (setup_recomputes_blocks(w->setup))
		return block_kept_time(w, rows);
	return w->setup->pointwise ? norms(w, rows, 2) + gelu(w, rows, true) : 0;
}

static double block_backward(const struct work *w, double rows)
{
	double h = hidden_of(w), inner = product_of(w, UP).out, seconds = recomputed(w, rows);

	for (int p = 0; p < PRODUCTS; p++)
		seconds += inputs_product(w, product_of(w, p), rows) +
			   weights_product(w, product_of(w, p), rows) +
			   pass(w, 1, rows, product_of(w, p).out);
	/* GELU, two norms, one addition */
	return seconds + attention(w, rows, false) + pass(w, 3, rows, inner) +
	       2 * pass(w, 3, shared_rows(w, rows), h) + pass(w, 3, shared_rows(w, rows), h);
}

double blocks_backward_time(const struct work *w, size_t l, double rows)
{
	double h = hidden_of(w), table;

	switch (setup_layer_kind(w->setup, l)) {
	case LAYER_CONVOLUTION:
		return images_backward_time(w, l, rows);
	case LAYER_EMBEDDING:
		table = (double)w->model.layer[l].tensor[EMBEDDING_TABLE].count / h;
		return pass(w, 1, 2 * rows + table + (double)w->setup->transformer.sequence, h);
	case LAYER_HEAD:
		return head_backward(w, l, rows) + pass(w, 3, shared_rows(w, rows), h);
	default:
		return block_backward(w, rows);
	}
}

double blocks_input_time(const struct work *w, size_t l, double rows)
{
	double tensors = setup_layer_kind(w->setup, l) == LAYER_BLOCK ? 3 : 2;

	if (setup_layer_kind(w->setup, l) == LAYER_CONVOLUTION)
		return images_input_time(w, l, rows);
	return l > 0 ? pass(w, tensors, shared_rows(w, rows), hidden_of(w)) : 0;
}

int blocks_sums(const struct work *w, size_t l, bool forward)
{
	if (w->partition.parts == 1)
		return 0;
	switch (setup_layer_kind(w->setup, l)) {
	case LAYER_EMBEDDING:
		return forward ? 1 : 0;
	case LAYER_HEAD:
		return forward ? 0 : 1;
	default:
		return 2;
	}
}

double blocks_sum_time(const struct work *w, size_t l, double rows, bool forward)
{
	double values = rows * hidden_of(w);

	if (!w->partition.sequence)
		return work_collective(w, "all_reduce", w->partition.parts, values);
	/* The embedding only scatters. Backward gathers once more for weights' gradients. */
	return work_collective(w, "reduce_scatter", w->partition.parts, values) +
	       (l > 0 ? forward ? 1 : 2 : 0) *
		       work_collective(w, "all_gather", w->partition.parts, values);
}

/* The product that a sum in backward runs with: weights' gradient of up, qkv, or the head. */
static double concurrent(const struct work *w, size_t l, int sum, double rows)
{
	return weights_product(w,
			       setup_layer_kind(w->setup, l) == LAYER_HEAD
				       ? head_product(w, l)
				       : product_of(w, sum == 0 ? UP : QKV),
			       rows);
}

static void backward(struct reductions *r, const struct work *w, size_t l, double rows)
{
	int sums = blocks_sums(w, l, false);
	double rest = blocks_backward_time(w, l, rows) + blocks_input_time(w, l, rows);

	for (int i = 0; i < sums; i++)
		rest -= concurrent(w, l, i, rows);
	reductions_compute(r, rest, REDUCTION_DURING_GEMM);
	for (int i = 0; i < sums; i++) {
		reductions_add(r, blocks_sum_time(w, l, rows, false));
		reductions_compute(r, concurrent(w, l, i, rows), REDUCTION_DURING_GEMM);
		reductions_wait(r, r->count - 1);
	}
}

double predict_tensor_blocks(const struct work *w)
{
	double parts = (double)setup_accumulate(w->setup), rows = (double)w->rows;
	size_t last = w->setup->layers;
	struct reductions r = {
		.no_contention = w->curves->no_contention,
		.event_record = work_event_record(w),
		.stream_wait = work_stream_wait(w, "all_reduce", w->setup->ranks),
	};

	for (size_t l = 0; l < last; l++) {
		reductions_compute(&r, blocks_forward_time(w, l, rows), REDUCTION_DURING_GEMM);
		for (int i = 0; i < blocks_sums(w, l, true); i++) {
			reductions_add(&r, blocks_sum_time(w, l, rows, true));
			reductions_wait(&r, r.count - 1);
		}
	}
	reductions_compute(&r, work_loss(w, rows), REDUCTION_DURING_GEMM);
	for (size_t l = last; l-- > 0;)
		backward(&r, w, l, rows);
	return parts * r.now + (parts - 1) * work_adding_all(w) + work_update_begin(w) +
	       work_update(w, (double)w->model.elements);
}
