/*
 * The suite `parallel` on host devices, one forked process per rank: every split computes what one
 * device and the double-precision reference compute.
 */
#include "parallel_setups.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "measure/sampling/sampling.h"
#include "suites/training/models/segments.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/training/parallel/verify/compare.h"
#include "suites/training/parallel/verify/verify.h"

static void expect_reference(struct setup *setup, const char *what)
{
	char name[160];

	snprintf(name, sizeof(name), "%s: %s on %d, %s, %s, %llu micro-batches", what,
		 setup->mode->name, setup->ranks, precision_name(setup->precision),
		 optimizer_names[setup->optimizer], (unsigned long long)setup->microbatches);
	assert_ranks(run_ranks(setup->ranks, run_reference, setup), setup->ranks, STATUS_OK, name);
}

static const enum precision precisions[] = { PRECISION_FP64, PRECISION_FP32, PRECISION_FP16,
					     PRECISION_BF16 };

static void single_equals_the_reference(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++)
		for (int o = 0; o < OPTIMIZER_COUNT; o++) {
			struct setup setup = tiny("single", 1, precisions[p]);

			setup.optimizer = (enum optimizer)o;
			setup.momentum = o == OPTIMIZER_MOMENTUM ? 0.9 : 0;
			expect_reference(&setup, "reference");
		}
}

static void splits_equal_the_reference(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(split_names); m++)
		for (int ranks = 2; ranks <= 4; ranks += 2)
			for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
				struct setup setup = tiny(split_names[m], ranks, precisions[p]);

				expect_reference(&setup, "reference");
			}
}

/* As a worker: the reference first, then steps by graph against steps by calls. */
static enum status run_recorded(struct device *device, struct world *world, void *context,
				struct error *err)
{
	const struct setup *setup = context;
	struct trainer trainer = { 0 };
	struct rank_team team;
	enum status status = rank_team_open(&team, device, world, err);

	if (status == STATUS_OK)
		status = trainer_open(&trainer, setup, &team, err);
	if (status == STATUS_OK)
		status = recorded_verify(&trainer, 5, err);
	if (status == STATUS_OK && trainer.network.updates != 5)
		status = error_set(err, STATUS_INTERNAL, "%llu updates instead of 5",
				   (unsigned long long)trainer.network.updates);
	trainer_close(&trainer);
	rank_team_close(&team);
	return status;
}

static void graphs_give_the_same_bits(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++)
		for (int o = 0; o < OPTIMIZER_COUNT; o++) {
			struct setup setup = tiny("single", 1, precisions[p]);

			setup.optimizer = (enum optimizer)o;
			setup.momentum = o == OPTIMIZER_MOMENTUM ? 0.9 : 0;
			setup.graph = true;
			setup.dynamic_scale =
				precisions[p] == PRECISION_FP16 && o == OPTIMIZER_ADAM;
			setup.accumulate = o == OPTIMIZER_SGD ? 2 : 1;
			expect_reference(&setup, "a step that can be recorded");
			assert_ranks(run_ranks(1, run_recorded, &setup), 1, STATUS_OK, "graph");
		}
}

/* The host's graphs cannot hold what ranks wait for: said so, and nothing hangs. */
static void graphs_of_several_ranks_are_refused_by_the_host(void **state)
{
	struct setup setup = tiny("ddp", 2, PRECISION_FP32);

	(void)state;
	setup.graph = true;
	expect_reference(&setup, "not recorded");
	assert_ranks(run_ranks(2, run_recorded, &setup), 2, STATUS_UNSUPPORTED, "graph");
}

/* Each way of talking in every mode; three ranks, so that sums are handed on. */
static void splits_over_copies_equal_the_reference(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(split_names); m++)
		for (int ranks = 2; ranks <= 4; ranks++) {
			struct setup setup = tiny(split_names[m], ranks,
						  ranks == 4 ? PRECISION_FP16 : PRECISION_FP64);

			if (ranks == 3 && strcmp(split_names[m], "tensor") == 0)
				continue; /* its widths do not divide by 3 */
			setup.transport = TRANSPORT_HOST_COPY;
			setup.microbatches = setup.mode->microbatched ? 2 : 1;
			setup.batch = 96;
			expect_reference(&setup, "over host_copy");
		}
}

static void micro_batches_equal_the_reference(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(split_names); i++)
		for (uint64_t m = 2; m <= 8; m *= 4) {
			struct setup setup = tiny(split_names[i], 3, PRECISION_FP64);

			if (!setup.mode->microbatched)
				continue;
			setup.microbatches = m;
			expect_reference(&setup, "reference");
			setup.precision = PRECISION_FP16;
			setup.loss_scale = 1024;
			expect_reference(&setup, "reference");
		}
}

/* Roundings add up with every layer; the tolerance must, too. */
static void deep_models_stay_within_tolerance(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
		struct setup setup = tiny("layer_split", 2, precisions[p]);

		setup.layers = 24;
		for (size_t l = 0; l < setup.layers; l++)
			setup.widths[l] = 48;
		setup.widths[setup.layers] = 10;
		expect_reference(&setup, "24 layers");
	}
}

/* One step of the split against one device, in FP64, where only the order of sums may differ. */
static enum status run_against_single(struct device *device, struct world *world, void *context,
				      struct error *err)
{
	const struct setup *setup = context;
	struct setup alone_setup = *setup;
	struct world alone = { .rank = 0, .size = 1 };
	struct rank_team team, solo;
	struct trainer t = { 0 }, single = { 0 };
	struct verify_check check = { 0 };
	enum status status = rank_team_open(&team, device, world, err);

	solo = team;
	solo.world = &alone;
	solo.all = NULL;
	alone_setup.mode = mode_find("single");
	alone_setup.ranks = 1;
	alone_setup.microbatches = 1;
	alone_setup.accumulate = 1;
	alone_setup.segments = 0;
	if (status == STATUS_OK)
		status = trainer_open(&t, setup, &team, err);
	if (status == STATUS_OK && world->rank == 0)
		status = trainer_open(&single, &alone_setup, &solo, err);
	if (world_agree(world, status, err) == STATUS_OK)
		status = verify_against_single(&t, world->rank == 0 ? &single : NULL, &check, err);
	trainer_close(&single);
	trainer_close(&t);
	rank_team_close(&team);
	return status;
}

static void bucket_sizes_change_nothing(void **state)
{
	static const uint64_t sizes[] = { 1, 5000, 20000, UINT64_C(1) << 30 };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(split_names); m++)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct setup setup = tiny(split_names[m], 4, PRECISION_FP64);

			if (!setup.mode->bucketed)
				continue;
			setup.bucket_bytes = sizes[i];
			assert_ranks(run_ranks(4, run_against_single, &setup), 4, STATUS_OK,
				     "bucket");
		}
}

/* Overlap does not change the result. */
static void overlap_changes_nothing(void **state)
{
	static const char *const names[] = { "ddp", "tensor" };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(names); m++)
		for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
			struct setup setup = tiny(names[m], 4, precisions[p]);

			setup.no_overlap = true;
			setup_fit_mode(&setup);
			expect_reference(&setup, "without overlap");
			assert_ranks(run_ranks(4, run_against_single, &setup), 4, STATUS_OK,
				     "without overlap");
		}
}

static void the_loss_may_be_on_the_server(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
		struct setup setup = tiny("dp_naive", 4, precisions[p]);

		setup.loss_on_server = true;
		expect_reference(&setup, "loss on the server");
		setup.optimizer = OPTIMIZER_SGD;
		expect_reference(&setup, "loss on the server");
	}
}

/* Rows in turn, activations computed again: the same gradients, but for the order of sums. */
static void accumulation_and_recomputation_change_nothing(void **state)
{
	static const char *const names[] = { "single", "ddp" };
	static const uint64_t segments[] = { 0, 1, 2, 3, 5, 9 };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(names); m++)
		for (size_t i = 0; i < ARRAY_SIZE(segments); i++) {
			struct setup setup = tiny(names[m], m ? 2 : 1, PRECISION_FP64);

			setup.segments = segments[i];
			setup.accumulate = 1 + i % 2 * 3;
			expect_reference(&setup, "recomputation");
			assert_ranks(run_ranks(setup.ranks, run_against_single, &setup),
				     setup.ranks, STATUS_OK, "recomputation");
		}
}

/* The product of the weights' gradient may read a transposed copy: the same gradients. */
static void transposed_gradients_change_nothing(void **state)
{
	(void)state;
	for (size_t m = 0; m <= ARRAY_SIZE(split_names); m++) {
		struct setup setup = m ? tiny(split_names[m - 1], 2, PRECISION_FP16)
				       : tiny("single", 1, PRECISION_FP16);

		setup.weight_gradient = WGRAD_TRANSPOSED;
		setup.accumulate = setup.mode->accumulates ? 4 : 1;
		setup.microbatches = setup.mode->microbatched ? 4 : 1;
		setup.chunks = 2;
		expect_reference(&setup, "transposed");
	}
}

/* Pairs with and without a layer left over, chunks of unequal size. */
static void tensor_cuts_any_depth(void **state)
{
	(void)state;
	for (size_t layers = 2; layers <= 5; layers++)
		for (uint64_t chunks = 1; chunks <= 2; chunks++) {
			struct setup setup = tiny("tensor", 4, PRECISION_FP64);

			setup.layers = layers;
			setup.chunks = chunks;
			setup.batch = 63;
			expect_reference(&setup, "depth");
			assert_ranks(run_ranks(4, run_against_single, &setup), 4, STATUS_OK,
				     "depth");
		}
}

/* The order of a pipeline, and a naive split of one micro-batch, change nothing but roundings. */
static void splits_equal_one_device(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(split_names); i++)
		for (uint64_t m = 1; m <= 16; m *= 4) {
			struct setup setup = tiny(split_names[i], 4, PRECISION_FP64);

			if (m > 1 && !setup.mode->microbatched)
				continue;
			setup.microbatches = m;
			assert_ranks(run_ranks(4, run_against_single, &setup), 4, STATUS_OK,
				     split_names[i]);
		}
}

/*
 * Several steps without waiting in between, as when they are timed: nothing may overtake anything.
 */
static enum status take_many_steps(struct trainer *t, struct error *err)
{
	uint64_t sum;
	double first, last;
	enum status status = trainer_step(t, STEP_ALL, err);

	if (status == STATUS_OK)
		status = trainer_loss(t, &first, err);
	for (int i = 0; i < 20 && status == STATUS_OK; i++)
		status = trainer_enqueue(t, STEP_ALL, err);
	if (status == STATUS_OK)
		status = trainer_step(t, STEP_ALL, err);
	if (status == STATUS_OK)
		status = trainer_loss(t, &last, err);
	if (status == STATUS_OK)
		status = verify_replicas(t, &sum, err);
	if (status == STATUS_OK && !(last < first))
		status = error_set(err, STATUS_INTERNAL, "loss %g after %g", last, first);
	/* Handed over through the message: equal for every split of the same step in FP64. */
	if (status == STATUS_OK)
		snprintf(err->message, sizeof(err->message), "%.9e", last);
	return status;
}

static void splits_train_alike_over_many_steps(void **state)
{
	static const struct {
		const char *mode;
		int ranks;
		uint64_t microbatches;
	} cases[] = { { "single", 1, 1 },      { "ddp", 2, 1 },         { "ddp", 4, 1 },
		      { "layer_split", 2, 1 }, { "layer_split", 4, 4 }, { "gpipe", 3, 8 },
		      { "1f1b", 2, 8 },        { "1f1b", 4, 8 },        { "1f1b_eager", 4, 16 },
		      { "zero1", 4, 1 },       { "zero2", 4, 1 },       { "zero3", 2, 1 },
		      { "zero3", 4, 1 },       { "dp_naive", 4, 1 },    { "tensor", 2, 1 },
		      { "tensor", 4, 1 } };
	char first[sizeof(((struct error *)0)->message)] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct setup setup = tiny(cases[i].mode, cases[i].ranks, PRECISION_FP64);
		const struct rank_outcome *outcomes;

		setup.microbatches = cases[i].microbatches;
		setup.optimizer = OPTIMIZER_MOMENTUM;
		setup.momentum = 0.9;
		setup.rate = setup_safe_rate(&setup);
		outcomes = run_trainers(&setup, take_many_steps);
		assert_ranks(outcomes, setup.ranks, STATUS_OK, cases[i].mode);
		if (i == 0)
			strcpy(first, outcomes[0].err.message);
		assert_string_equal(outcomes[0].err.message, first);
	}
}

/*
 * Memory by class equals the formulas. FP32 Adam keeps 4 + 4 + 8 bytes per parameter, of which a
 * divided optimizer leaves a rank its slice.
 */
struct expected_memory {
	const char *mode;
	/* Parts of the model's parameters, gradients, moments; on the first rank and the others. */
	double parameters, gradients, optimizer, others_optimizer;
	/* Whole layers or buckets that are only there to be sent or received. */
	int buffers;
};

static const struct expected_memory expected_memory[] = {
	{ "ddp", 1, 1, 1, 1, 0 },         { "zero1", 1, 1, 0.5, 0.5, 0 },
	{ "zero2", 1, 0.5, 0.5, 0.5, 2 }, { "zero3", 0.5, 0.5, 0.5, 0.5, 4 },
	{ "dp_naive", 1, 1, 1, 0, 0 },
};

static enum status expect_class(const struct trainer *t, enum memory_class class, uint64_t expected,
				struct error *err)
{
	if (t->arena.bytes[class] == expected)
		return STATUS_OK;
	return error_set(err, STATUS_INTERNAL, "%s: %llu bytes of %s, expected %llu",
			 t->setup->mode->name, (unsigned long long)t->arena.bytes[class],
			 memory_class_names[class], (unsigned long long)expected);
}

static enum status expect_state(const struct trainer *t, struct error *err)
{
	const struct expected_memory *e = expected_memory;
	/* Two buffers, one of even and one of odd layers, of weights and of gradients: zero3. */
	uint64_t all = t->network.model.elements, largest[2] = { 0 }, buffers;
	double optimizer;

	while (strcmp(e->mode, t->setup->mode->name) != 0)
		e++;
	for (size_t l = 0; l < t->setup->layers; l++) {
		const struct model_layer *layer = &t->network.model.layer[l];

		if (layer->end - layer->weight > largest[l % 2])
			largest[l % 2] = layer->end - layer->weight;
	}
	buffers = e->buffers == 4 ? 2 * (largest[0] + largest[1])
				  : (uint64_t)e->buffers *
					    (largest[0] > largest[1] ? largest[0] : largest[1]);
	optimizer = t->team->world->rank == 0 ? e->optimizer : e->others_optimizer;
	if (expect_class(t, MEMORY_PARAMETERS, (uint64_t)(4 * e->parameters * (double)all), err) !=
		    STATUS_OK ||
	    expect_class(t, MEMORY_GRADIENTS, (uint64_t)(4 * e->gradients * (double)all), err) !=
		    STATUS_OK ||
	    expect_class(t, MEMORY_OPTIMIZER, (uint64_t)(8 * optimizer * (double)all), err) !=
		    STATUS_OK)
		return err->status;
	return expect_class(t, MEMORY_COMMUNICATION, 4 * buffers, err);
}

/* Two pairs of layers and one left over; biases after a sum are whole everywhere. */
static enum status expect_tensor(const struct trainer *t, struct error *err)
{
	const uint64_t *w = t->setup->widths, b = t->setup->batch;
	uint64_t n = (uint64_t)t->setup->ranks, widest = 0;
	uint64_t elements = 0, activations = 4 * b * w[5] + 8 * b;

	for (size_t l = 0; l < 5; l++) {
		bool whole = l == 4;
		uint64_t tensors[2] = { w[l] * w[l + 1] / (whole ? 1 : n),
					w[l + 1] / (l == 0 || l == 2 ? n : 1) };

		for (int i = 0; i < 2; i++)
			elements += (tensors[i] + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
		activations += l == 0 ? 0 : 4 * b * w[l] / (l % 2 ? n : 1);
		widest = l % 2 && w[l] / n > widest ? w[l] / n : widest;
	}
	if (expect_class(t, MEMORY_PARAMETERS, 4 * elements, err) != STATUS_OK ||
	    expect_class(t, MEMORY_GRADIENTS, 4 * elements, err) != STATUS_OK ||
	    expect_class(t, MEMORY_OPTIMIZER, 8 * elements, err) != STATUS_OK ||
	    expect_class(t, MEMORY_ACTIVATIONS, activations, err) != STATUS_OK)
		return err->status;
	/*
	 * Gradients of whole inputs (w[2], w[4]): two in turn, one of them where the logits are;
	 * and one of a part between two layers.
	 */
	if (expect_class(t, MEMORY_SHARED, 4 * b * w[5], err) != STATUS_OK)
		return err->status;
	return expect_class(t, MEMORY_TRANSIENT, 4 * b * (2 * (w[2] > w[4] ? w[2] : w[4]) + widest),
			    err);
}

/* Micro-batches in flight: all, p - s or 2 (p - s) - 1, and an input more where one is received. */
static enum status expect_pipeline(const struct trainer *t, struct error *err)
{
	const char *mode = t->setup->mode->name;
	uint64_t micro = t->setup->microbatches, rows = t->setup->batch / micro;
	uint64_t later = (uint64_t)(t->setup->ranks - t->team->world->rank);
	uint64_t flight = strcmp(mode, "1f1b") == 0         ? later
			  : strcmp(mode, "1f1b_eager") == 0 ? 2 * later - 1
							    : micro;
	const struct rank_partition *partition = &t->network.partition;
	uint64_t bytes = partition->last == t->setup->layers ? 8 * t->setup->batch : 0;

	flight = flight < micro ? flight : micro;
	for (size_t l = partition->first + 1; l <= partition->last; l++)
		bytes += 4 * flight * rows * t->setup->widths[l];
	if (partition->first > 0)
		bytes += 4 * (flight < micro ? flight + 1 : micro) * rows *
			 t->setup->widths[partition->first];
	return expect_class(t, MEMORY_ACTIVATIONS, bytes, err);
}

static enum status expect_input(const struct trainer *t, struct error *err)
{
	uint64_t labels = t->network.partition.last == t->setup->layers ? 4 : 0;
	uint64_t input = t->network.partition.first == 0 ? 4 * t->setup->widths[0] : 0;

	return expect_class(t, MEMORY_INPUT, t->network.partition.rows * (input + labels), err);
}

static enum status expect_planned_memory(struct trainer *t, struct error *err)
{
	enum status status = t->mode->microbatched            ? expect_pipeline(t, err)
			     : t->network.partition.parts > 1 ? expect_tensor(t, err)
							      : expect_state(t, err);

	/* The server of dp_naive has the others' parts as well. */
	if (status == STATUS_OK && strcmp(t->mode->name, "dp_naive") != 0)
		status = expect_input(t, err);
	return status;
}

/*
 * 24 layers of 48 in 4 segments: 3 activations between them, 5 inside one, in a third of the rows.
 */
static enum status expect_segments(struct trainer *t, struct error *err)
{
	uint64_t rows = t->setup->batch / t->setup->accumulate;

	return expect_class(t, MEMORY_ACTIVATIONS,
			    4 * rows * ((3 + 5) * 48 + 10) + 8 * t->setup->batch, err);
}

static void segments_save_memory(void **state)
{
	struct setup setup = tiny("single", 1, PRECISION_FP32);

	(void)state;
	setup.layers = 24;
	for (size_t l = 0; l < setup.layers; l++)
		setup.widths[l] = 48;
	/* As much work in the first layer, which has no input gradient, as in the others. */
	setup.widths[0] = 72;
	setup.widths[setup.layers] = 10;
	setup.batch = 63;
	setup.accumulate = 3;
	setup.segments = 4;
	assert_ranks(run_trainers(&setup, expect_segments), 1, STATUS_OK, "segments");
}

/* As much as the step that keeps everything, whose outputs find room among the gradients. */
static enum status expect_nothing_recomputed(struct trainer *t, struct error *err)
{
	struct setup plain = *t->setup;

	plain.segments = 0;
	if (t->network.segments.count == 0 &&
	    memory_classes_footprint(t->setup) == memory_classes_footprint(&plain) &&
	    segments_recompute_flops(t->setup) == 0)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH, "%zu segments, %llu B instead of %llu",
			 t->network.segments.count,
			 (unsigned long long)memory_classes_footprint(t->setup),
			 (unsigned long long)memory_classes_footprint(&plain));
}

static void segments_without_inside_cost_nothing(void **state)
{
	static const uint64_t segments[] = { 1, 5, 64 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++)
		for (int ranks = 1; ranks <= 2; ranks++) {
			struct setup setup =
				tiny(ranks > 1 ? "ddp" : "single", ranks, PRECISION_FP32);

			setup.segments = segments[i];
			assert_ranks(run_trainers(&setup, expect_nothing_recomputed), ranks,
				     STATUS_OK, "segments");
		}
}

static void memory_is_what_the_formulas_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(split_names); i++) {
		struct setup setup = tiny(split_names[i], 2, PRECISION_FP32);

		setup.bucket_bytes = 1;
		if (setup.mode->microbatched) {
			setup.ranks = 4;
			setup.microbatches = 8;
		}
		assert_ranks(run_trainers(&setup, expect_planned_memory), setup.ranks, STATUS_OK,
			     "memory");
	}
}

/*
 * Stages differ in what they enqueue: without agreement one rank would start steps that the others
 * never join.
 */
static enum status launch_nothing(void *state, unsigned batch, struct error *err)
{
	struct stream *stream = *(struct stream **)state;

	for (unsigned i = 0; i < batch; i++)
		if (backend_memory_set(stream, ((struct stream **)state) + 1, 0, 1, err) !=
		    STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status run_sampling(struct device *device, struct world *world, void *context,
				struct error *err)
{
	struct sampling rules = { .min_samples = 6,
				  .max_samples = 6,
				  .target = 0.01,
				  .max_seconds = 1,
				  .sample_seconds = 1e-3 };
	struct sampler sampler = { .rules = &rules, .device = device, .world = world };
	void *state[2] = { NULL, NULL };
	struct series series = { 0 };
	unsigned batches[RANKS_MAX];
	enum status status;

	(void)context;
	status = backend_stream_create(device, false, (struct stream **)&state[0], err);
	if (status == STATUS_OK) {
		struct workload w = { .state = state,
				      .launch = launch_nothing,
				      .clock = CLOCK_DEVICE,
				      .streams = (struct stream **)&state[0],
				      .stream_count = 1,
				      .commands = world->rank == 0 ? 2 : 40 };

		status = sample(&sampler, &w, &series, err);
	}
	world_gather(world, &series.batch, batches, sizeof(batches[0]));
	for (int rank = 0; rank < world->size && status == STATUS_OK; rank++)
		if (batches[rank] != batches[0])
			status =
				error_set(err, STATUS_INTERNAL, "batch %u on rank %d, %u on rank 0",
					  batches[rank], rank, batches[0]);
	free(series.samples);
	backend_stream_destroy(state[0]);
	return status;
}

static void ranks_take_the_same_batch(void **state)
{
	(void)state;
	assert_ranks(run_ranks(2, run_sampling, NULL), 2, STATUS_OK, "sampling");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_equals_the_reference),
		cmocka_unit_test(splits_equal_the_reference),
		cmocka_unit_test(splits_over_copies_equal_the_reference),
		cmocka_unit_test(graphs_give_the_same_bits),
		cmocka_unit_test(graphs_of_several_ranks_are_refused_by_the_host),
		cmocka_unit_test(micro_batches_equal_the_reference),
		cmocka_unit_test(deep_models_stay_within_tolerance),
		cmocka_unit_test(bucket_sizes_change_nothing),
		cmocka_unit_test(overlap_changes_nothing),
		cmocka_unit_test(the_loss_may_be_on_the_server),
		cmocka_unit_test(accumulation_and_recomputation_change_nothing),
		cmocka_unit_test(segments_save_memory),
		cmocka_unit_test(segments_without_inside_cost_nothing),
		cmocka_unit_test(transposed_gradients_change_nothing),
		cmocka_unit_test(tensor_cuts_any_depth),
		cmocka_unit_test(splits_equal_one_device),
		cmocka_unit_test(splits_train_alike_over_many_steps),
		cmocka_unit_test(memory_is_what_the_formulas_say),
		cmocka_unit_test(ranks_take_the_same_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
