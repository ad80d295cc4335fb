#include "suites/training/parallel/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/setup_case.h"
#include "suites/training/parallel/verify/verify.h"
#include "suites/shared/search_next.h"

/* Largest relative gap between the largest batch that fits and the smallest that does not. */
#define TOLERANCE 0.01
/* Maximum trials of a search. */
#define TRIALS_MOST 20
/* Relative effect of rounding FP16 weights, or of skipped steps, on the loss. */
#define LOSS_NOISE 1e-3

/* An emulated card with less memory than the device. */
struct card {
	struct device *device;
	uint64_t bytes, used;
};

struct largest_search {
	struct run *run;
	struct rank_team *team;
	const struct setup *least;
	const struct largest_options *options;
	struct card card;
	uint64_t context, budget; /* maximum and minimum over all ranks */
	uint64_t fits, fails, predicted;
	int trials;
	bool refused; /* result of the last trial */
	char reason[200];
	uint64_t memory[MEMORY_CLASS_COUNT]; /* on this rank, in the largest step that fits */
};

static enum status largest_batch_card_take(void *state, enum memory_class tag, uint64_t bytes,
					   void **out, struct error *err)
{
	struct card *card = state;
	char used[32], all[32];

	(void)tag;
	if (card->bytes > 0 && bytes > card->bytes - card->used)
		return error_set(err, STATUS_NO_MEMORY, "no memory left: %s of %s are in use",
				 units_format((double)card->used, "B", used, sizeof(used)),
				 units_format((double)card->bytes, "B", all, sizeof(all)));
	if (backend_memory_alloc(card->device, ALLOCATOR_DEVICE, bytes, NULL, out, err) ==
	    STATUS_OK)
		card->used += bytes;
	return err->status;
}

static void largest_batch_card_give(void *state, enum memory_class tag, void *memory,
				    uint64_t bytes)
{
	struct card *card = state;
	struct error ignored = ERROR_NONE;

	(void)tag;
	backend_memory_free(card->device, ALLOCATOR_DEVICE, memory, bytes, NULL, &ignored);
	card->used -= bytes;
}

static struct setup largest_batch_setup_of(const struct largest_search *s, uint64_t samples)
{
	struct setup setup = *s->least;

	setup_case_batch(&setup, s->run->c, samples);
	/*
	 * Nothing is timed; another algorithm of a product needs no other tensors, except copies.
	 */
	setup.search_seconds = 0;
	setup.weight_gradient = WGRAD_DIRECT;
	return setup;
}

/* A step that does not fit is not an error: all ranks agree on s->refused. */
static enum status largest_batch_try(struct largest_search *s, uint64_t samples, struct error *err)
{
	const struct arena_source source = { .state = &s->card,
					     .take = largest_batch_card_take,
					     .give = largest_batch_card_give };
	struct setup setup = largest_batch_setup_of(s, samples);
	struct error own = ERROR_NONE;
	struct trainer t = { 0 };
	double first, last, most;
	uint64_t sum;

	s->trials++;
	s->team->memory = &source;
	/* Two steps: the loss of the second one shows the first update. */
	if (trainer_open(&t, &setup, s->team, &own) == STATUS_OK &&
	    rank_team_phase(s->team, "trial", &own) == STATUS_OK &&
	    trainer_step(&t, STEP_ALL, &own) == STATUS_OK &&
	    trainer_loss(&t, &first, &own) == STATUS_OK &&
	    trainer_step(&t, STEP_ALL, &own) == STATUS_OK &&
	    trainer_loss(&t, &last, &own) == STATUS_OK &&
	    verify_replicas(&t, &sum, &own) == STATUS_OK) {
		most = setup.storage_only || setup.dynamic_scale ? first * (1 + LOSS_NOISE) : first;
		/* A step with a wrong result must not count as one that fits. */
		if (!isfinite(last) || (setup.rate_chosen && !(last < most)))
			error_set(&own, STATUS_MISMATCH,
				  "batch %llu: the loss changed from %.6g to %.6g in two steps, "
				  "but must fall",
				  (unsigned long long)(setup.batch / setup_sample_rows(&setup)),
				  first, last);
		else
			memcpy(s->memory, t.arena.bytes, sizeof(s->memory));
	}
	trainer_close(&t);
	s->team->memory = NULL;
	s->refused = own.status == STATUS_NO_MEMORY;
	if (s->refused)
		snprintf(s->reason, sizeof(s->reason), "%.199s", own.message);
	return s->refused || own.status == STATUS_OK
		       ? STATUS_OK
		       : error_set(err, own.status, "trial of batch %llu: %s",
				   (unsigned long long)samples, own.message);
}

/* Memory left by context, libraries and connections after a step. */
static enum status largest_batch_find_budget(struct largest_search *s, struct error *err)
{
	const struct largest_options *o = s->options;
	struct world *world = s->team->world;
	struct memory_view view = { 0 };
	uint64_t free_bytes = 0, total, left;
	enum status status = backend_memory_view(s->team->device, &view, err);

	if (status == STATUS_OK)
		status = backend_device_memory(s->team->device, &free_bytes, &total, err);
	if (world_agree(world, status, err) != STATUS_OK)
		return err->status;
	s->context = view.process_used ? view.process_used : view.runtime_used;
	left = o->capacity == 0           ? free_bytes
	       : o->capacity > s->context ? o->capacity - s->context
					  : 0;
	left = left < free_bytes ? left : free_bytes;
	left = left > o->reserve ? left - o->reserve : 0;
	s->context = (uint64_t)world_max(world, (double)s->context);
	s->budget = (uint64_t)-world_max(world, -(double)left);
	return STATUS_OK;
}

static bool largest_batch_plan_fits(const void *search, uint64_t samples)
{
	const struct largest_search *s = search;
	struct setup setup = largest_batch_setup_of(s, samples);

	return memory_classes_footprint(&setup) <= s->budget;
}

static enum status largest_batch_refuse(const struct largest_search *s, uint64_t least,
					struct error *err)
{
	char context[32];

	return error_set(err, s->options->capacity ? STATUS_UNSUPPORTED : STATUS_NO_MEMORY,
			 "a batch of %llu does not fit: context, libraries and connections need "
			 "%s%s%s",
			 (unsigned long long)least,
			 units_format((double)s->context, "B", context, sizeof(context)),
			 s->refused ? "; " : "", s->reason);
}

static enum status largest_batch_narrow(struct largest_search *s, uint64_t step, struct error *err)
{
	uint64_t next, most = s->options->most;

	while ((next = search_next(s->fits, s->fails, s->predicted, step, most, TOLERANCE)) > 0 &&
	       s->trials < TRIALS_MOST) {
		if (largest_batch_try(s, next, err) != STATUS_OK)
			return err->status;
		*(s->refused ? &s->fails : &s->fits) = next;
	}
	if (s->fits == 0)
		return largest_batch_refuse(s, step, err);
	/* The devices still work after the failed allocation. */
	return s->refused ? largest_batch_try(s, s->fits, err) : STATUS_OK;
}

static void largest_batch_record(struct largest_search *s)
{
	struct world *world = s->team->world;
	uint64_t(*all)[MEMORY_CLASS_COUNT] = xcalloc((size_t)world->size, sizeof(*all));
	struct run *run = s->run;
	int most = 0;

	world_gather(world, s->memory, all, sizeof(*all));
	for (int rank = 1; rank < world->size; rank++)
		most = memory_classes_total(all[rank]) > memory_classes_total(all[most]) ? rank
											 : most;
	run_value(run, "parallel.largest_batch", (double)s->fits);
	run_value(run, "parallel.predicted_largest", (double)s->predicted);
	run_value(run, "parallel.trials", s->trials);
	run_value(run, "parallel.context", (double)s->context);
	run_value(run, "parallel.budget", (double)s->budget);
	memory_classes_record(run, all[most]);
	run_demote_metric(run, "parallel.memory");
	free(all);
	if (s->fails)
		run_note(run,
			 "A batch of %llu does not fit: %s. After this failure, a batch of %llu "
			 "fitted again.",
			 (unsigned long long)s->fails, s->reason, (unsigned long long)s->fits);
	else
		run_note(run, "The search reached max_batch, and no batch ran out of memory.");
	run_verified(run,
		     "two steps of every trial, in which the loss fell and replicas stayed bitwise "
		     "equal; the largest batch that fits ran again after an out-of-memory error",
		     NAN, NAN);
}

enum status largest_batch(struct run *run, struct rank_team *team, const struct setup *least,
			  const struct largest_options *o, struct error *err)
{
	struct largest_search s = { .run = run,
				    .team = team,
				    .least = least,
				    .options = o,
				    .card = { .device = team->device } };
	uint64_t step = setup_case_least(least), unused, total;

	if (backend_device_memory(team->device, &unused, &total, err) == STATUS_OK &&
	    o->capacity > total)
		error_set(err, STATUS_UNSUPPORTED, "the device has less memory than memory_limit");
	if (world_agree(team->world, err->status, err) != STATUS_OK)
		return err->status;
	/* Loads kernels and libraries, and opens all connections. */
	if (largest_batch_try(&s, step, err) != STATUS_OK)
		return err->status;
	if (s.refused)
		return largest_batch_refuse(&s, step, err);
	if (largest_batch_find_budget(&s, err) != STATUS_OK)
		return err->status;
	if (s.budget == 0)
		return largest_batch_refuse(&s, step, err);
	s.card.bytes = s.budget;
	s.predicted = search_next_largest_fit(largest_batch_plan_fits, &s, step, o->most);
	if (largest_batch_narrow(&s, step, err) != STATUS_OK)
		return err->status;
	largest_batch_record(&s);
	return STATUS_OK;
}
