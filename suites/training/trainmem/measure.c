#include "suites/training/trainmem/measure.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "suites/training/trainmem/check.h"
#include "suites/training/trainmem/outcome.h"
#include "suites/training/trainmem/trial.h"

/* Steps of the memory account: a leak is the growth between the second and the last. */
#define ACCOUNT_STEPS 8

struct training_options trainmem_plain_options(void)
{
	return (struct training_options){ .policy = POLICY_ARENA };
}

struct setup trainmem_plain_setup(const struct setup *setup)
{
	struct setup plain = *setup;

	plain.segments = 0;
	plain.accumulate = 1;
	return plain;
}

static bool trainmem_is_plain(const struct setup *setup, const struct training_options *o)
{
	return setup->segments == 0 && setup_accumulate(setup) == 1 && o->policy == POLICY_ARENA &&
	       !o->offload && !o->out_of_place && !o->reports;
}

/* Methods of saving memory; an allocation policy is not one. */
static bool setup_saves_memory(const struct setup *setup, const struct training_options *o)
{
	return setup->segments > 0 || setup_accumulate(setup) > 1 || o->offload;
}

static enum status trainmem_launch_steps(void *state, unsigned batch, struct error *err)
{
	struct training *t = state;
	double loss;

	for (unsigned i = 0; i < batch; i++)
		if (training_step(t, err) != STATUS_OK ||
		    (t->options.reports && training_loss(t, &loss, err) != STATUS_OK))
			return err->status;
	return STATUS_OK;
}

/* Approximate number of kernels, products and events of a step. */
static unsigned trainmem_commands_of(const struct training *t)
{
	return (unsigned)(setup_accumulate(&t->setup) *
				  ((t->setup.kind != MODEL_MLP ? 60 : 16) * t->setup.layers + 1) +
			  1);
}

static struct workload trainmem_steps_of(struct training *t)
{
	bool waits = t->options.policy == POLICY_MALLOC || t->options.policy == POLICY_ASYNC ||
		     t->options.reports;

	return (struct workload){ .state = t,
				  .launch = trainmem_launch_steps,
				  .clock = CLOCK_DEVICE,
				  .streams = t->team.streams,
				  .stream_count = t->options.offload ? 2 : 1,
				  .commands = trainmem_commands_of(t),
				  .no_gate = waits };
}

/* Checks that the timed steps trained the model. */
static enum status check_trained(struct training *t, double first, struct error *err)
{
	double last;

	if (training_wait(t, err) != STATUS_OK || training_loss(t, &last, err) != STATUS_OK)
		return err->status;
	if (!isfinite(last) || (t->setup.rate_chosen && !(last < first)))
		return error_set(err, STATUS_MISMATCH,
				 "the loss changed from %.6g to %.6g in the timed steps", first,
				 last);
	return STATUS_OK;
}

/* Steps over which the host time in the allocator is summed. */
#define ALLOCATOR_STEPS 20

static enum status trainmem_time_allocator(struct run *run, struct training *t, struct error *err)
{
	t->heap.timed = true;
	for (int i = 0; i < ALLOCATOR_STEPS; i++)
		if (training_step(t, err) != STATUS_OK)
			return err->status;
	run_value(run, "trainmem.allocator_time", t->heap.seconds / ALLOCATOR_STEPS);
	return training_wait(t, err);
}

/* A training to be timed, and its loss after the first step. */
struct timed_training {
	struct training t;
	double first;
};

/* The caller closes it in any case. */
static enum status trainmem_open_timed(struct timed_training *timed, struct run *run,
				       const struct setup *setup,
				       const struct training_options *options, struct error *err)
{
	struct training_options own = *options;
	struct training *t = &timed->t;
	struct heap need;

	training_plan(setup, options, &need);
	own.reserve = need.reserved_peak;
	if (training_open(t, setup, &own, run->devices[0], err) == STATUS_OK &&
	    training_reset(t, err) == STATUS_OK && training_step(t, err) == STATUS_OK &&
	    training_wait(t, err) == STATUS_OK)
		training_loss(t, &timed->first, err);
	return err->status;
}

static void trainmem_record_step(struct run *run, const struct setup *setup,
				 const struct series *step)
{
	run_duration(run, "trainmem.step_time", step);
	run_rate(run, "trainmem.throughput", (double)(setup->batch / setup_sample_rows(setup)),
		 step);
}

static enum status trainmem_time_alone(struct run *run, struct timed_training *timed,
				       const char *name, struct series *out, struct error *err)
{
	struct workload w = trainmem_steps_of(&timed->t);
	const struct series *series;

	if (run_sample(run, &w, name, &series, err) != STATUS_OK)
		return err->status;
	*out = *series;
	return check_trained(&timed->t, timed->first, err);
}

static enum status trainmem_time_in_turns(struct run *run, struct timed_training *step,
					  struct timed_training *kept, struct error *err)
{
	static const char *const names[] = { "trainmem.step_time", "trainmem.plain_time",
					     "trainmem.slowdown" };
	struct workload workloads[] = { trainmem_steps_of(&step->t), trainmem_steps_of(&kept->t) };
	const struct series *series[3];

	if (run_sample_interleaved(run, workloads, names, series, err) != STATUS_OK ||
	    check_trained(&step->t, step->first, err) != STATUS_OK ||
	    check_trained(&kept->t, kept->first, err) != STATUS_OK)
		return err->status;
	trainmem_record_step(run, &step->t.setup, series[0]);
	run_duration(run, "trainmem.plain_time", series[1]);
	run_scaled(run, "trainmem.slowdown", 1, series[2]);
	return STATUS_OK;
}

/* Times the step that keeps everything after another step has been timed and closed. */
static enum status trainmem_time_kept_after(struct run *run, const struct setup *all,
					    const struct training_options *plain,
					    const struct series *step, struct error *err)
{
	struct error small = ERROR_NONE;
	struct series series;
	struct timed_training kept;

	if (trainmem_open_timed(&kept, run, all, plain, &small) == STATUS_OK &&
	    trainmem_time_alone(run, &kept, "trainmem.plain_time", &series, &small) == STATUS_OK) {
		run_duration(run, "trainmem.plain_time", &series);
		run_quotient(run, "trainmem.slowdown", 1, step, &series);
		run_note(run, "The step that keeps all outputs was timed after this one, not "
			      "interleaved with it, because both do not fit into memory.");
	}
	training_close(&kept.t);
	/*
	 * A device that holds only the step with less memory is not an error: such steps exist for
	 * it.
	 */
	if (small.status == STATUS_NO_MEMORY)
		run_note(run, "Not compared with a step that keeps all outputs: %s.",
			 small.message);
	else if (small.status != STATUS_OK)
		return error_set(err, small.status, "%s", small.message);
	return STATUS_OK;
}

static enum status trainmem_time_step(struct run *run, const struct setup *setup,
				      const struct training_options *options, struct error *err)
{
	struct training_options plain = trainmem_plain_options();
	struct setup all = trainmem_plain_setup(setup);
	struct error small = ERROR_NONE;
	bool turns = false, compares = !trainmem_is_plain(setup, options);
	struct timed_training step, kept;
	struct series series;

	if (trainmem_open_timed(&step, run, setup, options, err) == STATUS_OK && compares) {
		turns = trainmem_open_timed(&kept, run, &all, &plain, &small) == STATUS_OK;
		if (turns)
			trainmem_time_in_turns(run, &step, &kept, err);
		else if (small.status != STATUS_NO_MEMORY)
			error_set(err, small.status, "%s", small.message);
		training_close(&kept.t);
	}
	if (err->status == STATUS_OK && !turns &&
	    trainmem_time_alone(run, &step, "trainmem.step_time", &series, err) == STATUS_OK)
		trainmem_record_step(run, setup, &series);
	if (err->status == STATUS_OK)
		trainmem_time_allocator(run, &step.t, err);
	training_close(&step.t);
	if (err->status == STATUS_OK && compares && !turns)
		trainmem_time_kept_after(run, &all, &plain, &series, err);
	return err->status;
}

/* The steps of the account, and those that measure the sizes of context and inference. */
#define ACCOUNT_ALL_STEPS (ACCOUNT_STEPS + 2)

/* From the step time measured just before. */
static double trainmem_account_limit(const struct run *run, double least)
{
	const struct metric_value *step = case_metric(run->result, "trainmem.step_time");

	return trial_limit(least, ACCOUNT_ALL_STEPS, step ? step->value : 0);
}

static enum status measure_account(struct run *run, const struct setup *setup,
				   const struct trainmem_options *options, struct error *err)
{
	struct memory_account_request request = { .setup = *setup,
						  .options = options->training,
						  .steps = ACCOUNT_STEPS };
	struct fork_server_task task = {
		.device = &run->devices[0]->info,
		.run = memory_account_step,
		.arguments = &request,
		.arguments_size = sizeof(request),
		.result_size = sizeof(struct memory_account),
		.seconds = trainmem_account_limit(run, options->process_seconds)
	};
	struct training_options plain = trainmem_plain_options();
	struct setup all = trainmem_plain_setup(setup);
	struct heap plan, kept;
	struct memory_account account;

	training_plan(setup, &options->training, &plan);
	training_plan(&all, &plain, &kept);
	request.options.reserve = plan.reserved_peak;
	if (backend_memory_view(run->devices[0], &request.before, err) != STATUS_OK ||
	    fork_server_run(run->fork_server, &task, &account, err) != STATUS_OK)
		return error_prefix(err, "memory account");
	if (options->training.limit) {
		run_value(run, "trainmem.pool", (double)options->training.limit);
		run_value(run, "trainmem.swapped",
			  options->training.offload ? (double)options->training.swapped : 0);
		if (account.moved_bytes == 0)
			run_value(run, "trainmem.offloaded", 0);
	}
	outcome_record_account(run, setup, &account, &plan,
			       setup_saves_memory(setup, &options->training) ? &kept : NULL);
	if (account.leaked != 0)
		return error_set(err, STATUS_MISMATCH,
				 "memory leak: %lld bytes more in use after step %d than after "
				 "step 2",
				 (long long)account.leaked, ACCOUNT_STEPS);
	return STATUS_OK;
}

enum status measure_verify(struct run *run, const struct setup *setup,
			   const struct trainmem_options *options, struct error *err)
{
	struct verify_check check = { .gradient_error = NAN };
	struct setup small;
	char method[200];

	check_step(run->devices[0], setup, &options->training, options->verify_flops, &small,
		   &check, err);
	/* Also recorded for wrong gradients, as the size of the error. */
	if (isfinite(check.gradient_error))
		run_value(run, "trainmem.gradient_error", check.gradient_error);
	if (err->status != STATUS_OK)
		return err->status;
	snprintf(method, sizeof(method),
		 "gradients against double precision on the CPU and against a step that keeps "
		 "all outputs (batch %llu)",
		 (unsigned long long)(small.batch / setup_sample_rows(&small)));
	run_verified(run, method, check.gradient_error, verify_tolerance(&small).gradient);
	return STATUS_OK;
}

enum status measure_step(struct run *run, const struct setup *setup,
			 const struct trainmem_options *options, struct error *err)
{
	if (measure_verify(run, setup, options, err) != STATUS_OK ||
	    trainmem_time_step(run, setup, &options->training, err) != STATUS_OK)
		return err->status;
	return measure_account(run, setup, options, err);
}

/*
 * Eighths of the batch, one step each: whole batches, and the smaller last batches of data loaders.
 */
static const unsigned char eighths[ALTERNATION_PARTS] = { 8, 5, 8, 3, 7, 8, 1, 6 };

struct alternation {
	struct training *t;
	uint64_t batch;
};

static enum status launch_cycle(void *state, unsigned batch, struct error *err)
{
	struct alternation *a = state;

	for (unsigned i = 0; i < batch * sizeof(eighths); i++) {
		training_set_batch(a->t,
				   a->batch / ALTERNATION_PARTS * eighths[i % sizeof(eighths)]);
		if (training_step(a->t, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status sample_cycle(struct run *run, struct training *t, const struct series **out,
				struct error *err)
{
	struct alternation a = { t, t->setup.batch };
	struct workload w = { .state = &a,
			      .launch = launch_cycle,
			      .clock = CLOCK_DEVICE,
			      .streams = t->team.streams,
			      .stream_count = 1,
			      .commands = trainmem_commands_of(t) * (unsigned)sizeof(eighths),
			      .no_gate = true };
	enum status status = run_sample(run, &w, "trainmem.cycle_time", out, err);

	training_set_batch(t, a.batch);
	return status;
}

static uint64_t pool_overhead(struct training *t)
{
	struct error ignored = ERROR_NONE;
	struct memory_view view = { 0 };

	if (t->options.policy == POLICY_ASYNC)
		backend_memory_view(t->team.device, &view, &ignored);
	return view.pool_reserved_high > t->heap.reserved_peak
		       ? view.pool_reserved_high - t->heap.reserved_peak
		       : 0;
}

static enum status trainmem_alternate_batches(struct run *run, struct training *t,
					      struct error *err)
{
	const struct series *cycle;
	struct fragments f = { 0 };

	if (training_reset(t, err) != STATUS_OK || sample_cycle(run, t, &cycle, err) != STATUS_OK ||
	    training_wait(t, err) != STATUS_OK)
		return err->status;
	run_scaled(run, "trainmem.step_time", 1.0 / sizeof(eighths), cycle);
	f.live_peak = t->heap.peak.total;
	f.reserved_peak = t->heap.reserved_peak + pool_overhead(t);
	heap_free_bytes(&t->heap, &f.free_bytes, &f.largest_free);
	outcome_record_fragments(run, &f);
	return STATUS_OK;
}

enum status measure_alternating(struct run *run, const struct setup *setup,
				const struct trainmem_options *options, struct error *err)
{
	struct training_options own = options->training;
	struct training t;
	struct heap need;

	if (measure_verify(run, setup, options, err) != STATUS_OK)
		return err->status;
	training_plan(setup, &own, &need);
	own.reserve = need.reserved_peak;
	if (training_open(&t, setup, &own, run->devices[0], err) == STATUS_OK)
		trainmem_alternate_batches(run, &t, err);
	training_close(&t);
	return err->status;
}
