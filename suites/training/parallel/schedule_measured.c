#include "suites/training/parallel/schedule_measured.h"

#include <math.h>

#include "suites/training/models/segments.h"
#include "suites/training/parallel/modes/pipeline/schedule.h"
#include "suites/training/parallel/ranks/grid.h"

/* Times of a stage, from its slowest rank. */
struct stage_times {
	double compute, update;
	double width; /* columns that cross the edge to the next stage; the last: 0 */
	double bytes; /* bytes that the rank sends in messages, in both directions */
};

static void schedule_measured_share_of(const struct setup *setup, int stage,
				       struct rank_partition *partition)
{
	struct parameter_shard shard;

	parameter_shard_of(setup, grid_rank(setup, (struct grid_place){ .stage = stage }),
			   partition, &shard);
}

static void schedule_measured_read_stage(const struct setup *setup,
					 const struct measured_times *times, int stage,
					 struct stage_times *out)
{
	struct rank_partition partition;
	double before = 0;

	*out = (struct stage_times){ 0 };
	for (int rank = 0; rank < setup->ranks; rank++)
		if (grid_place(setup, rank).stage == stage && times->compute[rank] > out->compute) {
			out->compute = times->compute[rank];
			out->update = fmin(times->update[rank], times->compute[rank]);
		}
	schedule_measured_share_of(setup, stage, &partition);
	if (partition.last < setup->layers)
		out->width = (double)partition_width(setup, &partition, partition.last);
	if (partition.first > 0)
		before = (double)partition_width(setup, &partition, partition.first);
	out->bytes = (double)(partition.rows * precision_bytes(setup->precision)) *
		     (before + out->width);
}

/*
 * Divides the time of one micro-batch among forward, gradients of inputs and gradients of weights,
 * in proportion to their operations.
 */
static void schedule_measured_share_out(const struct setup *setup, int index, double seconds,
					struct schedule_stage *stage)
{
	struct segments segments;
	struct rank_partition partition;
	struct model model;
	double forward = 0, inputs = 0, all;

	schedule_measured_share_of(setup, index, &partition);
	model_init_partition(&model, setup, &partition);
	segments_make(&segments, setup, &partition);
	for (size_t l = partition.first; l < partition.last; l++) {
		forward += (double)model.layer[l].in * (double)model.layer[l].out;
		inputs += l > 0 ? (double)model.layer[l].in * (double)model.layer[l].out : 0;
		for (size_t r = segments_recompute_from(&segments, l); r < l; r++)
			inputs += (double)model.layer[r].in * (double)model.layer[r].out;
	}
	all = 2 * forward + inputs;
	seconds /= (double)setup->microbatches;
	stage->forward = seconds * forward / all;
	stage->weights = stage->forward * (double)setup_wgrad_microbatches(setup);
	stage->inputs = seconds * inputs / all;
	stage->dgrad_first = setup_dgrad_first(setup) && partition.first > 0;
}

/*
 * Duration of the messages alone if the widest edge takes one second: the measured communication is
 * a multiple of it.
 */
static double schedule_measured_messages_alone(const struct setup *setup,
					       const struct stage_times *stages, double widest)
{
	struct schedule k;

	schedule_open(&k, setup);
	for (int i = 0; i < k.stages; i++)
		k.stage[i].send = k.stage[i].occupied = stages[i].width / widest;
	return schedule_carry_out(&k);
}

/* Seconds of a message over the widest edge. */
static double schedule_measured_message_of(const struct setup *setup,
					   const struct stage_times *stages, double widest,
					   double communication)
{
	double bytes = 0, wire = setup->mode->wire_bytes(setup);

	if (widest == 0)
		return 0;
	for (int i = 0; i < grid_of(setup).pipeline; i++)
		bytes = fmax(bytes, stages[i].bytes);
	return communication * fmin(1, bytes / wire) /
	       schedule_measured_messages_alone(setup, stages, widest);
}

/* End of the last update. */
static double schedule_measured_end_of(struct schedule *k, const struct stage_times *stages)
{
	double last = 0;

	schedule_carry_out(k);
	for (int i = 0; i < k->stages; i++)
		last = fmax(last, k->stage[i].last + stages[i].update);
	return last;
}

static struct measured_schedule schedule_measured_of_pipeline(const struct setup *setup,
							      const struct measured_times *times)
{
	struct stage_times stages[SETUP_MAX_LAYERS];
	struct measured_schedule found = { 0, 0 };
	struct schedule k;
	double widest = 0, busy = 0, message, end;

	schedule_open(&k, setup);
	for (int i = 0; i < k.stages; i++) {
		schedule_measured_read_stage(setup, times, i, &stages[i]);
		schedule_measured_share_out(setup, i, stages[i].compute - stages[i].update,
					    &k.stage[i]);
		widest = fmax(widest, stages[i].width);
		busy += stages[i].compute / k.stages;
	}
	found.seconds = schedule_measured_end_of(&k, stages);
	message = schedule_measured_message_of(setup, stages, widest, times->communication);
	for (int i = 0; i < k.stages; i++)
		k.stage[i].send = k.stage[i].occupied =
			widest > 0 ? message * stages[i].width / widest : 0;
	end = schedule_measured_end_of(&k, stages);
	found.idle = fmax(0, 1 - busy / end);
	return found;
}

struct measured_schedule schedule_measured(const struct setup *setup,
					   const struct measured_times *times)
{
	struct measured_schedule found = { 0, NAN };

	if (setup->mode->microbatched)
		return schedule_measured_of_pipeline(setup, times);
	for (int rank = 0; rank < setup->ranks; rank++)
		found.seconds = fmax(found.seconds, times->compute[rank]);
	return found;
}
