#include "suites/training/trainmem/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/training/models/reference/values.h"
#include "suites/training/parallel/modes/modes.h"
#include "suites/training/parallel/verify/compare.h"

struct gradients {
	struct rank_team *team;
	const struct network *network;
};

static enum status trainmem_check_read_gradients(void *context, uint64_t first, uint64_t count,
						 double *out, struct error *err)
{
	const struct gradients *g = context;
	const struct setup *setup = g->network->setup;
	size_t bytes = precision_bytes(setup->precision);
	void *raw = xmalloc(count * bytes);

	if (team_fetch(g->team, raw, (const char *)g->network->gradients + first * bytes,
		       count * bytes, err) == STATUS_OK) {
		values_decode(out, raw, setup->precision, count);
		for (uint64_t i = 0; i < count; i++)
			out[i] /= setup->loss_scale;
	}
	free(raw);
	return err->status;
}

static enum status training_compare_gradients(struct trainer *trainer, struct training *training,
					      struct verify_check *check, struct error *err)
{
	struct gradients expected = { trainer->team, &trainer->network };
	struct gradients found = { &training->team, &training->network };
	struct tolerance tolerance = verify_tolerance(trainer->setup);
	struct verify_difference difference;
	double expected_loss, loss;

	if (trainer_loss(trainer, &expected_loss, err) != STATUS_OK ||
	    training_loss(training, &loss, err) != STATUS_OK ||
	    compare_gradients(&trainer->network.model, trainmem_check_read_gradients, &found,
			      trainmem_check_read_gradients, &expected, &difference,
			      err) != STATUS_OK)
		return err->status;
	return compare_judge(&difference, loss, expected_loss, &tolerance,
			     "a step that keeps all outputs", check, err);
}

/* The step overwrites outputs that alias gradients (buffer_alias.h), so they are recorded. */
static enum status trainmem_check_record_outputs(struct trainer *trainer, struct error *err)
{
	struct network *n = &trainer->network;
	const struct setup *setup = trainer->setup;

	for (size_t l = 1; l < setup->layers; l++)
		if (n->overwritten_in_backward[l] &&
		    arena_alloc(&trainer->arena, MEMORY_VERIFICATION,
				setup->batch * setup->widths[l] * precision_bytes(setup->precision),
				&n->record[l], err) != STATUS_OK)
			return err->status;
	for (size_t d = 0; d < image_decisions(setup); d++)
		if (arena_alloc(&trainer->arena, MEMORY_VERIFICATION,
				setup->batch * image_decision_width(setup, d) *
					precision_bytes(setup->precision),
				&n->images.record[d], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status trainmem_check_step_both(struct trainer *trainer, struct training *training,
					    struct verify_check *check, struct error *err)
{
	const struct network *n = &trainer->network;

	if (trainmem_check_record_outputs(trainer, err) != STATUS_OK ||
	    trainer_step(trainer, STEP_COMPUTE, err) != STATUS_OK)
		return err->status;
	for (size_t l = 1; l < training->setup.layers; l++)
		training->imposed[l] = n->record[l] ? n->record[l] : n->activations[l];
	memcpy(training->network.images.decisions, n->images.record, sizeof(n->images.record));
	if (training_reset(training, err) != STATUS_OK)
		return err->status;
	/* The second step uses memory that contains leftovers of the first. */
	if (training_step(training, err) != STATUS_OK ||
	    training_wait(training, err) != STATUS_OK ||
	    training_reset(training, err) != STATUS_OK ||
	    training_step(training, err) != STATUS_OK || training_wait(training, err) != STATUS_OK)
		return err->status;
	return training_compare_gradients(trainer, training, check, err);
}

static enum status check_against_trainer(struct rank_team *team, const struct setup *whole,
					 const struct setup *small,
					 const struct training_options *options,
					 struct verify_check *check, struct error *err)
{
	struct training_options own = *options;
	struct trainer trainer = { 0 };
	struct training training;
	struct heap need;

	training_plan(small, options, &need);
	own.reserve = need.reserved_peak;
	own.limit = own.workspace = 0;
	if (training_open(&training, small, &own, team->device, err) == STATUS_OK &&
	    trainer_open(&trainer, whole, team, err) == STATUS_OK)
		trainmem_check_step_both(&trainer, &training, check, err);
	trainer_close(&trainer);
	training_close(&training);
	return err->status;
}

enum status check_step(struct device *device, const struct setup *setup,
		       const struct training_options *options, double flops, struct setup *small,
		       struct verify_check *check, struct error *err)
{
	struct world alone = { .size = 1 };
	struct setup whole;
	struct verify_check reference = { 0 };
	struct rank_team team;

	setup_shrink(setup, flops, small);
	/* All rows at once with everything kept: the reference of the step below. */
	whole = *small;
	whole.mode = mode_find("single");
	whole.ranks = 1;
	whole.accumulate = 1;
	whole.norm_groups = setup_accumulate(small);
	whole.segments = 0;
	if (team_open(&team, device, &alone, err) == STATUS_OK &&
	    verify_reference(&whole, &team, &reference, err) == STATUS_OK &&
	    check_against_trainer(&team, &whole, small, options, check, err) == STATUS_OK)
		check->gradient_error = fmax(check->gradient_error, reference.gradient_error);
	team_close(&team);
	return err->status;
}
