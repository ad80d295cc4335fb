/*
 * Training in FP16 with the loss scale that the device keeps: every split computes what the
 * reference computes, all ranks skip a step or none does, and a skipped step changes nothing but
 * the scale.
 */
#include "parallel_setups.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "kernels/training/loss_scale.h"
#include "suites/training/parallel/trainer/trainer.h"

static struct setup dynamic(const char *mode, int ranks)
{
	struct setup setup = tiny(mode, ranks, PRECISION_FP16);

	setup.dynamic_scale = true;
	setup.loss_scale = LOSS_SCALE_START;
	if (setup.mode->microbatched)
		setup.microbatches = 4;
	return setup;
}

static void check_mode(const char *mode, int ranks, bool storage_only)
{
	struct setup setup = dynamic(mode, ranks);

	setup.storage_only = storage_only;
	for (int o = OPTIMIZER_ADAM; o >= OPTIMIZER_SGD; o--) {
		setup.optimizer = (enum optimizer)o;
		setup.momentum = o == OPTIMIZER_MOMENTUM ? 0.9 : 0;
		/* Large enough to move a weight in FP16. */
		setup.rate = o == OPTIMIZER_ADAM ? 0.01 : 0.5;
		assert_ranks(run_ranks(ranks, run_reference, &setup), ranks, STATUS_OK, mode);
		/* Without masters an optimizer has a path of its own. */
		if (!storage_only || ranks > 1)
			break;
	}
}

static void every_split_equals_the_reference(void **state)
{
	(void)state;
	for (int storage_only = 0; storage_only <= 1; storage_only++) {
		check_mode("single", 1, storage_only);
		for (size_t m = 0; m < ARRAY_SIZE(split_names); m++)
			check_mode(split_names[m], 2, storage_only);
	}
}

static enum status set_scale(struct trainer *t, float scale, struct error *err)
{
	struct loss_scale s = { .scale = scale };
	struct stream *stream = t->team->streams[STREAM_COMPUTE];

	if (backend_copy(stream, t->network.loss_scale, &s, sizeof(s), err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(stream, err);
}

/* All ranks have `applied` and `skipped` steps, and the scale `scale`. */
static enum status expect_state(struct trainer *t, uint64_t applied, uint64_t skipped, double scale,
				struct error *err)
{
	uint64_t a = 0, s = 0;
	double now = 0;

	if (trainer_scale_counts(t, &a, &s, err) != STATUS_OK ||
	    trainer_scale(t, &now, err) != STATUS_OK)
		return err->status;
	if (a == applied && s == skipped && now == scale)
		return STATUS_OK;
	return error_set(err, STATUS_INTERNAL, "%llu applied, %llu skipped, scale %g",
			 (unsigned long long)a, (unsigned long long)s, now);
}

static enum status weights_sum(struct trainer *t, uint64_t *sum, struct error *err)
{
	const struct network *n = &t->network;

	return rank_team_checksum(t->team, n->weights, n->shard.weights * 2, sum, err);
}

/* A scale at which gradients overflow: the step is skipped; soon after one is not. */
static enum status overflow(struct trainer *t, struct error *err)
{
	const double huge = LOSS_SCALE_MOST;
	uint64_t before, after, applied, skipped;

	if (set_scale(t, (float)huge, err) != STATUS_OK ||
	    weights_sum(t, &before, err) != STATUS_OK ||
	    trainer_step(t, STEP_ALL, err) != STATUS_OK ||
	    weights_sum(t, &after, err) != STATUS_OK ||
	    expect_state(t, 0, 1, huge / 2, err) != STATUS_OK)
		return err->status;
	if (after != before && !t->network.shard.receives_weights)
		return error_set(err, STATUS_INTERNAL, "a skipped step changed the weights");
	if (trainer_settle_scale(t, err) != STATUS_OK ||
	    trainer_scale_counts(t, &applied, &skipped, err) != STATUS_OK)
		return err->status;
	return applied == 1 && skipped > 1
		       ? expect_state(t, 1, skipped, ldexp(huge, -(int)skipped), err)
		       : error_set(err, STATUS_INTERNAL, "settled after %llu skipped steps",
				   (unsigned long long)skipped);
}

static void an_overflow_skips_the_step(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(split_names); m++) {
		struct setup setup = dynamic(split_names[m], 2);

		assert_ranks(run_trainers(&setup, overflow), 2, STATUS_OK, split_names[m]);
	}
}

/* An overflow that only one rank has seen, in a gradient that it alone updates. */
static enum status overflow_on_one(struct trainer *t, struct error *err)
{
	const uint16_t infinity = 0x7c00;
	bool here = t->team->world->rank == (strcmp(t->mode->name, "dp_naive") == 0 ? 0 : 1);
	double scale = 0;
	enum status status = trainer_scale(t, &scale, err);

	if (status == STATUS_OK)
		status = trainer_step(t, STEP_COMPUTE | STEP_COMMUNICATE, err);
	if (status == STATUS_OK && here)
		status = backend_copy(t->team->streams[STREAM_COMPUTE],
				      network_element(&t->network, t->network.gradients,
						      t->network.shard.ranges[0].gradients),
				      &infinity, sizeof(infinity), err);
	if (status == STATUS_OK)
		status = trainer_decide_scale(t, err);
	if (status == STATUS_OK)
		status = rank_team_synchronize(t->team, err);
	if (status == STATUS_OK)
		status = expect_state(t, 0, 1, scale / 2, err);
	return status;
}

static void one_rank_skips_for_all(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(split_names); m++) {
		struct setup setup = dynamic(split_names[m], 2);

		/* There every rank has the sum of all gradients and finds the same. */
		if (strcmp(split_names[m], "ddp") == 0)
			continue;
		assert_ranks(run_trainers(&setup, overflow_on_one), 2, STATUS_OK, split_names[m]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split_equals_the_reference),
		cmocka_unit_test(an_overflow_skips_the_step),
		cmocka_unit_test(one_rank_skips_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
