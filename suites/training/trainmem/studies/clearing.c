#include <math.h>

#include "kernels/generator.h"
#include "suites/training/trainmem/studies/studies.h"

struct clearing_outcome {
	int steps; /* completed before an allocation failed */
	bool fits; /* a step of the largest batch, afterwards */
	uint64_t reserved, reserved_cleared, free_bytes, largest_free;
};

/* Batches from an eighth of the largest, in pseudorandom order. */
static uint64_t clearing_batch_of(const struct setup *setup, int step)
{
	uint64_t unit = ALTERNATION_PARTS * setup_accumulate(setup), units = setup->batch / unit;
	uint64_t least = units / 8 + 1;

	return unit * (least + generator_bits(setup->seed, (uint64_t)step) % (units - least + 1));
}

static enum status many_steps(struct training *t, const struct setup *setup,
			      struct clearing_outcome *o, struct error *err)
{
	for (; o->steps < CLEARING_STEPS; o->steps++) {
		training_set_batch(t, clearing_batch_of(setup, o->steps));
		if (training_step(t, err) != STATUS_OK)
			return err->status;
	}
	return training_wait(t, err);
}

static enum status clearing_run_batches(struct training *t, const struct setup *setup, bool clear,
					struct clearing_outcome *o, struct error *err)
{
	if (training_reset(t, err) != STATUS_OK || many_steps(t, setup, o, err) != STATUS_OK)
		return err->status;
	o->reserved = t->heap.reserved;
	heap_free_bytes(&t->heap, &o->free_bytes, &o->largest_free);
	if (clear)
		heap_trim(&t->heap);
	o->reserved_cleared = t->heap.reserved;
	training_set_batch(t, setup->batch);
	if (training_step(t, err) == STATUS_OK && training_wait(t, err) == STATUS_OK)
		o->fits = true;
	return err->status;
}

static enum status clearing_study_one(struct run *run, const struct setup *setup,
				      const struct training_options *options, bool clear,
				      struct clearing_outcome *o, struct error *err)
{
	struct error refused = ERROR_NONE;
	struct training t;

	*o = (struct clearing_outcome){ 0 };
	if (training_open(&t, setup, options, run->devices[0], &refused) == STATUS_OK)
		clearing_run_batches(&t, setup, clear, o, &refused);
	o->reserved = o->reserved ? o->reserved : t.heap.reserved;
	training_close(&t);
	return refused.status == STATUS_OK || refused.status == STATUS_NO_MEMORY
		       ? STATUS_OK
		       : error_set(err, refused.status, "%s", refused.message);
}

enum status study_clearing(struct run *run, const struct setup *setup,
			   const struct trainmem_options *options, struct error *err)
{
	struct training_options own = options->training;
	struct clearing_outcome kept, cleared;
	struct heap need;

	training_plan(setup, &own, &need);
	own.reserve = need.reserved_peak;
	own.limit = (uint64_t)(CLEARING_ROOM * (double)need.reserved_peak);
	if (measure_verify(run, setup, options, err) != STATUS_OK ||
	    clearing_study_one(run, setup, &own, false, &kept, err) != STATUS_OK ||
	    clearing_study_one(run, setup, &own, true, &cleared, err) != STATUS_OK)
		return err->status;
	run_value(run, "trainmem.limit", (double)own.limit);
	run_value(run, "trainmem.reserved", (double)kept.reserved);
	if (kept.steps == CLEARING_STEPS)
		run_value(run, "trainmem.reserved_after", (double)cleared.reserved_cleared);
	else
		run_note(run, "Step %d of %d with batches of changing size ran out of memory.",
			 kept.steps + 1, CLEARING_STEPS);
	run_value(run, "trainmem.fits_kept", kept.fits);
	run_value(run, "trainmem.fits_cleared", cleared.fits);
	if (kept.free_bytes)
		run_value(run, "trainmem.fragmentation",
			  1 - (double)kept.largest_free / (double)kept.free_bytes);
	return STATUS_OK;
}
