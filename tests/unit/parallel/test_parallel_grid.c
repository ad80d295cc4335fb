/*
 * Data x tensor x pipeline parallelism in every shape, accumulation and recomputation in every mode
 * that knows them: each computes what one device and the double-precision reference compute.
 */
#include "parallel_setups.h"

#include <stdio.h>

#include "base/memory.h"
#include "suites/training/models/setup.h"
#include "suites/training/parallel/verify/compare.h"

static void expect_reference(struct setup *setup, const char *what)
{
	assert_ranks(run_ranks(setup->ranks, run_reference, setup), setup->ranks, STATUS_OK, what);
}

static struct setup hybrid(const char *grid, enum precision precision, uint64_t micro)
{
	struct setup setup = tiny("hybrid", 1, precision);

	assert_true(model_setup_grid_parse(grid, &setup.grid));
	setup.ranks = setup.grid.data * setup.grid.tensor * setup.grid.pipeline;
	setup.microbatches = micro;
	return setup;
}

static void every_grid_equals_the_reference(void **state)
{
	static const char *const grids[] = { "2x1x1", "1x2x1", "1x1x2", "2x2x1",
					     "2x1x2", "1x2x2", "2x2x2" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(grids); i++) {
		struct setup setup = hybrid(grids[i], PRECISION_FP64, i % 2 ? 4 : 2);

		expect_reference(&setup, grids[i]);
	}
}

static void every_precision_equals_the_reference(void **state)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16,
						     PRECISION_BF16 };

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
		struct setup setup = hybrid(p ? "2x2x1" : "1x2x2", precisions[p], 4);

		setup.dynamic_scale = precisions[p] == PRECISION_FP16;
		expect_reference(&setup, precision_name(precisions[p]));
	}
}

static void ranks_have_their_places(void **state)
{
	struct setup setup = hybrid("2x3x2", PRECISION_FP32, 1);
	struct grid grid;

	(void)state;
	for (int rank = 0; rank < setup.ranks; rank++)
		assert_int_equal(model_setup_grid_rank(&setup,
						       model_setup_grid_place(&setup, rank)),
				 rank);
	assert_int_equal(model_setup_grid_place(&setup, 1).part, 1);
	assert_int_equal(model_setup_grid_place(&setup, 3).stage, 1);
	assert_int_equal(model_setup_grid_place(&setup, 6).data, 1);
	assert_false(model_setup_grid_parse("2x2", &grid) ||
		     model_setup_grid_parse("2x2x0", &grid) ||
		     model_setup_grid_parse("2x2x2x", &grid) || model_setup_grid_parse("", &grid));
}

/* A replica of a stage, and a bias that parts share, one bit off: found, and named. */
static enum status flip_a_bit(struct trainer *t, struct error *err)
{
	unsigned char byte;
	uint64_t sum, at;
	enum status status = trainer_step(t, STEP_ALL, err);

	if (status == STATUS_OK)
		status = verify_replicas(t, &sum, err);
	if (status == STATUS_OK) {
		/* The bias of a layer that is cut by rows, which the first stage ends with. */
		at = t->network.local.layer[1].tensor[LINEAR_BIAS].first * 8;
		byte = 0;
		if (t->team->world->rank == t->setup->ranks - 1)
			status = backend_copy(t->team->streams[STREAM_COMPUTE],
					      (char *)t->network.weights + at, &byte, 1, err);
	}
	if (status == STATUS_OK)
		status = rank_team_synchronize(t->team, err);
	if (world_agree(t->team->world, status, err) == STATUS_OK)
		status = verify_replicas(t, &sum, err);
	return status;
}

static void a_flipped_bit_is_found(void **state)
{
	static const char *const grids[] = { "2x1x1", "1x2x1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(grids); i++) {
		struct setup setup = hybrid(grids[i], PRECISION_FP64, 1);
		const struct rank_outcome *outcomes = run_trainers(&setup, flip_a_bit);

		assert_ranks(outcomes, 2, STATUS_MISMATCH, grids[i]);
		assert_non_null(strstr(outcomes[0].err.message, "the parameters of ranks 1 and"));
	}
}

static void accumulation_changes_nothing(void **state)
{
	static const char *const names[] = { "single", "ddp", "zero1" };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(names); m++) {
		struct setup setup = tiny(names[m], m ? 2 : 1, PRECISION_FP64);

		assert_true(setup.mode->accumulates);
		setup.accumulate = 4;
		setup.segments = m == 2 ? 2 : 0;
		expect_reference(&setup, names[m]);
	}
}

static void recomputation_changes_nothing(void **state)
{
	static const uint64_t segments[] = { 2, 3 };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(split_names); m++) {
		struct setup setup = tiny(split_names[m], 2, PRECISION_FP64);

		if (!setup.mode->recomputes)
			continue;
		/* Segments that stages cut, and others. */
		setup.segments = setup.mode->microbatched ? 3 : 2;
		setup.microbatches = setup.mode->microbatched ? 4 : 1;
		expect_reference(&setup, split_names[m]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++) {
		struct setup setup = hybrid(i % 2 ? "1x2x2" : "2x2x1", PRECISION_FP64, 4);

		setup.segments = segments[i];
		expect_reference(&setup, "hybrid");
	}
}

/*
 * 24 layers of 48 in a stage of 12, 4 micro-batches kept, 4 segments: 3 outputs and 2 shared ones.
 */
static enum status run_memory(struct device *device, struct world *world, void *context,
			      struct error *err)
{
	struct trainer t = { 0 };
	struct rank_team team;
	uint64_t *bytes = context;
	enum status status = rank_team_open(&team, device, world, err);
	static struct setup setup;

	setup = tiny("gpipe", 2, PRECISION_FP32);
	setup.layers = 24;
	for (size_t l = 0; l < setup.layers; l++)
		setup.widths[l] = 48;
	setup.widths[0] = 72;
	setup.widths[setup.layers] = 10;
	setup.microbatches = 4;
	setup.segments = *bytes;
	if (status == STATUS_OK)
		status = trainer_open(&t, &setup, &team, err);
	if (status == STATUS_OK && world->rank == 0 && *bytes == 8 &&
	    t.arena.bytes[MEMORY_ACTIVATIONS] != 4 * 48 * (4 * 64 + 2 * 16))
		status = error_set(err, STATUS_INTERNAL, "%llu bytes of activations",
				   (unsigned long long)t.arena.bytes[MEMORY_ACTIVATIONS]);
	trainer_close(&t);
	rank_team_close(&team);
	return status;
}

static void segments_of_a_pipeline_save_memory(void **state)
{
	uint64_t segments = 8;

	(void)state;
	assert_ranks(run_ranks(2, run_memory, &segments), 2, STATUS_OK, "segments");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_have_their_places),
		cmocka_unit_test(every_grid_equals_the_reference),
		cmocka_unit_test(every_precision_equals_the_reference),
		cmocka_unit_test(a_flipped_bit_is_found),
		cmocka_unit_test(accumulation_changes_nothing),
		cmocka_unit_test(recomputation_changes_nothing),
		cmocka_unit_test(segments_of_a_pipeline_save_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
