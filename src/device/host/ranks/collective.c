/*
 * Collectives in steps of one slot. In an all-reduce every rank puts its piece into its slot,
 * reduces one slice of it over all ranks, and takes the whole result: each element is added up
 * once, by one rank, so all have the same bits. A rank may be one step ahead of the slowest.
 */
#include "device/host/ranks/collective.h"

#include <string.h>

#include "kernels/launch/host_kernel.h"

/* Below this a rank reduces all of it by itself, in the same order, and saves one meeting. */
#define SMALL_BYTES 8192
/* Slices begin at multiples of this, in elements: no cache line is written by two ranks. */
#define SLICE_ELEMENTS 64
#define COPY_GRAIN (128u << 10)

struct piece {
	unsigned char *to;
	const unsigned char *from;
};

static void copy_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct piece *piece = context;

	(void)part;
	memcpy(piece->to + begin, piece->from + begin, end - begin);
}

void collective_copy(struct stream *stream, void *to, const void *from, size_t bytes)
{
	struct piece piece = { to, from };

	if (to == from)
		return;
	host_parallel(stream, bytes, COPY_GRAIN, copy_slice, &piece);
}

static struct counter *phase_counter(struct host_communicator *c, int rank, enum phase phase)
{
	struct rank_state *state = communicator_rank(c, rank);

	return phase == STAGED    ? &state->staged
	       : phase == REDUCED ? &state->reduced
				  : &state->finished;
}

enum status collective_wait(struct host_communicator *c, enum phase phase, uint32_t step,
			    struct error *err)
{
	for (int rank = 0; rank < c->base.size; rank++) {
		enum status status =
			communicator_wait(c, phase_counter(c, rank, phase), step, rank, err);

		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

void collective_reach(struct host_communicator *c, enum phase phase, uint32_t step)
{
	counter_raise(phase_counter(c, c->base.rank, phase), step);
}

enum status collective_step(struct host_communicator *c, uint32_t *step, struct error *err)
{
	*step = ++c->step;
	return collective_wait(c, FINISHED, *step - SLOTS, err);
}

struct reduction_step {
	const struct collective_arguments *a;
	const void *slots[COMMUNICATOR_RANKS];
	void *to;
	size_t first;
};

static void reduce_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct reduction_step *r = context;

	(void)part;
	reduce_elements(r->to, r->slots, r->a->c->base.size, r->first + begin, end - begin,
			r->a->precision, r->a->reduction);
}

void collective_reduce(struct stream *stream, const struct collective_arguments *a, uint32_t step,
		       size_t offset, void *to, size_t first, size_t count)
{
	struct reduction_step r = { .a = a, .to = to, .first = first };

	for (int rank = 0; rank < a->c->base.size; rank++)
		r.slots[rank] = communicator_slot(a->c, rank, step) + offset;
	host_parallel(stream, count, COPY_GRAIN / precision_bytes(a->precision), reduce_slice, &r);
}

/* Start of rank `index`'s slice of `count` elements. */
static size_t slice_begin(size_t count, int index, int size)
{
	size_t lines = (count + SLICE_ELEMENTS - 1) / SLICE_ELEMENTS;
	size_t begin = lines * (size_t)index / (size_t)size * SLICE_ELEMENTS;

	return begin < count ? begin : count;
}

static enum status all_reduce_step(struct stream *stream, const struct collective_arguments *a,
				   size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	size_t size = precision_bytes(a->precision), bytes = count * size;
	size_t begin = slice_begin(count, c->base.rank, c->base.size);
	size_t end = slice_begin(count, c->base.rank + 1, c->base.size);
	unsigned char *to = (unsigned char *)a->to + done * size;
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status != STATUS_OK)
		return status;
	collective_copy(stream, communicator_slot(c, c->base.rank, step),
			(const unsigned char *)a->from + done * size, bytes);
	collective_reach(c, STAGED, step);
	status = collective_wait(c, STAGED, step, err);
	if (status != STATUS_OK)
		return status;
	if (bytes <= SMALL_BYTES) {
		collective_reduce(stream, a, step, 0, to, 0, count);
		collective_reach(c, REDUCED, step);
	} else {
		collective_reduce(stream, a, step, 0, communicator_result(c, step), begin,
				  end - begin);
		collective_reach(c, REDUCED, step);
		status = collective_wait(c, REDUCED, step, err);
		if (status != STATUS_OK)
			return status;
		collective_copy(stream, to, communicator_result(c, step), bytes);
	}
	collective_reach(c, FINISHED, step);
	return STATUS_OK;
}

enum status collective_steps(struct stream *stream, const struct collective_arguments *a,
			     size_t most, collective_step_fn *step, struct error *err)
{
	enum status status = communicator_begin(a->c, a->turn, stream, err);

	for (size_t done = 0; done < a->count && status == STATUS_OK; done += most)
		status =
			step(stream, a, done, a->count - done < most ? a->count - done : most, err);
	communicator_end(a->c, a->turn);
	return status;
}

static enum status all_reduce_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct collective_arguments *a = arguments;

	return collective_steps(stream, a, SLOT_BYTES / precision_bytes(a->precision),
				all_reduce_step, err);
}

/* The root may be SLOTS steps ahead of those who take; they wait for it alone. */
static enum status broadcast_step(struct stream *stream, const struct collective_arguments *a,
				  size_t done, size_t bytes, struct error *err)
{
	struct host_communicator *c = a->c;
	unsigned char *buffer = (unsigned char *)a->to + done;
	uint32_t step = ++c->step;
	enum status status;

	if (c->base.rank == a->root) {
		status = collective_wait(c, FINISHED, step - SLOTS, err);
		if (status == STATUS_OK)
			collective_copy(stream, communicator_slot(c, a->root, step), buffer, bytes);
	} else {
		status =
			communicator_wait(c, phase_counter(c, a->root, STAGED), step, a->root, err);
		if (status == STATUS_OK)
			collective_copy(stream, buffer, communicator_slot(c, a->root, step), bytes);
	}
	if (status != STATUS_OK)
		return status;
	collective_reach(c, STAGED, step);
	collective_reach(c, REDUCED, step);
	collective_reach(c, FINISHED, step);
	return STATUS_OK;
}

static enum status broadcast_run(struct stream *stream, const void *arguments, struct error *err)
{
	return collective_steps(stream, arguments, SLOT_BYTES, broadcast_step, err);
}

enum status collective_enqueue(struct stream *stream, struct collective_arguments a, kernel_fn *run,
			       struct error *err)
{
	enum status status;

	if (a.root < 0 || a.root >= a.c->base.size)
		return error_set(err, STATUS_INTERNAL, "root: there is no rank %d", a.root);
	a.turn = a.c->issued + 1;
	status = stream_enqueue_always(stream, run, &a, sizeof(a), err);
	/* A turn that is never taken would block all later ones. */
	if (status == STATUS_OK)
		a.c->issued = a.turn;
	return status;
}

enum status host_all_reduce(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count, enum precision precision,
			    enum reduction reduction, struct error *err)
{
	struct collective_arguments a = { .c = host_communicator(communicator),
					  .to = to,
					  .from = from,
					  .count = count,
					  .precision = precision,
					  .reduction = reduction };

	return collective_enqueue(stream, a, all_reduce_run, err);
}

enum status host_broadcast(struct communicator *communicator, struct stream *stream, void *buffer,
			   size_t bytes, int root, struct error *err)
{
	struct collective_arguments a = {
		.c = host_communicator(communicator), .to = buffer, .count = bytes, .root = root
	};

	return collective_enqueue(stream, a, broadcast_run, err);
}
