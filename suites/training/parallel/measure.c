#include "suites/training/parallel/measure.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "measure/run.h"
#include "result/statistics.h"
#include "suites/shared/ranks/communicators.h"
#include "suites/shared/sustained.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/segments.h"
#include "suites/training/parallel/baseline_cache.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/training/parallel/outcome.h"
#include "suites/training/parallel/ranks/connection_cache.h"
#include "suites/training/models/setup.h"
#include "suites/training/parallel/trainer/trainer.h"
#include "suites/training/parallel/verify/verify.h"

/* The unfinished work after the last step then has a fourth of its effect in a single step. */
#define STEPS_THAT_RUN_ON 4

/* Rules for the steps of a series, the same on every rank. */
enum pass {
	PASS_PLAIN, /* the section's rules */
	PASS_BURST,
	PASS_LOAD,   /* without rest, with a gate that holds the device between samples */
	PASS_GAPLESS /* a load without that gate */
};

struct steps {
	struct trainer *trainer;
	unsigned parts;
	struct verify_recorded recorded; /* for steps that are launched as graphs */
};

static enum status parallel_measure_launch_steps(void *state, unsigned batch, struct error *err)
{
	struct steps *steps = state;

	for (unsigned i = 0; i < batch; i++)
		if (trainer_enqueue(steps->trainer, steps->parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* The optimizer alone, without the events of a step, because nothing else runs. */
static enum status parallel_measure_launch_updates(void *state, unsigned batch, struct error *err)
{
	struct steps *steps = state;

	steps->trainer->step = steps->parts;
	for (unsigned i = 0; i < batch; i++)
		if (trainer_update(steps->trainer, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status parallel_measure_launch_graphs(void *state, unsigned batch, struct error *err)
{
	return verify_recorded_launch(&((struct steps *)state)->recorded, batch, err);
}

static enum status parallel_measure_align_ranks(void *state, struct error *err)
{
	return trainer_align(((struct steps *)state)->trainer, err);
}

/*
 * Recorded on every sampled rank, or on none. A graph with branches occupies more of the device's
 * queue than one command; how much is undocumented, so it counts as the commands recorded into it.
 */
static enum status parallel_measure_record(struct run *run, struct steps *steps, struct workload *w,
					   struct error *err)
{
	enum status status =
		verify_recorded_open(&steps->recorded, steps->trainer, steps->parts, err);

	w->launch = parallel_measure_launch_graphs;
	return run->sampler.world ? world_agree(run->sampler.world, status, err) : status;
}

/* Replaces the rules and workload of a plain step by those of the pass. */
static void parallel_measure_prepare_pass(const struct run *run, enum pass pass,
					  struct sampling *rules, struct workload *w)
{
	if (pass == PASS_BURST)
		*rules = sustained_burst_rules(rules);
	if (pass == PASS_LOAD || pass == PASS_GAPLESS) {
		*rules = sustained_load_rules(rules, sustained_load_seconds(run));
		*w = sustained_load_workload(w, pass == PASS_GAPLESS);
	}
	w->has_energy = w->has_energy && pass != PASS_BURST;
	w->unwatched = !run->sampler.world;
}

/*
 * Samples `parts` of steps as series `name`, in step with the other ranks of run->sampler.world.
 * *out is a copy. STEP_UPDATE alone is valid only in modes whose ranks update all their parameters
 * at once (trainer_update()).
 */
static enum status parallel_measure_timing_sample(struct run *run, struct trainer *t,
						  unsigned parts, enum pass pass, const char *name,
						  struct series *out, struct error *err)
{
	const struct sampling *asked = run->sampler.rules;
	struct sampling rules = *asked;
	struct steps steps = { .trainer = t, .parts = parts };
	struct workload w = {
		.state = &steps,
		.align = run->sampler.world ? parallel_measure_align_ranks : NULL,
		.launch = parts == STEP_UPDATE ? parallel_measure_launch_updates
					       : parallel_measure_launch_steps,
		.clock = CLOCK_DEVICE,
		.streams = t->team->streams,
		.stream_count = t->team->all ? STREAM_COUNT : 1,
		.min_batch = t->mode->runs_on && parts == STEP_ALL ? STEPS_THAT_RUN_ON : 0,
		.commands = t->mode->commands(t) + t->copy_commands,
		.has_energy = run->sampler.world && parts == STEP_ALL,
	};
	const struct series *series;
	enum status status = STATUS_OK;

	parallel_measure_prepare_pass(run, pass, &rules, &w);
	run->sampler.rules = &rules;
	if (t->setup->graph)
		status = parallel_measure_record(run, &steps, &w, err);
	if (status == STATUS_OK) {
		status = run_sample(run, &w, name, &series, err);
		*out = *series;
	}
	run->sampler.rules = asked;
	verify_recorded_close(&steps.recorded);
	return status;
}

/* The same on this rank alone, independent of the others. */
static enum status parallel_measure_timing_sample_alone(const struct run *run, struct trainer *t,
							unsigned parts, enum pass pass,
							const char *name, struct series *out,
							struct error *err)
{
	struct run alone = *run;

	alone.sampler.world = NULL;
	return parallel_measure_timing_sample(&alone, t, parts, pass, name, out, err);
}

/* Steps run by graphs and by calls. */
#define GRAPH_STEPS 3
/* Steps before timing with a dynamic loss scale. */
#define SETTLING_STEPS 8
/*
 * Relative change of the loss that rounding of FP16 weights may cause if the rate is too small to
 * learn.
 */
#define STORAGE_NOISE 1e-3

struct parallel_session {
	struct run *run;
	struct rank_team team;
	struct trainer trainer;
	/* Rank 0 of several also trains alone, as the baseline of the split. */
	struct world alone;
	struct rank_team solo; /* borrows the team's streams */
	struct setup single_setup;
	struct trainer single;
	bool has_single; /* the same on every rank */
	bool asks_load;  /* for a burst and a load instead of a number of samples */
	enum pass pass;  /* of the step and of everything compared with it */
	struct outcome outcome;
};

/* A device that cannot hold the whole model is not a failure: splits exist for such models. */
static enum status parallel_measure_open_single(struct parallel_session *s, struct error *err)
{
	struct error mine = ERROR_NONE;
	enum status status = STATUS_OK;

	s->alone = (struct world){ .rank = 0, .size = 1 };
	s->solo = s->team;
	s->solo.world = &s->alone;
	s->solo.all = NULL;
	s->single_setup = *s->outcome.setup;
	s->single_setup.mode = mode_find("single");
	s->single_setup.ranks = 1;
	s->single_setup.microbatches = 1;
	s->single_setup.norm_groups =
		(uint64_t)s->outcome.setup->ranks * setup_accumulate(s->outcome.setup);
	s->single_setup.accumulate = 1;
	s->single_setup.segments = 0;
	s->single_setup.pointwise = false;
	s->single_setup.weak = false;
	if (rank_team_phase(&s->team, "single device", err) != STATUS_OK)
		return err->status;
	if (s->team.world->rank == 0)
		status = trainer_open(&s->single, &s->single_setup, &s->solo, &mine);
	/* Groups of rows are only for comparisons: one device has a single group. */
	s->single.network.images.norm_groups = 1;
	s->has_single = status == STATUS_OK;
	world_broadcast(s->team.world, 0, &s->has_single, sizeof(s->has_single));
	if (status == STATUS_NO_MEMORY) {
		trainer_close(&s->single);
		run_note(s->run,
			 "There is no comparison with a single device, which has too little "
			 "memory: %s.",
			 mine.message);
		status = STATUS_OK;
	}
	if (status != STATUS_OK)
		error_set(err, status, "single device: %s", mine.message);
	return world_agree(s->team.world, status, err);
}

static enum status parallel_measure_verify_full(struct parallel_session *s, struct error *err)
{
	struct error mine = ERROR_NONE;
	enum status status;

	if (!s->has_single)
		return STATUS_OK;
	if (rank_team_phase(&s->team, "comparison with a single device", err) != STATUS_OK)
		return err->status;
	status = verify_against_single(&s->trainer, s->team.world->rank == 0 ? &s->single : NULL,
				       &s->outcome.against_single, &mine);
	s->outcome.compared_with_single = status == STATUS_OK;
	if (status == STATUS_NO_MEMORY) {
		run_note(s->run,
			 "Gradients of the timed model were not compared with a single device: %s.",
			 mine.message);
		return STATUS_OK;
	}
	return status == STATUS_OK ? STATUS_OK : error_set(err, status, "%s", mine.message);
}

/*
 * Checks that the timed steps trained the model: parameters changed, replicas agree, and the loss
 * fell.
 */
static enum status parallel_measure_check_training(struct parallel_session *s, uint64_t sum_before,
						   struct error *err)
{
	struct outcome *o = &s->outcome;
	uint64_t sum;
	enum status status = STATUS_OK;

	if (verify_replicas(&s->trainer, &sum, err) != STATUS_OK ||
	    trainer_loss(&s->trainer, &o->last_loss, err) != STATUS_OK)
		return err->status;
	o->updates = s->trainer.network.updates;
	if (sum == sum_before && !o->setup->storage_only &&
	    model_parameter_shard_has_parameters(&s->trainer.network.shard,
						 &s->trainer.network.local))
		status = error_set(err, STATUS_MISMATCH,
				   "the timed steps did not change the parameters");
	else if (!isfinite(o->last_loss))
		status = error_set(err, STATUS_MISMATCH,
				   "the loss is %g after %llu updates at learning_rate %g",
				   o->last_loss, (unsigned long long)o->updates, o->setup->rate);
	else if (o->setup->rate_chosen &&
		 !(o->setup->storage_only ? o->last_loss <= o->first_loss * (1 + STORAGE_NOISE)
					  : o->last_loss < o->first_loss))
		status = error_set(err, STATUS_MISMATCH,
				   "the loss rose from %.6g to %.6g in %llu updates", o->first_loss,
				   o->last_loss, (unsigned long long)o->updates);
	return world_agree(s->team.world, status, err);
}

/* A skipped step is fast because it does nothing: one skipped step invalidates the timing. */
static enum status parallel_measure_check_skipped(struct parallel_session *s, uint64_t before,
						  struct error *err)
{
	struct outcome *o = &s->outcome;

	if (trainer_scale_counts(&s->trainer, &o->applied, &o->skipped, err) == STATUS_OK &&
	    trainer_scale(&s->trainer, &o->loss_scale, err) == STATUS_OK && o->skipped > before)
		error_set(err, STATUS_MISMATCH,
			  "the loss scale skipped %llu of the timed steps, so that their time is "
			  "invalid",
			  (unsigned long long)(o->skipped - before));
	return world_agree(s->team.world, err->status, err);
}

/* Runs steps until the loss scale fits; it does not grow into an overflow while steps are timed. */
static enum status parallel_measure_settle_scale(struct parallel_session *s, uint64_t *skipped,
						 struct error *err)
{
	uint64_t applied;

	*skipped = 0;
	if (!s->outcome.setup->dynamic_scale)
		return STATUS_OK;
	s->trainer.scale_interval = 0;
	for (int i = 0; i < SETTLING_STEPS; i++)
		if (trainer_settle_scale(&s->trainer, err) != STATUS_OK)
			return err->status;
	trainer_scale_counts(&s->trainer, &applied, skipped, err);
	return world_agree(s->team.world, err->status, err);
}

/* Times steps after a rest, if the section also asks for a load. */
static enum status parallel_measure_time_burst(struct parallel_session *s, struct error *err)
{
	struct outcome *o = &s->outcome;
	unsigned commands = s->trainer.mode->commands(&s->trainer) + s->trainer.copy_commands;

	if (!s->asks_load)
		return STATUS_OK;
	if (parallel_measure_timing_sample(s->run, &s->trainer, STEP_ALL, PASS_BURST,
					   "parallel.burst_time", &o->burst, err) != STATUS_OK)
		return err->status;
	commands = (unsigned)world_max(s->team.world, commands);
	s->pass = sustained_is_gapless(&o->burst, commands) ? PASS_GAPLESS : PASS_LOAD;
	o->has_burst = true;
	return STATUS_OK;
}

static enum status parallel_measure_time_step(struct parallel_session *s, struct error *err)
{
	uint64_t sum, skipped;

	if (s->outcome.setup->graph) {
		if (rank_team_phase(&s->team, "graph", err) != STATUS_OK ||
		    recorded_verify(&s->trainer, GRAPH_STEPS, err) != STATUS_OK)
			return err->status;
		run_note(s->run,
			 "Each step was launched as one graph. %d steps were bitwise equal to the "
			 "same steps without a graph.",
			 GRAPH_STEPS);
	}
	if (rank_team_phase(&s->team, "first loss", err) != STATUS_OK ||
	    trainer_reset(&s->trainer, err) != STATUS_OK ||
	    trainer_step(&s->trainer, STEP_ALL, err) != STATUS_OK ||
	    trainer_loss(&s->trainer, &s->outcome.first_loss, err) != STATUS_OK ||
	    rank_team_phase(&s->team, "replicas", err) != STATUS_OK ||
	    verify_replicas(&s->trainer, &sum, err) != STATUS_OK ||
	    rank_team_phase(&s->team, "step", err) != STATUS_OK ||
	    parallel_measure_settle_scale(s, &skipped, err) != STATUS_OK ||
	    parallel_measure_time_burst(s, err) != STATUS_OK ||
	    parallel_measure_timing_sample(s->run, &s->trainer, STEP_ALL, s->pass,
					   "parallel.step_time", &s->outcome.step,
					   err) != STATUS_OK)
		return err->status;
	if (parallel_measure_check_skipped(s, skipped, err) != STATUS_OK ||
	    rank_team_phase(&s->team, "replicas", err) != STATUS_OK)
		return err->status;
	return parallel_measure_check_training(s, sum, err);
}

/* Only on the rank that trains alone. */
static enum status parallel_measure_time_single(struct parallel_session *s, struct error *err)
{
	static const char name[] = "parallel.single_time";
	const struct parallel_state *state = s->run->suite_state;
	struct outcome *o = &s->outcome;
	const struct series *known;

	if (o->setup->weak) {
		s->single_setup.batch /= (uint64_t)o->setup->ranks;
		s->single_setup.norm_groups = 0;
	}
	known = baseline_cache_find(state->baselines, s->run, &s->single_setup, name);
	if (known) {
		o->single = *known;
		return STATUS_OK;
	}
	/* Weak scaling compares with one device's part of the batch. */
	if (o->setup->weak) {
		trainer_close(&s->single);
		if (trainer_open(&s->single, &s->single_setup, &s->solo, err) != STATUS_OK)
			return error_prefix(err, "single device");
	}
	if (parallel_measure_timing_sample_alone(s->run, &s->single, STEP_ALL, s->pass, name,
						 &o->single, err) != STATUS_OK)
		return err->status;
	baseline_cache_store(state->baselines, s->run, &s->single_setup, &o->single);
	return STATUS_OK;
}

/* Times the kernels of every rank alone, at the same time; `seconds`: of all ranks. */
static enum status parallel_measure_time_kernels(struct parallel_session *s, unsigned parts,
						 const char *name, double *seconds,
						 struct error *err)
{
	struct world *world = s->team.world;
	struct series series = { 0 };
	enum status status = parallel_measure_timing_sample_alone(s->run, &s->trainer, parts,
								  s->pass, name, &series, err);
	double level = statistics_series_level(&series);

	if (world_agree(world, status, err) == STATUS_OK)
		world_gather(world, &level, seconds, sizeof(double));
	return err->status;
}

/* After the step itself: from here on the replicas diverge, and the loss is meaningless. */
static enum status parallel_measure_time_parts(struct parallel_session *s, struct error *err)
{
	struct outcome *o = &s->outcome;
	struct world *world = s->team.world;
	enum status status = STATUS_OK;

	if (rank_team_phase(&s->team, "parts of the step", err) != STATUS_OK ||
	    parallel_measure_time_kernels(s, STEP_COMPUTE | STEP_UPDATE, "parallel.compute_time",
					  o->compute, err) != STATUS_OK)
		return err->status;
	if (o->setup->mode->microbatched &&
	    parallel_measure_time_kernels(s, STEP_UPDATE, "parallel.update_time", o->update, err) !=
		    STATUS_OK)
		return err->status;
	if (parallel_measure_timing_sample(s->run, &s->trainer, STEP_COMMUNICATE | STEP_GATHER,
					   PASS_PLAIN, "parallel.communication_time",
					   &o->communication, err) != STATUS_OK)
		return err->status;
	if (s->has_single && s->team.world->rank == 0)
		status = parallel_measure_time_single(s, err);
	o->has_single = s->has_single && s->team.world->rank == 0;
	return world_agree(world, status, err);
}

/* Notes the algorithms of rank 0: choices made by measurement, and their results. */
static void parallel_measure_note_choices(struct parallel_session *s)
{
	const struct network *n = &s->trainer.network;
	size_t transposed = 0, fused = 0;
	struct text products = TEXT_EMPTY, convolutions = TEXT_EMPTY;

	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		transposed += n->wgrad_layouts[l] == WGRAD_TRANSPOSED;
		fused += n->fusions[l] == FUSION_ON;
	}
	run_note(s->run,
		 "On rank 0, %zu layers: %zu fuse the bias into the GEMM; %zu compute the weight "
		 "gradient from a transposed copy.",
		 n->partition.last - n->partition.first, fused, transposed);
	if (setup_wgrad_microbatches(n->setup) > 1)
		run_note(s->run, "Each weight gradient is one GEMM over %llu micro-batches.",
			 (unsigned long long)setup_wgrad_microbatches(n->setup));
	if (n->narrow_updates)
		run_note(s->run, "Updates that run during reductions use fewer multiprocessors, "
				 "because whole steps were faster this way.");
	gemm_tuning_describe(n, &products);
	if (products.length)
		run_note(s->run, "GEMM algorithms: %s than the library's choice.", products.data);
	text_release(&products);
	convolutions_describe(n, &convolutions);
	if (convolutions.length)
		run_note(s->run, "%s", convolutions.data);
	text_release(&convolutions);
}

/*
 * Notes the memory saved by recomputation: possibly none, because kept outputs may alias gradients.
 */
static void parallel_measure_note_segments(struct parallel_session *s)
{
	const struct setup *setup = s->outcome.setup;
	struct setup plain = *setup;
	char recomputing[32], kept[32];

	if (setup->segments == 0)
		return;
	plain.segments = 0;
	if (segments_recompute_flops(setup) == 0)
		run_note(s->run,
			 "No layer is recomputed, because these segments have no inner layers.");
	else
		run_note(s->run, "Planned memory per device: %s with recomputation, %s without.",
			 units_format((double)memory_classes_footprint(setup), "B", recomputing,
				      sizeof(recomputing)),
			 units_format((double)memory_classes_footprint(&plain), "B", kept,
				      sizeof(kept)));
}

/* Notes which parts of a grid communicate over the network: those with partners on another node. */
static void parallel_measure_note_nodes(struct parallel_session *s)
{
	const struct setup *setup = s->outcome.setup;
	struct device_address *all;
	bool data = false, tensor = false, stages = false;

	if (!setup->mode->gridded)
		return;
	all = communicators_join_addresses(s->team.device, s->team.world);
	for (int rank = 0; rank < setup->ranks; rank++) {
		struct grid_place place = model_setup_grid_place(setup, rank);
		const struct grid_place first[] = { { 0, place.stage, place.part },
						    { place.data, 0, place.part },
						    { place.data, place.stage, 0 } };
		bool *const crosses[] = { &data, &stages, &tensor };

		for (size_t i = 0; i < ARRAY_SIZE(first); i++)
			*crosses[i] |=
				all[model_setup_grid_rank(setup, first[i])].node != all[rank].node;
	}
	free(all);
	if (!data && !tensor && !stages)
		return;
	run_note(s->run,
		 "Communication over the network:%s%s%s. All other communication stays within "
		 "nodes.",
		 data ? " data parallelism" : "", stages ? (data ? " and stages" : " stages") : "",
		 tensor ? (data || stages ? " and tensor parallelism" : " tensor parallelism")
			: "");
}

static enum status parallel_measure_verify_and_time(struct parallel_session *s,
						    const struct measure_options *options,
						    struct error *err)
{
	struct outcome *o = &s->outcome;
	const struct rank_team *team = &s->team;
	struct block_memory blocks;
	bool edges;

	if (rank_team_phase(&s->team, "reference", err) != STATUS_OK)
		return err->status;
	o->reference_is_full = setup_shrink(o->setup, options->verify_flops, &o->small);
	if (verify_reference(&o->small, &s->team, &o->reference, err) != STATUS_OK ||
	    trainer_open(&s->trainer, s->outcome.setup, &s->team, err) != STATUS_OK)
		return err->status;
	if (s->team.world->size > 1 && (parallel_measure_open_single(s, err) != STATUS_OK ||
					parallel_measure_verify_full(s, err) != STATUS_OK))
		return err->status;
	if (parallel_measure_time_step(s, err) != STATUS_OK)
		return err->status;
	edges = (team->previous || team->next) && team->edges != team->transport;
	if (team->all && team->transport != TRANSPORT_AUTO)
		run_note(s->run, "Transport between devices: %s%s%s.",
			 transport_names[team->transport], edges ? ", between stages " : "",
			 edges ? transport_names[team->edges] : "");
	parallel_measure_note_nodes(s);
	parallel_measure_note_choices(s);
	parallel_measure_note_segments(s);
	blocks = memory_classes_block_memory_of(&s->trainer.network);
	world_gather(s->team.world, &blocks, o->blocks, sizeof(blocks));
	world_gather(s->team.world, s->trainer.arena.bytes, o->memory, sizeof(o->memory[0]));
	world_gather(s->team.world, &s->team.communicator_bytes, o->communicator_bytes,
		     sizeof(uint64_t));
	/* In a separate step, because its events cost time. */
	if (options->timeline) {
		if (rank_team_phase(&s->team, "timeline", err) != STATUS_OK ||
		    timeline_record(s->run, &s->trainer, &o->timeline, err) != STATUS_OK)
			return err->status;
		o->has_timeline = true;
	}
	parallel_outcome_verified(s->run, &s->outcome);
	parallel_outcome_record_step(s->run, &s->outcome);
	if (s->team.world->size == 1)
		return STATUS_OK;
	if (parallel_measure_time_parts(s, err) != STATUS_OK)
		return err->status;
	parallel_outcome_record_parts(s->run, &s->outcome);
	return STATUS_OK;
}

enum status parallel_measure_setup(struct run *run, const struct setup *setup,
				   const struct measure_options *options, struct error *err)
{
	struct sampling rules = *run->sampler.rules;
	struct run own = *run;
	const struct parallel_state *state = run->suite_state;
	struct parallel_session s = { .run = &own, .outcome = parallel_outcome_open(setup) };
	enum status status;

	if (options->iterations > 0)
		rules.min_samples = rules.max_samples = options->iterations;
	else
		s.asks_load = sustained_load_seconds(run) > 0;
	own.sampler.rules = &rules;
	status = phases_next(run->phases, run->world, "streams and communicators", err);
	if (status == STATUS_OK)
		status = connection_cache_team_open(
			state->connections, &s.team, run->devices[0], run->world, setup->transport,
			setup_collective_multiprocessors(setup,
							 run->devices[0]->info.multiprocessors),
			err);
	s.team.phases = run->phases;
	if (status == STATUS_OK)
		status = options->largest
				 ? largest_batch(run, &s.team, setup, options->largest, err)
				 : parallel_measure_verify_and_time(&s, options, err);
	phases_enter(run->phases, "clean-up");
	/* If one rank keeps it, all must. */
	status = world_agree(run->world, status, err);
	if (status != STATUS_OK)
		rank_team_abandon(&s.team);
	trainer_close(&s.single);
	trainer_close(&s.trainer);
	if (status == STATUS_OK)
		connection_cache_keep_team(state->connections, &s.team);
	else
		connection_cache_evict_team(state->connections, &s.team, run->world);
	parallel_outcome_close(&s.outcome);
	return status;
}
