#include "suites/training/parallel/trainer/trainer.h"

#include <stdlib.h>

#include "base/memory.h"
#include "kernels/training/loss_scale.h"
#include "kernels/training/training.h"
#include "suites/training/models/buffer_alias.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/model.h"
#include "suites/training/parallel/trainer/timeline.h"

/*
 * Runs one step without communication: loads every kernel and tunes every layer by timing. GEMMs
 * that overlap with collectives are tuned for the multiprocessors that the collectives leave.
 */
static enum status trainer_tune(struct trainer *t, struct error *err)
{
	int all = t->team->device->info.multiprocessors, taken = t->team->multiprocessors;
	t->network.multiprocessors = taken > 0 && taken < all && t->mode->overlap ? all - taken : 0;
	t->network.tuning = true;
	t->network.tuning_cache = t->team->tuning_cache;
	rank_team_phase(t->team, "autotuning", err);
	trainer_step(t, STEP_COMPUTE | STEP_UPDATE, err);
	t->network.tuning = false;
	if (err->status != STATUS_OK)
		return err->status;
	gemm_tuning_agree_on_wgrad_layouts(&t->network, t->team->world);
	buffer_alias_transposed(&t->network);
	if (t->mode->tuned)
		t->mode->tuned(t);
	return STATUS_OK;
}

enum status trainer_open(struct trainer *t, const struct setup *setup, struct rank_team *team,
			 struct error *err)
{
	struct device *device = team->device;

	*t = (struct trainer){ .setup = setup, .mode = setup->mode, .team = team };
	arena_init(&t->arena, device);
	t->arena.source = team->memory;
	if (rank_team_phase(team, "memory", err) != STATUS_OK)
		return err->status;
	network_open(&t->network, setup, trainer_stream(t), &t->arena, team->world->rank, err);
	if (world_agree(team->world, err->status, err) != STATUS_OK ||
	    rank_team_phase(team, "additional communicators", err) != STATUS_OK ||
	    (t->mode->open && t->mode->open(t, err) != STATUS_OK))
		return err->status;
	rank_team_phase(team, "data", err);
	trainer_reset(t, err);
	trainer_tune(t, err);
	if (rank_team_phase(team, "data", err) != STATUS_OK)
		return err->status;
	/* The host's streams keep the workspace of 16-bit products: other precisions need none. */
	if (device->backend->gemm_workspace &&
	    (!(device->info.capabilities & DEVICE_SHARES_HOST_MEMORY) ||
	     precision_bytes(t->setup->precision) == 2))
		arena_account(&t->arena, MEMORY_WORKSPACE, device->backend->gemm_workspace(device));
	/* That step was local to each rank, so the loss scales may differ. */
	t->scale_known = false;
	trainer_reset(t, err);
	if (setup->dynamic_scale) {
		trainer_settle_scale(t, err);
		trainer_reset(t, err);
	}
	if (err->status == STATUS_OK && t->mode->tune_collective) {
		t->mode->tune_collective(t, err);
		trainer_reset(t, err);
	}
	return err->status;
}

void trainer_close(struct trainer *t)
{
	/* After a failure, half a step may still be running in any stream and using the memory. */
	for (int i = 0; t->team && i < STREAM_COUNT; i++)
		backend_stream_synchronize(t->team->streams[i], NULL);
	if (t->mode && t->mode->close)
		t->mode->close(t);
	arena_release(&t->arena);
	*t = (struct trainer){ 0 };
}

static enum status trainer_fetch_scale(struct trainer *t, struct loss_scale *out, struct error *err)
{
	return rank_team_fetch(t->team, out, t->network.loss_scale, sizeof(*out), err);
}

/* Resets the counts. The scale stays; in the first call it is set to the setup's. Waits. */
static enum status trainer_reset_scale(struct trainer *t, struct error *err)
{
	struct loss_scale state = { 0 }, fresh = { .scale = (float)t->setup->loss_scale };

	if (!t->network.loss_scale)
		return STATUS_OK;
	if (t->scale_known && trainer_fetch_scale(t, &state, err) != STATUS_OK)
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

enum status trainer_reset(struct trainer *t, struct error *err)
{
	if (err->status != STATUS_OK)
		return err->status;
	if (network_reset(&t->network, err) == STATUS_OK &&
	    trainer_reset_scale(t, err) == STATUS_OK && t->mode->reset)
		t->mode->reset(t, err);
	return world_agree(t->team->world, err->status, err);
}

enum status trainer_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	t->step = parts;
	t->network.idle = !(parts & STEP_COMPUTE);
	return t->mode->enqueue(t, err);
}

enum status trainer_step(struct trainer *t, unsigned parts, struct error *err)
{
	uint64_t before = rank_team_commands(t->team);
	unsigned commands;

	if (err->status != STATUS_OK)
		return err->status;
	trainer_enqueue(t, parts, err);
	commands = (unsigned)(rank_team_commands(t->team) - before);
	t->copy_commands = commands > t->copy_commands ? commands : t->copy_commands;
	/*
	 * Agree before waiting: a rank that could not enqueue would make the others wait forever.
	 */
	if (world_agree(t->team->world, err->status, err) != STATUS_OK)
		return err->status;
	return world_agree(t->team->world, rank_team_synchronize(t->team, err), err);
}

enum status trainer_align(struct trainer *t, struct error *err)
{
	void *scratch = t->network.scratch;

	if (!t->team->all)
		return STATUS_OK;
	return backend_all_reduce(t->team->all, trainer_stream(t), scratch, scratch, 1,
				  PRECISION_FP32, REDUCE_SUM, err);
}

enum status trainer_loss(struct trainer *t, double *loss, struct error *err)
{
	double sum;
	enum status status = network_loss_sum(&t->network, &sum, err);

	*loss = world_sum(t->team->world, sum) / (double)t->setup->batch;
	return world_agree(t->team->world, status, err);
}

enum status trainer_update(struct trainer *t, struct error *err)
{
	if (!trainer_does(t, STEP_UPDATE))
		return err->status;
	timeline_begin(t, STREAM_COMPUTE, SPAN_OPTIMIZER, 0);
	trainer_decide_scale(t, err);
	gemm_layer_update(&t->network, err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

enum status trainer_wait(struct trainer *t, struct event *event, struct error *err)
{
	return err->status == STATUS_OK ? backend_stream_wait(trainer_stream(t), event, err)
					: err->status;
}

enum status trainer_record(struct trainer *t, struct event *event, struct error *err)
{
	return err->status == STATUS_OK ? backend_event_record(event, trainer_stream(t), err)
					: err->status;
}

double trainer_gradient_scale(const struct trainer *t, uint64_t rows)
{
	return setup_fixed_scale(t->setup) / (double)rows;
}

struct parts {
	struct part_links links;
	struct trainer *trainer;
	struct communicator *communicator;
	enum team_stream stream;
	struct event *ready, *done;
};

static enum status trainer_parts_start_collective(void *state, enum part_collective collective,
						  void *whole, void *share, uint64_t count,
						  struct error *err)
{
	static const enum span_kind spans[] = { [PARTS_SUM] = SPAN_ALL_REDUCE,
						[PARTS_GATHER] = SPAN_ALL_GATHER,
						[PARTS_SCATTER] = SPAN_REDUCE_SCATTER };
	struct parts *p = state;
	bool apart = p->stream != STREAM_COMPUTE;
	uint64_t each = count / (uint64_t)p->trainer->network.partition.parts;
	const struct step_collective c = { .kind = spans[collective],
					   .stream = p->stream,
					   .communicator = p->communicator,
					   .to = collective == PARTS_SCATTER ? share : whole,
					   .from = collective == PARTS_GATHER ? share : whole,
					   .count = collective == PARTS_SUM ? count : each,
					   .reduction = REDUCE_SUM,
					   .ready = apart ? p->ready : NULL,
					   .done = apart ? p->done : NULL };

	return trainer_does(p->trainer, STEP_COMMUNICATE) ? timeline_collective(p->trainer, &c, err)
							  : err->status;
}

static enum status trainer_wait_done(void *state, struct error *err)
{
	struct parts *p = state;

	if (!trainer_does(p->trainer, STEP_COMMUNICATE) || p->stream == STREAM_COMPUTE)
		return err->status;
	return trainer_wait(p->trainer, p->done, err);
}

enum status trainer_parts_open(struct trainer *t, struct communicator *communicator,
			       enum team_stream stream, struct error *err)
{
	struct parts *p = t->parts = xcalloc(1, sizeof(*p));

	*p = (struct parts){ .links = { p, trainer_parts_start_collective, trainer_wait_done },
			     .trainer = t,
			     .communicator = communicator,
			     .stream = stream };
	t->network.links = &p->links;
	if (rank_team_open_events(t->team, &p->ready, 1, err) == STATUS_OK)
		rank_team_open_events(t->team, &p->done, 1, err);
	return world_agree(t->team->world, err->status, err);
}

void trainer_parts_close(struct trainer *t)
{
	if (!t->parts)
		return;
	backend_event_destroy(t->parts->ready);
	backend_event_destroy(t->parts->done);
	free(t->parts);
	t->parts = NULL;
	t->network.links = NULL;
}

/*
 * A block has two sums in forward, one of which recomputation repeats, and two in backward. With
 * sequence parallelism, rows are gathered before each product and scattered after it, which sends
 * as much as a sum, and gathered once more for the gradients of the weights. The embedding's
 * outputs and the gradient of the head's input are sums, and the loss gathers a row's statistics.
 */
double trainer_parts_sent_bytes(const struct setup *setup, size_t layer, int parts)
{
	bool sequence = setup->mode->sequence, again = setup_recomputes_blocks(setup);
	double halves = 0, statistics = 0, t = parts;

	switch (model_layer_kind(setup, layer)) {
	case LAYER_EMBEDDING:
		halves = 2;
		break;
	case LAYER_BLOCK:
		halves = sequence ? (again ? 13 : 10) : (again ? 10 : 8);
		break;
	case LAYER_HEAD:
		halves = sequence ? 3 : 2;
		statistics = sizeof(struct softmax_statistics);
		break;
	default:
		break;
	}
	return halves * (t - 1) / t * (double)setup->transformer.hidden *
		       (double)precision_bytes(setup->precision) +
	       (t - 1) * statistics;
}

/* Steps for the decrease from the largest to the smallest scale. */
#define SETTLE_MOST 32

enum status trainer_decide_scale(struct trainer *t, struct error *err)
{
	const struct network *n = &t->network;
	/* If every rank updates the same gradients, it finds the same overflow in them. */
	bool alone =
		!t->team->all || (t->mode->replicated && model_parameter_shard_is_whole(&n->shard));
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

enum status trainer_settle_scale(struct trainer *t, struct error *err)
{
	struct loss_scale state = { 0 };

	for (int i = 0; i < SETTLE_MOST && t->network.loss_scale; i++) {
		/* All ranks have made the same decision. */
		if (trainer_step(t, STEP_ALL, err) != STATUS_OK ||
		    world_agree(t->team->world, trainer_fetch_scale(t, &state, err), err) !=
			    STATUS_OK ||
		    state.inverse != 0)
			return err->status;
	}
	return t->network.loss_scale
		       ? error_set(err, STATUS_MISMATCH,
				   "gradients are not finite even with a loss scale of %g",
				   (double)state.scale)
		       : STATUS_OK;
}

enum status trainer_scale(struct trainer *t, double *scale, struct error *err)
{
	struct loss_scale state = { 0 };

	*scale = t->setup->loss_scale;
	if (!t->network.loss_scale || trainer_fetch_scale(t, &state, err) != STATUS_OK)
		return err->status;
	*scale = (double)state.scale;
	return STATUS_OK;
}

enum status trainer_scale_counts(struct trainer *t, uint64_t *applied, uint64_t *skipped,
				 struct error *err)
{
	struct loss_scale state = { 0 };

	if (t->network.loss_scale && trainer_fetch_scale(t, &state, err) != STATUS_OK)
		return err->status;
	*applied = state.applied;
	*skipped = state.skipped;
	return STATUS_OK;
}
