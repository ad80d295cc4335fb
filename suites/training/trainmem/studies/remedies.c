#include <math.h>

#include "suites/training/trainmem/search.h"
#include "suites/training/trainmem/studies/studies.h"

/*
 * A batch exceeds the plan's prediction by this fraction, because trials determine their own
 * budgets.
 */
#define BEYOND 100

struct remedy_attempt {
	struct run *run;
	const struct setup *setup;
	const struct trainmem_options *options;
	struct trial_request request;
	uint64_t step, most, budget;
};

static uint64_t remedies_larger_batch(const struct remedy_attempt *a, uint64_t batch)
{
	return (batch + batch / BEYOND + a->step - 1) / a->step * a->step;
}

static bool remedies_batch_refused(const struct remedy_attempt *a, uint64_t batch,
				   enum phase at_most)
{
	struct setup s = *a->setup;

	s.batch = batch;
	return training_refused_in(&s, &a->options->training, a->budget) <= at_most;
}

/* The smallest batch whose plan fails in phase `at_most` or before; 0: none. */
static uint64_t smallest_refused(const struct remedy_attempt *a, enum phase at_most)
{
	uint64_t fits = 0, fails = a->most / a->step;

	if (!remedies_batch_refused(a, fails * a->step, at_most))
		return 0;
	while (fails - fits > 1) {
		uint64_t middle = fits + (fails - fits) / 2;

		if (remedies_batch_refused(a, middle * a->step, at_most))
			fails = middle;
		else
			fits = middle;
	}
	return fails * a->step;
}

static enum status remedies_try_step(struct remedy_attempt *a, const struct setup *setup,
				     bool offload, struct trial *trial, struct error *err)
{
	a->request.setup = *setup;
	a->request.options = a->options->training;
	a->request.options.offload = offload;
	if (search_trial(a->run, &a->request, a->options->process_seconds, trial, err) != STATUS_OK)
		return err->status;
	return trial->fits || trial->works_afterwards
		       ? STATUS_OK
		       : error_set(err, STATUS_MISMATCH, "the device no longer works after %s",
				   trial->reason);
}

enum {
#define X(name, help) REMEDY_##name,
	REMEDIES(X)
#undef X
		REMEDY_COUNT
};
#define X(name, help) { "trainmem.backward_" #name, "trainmem.forward_" #name },
static const char *const metrics[][2] = { REMEDIES(X) };
#undef X

static struct setup with_remedy(const struct setup *setup, int remedy)
{
	struct setup s = *setup;

	if (remedy == REMEDY_halved)
		s.batch /= 2;
	if (remedy == REMEDY_checkpointed)
		s.segments = (uint64_t)fmax(2, round(sqrt((double)s.layers)));
	if (remedy == REMEDY_accumulated)
		s.accumulate = 2 * setup_accumulate(&s);
	return s;
}

/* First the batch itself, which must fail in that phase; then with each remedy. */
static enum status try_remedies(struct remedy_attempt *a, uint64_t batch, enum phase phase,
				struct error *err)
{
	bool forward = phase == PHASE_FORWARD;
	struct setup s = *a->setup;
	struct trial trial;

	s.batch = batch;
	if (remedies_try_step(a, &s, false, &trial, err) != STATUS_OK)
		return err->status;
	if (trial.fits || trial.phase != phase) {
		run_note(a->run,
			 "A batch of %llu was expected to run out of memory in %s, but "
			 "%s%s.",
			 (unsigned long long)batch, phase_names[phase],
			 trial.fits ? "fits" : "ran out of it in ",
			 trial.fits ? "" : phase_names[trial.phase]);
		return STATUS_OK;
	}
	run_value(a->run, forward ? "trainmem.refused_batch_forward" : "trainmem.refused_batch",
		  (double)batch);
	for (int r = 0; r < REMEDY_COUNT; r++) {
		struct setup with = with_remedy(&s, r);

		if (remedies_try_step(a, &with, r == REMEDY_offloaded, &trial, err) != STATUS_OK)
			return err->status;
		run_value(a->run, metrics[r][forward], trial.fits);
	}
	return STATUS_OK;
}

static enum status remedies_find_budget(struct remedy_attempt *a, struct error *err)
{
	struct trial look;

	a->request.only_look = true;
	if (search_trial(a->run, &a->request, a->options->process_seconds, &look, err) != STATUS_OK)
		return err->status;
	a->request.only_look = false;
	a->budget = look.budget;
	run_value(a->run, "trainmem.budget", (double)look.budget);
	return look.budget ? STATUS_OK
			   : error_set(err, STATUS_UNSUPPORTED, "no memory is left for tensors");
}

enum status study_remedies(struct run *run, const struct setup *setup,
			   const struct trainmem_options *options, const struct remedies_options *o,
			   struct error *err)
{
	struct remedy_attempt a = { .run = run,
				    .setup = setup,
				    .options = options,
				    .request = { .setup = *setup,
						 .options = options->training,
						 .capacity = o->capacity,
						 .reserve = o->reserve },
				    .step = 16 * setup_accumulate(setup),
				    .most = o->most };
	uint64_t backward, forward;

	if (remedies_find_budget(&a, err) != STATUS_OK)
		return err->status;
	backward = smallest_refused(&a, PHASE_BACKWARD);
	forward = smallest_refused(&a, PHASE_FORWARD);
	if (!backward)
		return error_set(err, STATUS_UNSUPPORTED, "even a batch of %llu fits",
				 (unsigned long long)o->most);
	if ((remedies_larger_batch(&a, backward) < forward || !forward) &&
	    try_remedies(&a, remedies_larger_batch(&a, backward), PHASE_BACKWARD, err) != STATUS_OK)
		return err->status;
	if (forward &&
	    try_remedies(&a, remedies_larger_batch(&a, forward), PHASE_FORWARD, err) != STATUS_OK)
		return err->status;
	run_verified(run,
		     "the loss falls in every step that fits; after each failure memory was "
		     "allocated, filled by a kernel, and every byte checked",
		     NAN, NAN);
	return STATUS_OK;
}
