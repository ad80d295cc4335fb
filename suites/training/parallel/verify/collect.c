#include "suites/training/parallel/verify/compare.h"

/* Copies of one rank. */
struct source {
	int rank;
	struct rank_partition partition;
	struct parameter_shard shard;
	struct model local;
};

static enum status verify_collect_allocate_decisions(struct trainer *t, struct collection *c,
						     uint64_t rows, void **out, struct error *err)
{
	size_t bytes = precision_bytes(t->setup->precision);

	for (size_t d = 0; d < image_model_decisions(t->setup); d++)
		arena_alloc(&c->arena, MEMORY_VERIFICATION,
			    rows * image_model_decision_width(t->setup, d) * bytes, &out[d], err);
	return err->status;
}

static enum status verify_collect_allocate_record(struct trainer *t, struct collection *c,
						  struct error *err)
{
	struct network *n = &t->network;
	size_t bytes = precision_bytes(t->setup->precision);

	for (size_t l = n->partition.first + 1; l <= n->partition.last && l < t->setup->layers; l++)
		if (setup_is_masked(t->setup, l) &&
		    (n->kept[l] < n->partition.rows || n->overwritten_in_backward[l] ||
		     segments_buffer(&n->segments, l) > 0))
			arena_alloc(&c->arena, MEMORY_VERIFICATION,
				    n->partition.rows *
					    model_partition_width(t->setup, &n->partition, l) *
					    bytes,
				    &n->record[l], err);
	return verify_collect_allocate_decisions(t, c, n->partition.rows, n->images.record, err);
}

static enum status verify_collect_allocate_whole(struct trainer *t, struct collection *c,
						 struct error *err)
{
	size_t bytes = precision_bytes(t->setup->precision);
	const struct network *n = &t->network;
	uint64_t staging = 0;

	/* The largest tensor of one rank whose rows are not contiguous in the whole tensor. */
	for (size_t l = 0; l < t->setup->layers && n->partition.parts > 1; l++) {
		uint64_t width = model_partition_width(t->setup, &n->partition, l);

		staging = n->partition.rows * width > staging ? n->partition.rows * width : staging;
		for (size_t i = 0; i < n->local.layer[l].tensors; i++) {
			uint64_t count = n->local.layer[l].tensor[i].count;

			staging = count > staging ? count : staging;
		}
	}
	for (size_t l = 1; l < t->setup->layers; l++)
		if (setup_is_masked(t->setup, l))
			arena_alloc(&c->arena, MEMORY_VERIFICATION,
				    t->setup->batch * t->setup->widths[l] * bytes,
				    &c->activations[l], err);
	verify_collect_allocate_decisions(t, c, t->setup->batch, c->decisions, err);
	if (staging > 0)
		arena_alloc(&c->arena, MEMORY_VERIFICATION, staging * bytes, &c->staging, err);
	return arena_alloc(&c->arena, MEMORY_VERIFICATION, t->network.model.elements * bytes,
			   &c->gradients, err);
}

enum status verify_collect_prepare(struct trainer *t, struct collection *c, struct error *err)
{
	*c = (struct collection){ .trainer = t };
	arena_init(&c->arena, t->team->device);
	if (verify_collect_allocate_record(t, c, err) == STATUS_OK && t->team->world->rank == 0)
		verify_collect_allocate_whole(t, c, err);
	return world_agree(t->team->world, err->status, err);
}

/* Copies `count` elements to element `at` of `whole`. */
static enum status verify_collect_run(struct collection *c, int rank, const void *from, void *whole,
				      uint64_t at, uint64_t count, struct error *err)
{
	struct trainer *t = c->trainer;
	void *to = whole ? network_element(&t->network, whole, at) : NULL;

	if (err->status != STATUS_OK)
		return err->status;
	return rank_team_collect(t->team, rank, from, to,
				 count * precision_bytes(t->setup->precision), err);
}

/* Copies rows x columns; each row is `stride` elements after the previous one in `whole`. */
static enum status verify_collect_rows(struct collection *c, int rank, const void *from,
				       void *whole, uint64_t at, uint64_t rows, uint64_t columns,
				       uint64_t stride, struct error *err)
{
	struct trainer *t = c->trainer;
	struct stream *stream = trainer_stream(t);
	size_t bytes = precision_bytes(t->setup->precision);

	if (columns == stride)
		return verify_collect_run(c, rank, from, whole, at, rows * columns, err);
	if (verify_collect_run(c, rank, from, c->staging, 0, rows * columns, err) != STATUS_OK ||
	    !whole)
		return err->status;
	if (backend_copy_rows(stream, network_element(&t->network, whole, at), stride * bytes,
			      c->staging, columns * bytes, columns * bytes, rows, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(stream, err);
}

/*
 * The outputs of the rank's layers, which are the inputs of the next layers; the logits are not an
 * input.
 */
static void verify_collect_activations(struct collection *c, const struct source *s,
				       struct error *err)
{
	const struct trainer *t = c->trainer;
	const struct network *n = &t->network;

	for (size_t l = s->partition.first + 1; l <= s->partition.last && l < t->setup->layers;
	     l++) {
		uint64_t width = t->setup->widths[l],
			 mine = model_partition_width(t->setup, &s->partition, l);
		uint64_t at = s->partition.row * width + (uint64_t)s->partition.part * mine;
		const void *from = n->record[l] ? n->record[l] : n->activations[l];

		if (!setup_is_masked(t->setup, l) || (mine == width && s->partition.part > 0))
			continue;
		verify_collect_rows(c, s->rank, from, c->activations[l], at, s->partition.rows,
				    mine, width, err);
	}
}

/*
 * One tensor of a rank that has a part of it, group by group; for a whole tensor, the first rank's.
 */
static void verify_collect_tensor(struct collection *c, const struct source *s, size_t l,
				  size_t index, struct error *err)
{
	const struct network *n = &c->trainer->network;
	const struct model_tensor *mine = &s->local.layer[l].tensor[index];
	const struct tensor_part *p = &mine->part;
	uint64_t whole = n->model.layer[l].tensor[index].first, run;

	if (p->whole_rows == 0 && s->partition.part == 0)
		verify_collect_run(c, s->rank, network_element(n, n->gradients, mine->first),
				   c->gradients, whole, mine->count, err);
	for (uint64_t e = 0; e < mine->count && p->whole_rows > 0; e += p->rows * p->columns)
		verify_collect_rows(c, s->rank, network_element(n, n->gradients, mine->first + e),
				    c->gradients, whole + model_tensor_place(mine, e, &run),
				    p->rows, p->columns, p->whole_columns, err);
}

static void verify_collect_gradients(struct collection *c, const struct source *s,
				     struct error *err)
{
	struct trainer *t = c->trainer;
	const struct network *n = &t->network;

	/* verify_replicas() compares replicas with each other. */
	if (t->mode->gridded && model_setup_grid_place(t->setup, s->rank).data > 0)
		return;
	if (t->mode->replicated && model_parameter_shard_is_whole(&s->shard) && s->rank > 0)
		return;
	for (size_t l = s->partition.first; l < s->partition.last && s->partition.parts > 1; l++)
		for (size_t i = 0; i < s->local.layer[l].tensors; i++)
			verify_collect_tensor(c, s, l, i, err);
	for (size_t i = 0; i < s->shard.count && s->partition.parts == 1; i++) {
		const struct shard_range *range = &s->shard.ranges[i];

		verify_collect_run(c, s->rank, network_element(n, n->gradients, range->gradients),
				   c->gradients,
				   model_first(&n->model, s->partition.last) + range->flat,
				   range->count, err);
	}
}

enum status verify_collect_all(struct collection *c, struct error *err)
{
	struct world *world = c->trainer->team->world;
	enum status status = STATUS_OK;
	const struct trainer *t = c->trainer;

	for (int rank = 0; rank < world->size && status == STATUS_OK; rank++) {
		struct source s;

		s.rank = rank;
		model_parameter_shard_of(t->setup, rank, &s.partition, &s.shard);
		model_init_partition(&s.local, t->setup, &s.partition);
		verify_collect_activations(c, &s, err);
		/* In modes with convolutional layers every rank has whole layers. */
		for (size_t d = 0; d < image_model_decisions(t->setup); d++) {
			uint64_t width = image_model_decision_width(t->setup, d);

			verify_collect_run(c, s.rank, t->network.images.record[d], c->decisions[d],
					   s.partition.row * width, s.partition.rows * width, err);
		}
		verify_collect_gradients(c, &s, err);
		status = world_agree(world, err->status, err);
	}
	return status;
}

void verify_collect_release(struct collection *c)
{
	const struct rank_team *team;

	if (!c->trainer)
		return;
	/* After a failure, half a step may still be writing its results. */
	team = c->trainer->team;
	for (int i = 0; i < STREAM_COUNT; i++)
		backend_stream_synchronize(team->streams[i], NULL);
	for (size_t l = 0; l <= SETUP_MAX_LAYERS; l++)
		c->trainer->network.record[l] = NULL;
	for (size_t d = 0; d < IMAGE_MAX_DECISIONS; d++)
		c->trainer->network.images.record[d] = NULL;
	arena_release(&c->arena);
	c->trainer = NULL;
}
