/*
 * The transformer of the suite `parallel`: the reference against central differences, one device
 * and splits of the batch against the reference, what recomputation saves, what is refused.
 */
#include "parallel_setups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "suites/training/models/reference/reference.h"
#include "suites/training/parallel/memory_classes.h"

/* Addresses of no memory. */
static enum status take(void *state, enum memory_class tag, uint64_t bytes, void **out,
			struct error *err)
{
	(void)tag;
	(void)bytes;
	*out = (char *)state + 1;
	return err->status;
}

static void give(void *state, enum memory_class tag, void *memory, uint64_t bytes)
{
	(void)state;
	(void)tag;
	(void)memory;
	(void)bytes;
}

/* Widths of products and heads all differ. */
static struct setup tiny_transformer(const char *mode, int ranks, enum precision precision)
{
	static const struct transformer_shape shape = {
		.hidden = 48, .heads = 3, .sequence = 20, .vocabulary = 101
	};
	struct setup s = tiny(mode, ranks, precision);

	setup_transformer(&s, 2, &shape);
	s.batch = 8 * shape.sequence;
	setup_fit_mode(&s);
	s.rate = setup_safe_rate(&s);
	return s;
}

static void expect_reference(const struct setup *setup, const char *what)
{
	char name[120];

	snprintf(name, sizeof(name), "%s: %s on %d, %s", what, setup->mode->name, setup->ranks,
		 precision_name(setup->precision));
	assert_ranks(run_ranks(setup->ranks, run_reference, (void *)setup), setup->ranks, STATUS_OK,
		     name);
}

static double loss_with(struct mlp_reference *ref, uint64_t i, double value)
{
	double kept = ref->parameters[i], loss;

	ref->parameters[i] = value;
	model_reference_step(ref, NULL);
	loss = ref->loss;
	ref->parameters[i] = kept;
	return loss;
}

/* A few elements of every tensor. */
#define TRIED 5

static void check_derivatives(struct mlp_reference *ref, const struct model_tensor *t,
			      const double *gradients)
{
	const double h = 1e-5;
	double largest = 0;

	for (uint64_t i = 0; i < t->count; i++)
		largest = fmax(largest, fabs(gradients[t->first + i]));
	assert_true(largest > 1e-6);
	for (uint64_t k = 0; k < TRIED; k++) {
		uint64_t i = t->first + k * (t->count - 1) / (TRIED - 1);
		double up = loss_with(ref, i, ref->parameters[i] + h);
		double down = loss_with(ref, i, ref->parameters[i] - h);
		double slope = (up - down) / (2 * h);

		if (!(fabs(slope - gradients[i]) <= 1e-5 * largest + 1e-10))
			fail_msg("%s, element %llu: gradient %g, central difference %g", t->name,
				 (unsigned long long)(i - t->first), gradients[i], slope);
	}
}

static void reference_gradients_are_derivatives(void **state)
{
	struct setup setup = tiny_transformer("single", 1, PRECISION_FP64);
	struct mlp_reference ref;
	double *gradients;
	size_t tensors = 0;

	(void)state;
	setup.batch = 2 * setup.transformer.sequence;
	model_reference_open(&ref, &setup);
	model_reference_step(&ref, NULL);
	/* 101 tokens at random: ln 101 and a little. */
	assert_true(ref.loss > 4 && ref.loss < 6.5);
	gradients = calloc(ref.model.elements, sizeof(*gradients));
	memcpy(gradients, ref.gradients, ref.model.elements * sizeof(*gradients));
	for (size_t l = 0; l < setup.layers; l++)
		for (size_t t = 0; t < ref.model.layer[l].tensors; t++, tensors++)
			check_derivatives(&ref, &ref.model.layer[l].tensor[t], gradients);
	assert_int_equal(tensors, 2 + 2 * 12 + 3);
	free(gradients);
	model_reference_close(&ref);
}

static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16, PRECISION_BF16 };

static void single_equals_the_reference(void **state)
{
	(void)state;
	for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++)
		for (uint64_t accumulate = 1; accumulate <= 4; accumulate *= 4)
			for (int recompute = 0; recompute < 2; recompute++) {
				struct setup s = tiny_transformer("single", 1, precisions[p]);

				s.accumulate = accumulate;
				s.segments = recompute ? s.layers : 0;
				expect_reference(&s, recompute ? "recomputed" : "kept");
			}
}

static void separate_biases_equal_the_reference(void **state)
{
	struct setup s = tiny_transformer("single", 1, PRECISION_FP32);

	(void)state;
	s.fusion = FUSION_OFF;
	expect_reference(&s, "biases apart from products");
}

static void splits_of_the_batch_equal_the_reference(void **state)
{
	static const char *const batch_modes[] = { "ddp", "zero1", "zero2", "zero3" };

	(void)state;
	for (size_t m = 0; m < sizeof(batch_modes) / sizeof(batch_modes[0]); m++)
		for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
			struct setup s =
				tiny_transformer(batch_modes[m], p == 0 ? 4 : 2, precisions[p]);

			expect_reference(&s, "split");
			s.segments = s.layers;
			expect_reference(&s, "split, recomputed");
		}
}

static struct setup divided(const char *mode, int ranks, enum precision precision)
{
	struct setup s = tiny_transformer(mode, ranks, precision);
	struct transformer_shape shape = s.transformer;

	shape.hidden = 64;
	shape.heads = 4;
	setup_transformer(&s, 2, &shape);
	return s;
}

static void splits_of_blocks_equal_the_reference(void **state)
{
	static const char *const names[] = { "tensor", "tensor_sequence" };

	(void)state;
	for (size_t m = 0; m < sizeof(names) / sizeof(names[0]); m++)
		for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
			struct setup s = divided(names[m], p % 2 ? 4 : 2, precisions[p]);

			expect_reference(&s, "parts of blocks");
			s.accumulate = 4;
			s.segments = s.layers;
			s.no_overlap = p % 2;
			expect_reference(&s, "parts of blocks, accumulated and recomputed");
			s.segments = 0;
			s.pointwise = true;
			if (p == 1)
				expect_reference(&s, "parts of blocks, norms and GELU recomputed");
		}
}

static void pipelines_of_blocks_equal_the_reference(void **state)
{
	static const char *const names[] = { "layer_split", "gpipe", "1f1b", "1f1b_eager" };

	(void)state;
	for (size_t m = 0; m < sizeof(names) / sizeof(names[0]); m++)
		for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
			struct setup s = divided(names[m], p == 0 ? 4 : 2, precisions[p]);

			s.microbatches = 4;
			s.pointwise = p == 0;
			expect_reference(&s, "stages");
			s.pointwise = false;
			s.segments = s.layers;
			if (p == m % 3)
				expect_reference(&s, "stages, recomputed");
		}
}

static void grids_equal_the_reference(void **state)
{
	static const struct grid grids[] = { { 2, 2, 1 }, { 2, 1, 2 }, { 1, 2, 2 }, { 1, 4, 1 } };

	(void)state;
	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++)
		for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++) {
			struct setup s = divided("hybrid", 4, precisions[p]);

			s.grid = grids[g];
			s.microbatches = 2;
			s.segments = p == 1 ? s.layers : 0;
			expect_reference(&s, "grid");
		}
}

static void ranks_divide_the_vocabulary(void **state)
{
	static const int parts[] = { 1, 2, 3, 8 };
	struct setup s = divided("tensor", 2, PRECISION_BF16);
	char text[200];

	(void)state;
	s.transformer.vocabulary = 50257;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct rank_partition partition = { .parts = parts[i] };
		uint64_t next = 0, first;

		for (; partition.part < parts[i]; partition.part++) {
			uint64_t count = model_partition_vocabulary(&s, &partition, &first);

			assert_int_equal(first, next);
			assert_int_equal(first % 8, 0);
			assert_in_range(count, 50257 / parts[i] - 8, 50257 / parts[i] + 16);
			next = first + count;
		}
		assert_int_equal(next, 50257);
	}
	s.ranks = 4;
	s.transformer.vocabulary = 2;
	assert_string_equal(setup_transformer_refusal(&s, text, sizeof(text)),
			    "a vocabulary of 2 tokens is not divisible into 4 parts");
}

static void recomputation_keeps_one_block(void **state)
{
	struct setup s = tiny_transformer("single", 1, PRECISION_FP32);
	uint64_t two = memory_classes_footprint(&s), tokens = s.batch, inner;

	(void)state;
	s.segments = s.layers;
	/*
	 * By element and token 15 values of the hidden size (two norms, qkv, attention's output,
	 * the sum, twice four of the MLP); in FP32 four moments and a padded row of lse per head.
	 */
	inner = tokens * 15 * 48 * 4 + tokens * 4 * 4 + 8 * 3 * 128 * 4;
	assert_int_equal(two - memory_classes_footprint(&s), inner);
}

static struct block_memory blocks_of(const struct setup *setup, int rank)
{
	struct error none = ERROR_NONE;
	struct network n;
	struct arena arena;
	struct block_memory m;
	uint64_t all = 0;
	const struct arena_source source = { .state = &all, .take = take, .give = give };

	arena_init(&arena, NULL);
	arena.source = &source;
	assert_int_equal(network_open(&n, setup, NULL, &arena, rank, &none), STATUS_OK);
	m = memory_classes_block_memory_of(&n);
	arena_release(&arena);
	return m;
}

/* Masks of dropout, 2 bytes, are missing; statistics of norms and rows of attention are FP32. */
static void activations_are_those_of_the_formulas(void **state)
{
	double h = 64, tokens = 160, lse = 8 * 128 * 4 * 4, norms = 2 * 2 * 4 * tokens;
	struct setup s = divided("single", 1, PRECISION_BF16);
	struct block_memory m = blocks_of(&s, 0);

	(void)state;
	assert_true(m.published == 2 * 34 * tokens * h);
	assert_true(m.unfused == m.published + 2 * 5 * 4 * 20 * tokens);
	assert_true(m.kept == m.published + 2 * (lse + norms - 2 * tokens * h));
	s = divided("tensor", 4, PRECISION_BF16);
	m = blocks_of(&s, 3);
	assert_true(m.published == 2 * (10 + 24 / 4) * tokens * h);
	assert_true(m.unfused == m.published + 2 * 5 * 20 * tokens);
	assert_true(m.kept == m.published + 2 * (lse / 4 + norms - 2 * tokens * h));
	s = divided("tensor_sequence", 4, PRECISION_BF16);
	m = blocks_of(&s, 3);
	assert_true(m.published == 2 * 34 * tokens * h / 4);
	assert_true(m.kept == m.published + 2 * (lse + norms - 2 * tokens * h) / 4);
	s.pointwise = true;
	m = blocks_of(&s, 3);
	assert_true(m.published == (2 * (34 - 12) + 10) * tokens * h / 4);
	assert_true(m.kept == m.published + 2 * (lse + norms - 2 * tokens * h) / 4);
	s = divided("tensor", 4, PRECISION_BF16);
	s.pointwise = true;
	m = blocks_of(&s, 3);
	assert_true(m.published == (2 * (6 + 16 / 4) + 2 + 8 / 4) * tokens * h);
	assert_true(m.kept == m.published + 2 * (lse / 4 + norms - 2 * tokens * h));
	s = divided("single", 1, PRECISION_FP32);
	s.segments = s.layers;
	m = blocks_of(&s, 0);
	assert_true(m.published == (2 + 15 + 0.5) * 4 * tokens * h);
	/* Embedding, two blocks and head in two stages: the first keeps two of four micro-batches.
	 */
	s = divided("1f1b", 2, PRECISION_BF16);
	s.microbatches = 4;
	m = blocks_of(&s, 0);
	assert_true(m.published == 34 * tokens / 2 * h);
}

static void what_is_not_computed_is_refused(void **state)
{
	struct setup s = tiny_transformer("single", 1, PRECISION_FP64);
	char text[200];

	(void)state;
	assert_non_null(strstr(setup_transformer_refusal(&s, text, sizeof(text)), "fp64"));
	s = tiny_transformer("dp_naive", 2, PRECISION_FP32);
	assert_string_equal(setup_transformer_refusal(&s, text, sizeof(text)),
			    "dp_naive does not support model = transformer");
	s = tiny_transformer("tensor", 2, PRECISION_FP32);
	assert_string_equal(setup_transformer_refusal(&s, text, sizeof(text)),
			    "3 attention heads are not divisible into 2 parts");
	s = tiny_transformer("ddp", 3, PRECISION_FP32);
	assert_string_equal(setup_transformer_refusal(&s, text, sizeof(text)),
			    "8 sequences are not divisible into 3 parts");
	s = tiny_transformer("single", 1, PRECISION_FP32);
	s.segments = 2;
	assert_non_null(strstr(setup_transformer_refusal(&s, text, sizeof(text)), "recompute"));
	s.segments = s.layers;
	assert_null(setup_transformer_refusal(&s, text, sizeof(text)));
	s.transformer.heads = 4;
	assert_non_null(strstr(setup_transformer_refusal(&s, text, sizeof(text)), "head size 12"));
}

/* GPT-3's largest block: 12 h^2 weights of products; sequence / (6 h) of attention on top. */
static void operations_are_counted(void **state)
{
	static const struct transformer_shape shape = {
		.hidden = 12288, .heads = 96, .sequence = 2048, .vocabulary = 50257
	};
	struct setup s = tiny("single", 1, PRECISION_BF16), small;
	double h = 12288;

	(void)state;
	setup_transformer(&s, 1, &shape);
	s.batch = 2048;
	assert_true(fabs(model_layer_flops(&s, 1, 1) - 72 * h * h - 6 * 2048 * h) < 1);
	assert_true(fabs(model_flops(&s) / 2048 - 72 * h * h - 6 * 2048 * h - 6 * h * 50257) < 1e6);
	assert_false(setup_shrink(&s, 1e9, &small));
	assert_true(model_flops(&small) <= 1e9 && model_flops(&small) > 0.1e9);
	assert_int_equal(small.batch % small.transformer.sequence, 0);
	assert_int_equal(small.transformer.hidden / small.transformer.heads, 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_equals_the_reference),
		cmocka_unit_test(separate_biases_equal_the_reference),
		cmocka_unit_test(splits_of_the_batch_equal_the_reference),
		cmocka_unit_test(splits_of_blocks_equal_the_reference),
		cmocka_unit_test(pipelines_of_blocks_equal_the_reference),
		cmocka_unit_test(grids_equal_the_reference),
		cmocka_unit_test(ranks_divide_the_vocabulary),
		cmocka_unit_test(recomputation_keeps_one_block),
		cmocka_unit_test(activations_are_those_of_the_formulas),
		cmocka_unit_test(what_is_not_computed_is_refused),
		cmocka_unit_test(operations_are_counted),
		/* The last: it starts threads in this process, which no fork survives. */
		cmocka_unit_test(reference_gradients_are_derivatives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
