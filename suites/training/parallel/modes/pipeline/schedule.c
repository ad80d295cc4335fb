#include "suites/training/parallel/modes/pipeline/schedule.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/parallel/modes/pipeline/pipeline.h"
#include "suites/training/parallel/ranks/grid.h"

/* State of a stage during the simulation. */
struct stage_progress {
	uint64_t warmup, forwards, backwards;
	double free;     /* time at which its current operation ends */
	double down, up; /* times at which its links to the next and the previous stage are free */
	double *outputs, *back; /* time at which micro-batch i of forward or backward arrives */
};

struct carrying {
	struct schedule *schedule;
	bool first_last; /* backwards begin with the last micro-batch */
	struct stage_progress *progress;
};

void schedule_open(struct schedule *schedule, const struct setup *setup)
{
	*schedule = (struct schedule){ .setup = setup, .stages = grid_of(setup).pipeline };
}

/*
 * Arrival time of data that are ready at `ready` and are sent over the link of `of`, which is free
 * at *link.
 */
static double schedule_sent_at(const struct schedule_stage *of, double ready, double *link)
{
	double begins = fmax(ready, *link);

	*link = begins + of->occupied;
	return begins + of->send;
}

static bool advance_forward(struct carrying *k, int index)
{
	const struct schedule_stage *stage = &k->schedule->stage[index];
	struct stage_progress *p = &k->progress[index], *before = index > 0 ? p - 1 : NULL;
	uint64_t micro = p->forwards;

	if (before && before->forwards <= micro)
		return false;
	p->free = fmax(p->free, before ? before->outputs[micro] : 0) + stage->forward;
	p->outputs[micro] = index + 1 < k->schedule->stages
				    ? schedule_sent_at(stage, p->free, &p->down)
				    : p->free;
	p->forwards++;
	return true;
}

static bool advance_backward(struct carrying *k, int index)
{
	const struct schedule_stage *stage = &k->schedule->stage[index];
	struct stage_progress *p = &k->progress[index],
			      *next = index + 1 < k->schedule->stages ? p + 1 : NULL;
	uint64_t all = k->schedule->setup->microbatches;
	uint64_t product = pipeline_product(k->schedule->setup, !next, p->backwards);
	uint64_t micro = k->first_last ? all - 1 - p->backwards : p->backwards;
	double made;

	if (next && next->backwards <= p->backwards)
		return false;
	made = fmax(p->free, next ? next->back[micro] : p->outputs[micro]) + stage->inputs;
	p->free = made;
	if (product > 0)
		p->free += stage->weights * (double)product /
			   (double)setup_wgrad_microbatches(k->schedule->setup);
	if (!stage->dgrad_first)
		made = p->free;
	p->back[micro] = index > 0 ? schedule_sent_at(stage - 1, made, &p->up) : made;
	p->backwards++;
	return true;
}

/* Runs the stage's next operation if its inputs are known; false: not yet, or nothing is left. */
static bool schedule_advance_stage(struct carrying *k, int index)
{
	const struct stage_progress *p = &k->progress[index];
	uint64_t all = k->schedule->setup->microbatches;

	if (p->backwards == all)
		return false;
	return p->forwards < all && p->forwards <= p->warmup + p->backwards
		       ? advance_forward(k, index)
		       : advance_backward(k, index);
}

double schedule_carry_out(struct schedule *schedule)
{
	struct carrying k = { .schedule = schedule };
	bool moved = true;
	double last;
	const struct setup *s = k.schedule->setup;
	int stages = k.schedule->stages;

	k.progress = xcalloc((size_t)stages, sizeof(*k.progress));
	for (int i = 0; i < stages; i++) {
		k.progress[i].warmup = s->mode->warmup(stages, i, s->microbatches);
		k.progress[i].outputs = xcalloc(s->microbatches, sizeof(double));
		k.progress[i].back = xcalloc(s->microbatches, sizeof(double));
	}
	k.first_last = k.progress[0].warmup == s->microbatches &&
		       k.progress[stages - 1].warmup == s->microbatches;
	while (moved) {
		moved = false;
		for (int i = 0; i < schedule->stages; i++)
			while (schedule_advance_stage(&k, i))
				moved = true;
	}
	last = 0;
	for (int i = 0; i < k.schedule->stages; i++) {
		struct stage_progress *p = &k.progress[i];

		k.schedule->stage[i].last = p->free;
		/* NaN stays NaN. */
		last = p->free <= last ? last : p->free;
		free(p->outputs);
		free(p->back);
	}
	free(k.progress);
	return last;
}
