/* Small models for tests of the suite `parallel`, and what a rank does to verify one. */
#ifndef GPUPROOF_TESTS_PARALLEL_SETUPS_H
#define GPUPROOF_TESTS_PARALLEL_SETUPS_H

#include "parallel_ranks.h"
#include "suites/parallel/modes/modes.h"
#include "suites/parallel/verify/verify.h"

/* Every mode that splits, so that each test covers a new one. */
static const char *const split_names[] = { "ddp",   "zero1", "zero2",      "zero3",  "layer_split",
					   "gpipe", "1f1b",  "1f1b_eager", "tensor", "dp_naive" };

/*
 * Uneven on purpose: no width is a multiple of another, but the outputs of the layers that
 * tensor parallelism cuts divide by 2 and 4.
 */
static inline struct setup tiny(const char *mode, int ranks, enum precision precision)
{
	static const uint64_t widths[] = { 24, 52, 33, 44, 27, 10 };
	struct setup s = {
		.mode = mode_find(mode),
		.ranks = ranks,
		.layers = 5,
		.batch = 64,
		.microbatches = 1,
		.bucket_bytes = 6000,
		.precision = precision,
		.optimizer = OPTIMIZER_ADAM,
		.beta1 = 0.9,
		.beta2 = 0.999,
		.epsilon = 1e-8,
		.rate_chosen = true,
		.loss_scale = precision == PRECISION_FP16 ? 1024 : 1,
		.seed = 11,
	};

	memcpy(s.widths, widths, sizeof(widths));
	setup_fit_mode(&s);
	s.rate = setup_safe_rate(&s);
	return s;
}

typedef enum status trainer_fn(struct trainer *t, struct error *err);

struct training_rank {
	const struct setup *setup;
	trainer_fn *fn;
};

static inline enum status run_training_rank(struct device *device, struct world *world,
					    void *context, struct error *err)
{
	const struct training_rank *r = context;
	struct trainer t = { 0 };
	struct team team;
	enum status status = team_open(&team, device, world, err);

	if (status == STATUS_OK)
		status = trainer_open(&t, r->setup, &team, err);
	if (status == STATUS_OK)
		status = r->fn(&t, err);
	trainer_close(&t);
	team_close(&team);
	return status;
}

/* As run_ranks(): on every rank of `setup` a trainer is opened, given to `fn` and closed. */
static inline const struct rank_outcome *run_trainers(const struct setup *setup, trainer_fn *fn)
{
	struct training_rank rank = { setup, fn };

	return run_ranks(setup->ranks, run_training_rank, &rank);
}

static inline enum status run_reference(struct device *device, struct world *world, void *context,
					struct error *err)
{
	const struct setup *setup = context;
	struct check check = { 0 };
	struct team team;
	enum status status = team_open_over(&team, device, world, setup->transport, 0, err);

	if (status == STATUS_OK)
		status = verify_reference(setup, &team, &check, err);
	team_close(&team);
	return status;
}

#endif
