#include "suites/training/trainmem/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/training/parallel/verify/compare.h"
#include "suites/training/trainmem/outcome.h"
#include "suites/training/trainmem/search.h"

/* Steps of the memory account: a leak is the growth between the second and the last. */
#define ACCOUNT_STEPS 8

struct setup trainmem_measure_plain_setup(const struct setup *setup)
{
	struct setup plain = *setup;

	plain.segments = 0;
	plain.accumulate = 1;
	return plain;
}

/* Methods of saving memory; an allocation policy is not one. */
static bool trainmem_measure_setup_saves_memory(const struct trainmem_case *c)
{
	return c->setup.segments > 0 || setup_accumulate(&c->setup) > 1 || c->options.offload;
}

static enum status trainmem_measure_compare_gradients(struct trainer *trainer,
						      struct training *training,
						      struct verify_check *check, struct error *err)
{
	const struct setup *setup = trainer->setup;
	struct gradients expected = { trainer->team, trainer->network.gradients, setup,
				      setup->loss_scale, NULL },
			 run = { &training->team, training->network.gradients, &training->setup,
				 training->setup.loss_scale, NULL };
	struct tolerance tolerance = verify_tolerance(setup);
	struct verify_difference difference;
	double expected_loss, loss;

	if (trainer_loss(trainer, &expected_loss, err) != STATUS_OK ||
	    trainmem_training_loss(training, &loss, err) != STATUS_OK ||
	    verify_compare_gradients(&trainer->network.model, &run, &expected, false, &difference,
				     err) != STATUS_OK)
		return err->status;
	return verify_compare_judge(&difference, loss, expected_loss, &tolerance,
				    "a step that keeps all outputs", check, err);
}

/* The step overwrites outputs that alias gradients (buffer_alias.h), so they are recorded. */
static enum status trainmem_measure_check_record_outputs(struct trainer *trainer, struct error *err)
{
	struct network *n = &trainer->network;
	const struct setup *setup = trainer->setup;
	uint64_t bytes = setup->batch * precision_bytes(setup->precision);

	for (size_t l = 1; l < setup->layers; l++)
		if (n->overwritten_in_backward[l])
			arena_alloc(&trainer->arena, MEMORY_VERIFICATION, bytes * setup->widths[l],
				    &n->record[l], err);
	for (size_t d = 0; d < image_model_decisions(setup); d++)
		arena_alloc(&trainer->arena, MEMORY_VERIFICATION,
			    bytes * image_model_decision_width(setup, d), &n->images.record[d],
			    err);
	return err->status;
}

static enum status trainmem_measure_check_step_both(struct trainer *trainer,
						    struct training *training,
						    struct verify_check *check, struct error *err)
{
	const struct network *n = &trainer->network;
	double loss;

	if (trainmem_measure_check_record_outputs(trainer, err) != STATUS_OK ||
	    trainer_step(trainer, STEP_COMPUTE, err) != STATUS_OK)
		return err->status;
	for (size_t l = 1; l < training->setup.layers; l++)
		training->imposed[l] = n->record[l] ? n->record[l] : n->activations[l];
	memcpy(training->network.images.decisions, n->images.record, sizeof(n->images.record));
	/* The second step uses memory that contains leftovers of the first. */
	if (trainmem_training_first_step(training, &loss, err) != STATUS_OK ||
	    trainmem_training_first_step(training, &loss, err) != STATUS_OK)
		return err->status;
	return trainmem_measure_compare_gradients(trainer, training, check, err);
}

enum status trainmem_measure_check_step(struct device *device, const struct setup *setup,
					const struct training_options *options, double flops,
					struct setup *small, struct verify_check *check,
					struct error *err)
{
	struct world alone = { .size = 1 };
	struct verify_check reference = { 0 };
	struct training_options own = *options;
	struct training training = { 0 };
	struct trainer trainer = { 0 };
	struct rank_team team;
	struct setup whole;

	setup_shrink(setup, flops, small);
	/* All rows at once with everything kept: the reference of the step below. */
	whole = *small;
	whole.mode = mode_find("single");
	whole.ranks = 1;
	whole.accumulate = 1;
	whole.norm_groups = setup_accumulate(small);
	whole.segments = 0;
	own.limit = own.workspace = own.reserve = 0;
	if (rank_team_open(&team, device, &alone, err) == STATUS_OK &&
	    verify_reference(&whole, &team, &reference, err) == STATUS_OK &&
	    trainmem_training_open(&training, small, &own, device, err) == STATUS_OK &&
	    trainer_open(&trainer, &whole, &team, err) == STATUS_OK &&
	    trainmem_measure_check_step_both(&trainer, &training, check, err) == STATUS_OK)
		check->gradient_error = fmax(check->gradient_error, reference.gradient_error);
	trainer_close(&trainer);
	trainmem_training_close(&training);
	rank_team_close(&team);
	return err->status;
}

enum status trainmem_measure_verify(const struct trainmem_case *c, struct error *err)
{
	struct verify_check check = { .gradient_error = NAN };
	struct setup small;
	char method[200];

	trainmem_measure_check_step(c->run->devices[0], &c->setup, &c->options, c->verify_flops,
				    &small, &check, err);
	/* Also recorded for wrong gradients, as the size of the error. */
	if (isfinite(check.gradient_error))
		run_value(c->run, "trainmem.gradient_error", check.gradient_error);
	if (err->status != STATUS_OK)
		return err->status;
	snprintf(method, sizeof(method),
		 "gradients against double precision on the CPU and against a step that keeps all "
		 "outputs (batch %llu)",
		 (unsigned long long)(small.batch / setup_sample_rows(&small)));
	run_verified(c->run, method, check.gradient_error, verify_tolerance(&small).gradient);
	return STATUS_OK;
}

static enum status trainmem_measure_launch_steps(void *state, unsigned batch, struct error *err)
{
	struct training *t = state;
	double loss;

	for (unsigned i = 0; i < batch; i++)
		if (trainmem_training_step(t, err) != STATUS_OK ||
		    (t->options.reports && trainmem_training_loss(t, &loss, err) != STATUS_OK))
			return err->status;
	return STATUS_OK;
}

/* Approximate number of kernels, products and events of a step. */
static unsigned trainmem_measure_commands_of(const struct training *t)
{
	return (unsigned)(setup_accumulate(&t->setup) *
				  ((t->setup.kind != MODEL_MLP ? 60 : 16) * t->setup.layers + 1) +
			  1);
}

static struct workload trainmem_measure_steps_of(struct training *t)
{
	bool waits = t->options.policy == POLICY_MALLOC || t->options.policy == POLICY_ASYNC ||
		     t->options.reports;

	return (struct workload){ .state = t,
				  .launch = trainmem_measure_launch_steps,
				  .clock = CLOCK_DEVICE,
				  .streams = t->team.streams,
				  .stream_count = t->options.offload ? 2 : 1,
				  .commands = trainmem_measure_commands_of(t),
				  .no_gate = waits };
}

/* Checks that the timed steps trained the model. */
static enum status trainmem_measure_check_trained(struct training *t, double first,
						  struct error *err)
{
	double last;

	if (trainmem_training_wait(t, err) != STATUS_OK ||
	    trainmem_training_loss(t, &last, err) != STATUS_OK)
		return err->status;
	if (!isfinite(last) || (t->setup.rate_chosen && !(last < first)))
		return error_set(err, STATUS_MISMATCH,
				 "the loss changed from %.6g to %.6g in the timed steps, but must "
				 "fall",
				 first, last);
	return STATUS_OK;
}

/* Steps over which the host time in the allocator is summed. */
#define ALLOCATOR_STEPS 20

/* A training to be timed, and its loss after the first step. */
struct timed_training {
	struct training t;
	double first;
};

/* The caller closes it in any case. */
static enum status trainmem_measure_open_timed(struct timed_training *timed,
					       const struct trainmem_case *c, struct error *err)
{
	trainmem_training_open(&timed->t, &c->setup, &c->options, c->run->devices[0], err);
	return trainmem_training_first_step(&timed->t, &timed->first, err);
}

static void trainmem_measure_record_step(struct run *run, const struct setup *setup,
					 const struct series *step)
{
	run_duration(run, "trainmem.step_time", step);
	run_rate(run, "trainmem.throughput", (double)(setup->batch / setup_sample_rows(setup)),
		 step);
}

static enum status trainmem_measure_time_alone(struct run *run, struct timed_training *timed,
					       const char *name, struct series *out,
					       struct error *err)
{
	struct workload w = trainmem_measure_steps_of(&timed->t);
	const struct series *series;

	if (run_sample(run, &w, name, &series, err) != STATUS_OK)
		return err->status;
	*out = *series;
	return trainmem_measure_check_trained(&timed->t, timed->first, err);
}

static enum status trainmem_measure_time_in_turns(struct run *run, struct timed_training *step,
						  struct timed_training *kept, struct error *err)
{
	static const char *const names[] = { "trainmem.step_time", "trainmem.plain_time",
					     "trainmem.slowdown" };
	struct workload workloads[] = { trainmem_measure_steps_of(&step->t),
					trainmem_measure_steps_of(&kept->t) };
	const struct series *series[3];

	if (run_sample_interleaved(run, workloads, names, series, err) != STATUS_OK ||
	    trainmem_measure_check_trained(&step->t, step->first, err) != STATUS_OK ||
	    trainmem_measure_check_trained(&kept->t, kept->first, err) != STATUS_OK)
		return err->status;
	trainmem_measure_record_step(run, &step->t.setup, series[0]);
	run_duration(run, "trainmem.plain_time", series[1]);
	run_scaled(run, "trainmem.slowdown", 1, series[2]);
	return STATUS_OK;
}

/* Times the step that keeps everything after another step has been timed and closed. */
static enum status trainmem_measure_time_kept_after(const struct trainmem_case *plain,
						    const struct series *step, struct error *err)
{
	struct run *run = plain->run;
	struct error small = ERROR_NONE;
	struct series series;
	struct timed_training kept;

	if (trainmem_measure_open_timed(&kept, plain, &small) == STATUS_OK &&
	    trainmem_measure_time_alone(run, &kept, "trainmem.plain_time", &series, &small) ==
		    STATUS_OK) {
		run_duration(run, "trainmem.plain_time", &series);
		run_quotient(run, "trainmem.slowdown", 1, step, &series);
		run_note(run,
			 "The step that keeps all outputs was timed after this step. The two were "
			 "not interleaved, because they do not fit into memory together.");
	}
	trainmem_training_close(&kept.t);
	/*
	 * A device that holds only the step with less memory is not an error: such steps exist for
	 * it.
	 */
	if (small.status == STATUS_NO_MEMORY)
		run_note(run, "There is no comparison with a step that keeps all outputs: %s.",
			 small.message);
	else if (small.status != STATUS_OK)
		return error_set(err, small.status, "%s", small.message);
	return STATUS_OK;
}

static enum status trainmem_measure_time_step(const struct trainmem_case *c, struct error *err)
{
	const struct trainmem_case plain = { .run = c->run,
					     .setup = trainmem_measure_plain_setup(&c->setup),
					     .options = { .policy = POLICY_ARENA } };
	const struct training_options *o = &c->options;
	bool compares = trainmem_measure_setup_saves_memory(c) || o->policy != POLICY_ARENA ||
			o->out_of_place || o->reports,
	     turns = false;
	struct error small = ERROR_NONE;
	struct timed_training step, kept;
	struct series series;

	if (trainmem_measure_open_timed(&step, c, err) == STATUS_OK && compares) {
		turns = trainmem_measure_open_timed(&kept, &plain, &small) == STATUS_OK;
		if (turns)
			trainmem_measure_time_in_turns(c->run, &step, &kept, err);
		else if (small.status != STATUS_NO_MEMORY)
			error_set(err, small.status, "%s", small.message);
		trainmem_training_close(&kept.t);
	}
	if (err->status == STATUS_OK && !turns &&
	    trainmem_measure_time_alone(c->run, &step, "trainmem.step_time", &series, err) ==
		    STATUS_OK)
		trainmem_measure_record_step(c->run, &c->setup, &series);
	if (err->status == STATUS_OK) {
		step.t.heap.timed = true;
		for (int i = 0; i < ALLOCATOR_STEPS; i++)
			trainmem_training_step(&step.t, err);
		run_value(c->run, "trainmem.allocator_time", step.t.heap.seconds / ALLOCATOR_STEPS);
		trainmem_training_wait(&step.t, err);
	}
	trainmem_training_close(&step.t);
	if (err->status == STATUS_OK && compares && !turns)
		trainmem_measure_time_kept_after(&plain, &series, err);
	return err->status;
}

/* The steps of the account, and those that measure the sizes of context and inference. */
#define ACCOUNT_ALL_STEPS (ACCOUNT_STEPS + 2)

static enum status trainmem_measure_account(const struct trainmem_case *c, struct error *err)
{
	struct run *run = c->run;
	const struct metric_value *step = case_metric(run->result, "trainmem.step_time");
	struct memory_account_request request = { .setup = c->setup,
						  .options = c->options,
						  .steps = ACCOUNT_STEPS };
	struct fork_server_task task = {
		.device = &run->devices[0]->info,
		.run = memory_account_step,
		.arguments = &request,
		.arguments_size = sizeof(request),
		.result_size = sizeof(struct memory_account),
		/* From the step time measured just before. */
		.seconds = search_trial_limit(PROCESS_SECONDS, ACCOUNT_ALL_STEPS,
					      step ? step->value : 0),
	};
	struct training_options plain = { .policy = POLICY_ARENA };
	struct setup all = trainmem_measure_plain_setup(&c->setup);
	struct heap plan, kept;
	struct memory_account account;

	trainmem_training_plan(&c->setup, &c->options, &plan);
	trainmem_training_plan(&all, &plain, &kept);
	if (backend_memory_view(run->devices[0], &request.before, err) != STATUS_OK ||
	    fork_server_run(run->fork_server, &task, &account, err) != STATUS_OK)
		return error_prefix(err, "memory account");
	if (c->options.limit) {
		run_value(run, "trainmem.pool", (double)c->options.limit);
		run_value(run, "trainmem.swapped",
			  c->options.offload ? (double)c->options.swapped : 0);
		if (account.moved_bytes == 0)
			run_value(run, "trainmem.offloaded", 0);
	}
	trainmem_outcome_record_account(run, &c->setup, &account, &plan,
					trainmem_measure_setup_saves_memory(c) ? &kept : NULL);
	if (account.leaked != 0)
		return error_set(err, STATUS_MISMATCH,
				 "memory leak: %lld bytes more are in use after step %d than after "
				 "step 2",
				 (long long)account.leaked, ACCOUNT_STEPS);
	return STATUS_OK;
}

enum status trainmem_measure_step(const struct trainmem_case *c, struct error *err)
{
	if (trainmem_measure_verify(c, err) != STATUS_OK ||
	    trainmem_measure_time_step(c, err) != STATUS_OK)
		return err->status;
	return trainmem_measure_account(c, err);
}

/*
 * Eighths of the batch, one step each: whole batches, and the smaller last batches of data loaders.
 */
static const unsigned char eighths[ALTERNATION_PARTS] = { 8, 5, 8, 3, 7, 8, 1, 6 };

struct alternation {
	struct training *t;
	uint64_t batch;
};

static enum status trainmem_measure_launch_cycle(void *state, unsigned batch, struct error *err)
{
	struct alternation *a = state;

	for (unsigned i = 0; i < batch * sizeof(eighths); i++) {
		trainmem_training_set_batch(a->t, a->batch / ALTERNATION_PARTS *
							  eighths[i % sizeof(eighths)]);
		if (trainmem_training_step(a->t, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status trainmem_measure_alternating(const struct trainmem_case *c, struct error *err)
{
	struct training t = { 0 };
	struct alternation a = { &t, c->setup.batch };
	struct workload w = { .state = &a,
			      .launch = trainmem_measure_launch_cycle,
			      .clock = CLOCK_DEVICE,
			      .streams = t.team.streams,
			      .stream_count = 1,
			      .no_gate = true };
	const struct series *cycle;
	struct error ignored = ERROR_NONE;
	struct memory_view view = { 0 };
	struct fragments f = { 0 };

	if (trainmem_measure_verify(c, err) == STATUS_OK &&
	    trainmem_training_open(&t, &c->setup, &c->options, c->run->devices[0], err) ==
		    STATUS_OK &&
	    trainmem_training_reset(&t, err) == STATUS_OK) {
		w.commands = trainmem_measure_commands_of(&t) * (unsigned)sizeof(eighths);
		run_sample(c->run, &w, "trainmem.cycle_time", &cycle, err);
	}
	if (trainmem_training_wait(&t, err) == STATUS_OK) {
		run_scaled(c->run, "trainmem.step_time", 1.0 / sizeof(eighths), cycle);
		f.live_peak = t.heap.peak.total;
		f.reserved_peak = t.heap.reserved_peak;
		/* The pool reserves more than it hands out. */
		if (t.options.policy == POLICY_ASYNC)
			backend_memory_view(t.team.device, &view, &ignored);
		if (view.pool_reserved_high > f.reserved_peak)
			f.reserved_peak = view.pool_reserved_high;
		heap_free_bytes(&t.heap, &f.free_bytes, &f.largest_free);
		trainmem_outcome_record_fragments(c->run, &f);
	}
	trainmem_training_close(&t);
	return err->status;
}
