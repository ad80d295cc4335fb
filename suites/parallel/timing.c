#include "suites/parallel/timing.h"

struct steps {
	struct trainer *trainer;
	unsigned parts;
};

static enum status launch_steps(void *state, unsigned batch, struct error *err)
{
	struct steps *steps = state;

	for (unsigned i = 0; i < batch; i++)
		if (steps->trainer->mode->enqueue(steps->trainer, steps->parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status timing_sample(struct run *run, struct trainer *t, unsigned parts, const char *name,
			  struct series *out, struct error *err)
{
	struct steps steps = { t, parts };
	struct workload w = {
		.state = &steps,
		.launch = launch_steps,
		.clock = CLOCK_DEVICE,
		.streams = t->team->streams,
		.stream_count = t->team->all ? STREAM_COUNT : 1,
		.commands = t->mode->commands(t) + t->copy_commands,
	};
	const struct series *series;
	enum status status = run_sample(run, &w, name, &series, err);

	*out = *series;
	return status;
}

enum status timing_sample_alone(struct run *run, struct trainer *t, unsigned parts,
				const char *name, struct series *out, struct error *err)
{
	struct run alone = *run;

	alone.sampler.world = NULL;
	return timing_sample(&alone, t, parts, name, out, err);
}
