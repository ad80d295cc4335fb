/*
 * Collectives in steps of one slot. In an all-reduce every rank puts its piece into its slot,
 * reduces one slice of it over all ranks, and takes the whole result: each element is added up
 * once, by one rank, so all have the same bits. A rank may be one step ahead of the slowest.
 */
#include <string.h>

#include "device/host/communicator.h"
#include "device/host/host_kernel.h"

/* Below this a rank reduces all of it by itself, in the same order, and saves one meeting. */
#define SMALL_BYTES 8192
/* Slices begin at multiples of this, in elements: no cache line is written by two ranks. */
#define SLICE_ELEMENTS 64
#define COPY_GRAIN (128u << 10)

struct collective_arguments {
	struct host_communicator *c;
	uint32_t turn;
	void *to;
	const void *from;
	size_t count;
	enum precision precision;
	enum reduction reduction;
	int root;
};

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

static void copy_piece(struct stream *stream, void *to, const void *from, size_t bytes)
{
	struct piece piece = { to, from };

	host_parallel(stream, bytes, COPY_GRAIN, copy_slice, &piece);
}

enum phase { STAGED, REDUCED, FINISHED };

static struct counter *phase_counter(struct host_communicator *c, int rank, enum phase phase)
{
	struct rank_state *state = communicator_rank(c, rank);

	return phase == STAGED    ? &state->staged
	       : phase == REDUCED ? &state->reduced
				  : &state->finished;
}

static enum status wait_all(struct host_communicator *c, enum phase phase, uint32_t step,
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

static void reach(struct host_communicator *c, enum phase phase, uint32_t step)
{
	counter_raise(phase_counter(c, c->base.rank, phase), step);
}

/* Begins the next step; its slots are free once all ranks have taken what lay there. */
static enum status next_step(struct host_communicator *c, uint32_t *step, struct error *err)
{
	*step = ++c->step;
	return wait_all(c, FINISHED, *step - SLOTS, err);
}

struct reduction_step {
	const struct collective_arguments *a;
	const void *slots[HOST_PARALLEL_MAX];
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

/* Elements [first, first + count) of the step, over all ranks' slots, to the same place of `to`. */
static void reduce_step(struct stream *stream, const struct collective_arguments *a, uint32_t step,
			void *to, size_t first, size_t count)
{
	struct reduction_step r = { .a = a, .to = to, .first = first };

	for (int rank = 0; rank < a->c->base.size; rank++)
		r.slots[rank] = communicator_slot(a->c, rank, step);
	host_parallel(stream, count, COPY_GRAIN / precision_bytes(a->precision), reduce_slice, &r);
}

/* Where rank `index`'s slice of `count` elements begins. */
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
	enum status status = next_step(c, &step, err);

	if (status != STATUS_OK)
		return status;
	copy_piece(stream, communicator_slot(c, c->base.rank, step),
		   (const unsigned char *)a->from + done * size, bytes);
	reach(c, STAGED, step);
	status = wait_all(c, STAGED, step, err);
	if (status != STATUS_OK)
		return status;
	if (bytes <= SMALL_BYTES) {
		reduce_step(stream, a, step, to, 0, count);
		reach(c, REDUCED, step);
	} else {
		reduce_step(stream, a, step, communicator_result(c, step), begin, end - begin);
		reach(c, REDUCED, step);
		status = wait_all(c, REDUCED, step, err);
		if (status != STATUS_OK)
			return status;
		copy_piece(stream, to, communicator_result(c, step), bytes);
	}
	reach(c, FINISHED, step);
	return STATUS_OK;
}

static enum status all_reduce_steps(struct stream *stream, const struct collective_arguments *a,
				    struct error *err)
{
	size_t most = SLOT_BYTES / precision_bytes(a->precision);
	enum status status = communicator_begin(a->c, a->turn, stream, err);

	for (size_t done = 0; done < a->count && status == STATUS_OK; done += most)
		status = all_reduce_step(stream, a, done,
					 a->count - done < most ? a->count - done : most, err);
	return status;
}

static enum status all_reduce_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct collective_arguments *a = arguments;
	enum status status = all_reduce_steps(stream, a, err);

	communicator_end(a->c, a->turn);
	return status;
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
		status = wait_all(c, FINISHED, step - SLOTS, err);
		if (status == STATUS_OK)
			copy_piece(stream, communicator_slot(c, a->root, step), buffer, bytes);
	} else {
		status =
			communicator_wait(c, phase_counter(c, a->root, STAGED), step, a->root, err);
		if (status == STATUS_OK)
			copy_piece(stream, buffer, communicator_slot(c, a->root, step), bytes);
	}
	if (status != STATUS_OK)
		return status;
	reach(c, STAGED, step);
	reach(c, REDUCED, step);
	reach(c, FINISHED, step);
	return STATUS_OK;
}

static enum status broadcast_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct collective_arguments *a = arguments;
	enum status status = communicator_begin(a->c, a->turn, stream, err);

	for (size_t done = 0; done < a->count && status == STATUS_OK; done += SLOT_BYTES)
		status = broadcast_step(stream, a, done,
					a->count - done < SLOT_BYTES ? a->count - done : SLOT_BYTES,
					err);
	communicator_end(a->c, a->turn);
	return status;
}

enum status host_all_reduce(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count, enum precision precision,
			    enum reduction reduction, struct error *err)
{
	struct host_communicator *c = host_communicator(communicator);
	struct collective_arguments a = { .c = c,
					  .turn = ++c->issued,
					  .to = to,
					  .from = from,
					  .count = count,
					  .precision = precision,
					  .reduction = reduction };

	return stream_enqueue_always(stream, all_reduce_run, &a, sizeof(a), err);
}

enum status host_broadcast(struct communicator *communicator, struct stream *stream, void *buffer,
			   size_t bytes, int root, struct error *err)
{
	struct host_communicator *c = host_communicator(communicator);
	struct collective_arguments a = { .c = c, .to = buffer, .count = bytes, .root = root };

	if (root < 0 || root >= c->base.size)
		return error_set(err, STATUS_INTERNAL, "broadcast: there is no rank %d", root);
	a.turn = ++c->issued;
	return stream_enqueue_always(stream, broadcast_run, &a, sizeof(a), err);
}
