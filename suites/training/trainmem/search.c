#include "suites/training/trainmem/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "suites/shared/buffers.h"
#include "suites/shared/estimate.h"
#include "suites/shared/search_next.h"
#include "suites/training/parallel/setup_case.h"

/* Maximum trials of a search. */
#define SEARCH_TRIALS 20
/* Largest relative gap between the largest size that fits and the smallest that does not. */
#define SEARCH_TOLERANCE 0.01

/* Maximum rows of the step that loads kernels and libraries. */
#define CONTEXT_BATCH 4096
#define CONTEXT_IMAGES 16

/* A loaded device is slower than an idle one by at most this factor. */
#define LIMIT_FACTOR 4
/* Fraction of the budget that the device may grant beyond its stated free memory. */
#define FILLER_MISSES 50

/* The block that shows that a device still works. */
#define AFTERWARDS_BYTES ((size_t)1 << 20)

static uint64_t search_uint64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t search_uint64_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Bytes that a card of this capacity has left for tensors, at most those of the device. */
static enum status search_trial_find_budget(struct device *device, const struct trial_request *r,
					    struct trial *t, uint64_t *free_bytes,
					    struct error *err)
{
	/* A step with enough rows for the kernels of larger ones that needs little memory. */
	struct training_options options = { .policy = POLICY_MALLOC };
	struct setup loads = r->setup;
	uint64_t sample = setup_sample_rows(&loads) * setup_accumulate(&loads),
		 least = loads.kind == MODEL_TRANSFORMER ? 1 : 8, available, total;
	enum memory_source source;

	if (backend_device_memory(device, free_bytes, &total, err) != STATUS_OK)
		return err->status;
	available = r->capacity ? search_uint64_min(r->capacity, *free_bytes) : *free_bytes;
	loads.batch = (loads.kind == MODEL_MLP ? CONTEXT_BATCH : CONTEXT_IMAGES) * sample;
	while (loads.batch > least * sample &&
	       !trainmem_training_fits(&loads, &options, available / 4))
		loads.batch /= 2;
	if (memory_account_context(device, &loads, &source, &r->before, &t->context, free_bytes,
				   err) != STATUS_OK)
		return err->status;
	t->budget = r->capacity ? search_uint64_min(search_uint64_less(r->capacity, t->context),
						    *free_bytes)
				: *free_bytes;
	if (r->limit_by == LIMIT_BY_ALLOCATOR || !r->capacity)
		t->budget = search_uint64_less(t->budget, r->reserve);
	return STATUS_OK;
}

double search_trial_limit(double least, int steps, double step_seconds)
{
	return least + LIMIT_FACTOR * steps * fmax(step_seconds, 0);
}

static enum status search_trial_try_steps(struct device *device, const struct trial_request *r,
					  struct trial *t, struct error *err)
{
	struct training_options options = r->options;
	struct error failed = ERROR_NONE;
	struct training training;
	char given[32], budget[32];
	uint64_t taken;

	/* For the heap, 0 means no limit: without a budget not a single byte fits. */
	options.limit = t->filled ? 0 : t->budget ? t->budget : 1;
	trainmem_training_open(&training, &r->setup, &options, device, &failed);
	trainmem_training_first_step(&training, &t->first_loss, &failed);
	trainmem_training_step(&training, &failed);
	trainmem_training_wait(&training, &failed);
	trainmem_training_loss(&training, &t->last_loss, &failed);
	t->fits = failed.status == STATUS_OK;
	t->phase = training.heap.phase;
	t->peak = training.heap.peak;
	t->refused = training.heap.refused;
	t->taken = training.heap.reserved;
	memcpy(t->in_use, training.heap.live, sizeof(t->in_use));
	snprintf(t->reason, sizeof(t->reason), "%.255s", failed.message);
	taken = training.heap.reserved_peak;
	trainmem_training_close(&training);
	if (failed.status == STATUS_NO_MEMORY)
		return STATUS_OK;
	if (failed.status != STATUS_OK)
		return error_set(err, failed.status, "%s", failed.message);
	/* Such a step does not emulate a smaller card. */
	if (t->filled && taken > t->budget + t->budget / FILLER_MISSES)
		return error_set(err, STATUS_UNSUPPORTED,
				 "the device's memory was filled up to the last %s, but a step "
				 "still got %s; to emulate a smaller GPU, use limit_by = allocator",
				 units_format((double)t->budget, "B", budget, sizeof(budget)),
				 units_format((double)taken, "B", given, sizeof(given)));
	/* A step with a wrong result must not count as one that fits. */
	if (isfinite(t->first_loss) && isfinite(t->last_loss) &&
	    (!r->setup.rate_chosen || t->last_loss < t->first_loss))
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "batch %llu: the loss changed from %.6g to %.6g in two steps, but must "
			 "fall",
			 (unsigned long long)(r->setup.batch / setup_sample_rows(&r->setup)),
			 t->first_loss, t->last_loss);
}

/* A fork_server_fn: converts struct trial_request to struct trial. */
enum status search_trial_of_step(struct device *device, const void *request, void *result,
				 struct error *err)
{
	const struct trial_request *r = request;
	struct trial *t = result;
	struct buffer filler = { 0 }, buffer = { 0 };
	struct stream *stream = NULL;
	uint64_t free_bytes;
	double start;

	if (search_trial_find_budget(device, r, t, &free_bytes, err) != STATUS_OK || r->only_look)
		return err->status;
	start = clock_seconds();
	if (r->limit_by == LIMIT_BY_FILLER && r->capacity && free_bytes > t->budget) {
		t->filled = free_bytes - t->budget;
		buffer_alloc(&filler, device, ALLOCATOR_DEVICE, t->filled, err);
	}
	if (err->status == STATUS_OK)
		search_trial_try_steps(device, r, t, err);
	t->seconds = clock_seconds() - start;
	buffer_free(&filler);
	if (err->status != STATUS_OK || t->fits)
		return err->status;
	/* Allocates memory, fills it by a kernel, and checks every byte. */
	if (backend_stream_create(device, false, &stream, err) == STATUS_OK &&
	    buffer_alloc(&buffer, device, ALLOCATOR_DEVICE, AFTERWARDS_BYTES, err) == STATUS_OK &&
	    buffer_fill(&buffer, stream, r->setup.seed, err) == STATUS_OK)
		buffer_check(&buffer, stream, 0, AFTERWARDS_BYTES, r->setup.seed, err);
	t->works_afterwards = err->status == STATUS_OK;
	buffer_free(&buffer);
	if (stream)
		backend_stream_destroy(stream);
	return err->status;
}

/*
 * Rows and widths are multiples of this, so that no trial is slow because of misalignment; a
 * sequence has enough rows anyway.
 */
#define BATCH_STEP 8
#define WIDTH_STEP 64

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

struct planned_search {
	const struct trainmem_case *c;
	enum search_for what;
	uint64_t budget;
};

static bool search_plan_fits(const void *context, uint64_t value)
{
	const struct planned_search *p = context;
	struct setup s = trainmem_search_setup_with(&p->c->setup, p->what, value);

	return trainmem_training_fits(&s, &p->c->options, p->budget);
}

/* One step that measures the context's size, and two for the trial. */
#define TRIAL_STEPS 3

enum status search_trial(struct run *run, struct trial_request *request, struct trial *trial,
			 struct error *err)
{
	const struct device_info *info = &run->devices[0]->info;
	double step = model_flops(&request->setup) /
		      shared_estimate_flops(info, request->setup.precision);
	struct fork_server_task task = { .device = info,
					 .run = search_trial_of_step,
					 .arguments = request,
					 .arguments_size = sizeof(*request),
					 .result_size = sizeof(*trial),
					 .seconds = search_trial_limit(PROCESS_SECONDS, TRIAL_STEPS,
								       step) };

	if (backend_memory_view(run->devices[0], &request->before, err) != STATUS_OK ||
	    fork_server_run(run->fork_server, &task, trial, err) != STATUS_OK)
		return err->status;
	return request->only_look || trial->fits || trial->works_afterwards
		       ? STATUS_OK
		       : error_set(err, STATUS_MISMATCH,
				   "the device no longer works after this failure: %s",
				   trial->reason);
}

static enum status trainmem_search_try_value(struct run *run, struct trial_request *request,
					     struct search *s, uint64_t value, struct error *err)
{
	struct trial trial;

	s->trials++;
	request->setup = trainmem_search_setup_with(&s->setup, s->what, value);
	if (search_trial(run, request, &trial, err) != STATUS_OK)
		return error_prefix(err, "trial of %llu", (unsigned long long)value);
	*(trial.fits ? &s->found : &s->fails) = value;
	*(trial.fits ? &s->largest : &s->failed) = trial;
	return STATUS_OK;
}

enum status search_trial_request(const struct trainmem_case *c, struct trial_request *out,
				 struct error *err)
{
	const struct section *section = c->run->c->section;

	*out = (struct trial_request){ .setup = c->setup,
				       .options = c->options,
				       .reserve =
					       (uint64_t)section_integer(section, "memory_reserve"),
				       .limit_by =
					       (enum limit_by)section_integer(section, "limit_by"),
				       .only_look = true };
	return setup_case_limit(c->run->c, &out->capacity, err);
}

/* A card that the context alone fills. */
static enum status trainmem_search_nothing_left(const struct trial_request *r, uint64_t context,
						enum status too_small, struct error *err)
{
	char capacity[32], taken[32], reserve[32];

	units_size(r->capacity, capacity, sizeof(capacity));
	units_format((double)context, "B", taken, sizeof(taken));
	units_size(r->reserve, reserve, sizeof(reserve));
	return error_set(err, too_small,
			 "no memory is left for tensors in %s: context and libraries need %s%s%s",
			 r->capacity ? capacity : "all free memory", taken,
			 r->limit_by == LIMIT_BY_ALLOCATOR ? ", memory_reserve " : "",
			 r->limit_by == LIMIT_BY_ALLOCATOR ? reserve : "");
}

enum status search_largest(const struct trainmem_case *c, enum search_for what, uint64_t most,
			   struct search *s, struct error *err)
{
	struct trial_request request;
	struct trial look;
	struct planned_search planned = { c, what, 0 };
	double start = clock_seconds();
	uint64_t samples = c->setup.kind == MODEL_TRANSFORMER ? 1 : BATCH_STEP,
		 step = what == SEARCH_BATCH ? samples * setup_accumulate(&c->setup) : WIDTH_STEP,
		 next;
	enum status too_small;

	*s = (struct search){ .what = what, .setup = c->setup, .trials = 1 };
	if (search_trial_request(c, &request, err) != STATUS_OK)
		return err->status;
	if (search_trial(c->run, &request, &look, err) != STATUS_OK)
		return error_prefix(err, "trial that finds the budget");
	request.only_look = false;
	s->context = look.context;
	s->budget = planned.budget = look.budget;
	/* A normal result for an emulated card, but an error for the device itself. */
	too_small = request.capacity ? STATUS_UNSUPPORTED : STATUS_NO_MEMORY;
	if (!look.budget)
		return trainmem_search_nothing_left(&request, look.context, too_small, err);
	s->predicted = search_next_largest_fit(search_plan_fits, &planned, step, most);
	while ((next = search_next(s->found, s->fails, s->predicted, step, most,
				   SEARCH_TOLERANCE)) &&
	       s->trials < SEARCH_TRIALS)
		if (trainmem_search_try_value(c->run, &request, s, next, err) != STATUS_OK)
			return err->status;
	s->seconds = clock_seconds() - start;
	s->setup = trainmem_search_setup_with(&c->setup, what, s->found ? s->found : step);
	return s->found ? STATUS_OK
			: error_set(err, too_small, "not even the smallest size, %llu, fits: %s",
				    (unsigned long long)step, s->failed.reason);
}
