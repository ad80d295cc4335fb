#include "suites/training/trainmem/search.h"

#include <math.h>

#include "base/clock.h"
#include "base/units.h"
#include "suites/training/models/mode.h"
#include "suites/shared/estimate.h"
#include "suites/shared/search_next.h"

/*
 * Rows and widths are multiples of this, so that no trial is slow because of misalignment; a
 * sequence has enough rows anyway.
 */
#define BATCH_STEP 8
#define WIDTH_STEP 64

static uint64_t trainmem_search_step_of(const struct setup *setup, enum search_for what)
{
	uint64_t samples = setup->kind == MODEL_TRANSFORMER ? 1 : BATCH_STEP;

	return what == SEARCH_BATCH ? samples * setup_accumulate(setup) : WIDTH_STEP;
}

/* `setup` with this batch, or with this width in all hidden layers. */
static struct setup trainmem_search_setup_with(const struct setup *setup, enum search_for what,
					       uint64_t value)
{
	struct setup s = *setup;

	if (what == SEARCH_BATCH) {
		s.batch = value * setup_sample_rows(setup);
		return s;
	}
	for (size_t l = 1; l < s.layers; l++)
		s.widths[l] = value;
	if (s.rate_chosen)
		s.rate = setup_safe_rate(&s);
	return s;
}

static bool trainmem_search_plan_fits(const struct setup *setup, enum search_for what,
				      uint64_t value, const struct training_options *training,
				      uint64_t budget)
{
	struct setup s = trainmem_search_setup_with(setup, what, value);

	return training_fits(&s, training, budget);
}

/* The largest value whose planned memory is at most `budget`, a multiple of the step; 0: none. */
static uint64_t search_predict(const struct setup *setup, enum search_for what,
			       const struct training_options *training, uint64_t budget,
			       uint64_t most)
{
	uint64_t step = trainmem_search_step_of(setup, what), fits = 0, fails = most / step + 1;

	while (fails - fits > 1) {
		uint64_t middle = fits + (fails - fits) / 2;

		if (trainmem_search_plan_fits(setup, what, middle * step, training, budget))
			fits = middle;
		else
			fails = middle;
	}
	return fits * step;
}

/* One step that measures the context's size, and two for the trial. */
#define TRIAL_STEPS 3

static double trainmem_search_limit_of(const struct run *run, const struct setup *setup,
				       double least)
{
	double step = setup_flops(setup) / estimate_flops(&run->devices[0]->info, setup->precision);

	return trial_limit(least, TRIAL_STEPS, step);
}

enum status search_trial(struct run *run, struct trial_request *request, double process_seconds,
			 struct trial *trial, struct error *err)
{
	struct fork_server_task task = { .device = &run->devices[0]->info,
					 .run = trial_of_step,
					 .arguments = request,
					 .arguments_size = sizeof(*request),
					 .result_size = sizeof(*trial),
					 .seconds = trainmem_search_limit_of(run, &request->setup,
									     process_seconds) };

	if (backend_memory_view(run->devices[0], &request->before, err) != STATUS_OK)
		return err->status;
	return fork_server_run(run->fork_server, &task, trial, err);
}

static enum status trainmem_search_one_trial(struct run *run, const struct search_options *o,
					     struct trial_request *request, struct search *s,
					     struct trial *trial, struct error *err)
{
	s->trials++;
	return search_trial(run, request, o->process_seconds, trial, err);
}

static enum status trainmem_search_try_value(struct run *run, const struct search_options *o,
					     struct trial_request *request, struct search *s,
					     uint64_t value, struct error *err)
{
	struct trial trial;

	request->setup = trainmem_search_setup_with(&s->setup, s->what, value);
	if (trainmem_search_one_trial(run, o, request, s, &trial, err) != STATUS_OK)
		return error_prefix(err, "trial of %llu", (unsigned long long)value);
	if (trial.fits) {
		s->found = value;
		s->largest = trial;
		return STATUS_OK;
	}
	s->fails = value;
	s->failures++;
	s->failed = trial;
	return trial.works_afterwards
		       ? STATUS_OK
		       : error_set(err, STATUS_MISMATCH, "the device no longer works after %s",
				   trial.reason);
}

static void trainmem_search_find_by_halves(struct search *s, const struct search_options *o)
{
	uint64_t value = UINT64_C(1) << 40;

	while (value > o->most)
		value /= 2;
	for (s->halvings = 1; value > s->found; value /= 2)
		s->halvings++;
	s->halved = value;
}

/* A normal result for an emulated card, but an error for the device itself. */
static enum status trainmem_search_too_small(const struct search_options *o)
{
	return o->capacity ? STATUS_UNSUPPORTED : STATUS_NO_MEMORY;
}

/* A card that the context alone fills. */
static enum status trainmem_search_nothing_left(const struct search_options *o, uint64_t context,
						struct error *err)
{
	char capacity[32], taken[32], reserve[32];

	units_size(o->capacity, capacity, sizeof(capacity));
	units_format((double)context, "B", taken, sizeof(taken));
	units_size(o->reserve, reserve, sizeof(reserve));
	return error_set(err, trainmem_search_too_small(o),
			 "no memory is left for tensors in %s: context and libraries need "
			 "%s%s%s",
			 o->capacity ? capacity : "all free memory", taken,
			 o->limit_by == LIMIT_BY_ALLOCATOR ? ", memory_reserve " : "",
			 o->limit_by == LIMIT_BY_ALLOCATOR ? reserve : "");
}

enum status search_largest(struct run *run, const struct setup *setup,
			   const struct search_options *o, struct search *s, struct error *err)
{
	struct trial_request request = { .setup = *setup,
					 .options = o->training,
					 .capacity = o->capacity,
					 .reserve = o->reserve,
					 .limit_by = o->limit_by,
					 .only_look = true };
	double start = clock_seconds();
	struct trial look;
	uint64_t step = trainmem_search_step_of(setup, o->what), next;

	*s = (struct search){ .what = o->what, .setup = *setup };
	if (trainmem_search_one_trial(run, o, &request, s, &look, err) != STATUS_OK)
		return error_prefix(err, "finding the budget");
	request.only_look = false;
	s->context = look.context;
	s->budget = look.budget;
	if (!look.budget)
		return trainmem_search_nothing_left(o, look.context, err);
	s->predicted = search_predict(setup, o->what, &o->training, look.budget, o->most);
	while ((next = search_next(s->found, s->fails, s->predicted, step, o->most,
				   o->tolerance)) &&
	       s->trials < SEARCH_TRIALS)
		if (trainmem_search_try_value(run, o, &request, s, next, err) != STATUS_OK)
			return err->status;
	s->seconds = clock_seconds() - start;
	s->setup = trainmem_search_setup_with(setup, o->what, s->found ? s->found : step);
	trainmem_search_find_by_halves(s, o);
	return s->found ? STATUS_OK
			: error_set(err, trainmem_search_too_small(o), "not even %llu fits: %s",
				    (unsigned long long)step, s->failed.reason);
}
