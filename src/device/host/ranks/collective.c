/*
 * Collectives of the host backend, in steps of at most one slot that all ranks take together. A
 * rank may be SLOTS - 1 steps ahead of the slowest. In an all-reduce every rank copies its piece
 * into its slot, reduces one slice of it over all ranks, and copies out the whole result: one rank
 * adds each element once, so all ranks have the same bits. If a rank sends a part to each of the
 * others, its slot is divided into one piece for each.
 *
 * The relay (device/ranks/relay.h), which serves every backend, could do the same over the message
 * channels, as transport host_copy does. But a host rank has several cores, and here all of them
 * copy and add; the relay's pieces use one, and pass a ring of n - 1 hops.
 * tests/bench/bench_collectives on 16 idle cores, relay / this: all-reduce of 4 KiB 1.4 (2 ranks)
 * and 2.8 (4 ranks), of 16 MiB 1.6; broadcast of 16 MiB 2.9. The relay's CPU time is 1.6 to 3.4
 * times as much for 4 KiB, and 0.3 to 0.8 times for 16 MiB. So both exist.
 */
#include <string.h>

#include "base/memory.h"
#include "device/host/host_kernel.h"
#include "device/host/ranks/communicator.h"

/* Arguments of a queued operation; each uses those it needs. */
struct collective_arguments {
	struct host_communicator *c;
	uint32_t turn;
	void *to;
	const void *from;
	/* elements; bytes in a broadcast; for operations with parts, the size of a rank's part */
	size_t count;
	enum precision precision;
	enum reduction reduction;
	int root;
};

/* Progress of a rank in a step. Every step reaches FINISHED on all ranks. */
enum phase { STAGED, REDUCED, FINISHED };

/* Performs one step for elements [done, done + count). */
typedef enum status collective_step_fn(struct stream *stream, const struct collective_arguments *a,
				       size_t done, size_t count, struct error *err);

/*
 * Below this size each rank reduces everything itself, in the same order, which saves one
 * synchronisation.
 */
#define SMALL_BYTES 8192
/* Slices start at multiples of this, in elements, so that no cache line has two writers. */
#define SLICE_ELEMENTS 64
#define COPY_GRAIN (128u << 10)

struct slot_piece {
	unsigned char *to;
	const unsigned char *from;
};

static void copy_piece_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct slot_piece *piece = context;

	(void)part;
	memcpy(piece->to + begin, piece->from + begin, end - begin);
}

/* Copies with the threads of the stream and waits for them. */
static void collective_copy(struct stream *stream, void *to, const void *from, size_t bytes)
{
	struct slot_piece piece = { to, from };

	if (to == from)
		return;
	host_parallel(stream, bytes, COPY_GRAIN, copy_piece_slice, &piece);
}

static struct counter *collective_phase_counter(struct host_communicator *c, int rank,
						enum phase phase)
{
	struct rank_state *state = communicator_rank(c, rank);

	return phase == STAGED    ? &state->staged
	       : phase == REDUCED ? &state->reduced
				  : &state->finished;
}

/* Waits until every rank has reached the phase. */
static enum status collective_wait(struct host_communicator *c, enum phase phase, uint32_t step,
				   struct error *err)
{
	for (int rank = 0; rank < c->base.size; rank++) {
		enum status status = communicator_wait(c, collective_phase_counter(c, rank, phase),
						       step, rank, err);

		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static void collective_reach(struct host_communicator *c, enum phase phase, uint32_t step)
{
	counter_raise(collective_phase_counter(c, c->base.rank, phase), step);
}

/* Starts the next step; its slots are free once all ranks have read them. */
static enum status collective_step(struct host_communicator *c, uint32_t *step, struct error *err)
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

static void collective_reduce_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct reduction_step *r = context;

	(void)part;
	reduce_elements(r->to, r->slots, r->a->c->base.size, r->first + begin, end - begin,
			r->a->precision, r->a->reduction);
}

/*
 * Reduces elements [first, first + count) of all ranks' slots, at `offset` bytes in each, to the
 * same position in `to`.
 */
static void collective_reduce(struct stream *stream, const struct collective_arguments *a,
			      uint32_t step, size_t offset, void *to, size_t first, size_t count)
{
	struct reduction_step r = { .a = a, .to = to, .first = first };

	for (int rank = 0; rank < a->c->base.size; rank++)
		r.slots[rank] = communicator_slot(a->c, rank, step) + offset;
	host_parallel(stream, count, COPY_GRAIN / precision_bytes(a->precision),
		      collective_reduce_slice, &r);
}

/* Start of the slice of rank `index` in `count` elements. */
static size_t collective_slice_begin(size_t count, int index, int size)
{
	size_t lines = (count + SLICE_ELEMENTS - 1) / SLICE_ELEMENTS;
	size_t begin = lines * (size_t)index / (size_t)size * SLICE_ELEMENTS;

	return begin < count ? begin : count;
}

static enum status collective_all_reduce_step(struct stream *stream,
					      const struct collective_arguments *a, size_t done,
					      size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	size_t size = precision_bytes(a->precision), bytes = count * size;
	size_t begin = collective_slice_begin(count, c->base.rank, c->base.size);
	size_t end = collective_slice_begin(count, c->base.rank + 1, c->base.size);
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

/* Waits for the operation's turn, then performs one step per `most` elements. */
static enum status collective_steps(struct stream *stream, const struct collective_arguments *a,
				    size_t most, collective_step_fn *step, struct error *err)
{
	enum status status = communicator_begin(a->c, a->turn, stream, err);

	for (size_t done = 0; done < a->count && status == STATUS_OK; done += most)
		status =
			step(stream, a, done, a->count - done < most ? a->count - done : most, err);
	communicator_end(a->c, a->turn);
	return status;
}

static enum status collective_all_reduce_run(struct stream *stream, const void *arguments,
					     struct error *err)
{
	const struct collective_arguments *a = arguments;

	return collective_steps(stream, a, SLOT_BYTES / precision_bytes(a->precision),
				collective_all_reduce_step, err);
}

/* The root may be SLOTS steps ahead of the receivers; they wait for the root only. */
static enum status collective_broadcast_step(struct stream *stream,
					     const struct collective_arguments *a, size_t done,
					     size_t bytes, struct error *err)
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
		status = communicator_wait(c, collective_phase_counter(c, a->root, STAGED), step,
					   a->root, err);
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

static enum status collective_broadcast_run(struct stream *stream, const void *arguments,
					    struct error *err)
{
	return collective_steps(stream, arguments, SLOT_BYTES, collective_broadcast_step, err);
}

/*
 * Takes the operation's turn and enqueues it on the stream. STATUS_INTERNAL if there is no rank
 * a.root.
 */
static enum status collective_enqueue(struct stream *stream, struct collective_arguments a,
				      kernel_fn *run, struct error *err)
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

	return collective_enqueue(stream, a, collective_all_reduce_run, err);
}

enum status host_broadcast(struct communicator *communicator, struct stream *stream, void *buffer,
			   size_t bytes, int root, struct error *err)
{
	struct collective_arguments a = {
		.c = host_communicator(communicator), .to = buffer, .count = bytes, .root = root
	};

	return collective_enqueue(stream, a, collective_broadcast_run, err);
}

/* Pieces start at multiples of this, in bytes, so that no cache line has two writers. */
#define PIECE_ALIGNMENT 256

static size_t parts_slot_elements(const struct collective_arguments *a)
{
	return SLOT_BYTES / precision_bytes(a->precision);
}

static size_t part_piece_bytes(const struct collective_arguments *a)
{
	size_t share = SLOT_BYTES / (size_t)a->c->base.size;

	return share / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
}

static size_t part_piece_elements(const struct collective_arguments *a)
{
	return part_piece_bytes(a) / precision_bytes(a->precision);
}

/* Address of element `done` in the part of `rank`. */
static unsigned char *collective_part_at(const struct collective_arguments *a, const void *tensor,
					 int rank, size_t done)
{
	return (unsigned char *)tensor +
	       ((size_t)rank * a->count + done) * precision_bytes(a->precision);
}

/* Waits until the slots of all ranks are filled by `stage` and visible to all. */
static enum status wait_until_staged(struct host_communicator *c, uint32_t step, struct error *err)
{
	collective_reach(c, STAGED, step);
	return collective_wait(c, STAGED, step, err);
}

static enum status wait_leave_step(struct host_communicator *c, uint32_t step)
{
	collective_reach(c, REDUCED, step);
	collective_reach(c, FINISHED, step);
	return STATUS_OK;
}

static enum status parts_gather_step(struct stream *stream, const struct collective_arguments *a,
				     size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	size_t bytes = count * precision_bytes(a->precision);
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status != STATUS_OK)
		return status;
	collective_copy(stream, communicator_slot(c, c->base.rank, step),
			collective_part_at(a, a->from, 0, done), bytes);
	status = wait_until_staged(c, step, err);
	if (status != STATUS_OK)
		return status;
	for (int rank = 0; rank < c->base.size; rank++)
		collective_copy(stream, collective_part_at(a, a->to, rank, done),
				communicator_slot(c, rank, step), bytes);
	return wait_leave_step(c, step);
}

/* Copies a piece of each rank's part into this rank's slot and waits until all ranks have. */
static enum status collective_stage_pieces(struct stream *stream,
					   const struct collective_arguments *a, uint32_t step,
					   size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	unsigned char *slot = communicator_slot(c, c->base.rank, step);

	for (int rank = 0; rank < c->base.size; rank++)
		collective_copy(stream, slot + (size_t)rank * part_piece_bytes(a),
				collective_part_at(a, a->from, rank, done),
				count * precision_bytes(a->precision));
	return wait_until_staged(c, step, err);
}

static enum status collective_reduce_scatter_step(struct stream *stream,
						  const struct collective_arguments *a, size_t done,
						  size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status == STATUS_OK)
		status = collective_stage_pieces(stream, a, step, done, count, err);
	if (status != STATUS_OK)
		return status;
	collective_reduce(stream, a, step, (size_t)c->base.rank * part_piece_bytes(a),
			  collective_part_at(a, a->to, 0, done), 0, count);
	return wait_leave_step(c, step);
}

static enum status parts_all_to_all_step(struct stream *stream,
					 const struct collective_arguments *a, size_t done,
					 size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	size_t mine = (size_t)c->base.rank * part_piece_bytes(a);
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status == STATUS_OK)
		status = collective_stage_pieces(stream, a, step, done, count, err);
	if (status != STATUS_OK)
		return status;
	for (int rank = 0; rank < c->base.size; rank++)
		collective_copy(stream, collective_part_at(a, a->to, rank, done),
				communicator_slot(c, rank, step) + mine,
				count * precision_bytes(a->precision));
	return wait_leave_step(c, step);
}

/* Only the root adds: the others would pass their sums through the same memory. */
static enum status parts_reduce_step(struct stream *stream, const struct collective_arguments *a,
				     size_t done, size_t count, struct error *err)
{
	struct host_communicator *c = a->c;
	uint32_t step;
	enum status status = collective_step(c, &step, err);

	if (status != STATUS_OK)
		return status;
	collective_copy(stream, communicator_slot(c, c->base.rank, step),
			collective_part_at(a, a->from, 0, done),
			count * precision_bytes(a->precision));
	collective_reach(c, STAGED, step);
	if (c->base.rank == a->root) {
		status = collective_wait(c, STAGED, step, err);
		if (status != STATUS_OK)
			return status;
		collective_reduce(stream, a, step, 0, collective_part_at(a, a->to, 0, done), 0,
				  count);
	}
	return wait_leave_step(c, step);
}

static enum status parts_gather_run(struct stream *stream, const void *arguments, struct error *err)
{
	return collective_steps(stream, arguments, parts_slot_elements(arguments),
				parts_gather_step, err);
}

static enum status collective_reduce_scatter_run(struct stream *stream, const void *arguments,
						 struct error *err)
{
	return collective_steps(stream, arguments, part_piece_elements(arguments),
				collective_reduce_scatter_step, err);
}

static enum status parts_reduce_run(struct stream *stream, const void *arguments, struct error *err)
{
	return collective_steps(stream, arguments, parts_slot_elements(arguments),
				parts_reduce_step, err);
}

static enum status parts_all_to_all_run(struct stream *stream, const void *arguments,
					struct error *err)
{
	return collective_steps(stream, arguments, part_piece_elements(arguments),
				parts_all_to_all_step, err);
}

/* Arguments for `count` elements of each rank's part. */
static struct collective_arguments collective_arguments_of(struct communicator *communicator,
							   void *to, const void *from, size_t count,
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
				  collective_arguments_of(communicator, to, from, count_per_rank,
							  precision),
				  parts_gather_run, err);
}

enum status host_all_to_all(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err)
{
	return collective_enqueue(stream,
				  collective_arguments_of(communicator, to, from, count_per_rank,
							  precision),
				  parts_all_to_all_run, err);
}

enum status host_reduce_scatter(struct communicator *communicator, struct stream *stream, void *to,
				const void *from, size_t count_per_rank, enum precision precision,
				enum reduction reduction, struct error *err)
{
	struct collective_arguments a =
		collective_arguments_of(communicator, to, from, count_per_rank, precision);

	a.reduction = reduction;
	return collective_enqueue(stream, a, collective_reduce_scatter_run, err);
}

enum status host_reduce(struct communicator *communicator, struct stream *stream, void *to,
			const void *from, size_t count, enum precision precision,
			enum reduction reduction, int root, struct error *err)
{
	struct collective_arguments a =
		collective_arguments_of(communicator, to, from, count, precision);

	a.reduction = reduction;
	a.root = root;
	return collective_enqueue(stream, a, parts_reduce_run, err);
}
