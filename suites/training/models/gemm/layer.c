#include "suites/training/models/gemm/layer.h"

#include <math.h>

#include "kernels/training/training.h"
#include "suites/training/models/blocks/blocks.h"
#include "suites/training/models/setup.h"

/*
 * Choice of the forward GEMM's epilogue: bias and ReLU fused, or in a kernel of their own. With
 * some algorithms the fused epilogue is slower than the kernel it saves.
 *
 * Backward has no such choice. cuBLASLt's epilogues for it cost more than they save: masks as bits
 * (RELU_AUX_BIAS, DRELU) and the bias' gradient with them (DRELU_BGRAD). On an H200 at its power
 * limit, cuBLAS 13.1, products of 8192^3: in TF32 RELU_AUX_BIAS costs 0.49 ms, DRELU 0.58,
 * DRELU_BGRAD 0.59; in FP16 0.04, 0.04 and 0.42. The pass "output_gradient", which does all of it,
 * takes 0.27 and 0.10 ms.
 */

struct fusion_trial {
	struct network *network;
	size_t layer;
	uint64_t row, rows;
};

enum candidate { SEPARATE, FUSED, CANDIDATES };

static enum status layer_run_candidate(void *context, size_t candidate, struct error *err)
{
	const struct fusion_trial *t = context;

	t->network->fusions[t->layer] = candidate == FUSED ? FUSION_ON : FUSION_OFF;
	return gemm_layer_forward(t->network, t->layer, t->row, t->rows, err);
}

/* The choice, if it needs no measurement; otherwise FUSION_AUTO. */
static enum fusion gemm_layer_fixed_fusion(const struct network *n, size_t layer)
{
	const struct model_layer *mine = &n->local.layer[layer];

	if (n->setup->fusion != FUSION_AUTO)
		return n->setup->fusion;
	/* Every rank computes this layer, and all must get the same bits. */
	if (gemm_tuning_is_replicated(n, layer))
		return FUSION_OFF;
	/* On the CPU the fused epilogue works in cache at no cost, and results are reproducible. */
	if (n->stream->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return FUSION_ON;
	/*
	 * The choice of an earlier layer of the same shape; the last layer has a different
	 * epilogue.
	 */
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->fusions[l] != FUSION_AUTO && n->local.layer[l].in == mine->in &&
		    n->local.layer[l].out == mine->out &&
		    (l + 1 == n->setup->layers) == (layer + 1 == n->setup->layers))
			return n->fusions[l];
	return FUSION_AUTO;
}

/*
 * Sets network->fusions[layer], once per layer: to the setup's value, or for `auto` by timing both
 * on rows [row, row + rows). Only during tuning.
 */
static enum status gemm_layer_fusion_tune(struct network *n, size_t layer, uint64_t row,
					  uint64_t rows, struct error *err)
{
	struct fusion_trial trial = { n, layer, row, rows };
	struct error own = ERROR_NONE;
	size_t fastest = SEPARATE;

	n->fusions[layer] = gemm_layer_fixed_fusion(n, layer);
	if (n->fusions[layer] != FUSION_AUTO)
		return STATUS_OK;
	/* Not every library fuses epilogues for every precision and shape. */
	if (layer_select_fastest(n->stream, CANDIDATES, layer_run_candidate, &trial, &fastest,
				 &own) == STATUS_UNSUPPORTED)
		fastest = SEPARATE;
	else if (own.status != STATUS_OK)
		return error_set(err, own.status, "%s", own.message);
	n->fusions[layer] = fastest == FUSED ? FUSION_ON : FUSION_OFF;
	return STATUS_OK;
}

/* True if there is nothing to enqueue: after an error, or for an idle network without links. */
static bool gemm_layer_rests(const struct network *n, const struct error *err)
{
	return err->status != STATUS_OK || (n->idle && !n->links);
}

enum status gemm_layer_forward_product(struct network *n, size_t l, uint64_t row, uint64_t rows,
				       struct error *err)
{
	return gemm_layer_rests(n, err) ? err->status
					: gemm_tuning_forward(n, l, row, rows, false, err);
}

static enum status layer_record_activation(struct network *n, size_t l, uint64_t row, uint64_t rows,
					   struct error *err)
{
	uint64_t bytes = rows * model_partition_width(n->setup, &n->partition, l) *
			 precision_bytes(n->setup->precision);

	return n->record[l] ? network_copy(n, network_row(n, l, n->record[l], row),
					   network_activation(n, l, row), bytes, err)
			    : err->status;
}

enum status gemm_layer_activate(struct network *n, size_t l, uint64_t row, uint64_t rows,
				struct error *err)
{
	struct bias_relu_arguments bias = {
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = n->local.layer[l].out,
		.relu = l + 1 < n->setup->layers,
	};

	if (gemm_layer_rests(n, err))
		return err->status;
	bias.y = network_activation(n, l + 1, row);
	bias.bias = network_weights(n, l, LINEAR_BIAS);
	network_launch(n, "bias_relu", &bias, err);
	return layer_record_activation(n, l + 1, row, rows, err);
}

enum status gemm_layer_forward(struct network *n, size_t l, uint64_t row, uint64_t rows,
			       struct error *err)
{
	const struct pass pass = { n, l, row, rows, false };

	if (gemm_layer_rests(n, err))
		return err->status;
	if (n->local.layer[l].kind != LAYER_LINEAR)
		return model_blocks_forward(&pass, err);
	if (n->fusions[l] == FUSION_AUTO && n->tuning &&
	    gemm_layer_fusion_tune(n, l, row, rows, err) != STATUS_OK)
		return err->status;
	gemm_tuning_forward(n, l, row, rows, n->fusions[l] == FUSION_ON, err);
	return n->fusions[l] == FUSION_ON ? layer_record_activation(n, l + 1, row, rows, err)
					  : gemm_layer_activate(n, l, row, rows, err);
}

enum status gemm_layer_loss(struct network *n, uint64_t row, uint64_t rows, double gradient_scale,
			    struct error *err)
{
	n->gradient_scale = gradient_scale;
	if (n->idle || network_loss_in_chunks(n))
		return err->status;
	return gemm_layer_loss_of(n, network_activation(n, n->setup->layers, row), row, rows,
				  gradient_scale, err);
}

/*
 * The vocabulary is divided among ranks, which exchange three numbers per row (Shoeybi et al. 2019,
 * section 3).
 */
static enum status layer_loss_of_parts(struct network *n, void *logits, uint64_t row, uint64_t rows,
				       double gradient_scale, struct error *err)
{
	uint64_t parts = (uint64_t)n->partition.parts;
	struct softmax_part part = {
		.logits = logits,
		.labels = n->labels + row,
		.precision = setup_storage(n->setup),
		.rows = rows,
	};
	struct softmax_statistics_arguments statistics = { .statistics = n->blocks.statistics };
	struct softmax_gradient_arguments gradient = {
		.statistics = n->blocks.all_statistics,
		.parts = (unsigned)parts,
		.row_loss = n->row_loss + row,
		.gradient_scale = gradient_scale,
		.loss_scale = n->loss_scale,
	};
	uint64_t elements =
		rows * parts * sizeof(*gradient.statistics) / precision_bytes(n->setup->precision);

	part.columns = model_partition_vocabulary(n->setup, &n->partition, &part.first);
	statistics.part = gradient.part = part;
	network_launch(n, "softmax_statistics", &statistics, err);
	n->links->start(n->links->state, PARTS_GATHER, n->blocks.all_statistics,
			n->blocks.statistics, elements, err);
	n->links->wait(n->links->state, err);
	return network_launch(n, "softmax_gradient", &gradient, err);
}

enum status gemm_layer_loss_of(struct network *n, void *logits, uint64_t row, uint64_t rows,
			       double gradient_scale, struct error *err)
{
	struct softmax_cross_entropy_arguments loss = {
		.logits = logits,
		.labels = n->labels + row,
		.row_loss = n->row_loss + row,
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = n->setup->widths[n->setup->layers],
		.gradient_scale = gradient_scale,
		.loss_scale = n->loss_scale,
	};

	if (n->setup->kind == MODEL_TRANSFORMER && n->partition.parts > 1 && !n->idle)
		return layer_loss_of_parts(n, logits, row, rows, gradient_scale, err);
	return network_launch(n, "softmax_cross_entropy", &loss, err);
}

/* Outputs of the layer's ReLU, which mask its gradient; NULL: the last layer has no ReLU. */
static const void *gemm_layer_mask_of(const struct network *n, size_t l, uint64_t row)
{
	if (l + 1 == n->setup->layers)
		return NULL;
	return network_element(n, (void *)n->masks[l + 1],
			       row % n->kept[l + 1] * n->local.layer[l].out);
}

enum status gemm_layer_output_pass(struct network *n, size_t l, uint64_t rows, void *dy,
				   const void *y, uint64_t row, bool accumulate, struct error *err)
{
	bool transposes = n->wgrad_layouts[l] == WGRAD_TRANSPOSED;
	struct output_gradient_arguments pass = {
		.dy = dy,
		.y = y,
		.transposed = transposes ? network_transposed(n, l, row) : NULL,
		.ld = n->step_rows,
		.sum = n->bias_sums[l] ? n->bias_sums[l] : network_gradients(n, l, LINEAR_BIAS),
		.beta = accumulate ? 1 : 0,
		.scratch = n->scratch,
		.precision = setup_storage(n->setup),
		.rows = rows,
		.columns = n->local.layer[l].out,
	};

	return network_launch(n, "output_gradient", &pass, err);
}

enum status gemm_layer_output_gradient(struct network *n, size_t l, uint64_t row, uint64_t rows,
				       void *dy, bool accumulate, struct error *err)
{
	const struct pass pass = { n, l, row, rows, accumulate };

	if (gemm_layer_rests(n, err))
		return err->status;
	if (n->local.layer[l].kind != LAYER_LINEAR)
		return model_blocks_backward(&pass, dy, err);
	if (n->wgrad_layouts[l] == WGRAD_AUTO && n->tuning) {
		/* All rows of one wgrad product: `row` may be in the middle of them. */
		uint64_t before = setup_wgrad_microbatches(n->setup) > 1 ? row % n->step_rows : 0;
		char *first = (char *)dy -
			      before * n->local.layer[l].out * precision_bytes(n->setup->precision);

		gemm_tuning_tune_wgrad_layout(n, l, first, gemm_layer_mask_of(n, l, row - before),
					      err);
	}
	return gemm_layer_output_pass(n, l, rows, dy, gemm_layer_mask_of(n, l, row), row,
				      accumulate, err);
}

enum status gemm_layer_weight_gradient(struct network *n, size_t l, uint64_t row, uint64_t rows,
				       const void *dy, bool accumulate, struct error *err)
{
	const struct outputs all = { 0, n->local.layer[l].out };

	return gemm_layer_weight_gradient_of(n, l, all, row, rows, dy, accumulate, err);
}

enum status gemm_layer_weight_gradient_of(struct network *n, size_t l, struct outputs outputs,
					  uint64_t row, uint64_t rows, const void *dy,
					  bool accumulate, struct error *err)
{
	if (gemm_layer_rests(n, err) || n->local.layer[l].kind != LAYER_LINEAR)
		return err->status;
	return gemm_tuning_wgrad(n, l, outputs, dy, row, rows, accumulate ? 1 : 0, err);
}

enum status gemm_layer_input_gradient(struct network *n, size_t l, uint64_t rows, const void *dy,
				      void *dx, struct error *err)
{
	const struct pass pass = { n, l, 0, rows, false };

	if (gemm_layer_rests(n, err))
		return err->status;
	return n->local.layer[l].kind == LAYER_LINEAR
		       ? gemm_tuning_dgrad(n, l, dy, dx, rows, err)
		       : model_blocks_input_gradient(&pass, dy, dx, err);
}

enum status gemm_layer_backward_begin(struct network *n, size_t l, uint64_t row, uint64_t rows,
				      void *dy, bool accumulate, struct error *err)
{
	for (size_t r = segments_recompute_from(&n->segments, l); r < l; r++)
		gemm_layer_forward(n, r, row, rows, err);
	return gemm_layer_output_gradient(n, l, row, rows, dy, accumulate, err);
}

enum status gemm_layer_backward(struct network *n, size_t l, uint64_t row, uint64_t rows, void *dy,
				void *dx, bool accumulate, struct error *err)
{
	gemm_layer_backward_begin(n, l, row, rows, dy, accumulate, err);
	gemm_layer_weight_gradient(n, l, row, rows, dy, accumulate, err);
	return dx ? gemm_layer_input_gradient(n, l, rows, dy, dx, err) : err->status;
}

enum status gemm_layer_forward_all(struct network *n, uint64_t row, uint64_t rows,
				   struct error *err)
{
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		gemm_layer_forward(n, l, row, rows, err);
	return err->status;
}

enum status gemm_layer_backward_all(struct network *n, uint64_t row, uint64_t rows, bool accumulate,
				    struct error *err)
{
	void *gradient = network_activation(n, n->setup->layers, row);

	for (size_t l = n->setup->layers; l-- > 0;) {
		void *to = l > 0 ? n->transient[network_transient_buffer(n, l)] : NULL;

		gemm_layer_backward(n, l, row, rows, gradient, to, accumulate, err);
		gradient = to;
	}
	return err->status;
}

enum status gemm_layer_backward_end(struct network *n, struct error *err)
{
	return n->partition.sequence ? model_blocks_sum_norm_gradients(n, err) : err->status;
}

static void *layer_moment_of(const struct network *n, void *array, uint64_t element)
{
	return array ? (char *)array + element * precision_bytes(setup_moment(n->setup)) : NULL;
}

/* Master weights, which the optimizer updates; NULL: there are only the stored weights. */
static void *layer_master_of(const struct network *n, const struct shard_range *part)
{
	uint64_t element = setup_has_master(n->setup) ? part->master : part->weights;

	if (n->setup->storage_only)
		return NULL;
	return (char *)n->master + element * precision_bytes(setup_master(n->setup));
}

/*
 * Stored weights if they differ from the master weights; NULL: there are none, or they are not kept
 * (zero3).
 */
static void *layer_copy_of(const struct network *n, const struct shard_range *part)
{
	return n->weights && (setup_has_master(n->setup) || n->setup->storage_only)
		       ? network_element(n, n->weights, part->weights)
		       : NULL;
}

static enum status gemm_layer_update_sgd(struct network *n, const struct shard_range *part,
					 struct error *err)
{
	struct optimizer_sgd_arguments sgd = {
		.weights = layer_master_of(n, part),
		.velocity = layer_moment_of(n, n->moments[0], part->master),
		.gradient = network_element(n, n->gradients, part->gradients),
		.copy = layer_copy_of(n, part),
		.precision = setup_storage(n->setup),
		.count = part->count,
		.rate = n->setup->rate,
		.momentum = n->setup->momentum,
		.gradient_scale = 1 / setup_fixed_scale(n->setup),
		.loss_scale = n->loss_scale,
		.blocks = n->update_blocks,
	};

	return backend_launch(n->stream, "optimizer_sgd", &sgd, err);
}

static enum status gemm_layer_update_adam(struct network *n, const struct shard_range *part,
					  struct error *err)
{
	const struct setup *s = n->setup;
	struct optimizer_adam_arguments adam = {
		.weights = layer_master_of(n, part),
		.m = layer_moment_of(n, n->moments[0], part->master),
		.v = layer_moment_of(n, n->moments[1], part->master),
		.gradient = network_element(n, n->gradients, part->gradients),
		.copy = layer_copy_of(n, part),
		.precision = setup_storage(s),
		.count = part->count,
		.rate = s->rate,
		.beta1 = s->beta1,
		.beta2 = s->beta2,
		.epsilon = s->epsilon,
		.correction1 = gemm_layer_correction(s->beta1, n->updates),
		.correction2 = gemm_layer_correction(s->beta2, n->updates),
		.gradient_scale = 1 / setup_fixed_scale(s),
		.loss_scale = n->loss_scale,
		.clock = n->by_host ? NULL : n->clock,
		.blocks = n->update_blocks,
	};

	return backend_launch(n->stream, "optimizer_adam", &adam, err);
}

double gemm_layer_correction(double beta, uint64_t update)
{
	return 1 - pow(beta, (double)update);
}

enum status gemm_layer_update_begin(struct network *n, struct error *err)
{
	const struct optimizer_tick_arguments tick = { .clock = n->clock,
						       .corrections = n->corrections,
						       .count = n->correction_count };

	if (err->status != STATUS_OK)
		return err->status;
	n->updates++;
	return n->clock && !n->by_host ? backend_launch(n->stream, "optimizer_tick", &tick, err)
				       : STATUS_OK;
}

enum status gemm_layer_update_range(struct network *n, const struct shard_range *range,
				    struct error *err)
{
	if (err->status != STATUS_OK)
		return err->status;
	return n->setup->optimizer == OPTIMIZER_ADAM ? gemm_layer_update_adam(n, range, err)
						     : gemm_layer_update_sgd(n, range, err);
}

enum status gemm_layer_update(struct network *n, struct error *err)
{
	gemm_layer_update_begin(n, err);
	for (size_t i = 0; i < n->shard.count; i++)
		gemm_layer_update_range(n, &n->shard.ranges[i], err);
	return err->status;
}

/*
 * Forward: a product and a kernel; backward: two products, a pass with a two-stage sum, and
 * recomputation; then the loss and the optimizer.
 */
unsigned gemm_layer_commands(const struct network *n, uint64_t microbatches)
{
	unsigned per_layer = n->segments.count > 0 ? 8 : 6;

	/*
	 * A transformer's block has 15 kernels in forward and 30 in backward; recomputation repeats
	 * 13. A residual block of four units and a projection has 17 and 25.
	 */
	if (n->setup->kind != MODEL_MLP)
		per_layer = setup_recomputes_blocks(n->setup) ? 60 : 45;
	return (unsigned)(microbatches *
				  (per_layer * (n->partition.last - n->partition.first) + 1) +
			  n->shard.count);
}

/*
 * Timed runs of each candidate, alternating, after one untimed run that loads the kernels; the
 * fastest run counts.
 */
#define RUNS 3

enum status layer_select_fastest(struct stream *stream, size_t candidates, layer_trial_fn *run,
				 void *context, size_t *fastest, struct error *err)
{
	struct event *start = NULL, *end = NULL;
	double best[TRIAL_MAX_CANDIDATES] = { 0 }, seconds;

	if (backend_event_create(stream->device, &start, err) == STATUS_OK)
		backend_event_create(stream->device, &end, err);
	for (int turn = -1; turn < RUNS; turn++)
		for (size_t i = 0; i < candidates && err->status == STATUS_OK; i++)
			if (backend_event_record(start, stream, err) == STATUS_OK &&
			    run(context, i, err) == STATUS_OK &&
			    backend_event_record(end, stream, err) == STATUS_OK &&
			    backend_event_synchronize(end, err) == STATUS_OK &&
			    backend_event_elapsed(start, end, &seconds, err) == STATUS_OK &&
			    (turn <= 0 || seconds < best[i]))
				best[i] = seconds;
	backend_event_destroy(start);
	backend_event_destroy(end);
	if (err->status != STATUS_OK)
		return err->status;
	*fastest = 0;
	for (size_t i = 1; i < candidates; i++)
		if (best[i] < best[*fastest])
			*fastest = i;
	return STATUS_OK;
}
