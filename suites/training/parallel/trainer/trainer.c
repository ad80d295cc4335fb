#include "suites/training/parallel/trainer/trainer.h"

#include "suites/training/models/buffer_alias.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/gemm/wgrad_layout.h"
#include "suites/training/parallel/trainer/scaler.h"
#include "suites/training/parallel/trainer/timeline.h"

static void trainer_account_workspace(struct trainer *t)
{
	const struct device *device = t->team->device;

	/* The host's streams keep the workspace of 16-bit products: other precisions need none. */
	if (device->backend->gemm_workspace &&
	    (!(device->info.capabilities & DEVICE_SHARES_HOST_MEMORY) ||
	     precision_bytes(t->setup->precision) == 2))
		arena_account(&t->arena, MEMORY_WORKSPACE,
			      device->backend->gemm_workspace(t->team->device));
}

/*
 * Runs one step without communication: loads every kernel and tunes every layer by timing. GEMMs
 * that overlap with collectives are tuned for the multiprocessors that the collectives leave.
 */
static enum status trainer_tune(struct trainer *t, struct error *err)
{
	int all = t->team->device->info.multiprocessors, taken = t->team->multiprocessors;
	enum status status;

	t->network.multiprocessors = taken > 0 && taken < all && t->mode->overlap ? all - taken : 0;
	t->network.tuning = true;
	t->network.gemm_cache = t->team->gemm_cache;
	status = team_phase(t->team, "autotuning", err);
	if (status == STATUS_OK)
		status = trainer_step(t, STEP_COMPUTE | STEP_UPDATE, err);
	t->network.tuning = false;
	if (status != STATUS_OK)
		return status;
	wgrad_layouts_agree(&t->network, t->team->world);
	buffer_alias_transposed(&t->network);
	if (t->mode->tuned)
		t->mode->tuned(t);
	return STATUS_OK;
}

enum status trainer_open(struct trainer *t, const struct setup *setup, struct rank_team *team,
			 struct error *err)
{
	struct world *world = team->world;

	*t = (struct trainer){ .setup = setup, .mode = setup->mode, .team = team };
	arena_init(&t->arena, team->device);
	t->arena.source = team->memory;
	if (team_phase(team, "memory", err) != STATUS_OK ||
	    world_agree(world,
			network_open(&t->network, setup, trainer_stream(t), &t->arena, world->rank,
				     err),
			err) != STATUS_OK ||
	    team_phase(team, "additional communicators", err) != STATUS_OK ||
	    (t->mode->open && t->mode->open(t, err) != STATUS_OK) ||
	    team_phase(team, "data", err) != STATUS_OK || trainer_reset(t, err) != STATUS_OK ||
	    trainer_tune(t, err) != STATUS_OK || team_phase(team, "data", err) != STATUS_OK)
		return err->status;
	trainer_account_workspace(t);
	/* That step was local to each rank, so the loss scales may differ. */
	t->scale_known = false;
	if (trainer_reset(t, err) != STATUS_OK)
		return err->status;
	if (setup->dynamic_scale &&
	    (scaler_settle(t, err) != STATUS_OK || trainer_reset(t, err) != STATUS_OK))
		return err->status;
	if (!t->mode->tune_collective)
		return STATUS_OK;
	return t->mode->tune_collective(t, err) == STATUS_OK ? trainer_reset(t, err) : err->status;
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

enum status trainer_reset(struct trainer *t, struct error *err)
{
	enum status status = network_reset(&t->network, err);

	if (status == STATUS_OK)
		status = scaler_reset(t, err);
	if (status == STATUS_OK && t->mode->reset)
		status = t->mode->reset(t, err);

	return world_agree(t->team->world, status, err);
}

enum status trainer_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	t->step = parts;
	t->network.idle = !(parts & STEP_COMPUTE);
	return t->mode->enqueue(t, err);
}

enum status trainer_step(struct trainer *t, unsigned parts, struct error *err)
{
	uint64_t before = team_commands(t->team);
	enum status status = trainer_enqueue(t, parts, err);
	unsigned commands = (unsigned)(team_commands(t->team) - before);

	t->copy_commands = commands > t->copy_commands ? commands : t->copy_commands;
	/*
	 * Agree before waiting: a rank that could not enqueue would make the others wait forever.
	 */
	if (world_agree(t->team->world, status, err) != STATUS_OK)
		return err->status;
	return world_agree(t->team->world, team_synchronize(t->team, err), err);
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
	scaler_decide(t, err);
	network_update(&t->network, err);
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
