/*
 * Activations that lie where gradients are going to be: models without gaps between their tensors lodge all that
 * fits and compute what the reference computes, in every mode that does so, also from transposed copies; models
 * with gaps lodge nothing, and the gaps stay zero.
 */
#include "parallel_setups.h"
#include "suites/parallel/footprint.h"
#include "suites/parallel/lodging.h"

#include "base/memory.h"

static const char *const lodgers[] = { "single", "ddp", "zero1", "zero2", "zero3", "tensor" };

/* Every tensor of every part ends at a multiple of MODEL_ALIGN. */
static struct setup even(const char *mode, size_t layers, enum precision precision, enum route route)
{
	bool alone = strcmp(mode, "single") == 0;
	struct setup s = tiny(mode, alone ? 1 : 2, precision);

	s.layers = layers;
	for (size_t l = 0; l <= layers; l++)
		s.widths[l] = 128;
	s.batch = 64;
	s.bucket_bytes = 2 * 128 * 129 * precision_bytes(precision);
	s.weight_gradient = route;
	setup_fit_mode(&s);
	s.chunks = strcmp(mode, "tensor") == 0 ? 2 : 0;
	s.rate = setup_safe_rate(&s);
	return s;
}

struct expected {
	struct setup setup;
	uint64_t activations, transient; /* bytes at the rank */
	size_t passing;                  /* of activations that backward overwrites */
};

static enum status run_counted(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	const struct expected *e = context;
	struct trainer t = { 0 };
	struct team team;
	size_t passing = 0;
	uint64_t all = 0;

	if (team_open(&team, device, world, err) == STATUS_OK &&
	    trainer_open(&t, &e->setup, &team, err) == STATUS_OK) {
		for (size_t l = 0; l <= e->setup.layers; l++)
			passing += t.network.passing[l];
		for (int c = 0; c < MEMORY_STEP_CLASSES; c++)
			all += t.arena.bytes[c];
		/* With copies the first step needs more than those that follow. */
		if (e->setup.weight_gradient == ROUTE_DIRECT ? footprint(&e->setup) != all
							     : footprint(&e->setup) <= all)
			error_set(err, STATUS_MISMATCH, "%llu B planned, %llu B taken",
				  (unsigned long long)footprint(&e->setup), (unsigned long long)all);
		if (passing != e->passing || t.arena.bytes[MEMORY_ACTIVATIONS] != e->activations ||
		    t.arena.bytes[MEMORY_TRANSIENT] != e->transient)
			error_set(err, STATUS_MISMATCH, "%zu pass, %llu B of activations, %llu B transient",
				  passing, (unsigned long long)t.arena.bytes[MEMORY_ACTIVATIONS],
				  (unsigned long long)t.arena.bytes[MEMORY_TRANSIENT]);
	}
	trainer_close(&t);
	team_close(&team);
	return world_agree(world, err->status, err);
}

static void expect_counts(const struct expected *e, const char *what)
{
	struct expected own = *e;

	assert_ranks(run_ranks(own.setup.ranks, run_counted, &own), own.setup.ranks, STATUS_OK, what);
}

static void lodgers_compute_what_others_do(void **state)
{
	static const enum route routes[] = { ROUTE_DIRECT, ROUTE_TRANSPOSED };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(lodgers); m++)
		for (size_t r = 0; r < ARRAY_SIZE(routes); r++)
			for (size_t layers = 4; layers <= 5; layers++) {
				struct setup s = even(lodgers[m], layers, PRECISION_FP32, routes[r]);

				assert_ranks(run_ranks(s.ranks, run_reference, &s), s.ranks, STATUS_OK,
					     lodgers[m]);
			}
}

/* Hidden outputs cost nothing, the logits' place is the second transient buffer, copies have none of their own. */
static void what_fits_costs_nothing(void **state)
{
	const uint64_t one = 64 * 128 * 4;
	const struct expected expected[] = {
		{ even("single", 5, PRECISION_FP32, ROUTE_DIRECT), one + 8 * 64, one, 4 },
		{ even("single", 5, PRECISION_FP32, ROUTE_TRANSPOSED), one + 8 * 64, one, 4 },
		{ even("ddp", 5, PRECISION_FP32, ROUTE_TRANSPOSED), one / 2 + 8 * 32, one / 2, 4 },
		{ even("zero1", 5, PRECISION_FP32, ROUTE_DIRECT), one / 2 + 8 * 32, one / 2, 4 },
		{ even("zero3", 5, PRECISION_FP32, ROUTE_TRANSPOSED), one / 2 + 8 * 32, one / 2, 4 },
		/* Of two layers a bucket, the outputs of the upper one must wait for the lower one's gradients. */
		{ even("zero2", 5, PRECISION_FP32, ROUTE_DIRECT), one / 2 + 8 * 32, one / 2, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		expect_counts(&expected[i], expected[i].setup.mode->name);
}

/* A pair's copies replace its gradients: one whole buffer beside the logits' place, and half a one. */
static void tensor_needs_no_more_for_copies(void **state)
{
	const uint64_t one = 64 * 128 * 4;
	const uint64_t biases = (64 + 128) * 4;
	struct expected direct = { even("tensor", 4, PRECISION_FP32, ROUTE_DIRECT), one + 8 * 64,
				   one + one / 2 + biases, 3 };
	struct expected transposed = { even("tensor", 4, PRECISION_FP32, ROUTE_TRANSPOSED), one + 8 * 64,
				       one + one / 2 + biases, 3 };

	(void)state;
	expect_counts(&direct, "direct");
	expect_counts(&transposed, "transposed");
}

/* Outputs that reach beyond the matrix where they begin lie over biases, whose gradients are there early. */
static void biases_below_outputs_wait(void **state)
{
	static const uint64_t batches[] = { 96, 128, 160, 256 };

	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(lodgers); m++)
		for (size_t b = 0; b < ARRAY_SIZE(batches); b++)
			for (int transposed = 0; transposed < 2; transposed++) {
				struct setup s = even(lodgers[m], 5 + b % 2, PRECISION_FP32,
						      transposed ? ROUTE_TRANSPOSED : ROUTE_DIRECT);

				s.batch = batches[b];
				assert_ranks(run_ranks(s.ranks, run_reference, &s), s.ranks, STATUS_OK,
					     lodgers[m]);
			}
}

/* Eight layers as wide as there are rows: where two H200s got wrong gradients of biases and of weights. */
static void a_square_model_in_chunks(void **state)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16 };

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++)
		for (enum route route = ROUTE_DIRECT; route <= ROUTE_TRANSPOSED; route++) {
			struct setup s = even("tensor", 8, precisions[p], route);

			s.batch = 128;
			assert_ranks(run_ranks(2, run_reference, &s), 2, STATUS_OK, "square");
		}
}

/* The more rows, the fewer outputs find room: those that are used longest have memory of their own. */
static void what_does_not_fit_has_its_own(void **state)
{
	struct expected e = { even("single", 4, PRECISION_FP32, ROUTE_DIRECT), 0, 64 * 6 * 128 * 4, 2 };

	(void)state;
	e.setup.batch = 64 * 6;
	/* 384 rows take three layers' gradients: the last outputs lie in those of layers 2, 1 and 0. */
	e.passing = 1;
	e.activations = 3 * (64 * 6 * 128 * 4) + 8 * 64 * 6;
	expect_counts(&e, "rows");
}

static void gaps_and_second_passes_lodge_nothing(void **state)
{
	struct expected uneven = { tiny("single", 1, PRECISION_FP32), 0, 64 * 52 * 4, 0 };
	struct expected twice = { even("single", 4, PRECISION_FP32, ROUTE_DIRECT), 0, 2 * 32 * 128 * 4, 0 };

	(void)state;
	uneven.activations = 64 * (52 + 33 + 44 + 27 + 52) * 4 + 8 * 64;
	expect_counts(&uneven, "gaps");
	twice.setup.accumulate = 2;
	twice.activations = 4 * 32 * 128 * 4 + 8 * 64;
	expect_counts(&twice, "accumulation");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lodgers_compute_what_others_do),
		cmocka_unit_test(what_fits_costs_nothing),
		cmocka_unit_test(tensor_needs_no_more_for_copies),
		cmocka_unit_test(biases_below_outputs_wait),
		cmocka_unit_test(a_square_model_in_chunks),
		cmocka_unit_test(what_does_not_fit_has_its_own),
		cmocka_unit_test(gaps_and_second_passes_lodge_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
