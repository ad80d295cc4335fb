#include "suites/training/parallel/trainer/scaler.h"

#include "kernels/training/loss_scale.h"

/* Steps for the decrease from the largest to the smallest scale. */
#define SETTLE_MOST 32

static enum status scaler_fetch(struct trainer *t, struct loss_scale *out, struct error *err)
{
	return team_fetch(t->team, out, t->network.loss_scale, sizeof(*out), err);
}

enum status scaler_reset(struct trainer *t, struct error *err)
{
	struct loss_scale state = { 0 }, fresh = { .scale = (float)t->setup->loss_scale };

	if (!t->network.loss_scale)
		return STATUS_OK;
	if (t->scale_known && scaler_fetch(t, &state, err) != STATUS_OK)
		return err->status;
	if (t->scale_known)
		fresh.scale = state.scale;
	else
		t->scale_interval = SCALER_INTERVAL;
	t->scale_known = true;
	if (backend_copy(trainer_stream(t), t->network.loss_scale, &fresh, sizeof(fresh), err) !=
	    STATUS_OK)
		return err->status;
	return backend_stream_synchronize(trainer_stream(t), err);
}

enum status scaler_decide(struct trainer *t, struct error *err)
{
	const struct network *n = &t->network;
	/* If every rank updates the same gradients, it finds the same overflow in them. */
	bool alone = !t->team->all || (t->mode->replicated && parameter_shard_is_whole(&n->shard));
	struct loss_scale_decide_arguments decide = { .state = n->loss_scale,
						      .beta1 = t->setup->beta1,
						      .beta2 = t->setup->beta2,
						      .interval = t->scale_interval };

	if (!n->loss_scale || err->status != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < n->shard.count; i++) {
		const struct shard_range *range = &n->shard.ranges[i];
		struct loss_scale_check_arguments check = {
			.gradient = network_element(n, n->gradients, range->gradients),
			.precision = setup_storage(t->setup),
			.count = range->count,
			.state = n->loss_scale,
		};

		if (backend_launch(trainer_stream(t), "loss_scale_check", &check, err) != STATUS_OK)
			return err->status;
	}
	if (trainer_does(t, STEP_COMMUNICATE) && !alone &&
	    backend_all_reduce(t->team->all, trainer_stream(t), &n->loss_scale->found,
			       &n->loss_scale->found, 1, PRECISION_FP32, REDUCE_MAX,
			       err) != STATUS_OK)
		return err->status;
	return backend_launch(trainer_stream(t), "loss_scale_decide", &decide, err);
}

enum status scaler_settle(struct trainer *t, struct error *err)
{
	struct loss_scale state = { 0 };

	for (int i = 0; i < SETTLE_MOST && t->network.loss_scale; i++) {
		enum status status = trainer_step(t, STEP_ALL, err);

		if (status == STATUS_OK)
			status = world_agree(t->team->world, scaler_fetch(t, &state, err), err);
		/* All ranks have made the same decision. */
		if (status != STATUS_OK || state.inverse != 0)
			return status;
	}
	return t->network.loss_scale
		       ? error_set(err, STATUS_MISMATCH,
				   "gradients are not finite even at a loss scale of %g",
				   (double)state.scale)
		       : STATUS_OK;
}

enum status scaler_scale(struct trainer *t, double *scale, struct error *err)
{
	struct loss_scale state = { 0 };

	*scale = t->setup->loss_scale;
	if (!t->network.loss_scale || scaler_fetch(t, &state, err) != STATUS_OK)
		return err->status;
	*scale = (double)state.scale;
	return STATUS_OK;
}

enum status scaler_counts(struct trainer *t, uint64_t *applied, uint64_t *skipped,
			  struct error *err)
{
	struct loss_scale state = { 0 };

	if (t->network.loss_scale && scaler_fetch(t, &state, err) != STATUS_OK)
		return err->status;
	*applied = state.applied;
	*skipped = state.skipped;
	return STATUS_OK;
}
