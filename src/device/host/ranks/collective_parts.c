/*
 * Collectives in which every rank has a part of the tensor of its own, and the one that has a root.
 * If a rank gives a part to each of the others, its slot is cut into one piece for each.
 */
#include "base/memory.h"
#include "device/host/ranks/collective.h"

/* Pieces begin at multiples of this, in bytes: no cache line is written by two ranks. */
#define PIECE_ALIGNMENT 256

static size_t slot_elements(const struct collective_arguments *a)
{
	return SLOT_BYTES / precision_bytes(a->precision);
}

static size_t piece_bytes(const struct collective_arguments *a)
{
	size_t share = SLOT_BYTES / (size_t)a->c->base.size;

	return share / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
}

static size_t piece_elements(const struct collective_arguments *a)
{
	return piece_bytes(a) / precision_bytes(a->precision);
}

/* Elements [done, ...) of the part of `rank`. */
static unsigned char *part_at(const struct collective_arguments *a, const void *tensor, int rank,
			      size_t done)
{
	return (unsigned char *)tensor +
	       ((size_t)rank * a->count + done) * precision_bytes(a->precision);
}

/* Every rank's slot is filled; what `stage` put there is seen by all. */
static enum status meet(struct host_communicator *c, uint32_t step, struct error *err)
{
	collective_reach(c, STAGED, step);
	return collective_wait(c, STAGED, step, err);
}

static enum status leave(struct host_communicator *c, uint32_t step)
{
	collective_reach(c, REDUCED, step);
	collective_reach(c, FINISHED, step);
	return STATUS_OK;
}

static enum status gather_step(struct stream *stream, const struct collective_arguments *a,
			       size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	size_t bytes = count * precision_bytes(a->precision);
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status != STATUS_OK)
		return status;
	collective_copy(stream, communicator_slot(c, c->base.rank, step),
			part_at(a, a->from, 0, done), bytes);
	status = meet(c, step, err);
	if (status != STATUS_OK)
		return status;
	for (int rank = 0; rank < c->base.size; rank++)
		collective_copy(stream, part_at(a, a->to, rank, done),
				communicator_slot(c, rank, step), bytes);
	return leave(c, step);
}

/* Puts a piece of each rank's part into this rank's slot and waits until all ranks have. */
static enum status stage_pieces(struct stream *stream, const struct collective_arguments *a,
				uint32_t step, size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	unsigned char *slot = communicator_slot(c, c->base.rank, step);

	for (int rank = 0; rank < c->base.size; rank++)
		collective_copy(stream, slot + (size_t)rank * piece_bytes(a),
				part_at(a, a->from, rank, done),
				count * precision_bytes(a->precision));
	return meet(c, step, err);
}

static enum status reduce_scatter_step(struct stream *stream, const struct collective_arguments *a,
				       size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status == STATUS_OK)
		status = stage_pieces(stream, a, step, done, count, err);
	if (status != STATUS_OK)
		return status;
	collective_reduce(stream, a, step, (size_t)c->base.rank * piece_bytes(a),
			  part_at(a, a->to, 0, done), 0, count);
	return leave(c, step);
}

static enum status all_to_all_step(struct stream *stream, const struct collective_arguments *a,
				   size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	size_t mine = (size_t)c->base.rank * piece_bytes(a);
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status == STATUS_OK)
		status = stage_pieces(stream, a, step, done, count, err);
	if (status != STATUS_OK)
		return status;
	for (int rank = 0; rank < c->base.size; rank++)
		collective_copy(stream, part_at(a, a->to, rank, done),
				communicator_slot(c, rank, step) + mine,
				count * precision_bytes(a->precision));
	return leave(c, step);
}

/* The root adds up alone: the others would only hand it their sums through the same memory. */
static enum status reduce_step(struct stream *stream, const struct collective_arguments *a,
			       size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status != STATUS_OK)
		return status;
	collective_copy(stream, communicator_slot(c, c->base.rank, step),
			part_at(a, a->from, 0, done), count * precision_bytes(a->precision));
	collective_reach(c, STAGED, step);
	if (c->base.rank == a->root) {
		status = collective_wait(c, STAGED, step, err);
		if (status != STATUS_OK)
			return status;
		collective_reduce(stream, a, step, 0, part_at(a, a->to, 0, done), 0, count);
	}
	return leave(c, step);
}

static enum status gather_run(struct stream *stream, const void *arguments, struct error *err)
{
	return collective_steps(stream, arguments, slot_elements(arguments), gather_step, err);
}

static enum status reduce_scatter_run(struct stream *stream, const void *arguments,
				      struct error *err)
{
	return collective_steps(stream, arguments, piece_elements(arguments), reduce_scatter_step,
				err);
}

static enum status reduce_run(struct stream *stream, const void *arguments, struct error *err)
{
	return collective_steps(stream, arguments, slot_elements(arguments), reduce_step, err);
}

static enum status all_to_all_run(struct stream *stream, const void *arguments, struct error *err)
{
	return collective_steps(stream, arguments, piece_elements(arguments), all_to_all_step, err);
}

/* The same for `count` elements of each rank's part. */
static struct collective_arguments arguments_of(struct communicator *communicator, void *to,
						const void *from, size_t count,
						enum precision precision)
{
	return (struct collective_arguments){ .c = host_communicator(communicator),
					      .to = to,
					      .from = from,
					      .count = count,
					      .precision = precision };
}

enum status host_all_gather(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err)
{
	return collective_enqueue(stream,
				  arguments_of(communicator, to, from, count_per_rank, precision),
				  gather_run, err);
}

enum status host_all_to_all(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err)
{
	return collective_enqueue(stream,
				  arguments_of(communicator, to, from, count_per_rank, precision),
				  all_to_all_run, err);
}

enum status host_reduce_scatter(struct communicator *communicator, struct stream *stream, void *to,
				const void *from, size_t count_per_rank, enum precision precision,
				enum reduction reduction, struct error *err)
{
	struct collective_arguments a =
		arguments_of(communicator, to, from, count_per_rank, precision);

	a.reduction = reduction;
	return collective_enqueue(stream, a, reduce_scatter_run, err);
}

enum status host_reduce(struct communicator *communicator, struct stream *stream, void *to,
			const void *from, size_t count, enum precision precision,
			enum reduction reduction, int root, struct error *err)
{
	struct collective_arguments a = arguments_of(communicator, to, from, count, precision);

	a.reduction = reduction;
	a.root = root;
	return collective_enqueue(stream, a, reduce_run, err);
}
