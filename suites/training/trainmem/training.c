#include "suites/training/trainmem/training.h"

#include <math.h>
#include <string.h>

#include "suites/training/models/blocks/blocks.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/modes.h"

/* An arena that is too small for a step grows by 1/ARENA_GROWTH until the step fits. */
#define ARENA_GROWTH 512
/*
 * The same for the region of POLICY_BFC, which may need twice the memory in use: it rarely splits
 * blocks.
 */
#define BFC_REGION_GROWTH 64

static struct stream *trainmem_training_compute_stream(const struct training *t)
{
	return t->team.streams[STREAM_COMPUTE];
}

static uint64_t trainmem_training_layer_bytes(const struct training *t, size_t l)
{
	return t->rows * t->setup.widths[l] * precision_bytes(t->setup.precision);
}

static void trainmem_training_set_activation(struct training *t, size_t l, void *memory)
{
	t->network.activations[l] = memory;
	t->network.masks[l] = memory;
}

/* Allocates memory for activations[l], and frees it. */
static enum status trainmem_training_take(struct training *t, size_t l, struct error *err)
{
	void *memory;

	if (err->status != STATUS_OK ||
	    heap_take(&t->heap, MEMORY_ACTIVATIONS, trainmem_training_layer_bytes(t, l), &memory,
		      err) != STATUS_OK)
		return err->status;
	trainmem_training_set_activation(t, l, memory);
	return STATUS_OK;
}

static void trainmem_training_give(struct training *t, size_t l)
{
	heap_give(&t->heap, MEMORY_ACTIVATIONS, t->network.activations[l],
		  trainmem_training_layer_bytes(t, l));
	trainmem_training_set_activation(t, l, NULL);
}

/*
 * Outputs of hidden layers wait for backward in pinned host memory. Copies use a separate stream
 * and overlap with computation: out while the next layer computes, back while the layer above does.
 * The last hidden layer's output stays, because backward starts with it.
 */

/* Any of the team's streams except the compute stream. */
#define STREAM_COPY STREAM_PREVIOUS

static bool trainmem_training_leaves(const struct training *t, size_t l)
{
	return l > 0 && l + 1 < t->setup.layers &&
	       (t->options.swapped == 0 || l <= t->options.swapped);
}

static enum status trainmem_training_offload_open(struct training *t, struct error *err)
{
	struct device *device = t->team.device;

	for (size_t l = 1; l < t->setup.layers; l++) {
		if (!trainmem_training_leaves(t, l))
			continue;
		t->host_bytes += trainmem_training_layer_bytes(t, l);
		if (device && (backend_memory_alloc(device, ALLOCATOR_PINNED,
						    trainmem_training_layer_bytes(t, l), NULL,
						    &t->host[l], err) != STATUS_OK ||
			       rank_team_open_events(&t->team, &t->ready[l], 1, err) != STATUS_OK ||
			       rank_team_open_events(&t->team, &t->moved[l], 1, err) != STATUS_OK))
			return err->status;
	}
	return STATUS_OK;
}

static void trainmem_training_offload_close(struct training *t)
{
	struct error ignored = ERROR_NONE;

	for (size_t l = 1; l < t->setup.layers && t->team.device; l++) {
		if (t->host[l])
			backend_memory_free(t->team.device, ALLOCATOR_PINNED, t->host[l],
					    trainmem_training_layer_bytes(t, l), NULL, &ignored);
		t->host[l] = NULL;
	}
	rank_team_close_events(t->ready, SETUP_MAX_LAYERS + 1);
	rank_team_close_events(t->moved, SETUP_MAX_LAYERS + 1);
	memset(t->ready, 0, sizeof(t->ready));
	memset(t->moved, 0, sizeof(t->moved));
}

/* The copy starts when the compute stream has reached this point; `moved` is recorded after it. */
static void trainmem_training_copy(struct training *t, size_t l, void *to, const void *from,
				   struct error *err)
{
	struct stream *stream = t->team.streams[STREAM_COPY];

	t->moved_bytes += trainmem_training_layer_bytes(t, l);
	if (t->team.device &&
	    rank_team_follow(trainmem_training_compute_stream(t), t->ready[l], stream, err) ==
		    STATUS_OK &&
	    backend_copy(stream, to, from, trainmem_training_layer_bytes(t, l), err) == STATUS_OK)
		backend_event_record(t->moved[l], stream, err);
}

static void trainmem_training_wait_for(struct training *t, size_t l, struct error *err)
{
	if (t->team.device && err->status == STATUS_OK)
		backend_stream_wait(trainmem_training_compute_stream(t), t->moved[l], err);
}

static void trainmem_training_bring_back(struct training *t, size_t l, struct error *err)
{
	if (trainmem_training_leaves(t, l) && !t->network.activations[l] &&
	    trainmem_training_take(t, l, err) == STATUS_OK)
		trainmem_training_copy(t, l, t->network.activations[l], t->host[l], err);
}

/* Allocates the tensors that layer l keeps for backward: one allocation each, as in frameworks. */
static enum status trainmem_training_take_inside(struct training *t, size_t l, struct error *err)
{
	struct kept_tensor kept[LAYER_MAX_KEPT];
	size_t count = model_blocks_kept(&t->network, l, t->rows, kept);

	for (size_t i = 0; i < count && err->status == STATUS_OK; i++) {
		void *memory;

		if (heap_take(&t->heap, MEMORY_ACTIVATIONS, kept[i].bytes, &memory, err) !=
		    STATUS_OK)
			return err->status;
		model_blocks_kept_place(&kept[i], memory);
	}
	return err->status;
}

static void trainmem_training_give_inside(struct training *t, size_t l)
{
	struct kept_tensor kept[LAYER_MAX_KEPT];
	size_t count = model_blocks_kept(&t->network, l, t->rows, kept);

	for (size_t i = 0; i < count; i++) {
		heap_give(&t->heap, MEMORY_ACTIVATIONS, model_blocks_kept_memory(&kept[i]),
			  kept[i].bytes);
		model_blocks_kept_place(&kept[i], NULL);
	}
}

/* Writes the product to separate memory, and the activation to memory that stays. */
static void trainmem_training_forward_out_of_place(struct training *t, size_t l, uint64_t row,
						   struct error *err)
{
	struct network *n = &t->network;
	void *product, *output = n->activations[l + 1];
	uint64_t bytes = trainmem_training_layer_bytes(t, l + 1);

	if (heap_take(&t->heap, MEMORY_TRANSIENT, bytes, &product, err) != STATUS_OK)
		return;
	trainmem_training_set_activation(t, l + 1, product);
	gemm_layer_forward_product(n, l, row, t->rows, err);
	network_copy(n, output, product, bytes, err);
	trainmem_training_set_activation(t, l + 1, output);
	gemm_layer_activate(n, l, row, t->rows, err);
	if (err->status == STATUS_OK)
		heap_give(&t->heap, MEMORY_TRANSIENT, product, bytes);
}

static void trainmem_training_forward_layer(struct training *t, size_t l, uint64_t row,
					    struct error *err)
{
	if (trainmem_training_take(t, l + 1, err) != STATUS_OK ||
	    trainmem_training_take_inside(t, l, err) != STATUS_OK)
		return;
	if (t->options.out_of_place && model_layer_kind(&t->setup, l) == LAYER_LINEAR &&
	    l + 1 < t->setup.layers)
		trainmem_training_forward_out_of_place(t, l, row, err);
	else
		gemm_layer_forward(&t->network, l, row, t->rows, err);
}

/* The layer above has read activations[l]. */
static void trainmem_training_forward_is_done_with(struct training *t, size_t l, bool keep,
						   struct error *err)
{
	const struct segments *s = &t->segments;
	/* Backward recomputes the inner tensors of layers in every segment except the last. */
	bool forgotten = s->count > 1 && l < s->bounds[s->count - 1];

	if (err->status != STATUS_OK)
		return;
	if (!keep || forgotten)
		trainmem_training_give_inside(t, l);
	if (l > 0 && (!keep || (forgotten && segments_buffer(s, l) != 0))) {
		trainmem_training_give(t, l);
	} else if (l > 0 && t->options.offload && trainmem_training_leaves(t, l)) {
		/* The device no longer reads the outputs: their memory is freed after the copy. */
		trainmem_training_wait_for(t, l, err);
		trainmem_training_give(t, l);
	}
}

static enum status trainmem_training_forward(struct training *t, uint64_t row, bool keep,
					     struct error *err)
{
	for (size_t l = 0; l < t->setup.layers; l++) {
		trainmem_training_forward_layer(t, l, row, err);
		/* Starts copying the outputs to the host. */
		if (t->options.offload && keep && trainmem_training_leaves(t, l + 1) &&
		    err->status == STATUS_OK)
			trainmem_training_copy(t, l + 1, t->host[l + 1],
					       t->network.activations[l + 1], err);
		trainmem_training_forward_is_done_with(t, l, keep, err);
	}
	return err->status;
}

/*
 * Recomputes the segment that ends with layer l, starting from the segment's input: the outputs and
 * the inner tensors of its layers.
 */
static void trainmem_training_recompute_segment(struct training *t, size_t l, uint64_t row,
						struct error *err)
{
	struct kept_tensor kept[LAYER_MAX_KEPT];
	size_t from = l;

	if (err->status != STATUS_OK)
		return;
	while (from > 0 && !t->network.activations[from])
		from--;
	for (; from < l; from++)
		trainmem_training_forward_layer(t, from, row, err);
	if (model_blocks_kept(&t->network, l, t->rows, kept) == 0 ||
	    model_blocks_kept_memory(&kept[0]))
		return;
	/* The layer's output exists, and is computed again together with its inner tensors. */
	trainmem_training_take_inside(t, l, err);
	gemm_layer_forward(&t->network, l, row, t->rows, err);
}

struct gradient {
	void *memory;
	size_t l; /* of activations[l] */
	enum memory_class tag;
};

/*
 * Computes the gradients of layer l from that of its output; *g becomes the gradient of its input.
 */
static void trainmem_training_backward_layer(struct training *t, size_t l, uint64_t row,
					     struct gradient *g, struct error *err)
{
	struct network *n = &t->network;
	struct gradient of_input = { .l = l, .tag = MEMORY_TRANSIENT };
	size_t bytes = t->setup.widths[l + 1] * precision_bytes(t->setup.precision);

	if (t->imposed[l + 1])
		n->masks[l + 1] = (const char *)t->imposed[l + 1] + row * bytes;
	if (gemm_layer_output_gradient(n, l, row, t->rows, g->memory, row > 0, err) != STATUS_OK)
		return;
	/* The gradient of the logits has replaced the logits: it is freed below. */
	if (l + 1 < t->setup.layers)
		trainmem_training_give(t, l + 1);
	if (gemm_layer_weight_gradient(n, l, row, t->rows, g->memory, row > 0, err) != STATUS_OK)
		return;
	if (l > 0 && heap_take(&t->heap, of_input.tag, trainmem_training_layer_bytes(t, l),
			       &of_input.memory, err) == STATUS_OK)
		gemm_layer_input_gradient(n, l, t->rows, g->memory, of_input.memory, err);
	if (err->status != STATUS_OK)
		return;
	trainmem_training_give_inside(t, l);
	heap_give(&t->heap, g->tag, g->memory, trainmem_training_layer_bytes(t, g->l));
	if (l + 1 == t->setup.layers)
		trainmem_training_set_activation(t, l + 1, NULL);
	*g = of_input;
}

static enum status trainmem_training_backward(struct training *t, uint64_t row, struct error *err)
{
	size_t last = t->setup.layers;
	struct gradient g = { t->network.activations[last], last, MEMORY_ACTIVATIONS };

	for (size_t l = last; l-- > 0 && err->status == STATUS_OK;) {
		trainmem_training_recompute_segment(t, l, row, err);
		if (t->options.offload) {
			/* Wait for the input of this layer, prefetch the input of the next one. */
			trainmem_training_bring_back(t, l, err);
			if (trainmem_training_leaves(t, l))
				trainmem_training_wait_for(t, l, err);
			if (l > 0)
				trainmem_training_bring_back(t, l - 1, err);
		}
		if (err->status == STATUS_OK)
			trainmem_training_backward_layer(t, l, row, &g, err);
	}
	return err->status;
}

enum status trainmem_training_watched_step(struct training *t, training_watch *watch, void *context,
					   struct error *err)
{
	uint64_t mean_of = t->options.sums ? t->rows : t->setup.batch;
	double scale = t->setup.loss_scale / (double)mean_of;

	t->moved_bytes = 0;
	for (uint64_t row = 0; row < t->setup.batch && err->status == STATUS_OK; row += t->rows) {
		heap_begin(&t->heap, PHASE_FORWARD);
		if (trainmem_training_forward(t, row, true, err) != STATUS_OK ||
		    gemm_layer_loss(&t->network, row, t->rows, scale, err) != STATUS_OK ||
		    (watch && watch(context, t, err) != STATUS_OK))
			return err->status;
		heap_begin(&t->heap, PHASE_BACKWARD);
		trainmem_training_backward(t, row, err);
	}
	if (err->status != STATUS_OK)
		return err->status;
	heap_begin(&t->heap, PHASE_UPDATE);
	return t->team.device ? gemm_layer_update(&t->network, err) : STATUS_OK;
}

enum status trainmem_training_step(struct training *t, struct error *err)
{
	return trainmem_training_watched_step(t, NULL, NULL, err);
}

enum status trainmem_training_inference(struct training *t, struct error *err)
{
	heap_begin(&t->heap, PHASE_FORWARD);
	for (uint64_t row = 0; row < t->setup.batch; row += t->rows) {
		if (trainmem_training_forward(t, row, false, err) != STATUS_OK)
			return err->status;
		trainmem_training_give(t, t->setup.layers);
	}
	return trainmem_training_wait(t, err);
}

enum status trainmem_training_wait(struct training *t, struct error *err)
{
	return t->team.device && err->status == STATUS_OK ? rank_team_synchronize(&t->team, err)
							  : err->status;
}

enum status trainmem_training_loss(struct training *t, double *loss, struct error *err)
{
	if (err->status == STATUS_OK && network_loss_sum(&t->network, loss, err) == STATUS_OK)
		*loss /= (double)t->setup.batch;
	return err->status;
}

enum status trainmem_training_first_step(struct training *t, double *loss, struct error *err)
{
	trainmem_training_reset(t, err);
	trainmem_training_step(t, err);
	trainmem_training_wait(t, err);
	return trainmem_training_loss(t, loss, err);
}

void trainmem_training_set_batch(struct training *t, uint64_t batch)
{
	t->setup.batch = batch;
	t->rows = t->network.partition.kept = batch / setup_accumulate(&t->setup);
	for (size_t l = 1; l <= t->setup.layers; l++)
		t->network.kept[l] = t->rows;
}

enum status trainmem_training_reset(struct training *t, struct error *err)
{
	return err->status == STATUS_OK ? network_reset(&t->network, err) : err->status;
}

enum status trainmem_training_open(struct training *t, const struct setup *setup,
				   const struct training_options *options, struct device *device,
				   struct error *err)
{
	struct rank_partition whole = { .last = setup->layers, .rows = setup->batch, .parts = 1 };

	struct heap need;

	*t = (struct training){ .setup = *setup, .options = *options };
	/* A policy with one allocation needs its size. */
	if (device && options->reserve == 0 &&
	    (options->policy == POLICY_ARENA || options->policy == POLICY_BFC)) {
		trainmem_training_plan(setup, options, &need);
		t->options.reserve = need.reserved_peak;
	}
	t->setup.mode = mode_find("single");
	t->setup.ranks = 1;
	/* the network keeps everything it is given; recomputation is implemented here */
	t->setup.segments = 0;
	t->alone = (struct world){ .size = 1 };
	t->rows = setup->batch / setup_accumulate(setup);
	whole.kept = whole.step_rows = t->rows;
	segments_make(&t->segments, setup, &whole);
	/* A segment of a single layer recomputes only the layer's inner tensors. */
	if (setup->kind != MODEL_MLP && setup->segments >= setup->layers) {
		t->segments.count = setup->layers;
		for (size_t l = 0; l <= setup->layers; l++)
			t->segments.bounds[l] = l;
	}
	if (device && rank_team_open(&t->team, device, &t->alone, err) != STATUS_OK)
		return err->status;
	if (heap_open(&t->heap, device, trainmem_training_compute_stream(t), options->policy,
		      options->limit, t->options.reserve, err) != STATUS_OK)
		return err->status;
	t->source = heap_source(&t->heap);
	arena_init(&t->arena, device);
	t->arena.source = &t->source;
	t->heap.live[MEMORY_WORKSPACE] += t->options.workspace;
	t->heap.live_total += t->options.workspace;
	if (network_open_state(&t->network, &t->setup, trainmem_training_compute_stream(t),
			       &t->arena, err) != STATUS_OK)
		return err->status;
	t->network.idle = !device;
	/* No autotuning: here the same code must compute every step. */
	for (size_t l = 0; l < t->setup.layers; l++) {
		t->network.wgrad_layouts[l] = WGRAD_DIRECT;
		t->network.fusions[l] = FUSION_OFF;
	}
	return options->offload ? trainmem_training_offload_open(t, err) : STATUS_OK;
}

void trainmem_training_let_go(struct training *t)
{
	struct error ignored = ERROR_NONE;

	trainmem_training_wait(t, &ignored);
	for (size_t l = 1; l <= t->setup.layers && t->network.setup; l++) {
		trainmem_training_give(t, l);
		trainmem_training_give_inside(t, l - 1);
	}
	trainmem_training_offload_close(t);
	arena_release(&t->arena);
	heap_close(&t->heap);
	t->network = (struct network){ 0 };
	t->options.offload = false;
}

void trainmem_training_close(struct training *t)
{
	trainmem_training_let_go(t);
	if (t->team.device)
		rank_team_close(&t->team);
	*t = (struct training){ 0 };
}

/* Two steps without a device: the second starts with the first one's allocations. */
static enum status trainmem_training_plan_step(const struct setup *setup,
					       const struct training_options *options,
					       struct heap *need, struct error *err)
{
	struct training t;

	if (trainmem_training_open(&t, setup, options, NULL, err) == STATUS_OK &&
	    trainmem_training_step(&t, err) == STATUS_OK)
		trainmem_training_step(&t, err);
	*need = t.heap;
	need->segments = NULL; /* its numbers remain */
	need->caching = NULL;
	need->reservation = NULL;
	trainmem_training_close(&t);
	return err->status;
}

void trainmem_training_plan(const struct setup *setup, const struct training_options *options,
			    struct heap *need)
{
	struct training_options plan = *options;
	struct error no_room = ERROR_NONE;

	plan.limit = plan.reserve = 0;
	/* The peak in use is the smallest size of an arena, or of one region. */
	if (plan.policy == POLICY_ARENA || plan.policy == POLICY_BFC) {
		plan.policy = POLICY_MALLOC;
		trainmem_training_plan_step(setup, &plan, need, &no_room);
		plan.policy = options->policy;
		plan.reserve = reservation_region_round(need->peak.total - plan.workspace);
	}
	while (trainmem_training_plan_step(setup, &plan, need, &no_room) != STATUS_OK) {
		plan.reserve = reservation_region_round(
			plan.reserve + plan.reserve / (plan.policy == POLICY_BFC ? BFC_REGION_GROWTH
										 : ARENA_GROWTH));
		error_clear(&no_room);
	}
}

bool trainmem_training_fits(const struct setup *setup, const struct training_options *options,
			    uint64_t limit)
{
	struct training_options plan = *options;
	struct error no_room = ERROR_NONE;
	struct heap need;

	if (plan.policy == POLICY_ARENA) {
		trainmem_training_plan(setup, &plan, &need);
		return need.reserved_peak <= limit;
	}
	/* With the limit: an allocator that keeps blocks releases them before it fails. */
	plan.limit = limit;
	return limit > 0 && trainmem_training_plan_step(setup, &plan, &need, &no_room) == STATUS_OK;
}

enum phase trainmem_training_refused_in(const struct setup *setup,
					const struct training_options *options, uint64_t limit)
{
	struct training_options plan = *options;
	struct error no_room = ERROR_NONE;
	struct heap need;

	plan.limit = limit;
	return trainmem_training_plan_step(setup, &plan, &need, &no_room) == STATUS_OK ? PHASE_COUNT
										       : need.phase;
}

bool trainmem_training_swap_to_fit(const struct setup *setup, struct training_options *options,
				   uint64_t limit)
{
	struct training_options o = *options;

	o.offload = false;
	o.swapped = 0;
	while (!trainmem_training_fits(setup, &o, limit)) {
		if (o.swapped + 2 >= setup->layers)
			return false;
		o.offload = true;
		o.swapped++;
	}
	*options = o;
	return true;
}
