#include "suites/training/trainmem/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "suites/shared/buffers.h"

/* Maximum rows of the step that loads kernels and libraries. */
#define CONTEXT_BATCH 4096
#define CONTEXT_IMAGES 16

/* A loaded device is slower than an idle one by at most this factor. */
#define LIMIT_FACTOR 4
/* Fraction of the budget that the device may grant beyond its stated free memory. */
#define FILLER_MISSES 50

/* The block that shows that a device still works. */
#define AFTERWARDS_BYTES ((size_t)1 << 20)

static uint64_t uint64_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t uint64_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* A step with enough rows for the kernels of larger ones that needs little memory. */
static struct setup trial_context_setup(const struct setup *setup, uint64_t available)
{
	struct training_options options = { .policy = POLICY_MALLOC };
	struct setup s = *setup;

	uint64_t sample = setup_sample_rows(setup) * setup_accumulate(setup),
		 least = setup->kind == MODEL_TRANSFORMER ? 1 : 8;

	s.batch = (setup->kind == MODEL_MLP ? CONTEXT_BATCH : CONTEXT_IMAGES) * sample;
	while (s.batch > least * sample && !training_fits(&s, &options, available / 4))
		s.batch /= 2;
	return s;
}

/* Bytes that a card of this capacity has left for tensors, at most those of the device. */
static enum status trial_find_budget(struct device *device, const struct trial_request *r,
				     struct trial *t, uint64_t *free_bytes, struct error *err)
{
	struct setup loads;
	enum memory_source source;
	uint64_t total;

	if (backend_device_memory(device, free_bytes, &total, err) != STATUS_OK)
		return err->status;
	loads = trial_context_setup(&r->setup, r->capacity ? uint64_min(r->capacity, *free_bytes)
							   : *free_bytes);
	if (memory_account_context(device, &loads, &source, &r->before, &t->context, free_bytes,
				   err) != STATUS_OK)
		return err->status;
	t->budget = r->capacity ? uint64_min(uint64_less(r->capacity, t->context), *free_bytes)
				: *free_bytes;
	if (r->limit_by == LIMIT_BY_ALLOCATOR || !r->capacity)
		t->budget = uint64_less(t->budget, r->reserve);
	return STATUS_OK;
}

double trial_limit(double least, int steps, double step_seconds)
{
	return least + LIMIT_FACTOR * steps * fmax(step_seconds, 0);
}

static enum status trial_fill_beyond(struct device *device, const struct trial_request *r,
				     struct trial *t, uint64_t free_bytes, struct buffer *filler,
				     struct error *err)
{
	if (r->limit_by != LIMIT_BY_FILLER || !r->capacity || free_bytes <= t->budget)
		return STATUS_OK;
	t->filled = free_bytes - t->budget;
	return buffer_alloc(filler, device, ALLOCATOR_DEVICE, t->filled, err);
}

static enum status trial_two_steps(struct training *t, struct trial *out, struct error *err)
{
	if (training_reset(t, err) != STATUS_OK || training_step(t, err) != STATUS_OK ||
	    training_wait(t, err) != STATUS_OK ||
	    training_loss(t, &out->first_loss, err) != STATUS_OK ||
	    training_step(t, err) != STATUS_OK || training_wait(t, err) != STATUS_OK)
		return err->status;
	return training_loss(t, &out->last_loss, err);
}

/* A step with a wrong result must not count as one that fits. */
static enum status trial_check_losses(const struct setup *setup, const struct trial *t,
				      struct error *err)
{
	if (isfinite(t->first_loss) && isfinite(t->last_loss) &&
	    (!setup->rate_chosen || t->last_loss < t->first_loss))
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH, "batch %llu: the loss changed from %.6g to %.6g",
			 (unsigned long long)(setup->batch / setup_sample_rows(setup)),
			 t->first_loss, t->last_loss);
}

/*
 * The device granted more memory than it should have had: such a step does not emulate a smaller
 * card.
 */
static enum status trial_not_full(const struct trial *t, uint64_t taken, struct error *err)
{
	char given[32], budget[32];

	return error_set(err, STATUS_UNSUPPORTED,
			 "the device was filled up to the last %s but still granted %s; to "
			 "emulate a smaller GPU use limit_by = allocator",
			 units_format((double)t->budget, "B", budget, sizeof(budget)),
			 units_format((double)taken, "B", given, sizeof(given)));
}

static enum status trial_try_steps(struct device *device, const struct trial_request *r,
				   struct trial *t, struct error *err)
{
	struct training_options options = r->options;
	struct error failed = ERROR_NONE;
	struct training training;
	struct heap need;
	uint64_t taken;

	training_plan(&r->setup, &options, &need);
	options.reserve = need.reserved_peak;
	/* For the heap, 0 means no limit: without a budget not a single byte fits. */
	options.limit = t->filled ? 0 : t->budget ? t->budget : 1;
	if (training_open(&training, &r->setup, &options, device, &failed) == STATUS_OK)
		trial_two_steps(&training, t, &failed);
	t->fits = failed.status == STATUS_OK;
	t->phase = training.heap.phase;
	t->peak = training.heap.peak;
	t->refused = training.heap.refused;
	t->taken = training.heap.reserved;
	memcpy(t->in_use, training.heap.live, sizeof(t->in_use));
	snprintf(t->reason, sizeof(t->reason), "%.255s", failed.message);
	taken = training.heap.reserved_peak;
	training_close(&training);
	if (t->fits && t->filled && taken > t->budget + t->budget / FILLER_MISSES)
		return trial_not_full(t, taken, err);
	if (t->fits)
		return trial_check_losses(&r->setup, t, err);
	return failed.status == STATUS_NO_MEMORY
		       ? STATUS_OK
		       : error_set(err, failed.status, "%s", failed.message);
}

/* Allocates memory, fills it by a kernel, and checks every byte. */
static enum status device_works(struct device *device, uint64_t seed, struct error *err)
{
	struct stream *stream = NULL;
	struct buffer buffer = { 0 };

	if (backend_stream_create(device, false, &stream, err) == STATUS_OK &&
	    buffer_alloc(&buffer, device, ALLOCATOR_DEVICE, AFTERWARDS_BYTES, err) == STATUS_OK &&
	    buffer_fill(&buffer, stream, seed, err) == STATUS_OK)
		buffer_check(&buffer, stream, 0, AFTERWARDS_BYTES, seed, err);
	buffer_free(&buffer);
	if (stream)
		backend_stream_destroy(stream);
	return err->status;
}

enum status trial_of_step(struct device *device, const void *request, void *result,
			  struct error *err)
{
	const struct trial_request *r = request;
	struct trial *t = result;
	struct buffer filler = { 0 };
	uint64_t free_bytes;
	double start;

	if (trial_find_budget(device, r, t, &free_bytes, err) != STATUS_OK || r->only_look)
		return err->status;
	start = clock_seconds();
	if (trial_fill_beyond(device, r, t, free_bytes, &filler, err) == STATUS_OK)
		trial_try_steps(device, r, t, err);
	t->seconds = clock_seconds() - start;
	buffer_free(&filler);
	if (err->status == STATUS_OK && !t->fits)
		t->works_afterwards = device_works(device, r->setup.seed, err) == STATUS_OK;
	return err->status;
}
