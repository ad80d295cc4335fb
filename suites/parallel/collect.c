#include "suites/parallel/collect.h"

static enum status allocate(struct trainer *t, struct collection *c, struct error *err)
{
	size_t bytes = precision_bytes(t->setup->precision);

	arena_init(&c->arena, t->team->device);
	if (t->team->world->rank != 0)
		return STATUS_OK;
	for (size_t l = 1; l < t->setup->layers; l++)
		if (arena_alloc(&c->arena, MEMORY_VERIFICATION,
				t->setup->batch * t->setup->widths[l] * bytes, &c->activations[l],
				err) != STATUS_OK)
			return err->status;
	return arena_alloc(&c->arena, MEMORY_VERIFICATION, t->network.model.elements * bytes,
			   &c->gradients, err);
}

static void *offset_by(void *memory, uint64_t elements, enum precision precision)
{
	return memory ? (char *)memory + elements * precision_bytes(precision) : NULL;
}

/*
 * The outputs of the rank's layers, which are the inputs of the next; the logits are nobody's
 * input.
 */
static enum status collect_activations(struct trainer *t, struct collection *c, int rank,
				       const struct share *share, struct error *err)
{
	enum precision precision = t->setup->precision;

	for (size_t l = share->first + 1; l <= share->last && l < t->setup->layers; l++) {
		uint64_t width = t->setup->widths[l];
		void *to = offset_by(c->activations[l], share->row * width, precision);

		if (team_collect(t->team, rank, t->network.activations[l], to,
				 share->rows * width * precision_bytes(precision),
				 err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status collect_gradients(struct trainer *t, struct collection *c, int rank,
				     const struct share *share, struct error *err)
{
	const struct model *model = &t->network.model;
	uint64_t elements = model_elements(model, share->first, share->last);
	void *to = offset_by(c->gradients, model_first(model, share->last), t->setup->precision);

	/* Replicas are compared with each other by verify_replicas(). */
	if (t->mode->replicated && rank > 0)
		return STATUS_OK;
	return team_collect(t->team, rank, t->network.gradients, to,
			    elements * precision_bytes(t->setup->precision), err);
}

enum status collect(struct trainer *t, struct collection *c, struct error *err)
{
	enum status status;

	*c = (struct collection){ 0 };
	status = world_agree(t->team->world, allocate(t, c, err), err);
	for (int rank = 0; rank < t->team->world->size && status == STATUS_OK; rank++) {
		struct share share;
		uint64_t step_rows;

		t->mode->share(t->setup, rank, &share, &step_rows);
		status = collect_activations(t, c, rank, &share, err);
		if (status == STATUS_OK)
			status = collect_gradients(t, c, rank, &share, err);
		status = world_agree(t->team->world, status, err);
	}
	return status;
}

void collection_release(struct collection *c)
{
	arena_release(&c->arena);
}
