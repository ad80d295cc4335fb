/* How parts of layers agree on the order of sums that all of them keep. */
#include "base/memory.h"
#include "parallel_setups.h"

struct layouts_case {
	struct setup setup;
	int odd; /* rank that chose the direct layout, where all others chose the transposed one */
	uint64_t followers; /* bit r: rank r has parts of the same layers */
};

static enum status expect_layouts(const struct network *n, const struct layouts_case *c, int rank,
				  struct error *err)
{
	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		bool summed = model_layer_split(n->setup, l, n->partition.parts) == ROW_PARALLEL;
		bool direct = rank == c->odd || (summed && c->followers >> rank & 1);

		if (n->wgrad_layouts[l] != (direct ? WGRAD_DIRECT : WGRAD_TRANSPOSED))
			return error_set(err, STATUS_MISMATCH, "layer %zu: route %d", l,
					 (int)n->wgrad_layouts[l]);
	}
	return STATUS_OK;
}

static enum status run_apart(struct device *device, struct world *world, void *context,
			     struct error *err)
{
	const struct layouts_case *c = context;
	struct setup setup = c->setup;
	struct trainer t = { 0 };
	struct rank_team team;
	uint64_t sum = 0;
	enum status status = rank_team_open(&team, device, world, err);

	/* As if the trials of the ranks had come out differently. */
	setup.weight_gradient = world->rank == c->odd ? WGRAD_DIRECT : WGRAD_TRANSPOSED;
	if (status == STATUS_OK)
		status = trainer_open(&t, &setup, &team, err);
	if (status == STATUS_OK)
		status = world_agree(world, expect_layouts(&t.network, c, world->rank, err), err);
	if (status == STATUS_OK)
		status = trainer_step(&t, STEP_ALL, err);
	if (status == STATUS_OK)
		status = verify_replicas(&t, &sum, err);
	trainer_close(&t);
	rank_team_close(&team);
	return status;
}

static void expect_case(struct layouts_case *c)
{
	assert_ranks(run_ranks(c->setup.ranks, run_apart, c), c->setup.ranks, STATUS_OK,
		     c->setup.mode->name);
}

static void parts_of_a_sum_use_the_same_layout(void **state)
{
	static const enum precision precisions[] = { PRECISION_FP32, PRECISION_FP16 };

	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++)
		for (int odd = 0; odd < 4; odd += 3) {
			struct layouts_case tensor = { tiny("tensor", 4, precisions[p]), odd, 0xf };

			expect_case(&tensor);
		}
}

static void other_stages_keep_theirs(void **state)
{
	struct layouts_case hybrid = { tiny("hybrid", 4, PRECISION_FP32), 1, 0x3 };

	(void)state;
	hybrid.setup.grid = (struct grid){ .data = 1, .tensor = 2, .pipeline = 2 };
	hybrid.setup.microbatches = 2;
	expect_case(&hybrid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_sum_use_the_same_layout),
		cmocka_unit_test(other_stages_keep_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
