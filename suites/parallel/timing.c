#include "suites/parallel/timing.h"

#include "suites/parallel/verify/recorded.h"

/*
 * The unfinished work after the last step then counts a fourth of what it would for a single step.
 */
#define STEPS_THAT_RUN_ON 4

struct steps {
	struct trainer *trainer;
	unsigned parts;
	struct verify_recorded recorded; /* where steps are launched as graphs */
};

static enum status launch_steps(void *state, unsigned batch, struct error *err)
{
	struct steps *steps = state;

	for (unsigned i = 0; i < batch; i++)
		if (steps->trainer->mode->enqueue(steps->trainer, steps->parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* The optimizer alone, without the events of a step that has nothing else in it. */
static enum status launch_updates(void *state, unsigned batch, struct error *err)
{
	struct steps *steps = state;

	for (unsigned i = 0; i < batch; i++)
		if (trainer_update(steps->trainer, steps->parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status launch_graphs(void *state, unsigned batch, struct error *err)
{
	return recorded_launch(&((struct steps *)state)->recorded, batch, err);
}

static enum status align_ranks(void *state, struct error *err)
{
	return trainer_align(((struct steps *)state)->trainer, err);
}

/*
 * Recorded on every rank that is sampled, or on none. A graph with branches takes more of the
 * device's queue than one command, how many is not documented: it counts as what was recorded into
 * it.
 */
static enum status record(struct run *run, struct steps *steps, struct workload *w,
			  struct error *err)
{
	enum status status = recorded_open(&steps->recorded, steps->trainer, steps->parts, err);

	w->launch = launch_graphs;
	return run->sampler.world ? world_agree(run->sampler.world, status, err) : status;
}

enum status timing_sample(struct run *run, struct trainer *t, unsigned parts, const char *name,
			  struct series *out, struct error *err)
{
	struct steps steps = { .trainer = t, .parts = parts };
	struct workload w = {
		.state = &steps,
		.align = run->sampler.world ? align_ranks : NULL,
		.launch = parts == STEP_UPDATE ? launch_updates : launch_steps,
		.clock = CLOCK_DEVICE,
		.streams = t->team->streams,
		.stream_count = t->team->all ? STREAM_COUNT : 1,
		.min_batch = t->mode->runs_on && parts == STEP_ALL ? STEPS_THAT_RUN_ON : 0,
		.commands = t->mode->commands(t) + t->copy_commands,
		.has_energy = run->sampler.world && parts == STEP_ALL,
	};
	const struct series *series;
	enum status status = STATUS_OK;

	if (t->setup->graph)
		status = record(run, &steps, &w, err);
	if (status == STATUS_OK) {
		status = run_sample(run, &w, name, &series, err);
		*out = *series;
	}
	recorded_close(&steps.recorded);
	return status;
}

enum status timing_sample_alone(struct run *run, struct trainer *t, unsigned parts,
				const char *name, struct series *out, struct error *err)
{
	struct run alone = *run;

	alone.sampler.world = NULL;
	return timing_sample(&alone, t, parts, name, out, err);
}
