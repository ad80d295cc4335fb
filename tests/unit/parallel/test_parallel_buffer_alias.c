/*
 * Activations that alias gradients: models without gaps between their tensors alias all that fits
 * and compute what the reference computes, in every mode that aliases buffers, also with transposed
 * copies; models with gaps alias nothing, and the gaps stay zero.
 */
#include "parallel_setups.h"
#include "suites/training/models/buffer_alias.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/modes/modes.h"

#include "base/memory.h"

static const char *const aliasing_modes[] = {
	"single", "ddp", "zero1", "zero2", "zero3", "tensor"
};

/* Every tensor of every part ends at a multiple of MODEL_ALIGN. */
static struct setup even(const char *mode, size_t layers, enum precision precision,
			 enum wgrad_layout layout)
{
	bool alone = strcmp(mode, "single") == 0;
	struct setup s = tiny(mode, alone ? 1 : 2, precision);

	s.layers = layers;
	for (size_t l = 0; l <= layers; l++)
		s.widths[l] = 128;
	s.batch = 64;
	s.bucket_bytes = 2 * 128 * 129 * precision_bytes(precision);
	s.weight_gradient = layout;
	setup_fit_mode(&s);
	s.chunks = strcmp(mode, "tensor") == 0 ? 2 : 0;
	s.rate = setup_safe_rate(&s);
	return s;
}

struct expected {
	struct setup setup;
	/* bytes at the rank: of gradients of activations; of two classes in turn */
	uint64_t transient, shared;
	size_t overwritten; /* of activations that backward overwrites */
};

static enum status run_counted(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	const struct expected *e = context;
	struct trainer t = { 0 };
	struct rank_team team;
	size_t overwritten = 0;
	uint64_t all = 0;

	if (rank_team_open(&team, device, world, err) == STATUS_OK &&
	    trainer_open(&t, &e->setup, &team, err) == STATUS_OK) {
		for (size_t l = 0; l <= e->setup.layers; l++)
			overwritten += t.network.overwritten_in_backward[l];
		all = memory_classes_total(t.arena.bytes);
		/* With copies the first step needs more than those that follow. */
		if (e->setup.weight_gradient == WGRAD_DIRECT
			    ? memory_classes_footprint(&e->setup) != all
			    : memory_classes_footprint(&e->setup) <= all)
			error_set(err, STATUS_MISMATCH, "%llu B planned, %llu B taken",
				  (unsigned long long)memory_classes_footprint(&e->setup),
				  (unsigned long long)all);
		if (overwritten != e->overwritten || t.arena.bytes[MEMORY_SHARED] != e->shared ||
		    t.arena.bytes[MEMORY_TRANSIENT] != e->transient)
			error_set(err, STATUS_MISMATCH, "%zu pass, %llu B shared, %llu B transient",
				  overwritten, (unsigned long long)t.arena.bytes[MEMORY_SHARED],
				  (unsigned long long)t.arena.bytes[MEMORY_TRANSIENT]);
	}
	trainer_close(&t);
	rank_team_close(&team);
	return world_agree(world, err->status, err);
}

static void expect_counts(const struct expected *e, const char *what)
{
	struct expected own = *e;

	assert_ranks(run_ranks(own.setup.ranks, run_counted, &own), own.setup.ranks, STATUS_OK,
		     what);
}

static void aliased_buffers_change_no_result(void **state)
{
	static const enum wgrad_layout layouts[] = { WGRAD_DIRECT, WGRAD_TRANSPOSED };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(aliasing_modes); m++)
		for (size_t r = 0; r < ARRAY_SIZE(layouts); r++)
			for (size_t layers = 4; layers <= 5; layers++) {
				struct setup s =
					even(aliasing_modes[m], layers, PRECISION_FP32, layouts[r]);

				assert_ranks(run_ranks(s.ranks, run_reference, &s), s.ranks,
					     STATUS_OK, aliasing_modes[m]);
			}
}

/*
 * Hidden outputs cost nothing, the logits' place is the second transient buffer, copies have none
 * of their own.
 */
static void what_fits_costs_nothing(void **state)
{
	const uint64_t one = 64 * 128 * 4, half = one / 2;
	const struct expected expected[] = {
		{ even("single", 5, PRECISION_FP32, WGRAD_DIRECT), 2 * one, 5 * one, 4 },
		{ even("single", 5, PRECISION_FP32, WGRAD_TRANSPOSED), 2 * one, 5 * one, 4 },
		{ even("ddp", 5, PRECISION_FP32, WGRAD_TRANSPOSED), 2 * half, 5 * half, 4 },
		{ even("zero1", 5, PRECISION_FP32, WGRAD_DIRECT), 2 * half, 5 * half, 4 },
		{ even("zero3", 5, PRECISION_FP32, WGRAD_TRANSPOSED), 2 * half, 5 * half, 4 },
		/*
		 * With two layers a bucket, the outputs of the upper one must wait for the lower
		 * one's gradients.
		 */
		{ even("zero2", 5, PRECISION_FP32, WGRAD_DIRECT), 2 * half, 5 * half, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		expect_counts(&expected[i], expected[i].setup.mode->name);
}

/* One block, whose layers leave no gaps, and a vocabulary wide enough for what blocks need. */
static struct setup decoder(const char *mode, int ranks, enum precision precision)
{
	static const struct transformer_shape shape = {
		.hidden = 128, .heads = 2, .sequence = 20, .vocabulary = 4096
	};
	struct setup s = tiny(mode, ranks, precision);

	setup_transformer(&s, 1, &shape);
	s.batch = 8 * shape.sequence;
	s.weight_gradient = WGRAD_DIRECT;
	setup_fit_mode(&s);
	s.rate = setup_safe_rate(&s);
	return s;
}

/*
 * Gradients of parameters below the head and zero3's buffer of a block's gradients cost nothing
 * where logits were: what is larger is there once. Gradients inside a block lie in what it kept,
 * those between layers in the output of the head's norm. Parts of the batch that add to gradients
 * share only these.
 */
static void blocks_use_the_logits(void **state)
{
	const uint64_t row = 128 * 4, wide = 4 * row, logits = 4096 * 4,
		       block = (12 * 128 * 128 + 13 * 128) * 4;
	struct expected expected[] = {
		{ decoder("single", 1, PRECISION_FP32), 160 * (2 * row + wide),
		  160 * (logits + wide + 2 * row), 0 },
		{ decoder("zero1", 2, PRECISION_FP32), 80 * (2 * row + wide),
		  80 * (logits + wide + 2 * row), 0 },
		/* The buffer lies over the embedding's slice. */
		{ decoder("zero3", 2, PRECISION_FP32), 80 * (2 * row + wide),
		  80 * (logits + wide + 2 * row) + block, 0 },
		{ decoder("tensor", 2, PRECISION_FP32), 160 * (2 * row + wide / 2),
		  160 * (logits / 2 + wide / 2 + row), 0 },
		{ decoder("single", 1, PRECISION_FP32), 80 * (2 * row + wide),
		  80 * (wide + 2 * row), 0 },
		/* One has shares of the rows, one has all: where shares of the sum come from. */
		{ decoder("tensor_sequence", 2, PRECISION_FP32), 80 * row + 160 * (row + wide / 2),
		  160 * (logits / 2 + wide / 2), 0 },
	};

	(void)state;
	expected[4].setup.accumulate = 2;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct setup mixed = decoder(expected[i].setup.mode->name, expected[i].setup.ranks,
					     i % 2 ? PRECISION_FP16 : PRECISION_BF16);

		expect_counts(&expected[i], expected[i].setup.mode->name);
		mixed.accumulate = expected[i].setup.accumulate;
		assert_ranks(run_ranks(mixed.ranks, run_reference, &mixed), mixed.ranks, STATUS_OK,
			     mixed.mode->name);
	}
}

/* With FP32 masters a rank of zero3 keeps no weights in 16 bits. */
static void zero3_rounds_its_masters(void **state)
{
	struct setup three = decoder("zero3", 2, PRECISION_BF16),
		     one = decoder("zero1", 2, PRECISION_BF16);
	/* The table and positions are the largest layer: weights, and gradients as the head's. */
	const uint64_t table = (4096 + 20) * 128, block = 12 * 128 * 128 + 13 * 128;
	struct model model;

	(void)state;
	model_init(&model, &three);
	assert_int_equal(three.mode->buffers(&three, 1), 2 * (2 * table + block));
	/*
	 * Two bytes each of weights and gradients; of the latter half is left, in which logits and
	 * the gradients of a block lie.
	 */
	assert_int_equal(memory_classes_footprint(&one) - memory_classes_footprint(&three),
			 4 * model.elements - model.elements - 2 * (2 * table + block));
}

/* Rows of a chunk that do not divide the rank's among them. */
static const uint64_t chunks[] = { 2, 3, 80 };

static void losses_in_chunks_change_no_result(void **state)
{
	static const char *const names[] = { "single", "ddp",   "zero1", "zero2",  "zero3",
					     "tensor", "gpipe", "1f1b",  "hybrid", "layer_split" };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(names); m++)
		for (size_t c = 0; c < ARRAY_SIZE(chunks); c++) {
			struct setup s = decoder(names[m], m > 0 ? 2 : 1,
						 c == 0   ? PRECISION_FP32
						 : c == 1 ? PRECISION_FP16
							  : PRECISION_BF16);

			if (s.mode->gridded)
				s.grid = (struct grid){ 1, 2, 1 };
			s.microbatches = s.mode->microbatched ? 4 : 1;
			s.loss_chunks = chunks[c];
			s.segments = c == 1 ? s.layers : 0;
			s.pointwise = c == 2;
			s.accumulate = s.mode->accumulates && c != 1 ? 2 : 1;
			assert_ranks(run_ranks(s.ranks, run_reference, &s), s.ranks, STATUS_OK,
				     names[m]);
		}
}

/* Logits of `rows` rows, their gradients of parameters and the rest, whatever is larger, once. */
static void chunks_lower_the_memory_of_logits(void **state)
{
	struct setup whole = decoder("single", 1, PRECISION_FP32), parts;
	/* Twice as many rows as gradients below the head have room for logits. */
	const uint64_t logits = 4096 * 4;
	struct model model;
	uint64_t below;

	(void)state;
	model_init(&model, &whole);
	below = (model.elements - model.layer[2].end) * 4;
	whole.batch = 2 * below / logits / 20 * 20;
	parts = whole;
	parts.loss_chunks = 2;
	assert_int_equal(memory_classes_footprint(&whole) - memory_classes_footprint(&parts),
			 whole.batch * logits - below);
	expect_counts(&(struct expected){ parts, whole.batch * 6 * 512,
					  whole.batch * (logits / 2 + 6 * 512), 0 },
		      "two chunks");
	/* Parts of the batch have logits of their own, and each adds to all gradients. */
	whole.accumulate = parts.accumulate = 4;
	assert_int_equal(memory_classes_footprint(&whole) - memory_classes_footprint(&parts),
			 whole.batch / 8 * logits);
	/* Without the key so few rows are one chunk. */
	whole.accumulate = 1;
	assert_int_equal(buffer_alias_loss_chunks(&whole), 1);
}

/* A stage keeps four micro-batches, and logits of one. */
static void pipelines_keep_no_logits(void **state)
{
	struct setup s = decoder("gpipe", 2, PRECISION_FP32);
	struct rank_partition partition;
	struct parameter_shard shard;
	struct logits_overlap room;

	(void)state;
	s.microbatches = 4;
	model_parameter_shard_of(&s, 1, &partition, &shard);
	room = buffer_alias_logits_overlap(&s, &partition, &shard);
	assert_int_equal(partition.kept, s.batch);
	assert_int_equal(room.rows, s.batch / 4);
	assert_int_equal(room.logits, 0);
	model_parameter_shard_of(&s, 0, &partition, &shard);
	assert_int_equal(buffer_alias_logits_overlap(&s, &partition, &shard).rows, 0);
}

/* As many chunks as let logits fit into what else needs their memory, of 4096 rows at least. */
static void chunks_are_chosen_by_memory(void **state)
{
	static const struct transformer_shape shape = {
		.hidden = 4096, .heads = 32, .sequence = 4096, .vocabulary = 50304
	};
	static const struct {
		const char *mode;
		int ranks;
		uint64_t samples, accumulate, chunks;
		double gigabytes; /* of the whole step, at most; 0: whatever */
	} expected[] = {
		{ "single", 1, 4, 1, 2, 12.7 }, { "ddp", 2, 4, 1, 1, 0 },
		{ "zero3", 2, 4, 1, 2, 7.2 },   { "single", 1, 4, 2, 2, 0 },
		{ "single", 1, 16, 1, 8, 0 },   { "tensor", 2, 4, 1, 2, 7.0 },
		{ "single", 1, 1, 1, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct setup s = decoder(expected[i].mode, expected[i].ranks, PRECISION_BF16),
			     small;

		setup_transformer(&s, 1, &shape);
		s.batch = expected[i].samples * shape.sequence;
		s.accumulate = expected[i].accumulate;
		s.optimizer = OPTIMIZER_ADAM;
		assert_int_equal(buffer_alias_loss_chunks(&s), expected[i].chunks);
		if (expected[i].gigabytes > 0)
			assert_true((double)memory_classes_footprint(&s) <
				    1e9 * expected[i].gigabytes);
		/* The smaller model that is verified has as many. */
		assert_false(setup_shrink(&s, 1e9, &small));
		assert_int_equal(small.loss_chunks, expected[i].chunks);
	}
}

/*
 * A pair's copies replace its gradients: one whole buffer in addition to the logits' place, and
 * half a one.
 */
static void tensor_needs_no_more_for_copies(void **state)
{
	const uint64_t one = 64 * 128 * 4;
	const uint64_t biases = (64 + 128) * 4;

	(void)state;
	for (enum wgrad_layout layout = WGRAD_DIRECT; layout <= WGRAD_TRANSPOSED; layout++) {
		struct expected e = { even("tensor", 4, PRECISION_FP32, layout),
				      2 * one + one / 2 + biases, one / 2 + one + one / 2 + one,
				      3 };

		expect_counts(&e, layout == WGRAD_DIRECT ? "direct" : "transposed");
	}
}

/*
 * Outputs that reach beyond the matrix where they begin lie over biases, whose gradients are there
 * early.
 */
static void biases_below_outputs_wait(void **state)
{
	static const uint64_t batches[] = { 96, 128, 160, 256 };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(aliasing_modes); m++)
		for (size_t b = 0; b < ARRAY_SIZE(batches); b++)
			for (int transposed = 0; transposed < 2; transposed++) {
				struct setup s = even(aliasing_modes[m], 5 + b % 2, PRECISION_FP32,
						      transposed ? WGRAD_TRANSPOSED : WGRAD_DIRECT);

				s.batch = batches[b];
				assert_ranks(run_ranks(s.ranks, run_reference, &s), s.ranks,
					     STATUS_OK, aliasing_modes[m]);
			}
}

/*
 * Eight layers as wide as there are rows: where two H200s got wrong gradients of biases and of
 * weights.
 */
static void a_square_model_in_chunks(void **state)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16 };

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++)
		for (enum wgrad_layout layout = WGRAD_DIRECT; layout <= WGRAD_TRANSPOSED;
		     layout++) {
			struct setup s = even("tensor", 8, precisions[p], layout);

			s.batch = 128;
			assert_ranks(run_ranks(2, run_reference, &s), 2, STATUS_OK, "square");
		}
}

/*
 * The more rows, the fewer outputs find room: those that are used longest have memory of their own.
 */
static void what_does_not_fit_has_its_own(void **state)
{
	const uint64_t one = 64 * 6 * 128 * 4;
	/*
	 * 384 rows take three layers' gradients: the last outputs lie in those of layers 2, 1 and
	 * 0.
	 */
	struct expected e = { even("single", 4, PRECISION_FP32, WGRAD_DIRECT), 2 * one, one + one,
			      1 };

	(void)state;
	e.setup.batch = 64 * 6;
	expect_counts(&e, "rows");
}

static void gaps_and_second_passes_alias_nothing(void **state)
{
	/*
	 * Only the logits, which are narrower than a gradient between layers, lie where one of
	 * these will be.
	 */
	struct expected uneven = { tiny("single", 1, PRECISION_FP32), 2 * 64 * 52 * 4, 64 * 10 * 4,
				   0 };
	struct expected twice = { even("single", 4, PRECISION_FP32, WGRAD_DIRECT), 2 * 32 * 128 * 4,
				  0, 0 };

	(void)state;
	expect_counts(&uneven, "gaps");
	twice.setup.accumulate = 2;
	expect_counts(&twice, "accumulation");
}

/* Rows of outputs that a rank has at one time, and of the input that a stage has received. */
static void rows_at_once(const struct setup *s, int rank, uint64_t *rows, uint64_t *received)
{
	const char *mode = s->mode->name;
	uint64_t later = (uint64_t)(s->ranks - rank), part = s->batch / s->microbatches;
	uint64_t flight = strcmp(mode, "1f1b") == 0         ? later
			  : strcmp(mode, "1f1b_eager") == 0 ? 2 * later - 1
							    : s->microbatches;

	*received = 0;
	if (!s->mode->microbatched) {
		*rows = strcmp(mode, "single") == 0 || strcmp(mode, "tensor") == 0
				? s->batch / setup_accumulate(s)
				: s->batch / (uint64_t)s->ranks;
		return;
	}
	flight = flight < s->microbatches ? flight : s->microbatches;
	*rows = flight * part;
	if (rank > 0)
		*received = (flight < s->microbatches ? flight + 1 : flight) * part;
}

/*
 * A(B) = e (d_1 + ... + d_L) rows + 8 per loss, of the rank's rows and layers: tensor parallelism
 * cuts the outputs in the middle of pairs, a stage has the input it received, the server of
 * dp_naive gathers the logits.
 */
static uint64_t activations_of(const struct setup *s, int rank,
			       const struct rank_partition *partition)
{
	uint64_t rows, received, elements = 0, losses = 8 * s->batch;
	bool cut = strcmp(s->mode->name, "tensor") == 0,
	     server = strcmp(s->mode->name, "dp_naive") == 0;

	rows_at_once(s, rank, &rows, &received);
	for (size_t l = partition->first + 1; l <= partition->last; l++)
		elements += rows * s->widths[l] /
			    (cut && l % 2 && l < s->layers ? (uint64_t)s->ranks : 1);
	elements += received * s->widths[partition->first];
	if (server && s->loss_on_server)
		return (elements + (rank == 0 ? s->batch * s->widths[s->layers] : 0)) *
			       precision_bytes(s->precision) +
		       (rank == 0 ? losses : 0);
	if (partition->last < s->layers)
		losses = 0;
	else if (!cut && !s->mode->microbatched)
		losses /= (uint64_t)s->ranks;
	return elements * precision_bytes(s->precision) + losses;
}

/* And the total has what two classes use in turn once: it is what was allocated. */
static enum status expect_formula(struct trainer *t, struct error *err)
{
	uint64_t expected = activations_of(t->setup, t->team->world->rank, &t->network.partition),
		 taken = 0;
	const uint64_t *bytes = t->arena.bytes;

	/* Workspaces of libraries are no blocks of the arena's. */
	for (size_t i = 0; i < t->arena.count; i++)
		taken += t->arena.blocks[i].tag != MEMORY_WORKSPACE ? t->arena.blocks[i].bytes : 0;
	if (bytes[MEMORY_ACTIVATIONS] != expected)
		return error_set(err, STATUS_MISMATCH, "%llu B of activations, by formula %llu",
				 (unsigned long long)bytes[MEMORY_ACTIVATIONS],
				 (unsigned long long)expected);
	if (memory_classes_total(bytes) - bytes[MEMORY_WORKSPACE] != taken)
		return error_set(err, STATUS_MISMATCH,
				 "%llu B in classes, %llu B of workspace, %llu B allocated",
				 (unsigned long long)memory_classes_total(bytes),
				 (unsigned long long)bytes[MEMORY_WORKSPACE],
				 (unsigned long long)taken);
	return STATUS_OK;
}

static void expect_one_formula(const char *mode, int ranks, struct setup s)
{
	s.mode = mode_find(mode);
	s.ranks = ranks;
	setup_fit_mode(&s);
	s.microbatches = s.mode->microbatched ? 4 : 1;
	/* Only there a loss is computed elsewhere. */
	for (int server = 0; server <= (strcmp(mode, "dp_naive") == 0); server++) {
		s.loss_on_server = server;
		assert_ranks(run_trainers(&s, expect_formula), ranks, STATUS_OK, mode);
	}
}

static void activations_are_one_formula_in_every_mode(void **state)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16 };

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
		const struct setup models[] = {
			tiny("single", 1, precisions[p]),
			even("single", 4, precisions[p], WGRAD_DIRECT),
			even("single", 5, precisions[p], WGRAD_TRANSPOSED),
		};

		for (size_t m = 0; m < ARRAY_SIZE(models); m++) {
			expect_one_formula("single", 1, models[m]);
			for (size_t i = 0; i < ARRAY_SIZE(split_names); i++)
				expect_one_formula(split_names[i], 2, models[m]);
		}
	}
}

static enum status expect_plan(struct trainer *t, struct error *err)
{
	uint64_t taken = memory_classes_total(t->arena.bytes), most;

	most = (uint64_t)world_max(t->team->world, (double)taken);
	return memory_classes_footprint(t->setup) == most
		       ? STATUS_OK
		       : error_set(err, STATUS_MISMATCH, "%llu B planned, %llu B taken",
				   (unsigned long long)memory_classes_footprint(t->setup),
				   (unsigned long long)most);
}

/* Workspaces of libraries are no blocks of the arena's. */
static enum status expect_nothing_shared(struct trainer *t, struct error *err)
{
	size_t overwritten = 0;
	uint64_t taken = 0, most;

	for (size_t i = 0; i < t->arena.count; i++)
		taken += t->arena.blocks[i].bytes;
	most = (uint64_t)world_max(t->team->world, (double)taken);
	if (most != memory_classes_footprint(t->setup))
		error_set(err, STATUS_MISMATCH, "%llu B planned, %llu B taken",
			  (unsigned long long)memory_classes_footprint(t->setup),
			  (unsigned long long)most);
	for (size_t l = 0; l <= t->setup->layers; l++)
		overwritten += t->network.overwritten_in_backward[l];
	return t->arena.bytes[MEMORY_SHARED] == 0 && overwritten == 0
		       ? STATUS_OK
		       : error_set(err, STATUS_MISMATCH, "%llu B shared, %zu overwritten",
				   (unsigned long long)t->arena.bytes[MEMORY_SHARED], overwritten);
}

/* To the byte: a plan with less would begin what cannot end, one with more would refuse it. */
static void the_plan_is_what_the_fullest_rank_takes(void **state)
{
	static const struct grid grids[] = { { 2, 2, 1 }, { 2, 1, 2 }, { 1, 2, 2 } };
	struct setup s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(split_names); i++)
		for (uint64_t micro = 1; micro <= 4; micro *= 4) {
			s = even(split_names[i], 5, PRECISION_FP32, WGRAD_DIRECT);
			s.microbatches = s.mode->microbatched ? micro : 1;
			s.wgrad_microbatches = setup_usual_wgrad_microbatches(&s);
			assert_ranks(run_trainers(&s, expect_plan), s.ranks, STATUS_OK,
				     split_names[i]);
		}
	for (size_t g = 0; g < ARRAY_SIZE(grids); g++) {
		s = even("hybrid", 4, PRECISION_FP32, WGRAD_DIRECT);
		s.ranks = 4;
		s.grid = grids[g];
		s.microbatches = 2;
		assert_ranks(run_trainers(&s, expect_plan), s.ranks, STATUS_OK, "hybrid");
	}
}

/* No two classes share a buffer, the plan is to the byte, and the results are those of before. */
static void expect_no_alias(struct setup s, const char *what)
{
	s.no_aliasing = true;
	assert_ranks(run_trainers(&s, expect_nothing_shared), s.ranks, STATUS_OK, what);
	assert_ranks(run_ranks(s.ranks, run_reference, &s), s.ranks, STATUS_OK, what);
}

static void without_aliasing_nothing_is_shared(void **state)
{
	static const char *const decoders[] = { "single",         "ddp",   "zero1",
						"zero2",          "zero3", "tensor",
						"gpipe",          "1f1b",  "hybrid",
						"tensor_sequence" };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(aliasing_modes); m++)
		for (size_t layers = 4; layers <= 5; layers++)
			expect_no_alias(even(aliasing_modes[m], layers, PRECISION_FP32,
					     WGRAD_DIRECT),
					aliasing_modes[m]);
	for (size_t m = 0; m < ARRAY_SIZE(decoders); m++)
		for (int mixed = 0; mixed < 2; mixed++) {
			struct setup s = decoder(decoders[m], m > 0 ? 2 : 1,
						 mixed ? PRECISION_BF16 : PRECISION_FP32);

			if (s.mode->gridded)
				s.grid = (struct grid){ 1, 2, 1 };
			s.microbatches = s.mode->microbatched ? 4 : 1;
			expect_no_alias(s, decoders[m]);
		}
}

/* Gradients inside a block and before the head, and all that lay in logits, have their own. */
static void without_aliasing_a_transformer_needs_more(void **state)
{
	struct setup on = decoder("single", 1, PRECISION_FP32), off = on;
	const uint64_t row = 160 * 128 * 4;

	(void)state;
	off.no_aliasing = true;
	assert_true(buffer_alias_changes(&on));
	/* Inside the branches 4 + 1, two between layers; logits and gradients below the head. */
	assert_true(memory_classes_footprint(&off) >= memory_classes_footprint(&on) + 7 * row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aliased_buffers_change_no_result),
		cmocka_unit_test(what_fits_costs_nothing),
		cmocka_unit_test(blocks_use_the_logits),
		cmocka_unit_test(losses_in_chunks_change_no_result),
		cmocka_unit_test(chunks_lower_the_memory_of_logits),
		cmocka_unit_test(pipelines_keep_no_logits),
		cmocka_unit_test(chunks_are_chosen_by_memory),
		cmocka_unit_test(zero3_rounds_its_masters),
		cmocka_unit_test(tensor_needs_no_more_for_copies),
		cmocka_unit_test(biases_below_outputs_wait),
		cmocka_unit_test(a_square_model_in_chunks),
		cmocka_unit_test(what_does_not_fit_has_its_own),
		cmocka_unit_test(gaps_and_second_passes_alias_nothing),
		cmocka_unit_test(without_aliasing_nothing_is_shared),
		cmocka_unit_test(without_aliasing_a_transformer_needs_more),
		cmocka_unit_test(activations_are_one_formula_in_every_mode),
		cmocka_unit_test(the_plan_is_what_the_fullest_rank_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
