#include "suites/training/parallel/derived.h"

#include <math.h>
#include <string.h>

#include "suites/training/models/segments.h"
#include "suites/training/parallel/modes/pipeline/pipeline.h"
#include "suites/training/models/setup.h"

/* Times of a stage, from its slowest rank. */
struct stage_times {
	double compute, update;
	double width; /* columns that cross the edge to the next stage; the last: 0 */
	double bytes; /* bytes that the rank sends in messages, in both directions */
};

static void parallel_derived_share_of(const struct setup *setup, int stage,
				      struct rank_partition *partition)
{
	struct parameter_shard shard;

	model_parameter_shard_of(setup,
				 model_setup_grid_rank(setup,
						       (struct grid_place){ .stage = stage }),
				 partition, &shard);
}

static void parallel_derived_read_stage(const struct setup *setup,
					const struct measured_times *times, int stage,
					struct stage_times *out)
{
	struct rank_partition partition;
	double before = 0;

	*out = (struct stage_times){ 0 };
	for (int rank = 0; rank < setup->ranks; rank++)
		if (model_setup_grid_place(setup, rank).stage == stage &&
		    times->compute[rank] > out->compute) {
			out->compute = times->compute[rank];
			out->update = fmin(times->update[rank], times->compute[rank]);
		}
	parallel_derived_share_of(setup, stage, &partition);
	if (partition.last < setup->layers)
		out->width = (double)model_partition_width(setup, &partition, partition.last);
	if (partition.first > 0)
		before = (double)model_partition_width(setup, &partition, partition.first);
	out->bytes = (double)(partition.rows * precision_bytes(setup->precision)) *
		     (before + out->width);
}

/*
 * Divides the time of one micro-batch among forward, gradients of inputs and gradients of weights,
 * in proportion to their operations.
 */
static void parallel_derived_share_out(const struct setup *setup, int index, double seconds,
				       struct schedule_stage *stage)
{
	struct segments segments;
	struct rank_partition partition;
	struct model model;
	double forward = 0, inputs = 0, all;

	parallel_derived_share_of(setup, index, &partition);
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

/* End of the last update. */
static double parallel_derived_end_of(struct schedule *k, const struct stage_times *stages)
{
	double last = 0;

	pipeline_plan_schedule_carry_out(k);
	for (int i = 0; i < k->stages; i++)
		last = fmax(last, k->stage[i].last + stages[i].update);
	return last;
}

static struct measured_schedule
parallel_derived_schedule_of_pipeline(const struct setup *setup, const struct measured_times *times)
{
	struct stage_times stages[SETUP_MAX_LAYERS];
	struct measured_schedule found = { 0, 0 };
	struct schedule k, messages;
	double widest = 0, busy = 0, bytes = 0, message = 0, end;

	pipeline_plan_schedule_open(&k, setup);
	for (int i = 0; i < k.stages; i++) {
		parallel_derived_read_stage(setup, times, i, &stages[i]);
		parallel_derived_share_out(setup, i, stages[i].compute - stages[i].update,
					   &k.stage[i]);
		widest = fmax(widest, stages[i].width);
		busy += stages[i].compute / k.stages;
	}
	found.seconds = parallel_derived_end_of(&k, stages);
	/*
	 * Seconds of a message over the widest edge: the measured communication, divided by the
	 * duration of the messages alone if that edge takes one second.
	 */
	pipeline_plan_schedule_open(&messages, setup);
	for (int i = 0; i < k.stages && widest > 0; i++) {
		messages.stage[i].send = messages.stage[i].occupied = stages[i].width / widest;
		bytes = fmax(bytes, stages[i].bytes);
	}
	if (widest > 0)
		message = times->communication * fmin(1, bytes / setup->mode->wire_bytes(setup)) /
			  pipeline_plan_schedule_carry_out(&messages);
	for (int i = 0; i < k.stages && widest > 0; i++)
		k.stage[i].send = k.stage[i].occupied = message * stages[i].width / widest;
	end = parallel_derived_end_of(&k, stages);
	found.idle = fmax(0, 1 - busy / end);
	return found;
}

struct measured_schedule parallel_derived_schedule_measured(const struct setup *setup,
							    const struct measured_times *times)
{
	struct measured_schedule found = { 0, NAN };

	if (setup->mode->microbatched)
		return parallel_derived_schedule_of_pipeline(setup, times);
	for (int rank = 0; rank < setup->ranks; rank++)
		found.seconds = fmax(found.seconds, times->compute[rank]);
	return found;
}

static bool parallel_derived_parameter_is(const struct case_result *c, const char *name,
					  const char *text)
{
	const struct case_parameter *p = case_parameter(c, name);

	return p && strcmp(p->text, text) == 0;
}

struct highest_rates parallel_derived_highest_rates_find(const struct result *result,
							 const char *device,
							 const struct setup *setup)
{
	struct highest_rates rates = { NAN, NAN };
	double n = setup->ranks;

	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		const struct metric_value *rate = case_metric(c, "matmul.throughput"),
					  *time = case_metric(c, "collective.time");
		const struct case_parameter *size = case_parameter(c, "size");

		if (c->status != CASE_OK || strcmp(c->device, device) != 0)
			continue;
		if (rate &&
		    parallel_derived_parameter_is(c, "precision",
						  precision_name(setup->precision)) &&
		    (parallel_derived_parameter_is(c, "implementation", "blas") ||
		     parallel_derived_parameter_is(c, "implementation", "lt")) &&
		    parallel_derived_parameter_is(c, "transpose", "nn") &&
		    parallel_derived_parameter_is(c, "batch", "1") &&
		    parallel_derived_parameter_is(c, "scale", "1"))
			rates.gemm = fmax(rates.gemm, rate->value);
		/* Collectives without the parameter used the default transport. */
		if (time && size && time->value > 0 && c->device_count == (size_t)setup->ranks &&
		    parallel_derived_parameter_is(c, "operation", "all_reduce") &&
		    (case_parameter(c, "transport")
			     ? parallel_derived_parameter_is(c, "transport",
							     transport_names[setup->transport])
			     : setup->transport == TRANSPORT_AUTO))
			rates.bus = fmax(rates.bus, 2 * (n - 1) / n * size->number / time->value);
	}
	return rates;
}

double parallel_derived_critical_width(const struct setup *setup, const struct highest_rates *rates)
{
	return (setup->ranks - 1) * (double)precision_bytes(setup->precision) * rates->gemm /
	       (2 * rates->bus);
}
