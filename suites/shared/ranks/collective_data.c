#include "suites/shared/ranks/collective_data.h"

#include <inttypes.h>
#include <math.h>

#include "kernels/reduction.h"

const char *const operation_names[] = { "all_reduce", "all_gather", "reduce_scatter", "broadcast",
					"reduce",     "send_recv",  "all_to_all",     NULL };

/* A ring: to the next rank, from the previous one. Ends a group that was begun. */
static enum status collective_data_send_recv(const struct collective *c, struct error *err)
{
	int next = (c->rank + 1) % c->ranks, before = (c->rank + c->ranks - 1) % c->ranks;
	enum status status = backend_group_begin(c->communicator, err);

	if (status != STATUS_OK)
		return status;
	status = backend_send(c->communicator, c->stream, c->from, c->bytes, next, err);
	if (status == STATUS_OK)
		status = backend_receive(c->communicator, c->stream, c->to, c->bytes, before, err);
	if (status == STATUS_OK)
		return backend_group_end(c->communicator, err);
	backend_group_end(c->communicator, NULL);
	return status;
}

const struct operation operations[OPERATION_COUNT] = {
	[ALL_REDUCE] = { .reduces = true, .trips = 2 },
	[ALL_GATHER] = { .parts = true, .one_part_from = true, .trips = 1 },
	[REDUCE_SCATTER] = { .parts = true, .reduces = true, .one_part_to = true, .trips = 1 },
	[BROADCAST] = { .placements = IN_PLACE_ONLY },
	[REDUCE] = { .reduces = true },
	[SEND_RECV] = { .placements = OUT_OF_PLACE_ONLY },
	[ALL_TO_ALL] = { .parts = true, .placements = OUT_OF_PLACE_ONLY, .trips = 1 },
};

double collective_data_bus_factor(const struct operation *operation, double ranks)
{
	return operation->trips ? operation->trips * (ranks - 1) / ranks : 1;
}

enum status collective_data_enqueue(const struct collective *c, struct error *err)
{
	size_t element = precision_bytes(c->precision), all = c->bytes / element,
	       part = c->part / element;

	switch (c->kind) {
	case ALL_REDUCE:
		return backend_all_reduce(c->communicator, c->stream, c->to, c->from, all,
					  c->precision, REDUCE_SUM, err);
	case ALL_GATHER:
		return backend_all_gather(c->communicator, c->stream, c->to, c->from, part,
					  c->precision, err);
	case REDUCE_SCATTER:
		return backend_reduce_scatter(c->communicator, c->stream, c->to, c->from, part,
					      c->precision, REDUCE_SUM, err);
	case BROADCAST:
		return backend_broadcast(c->communicator, c->stream, c->to, c->bytes,
					 COLLECTIVE_ROOT, err);
	case REDUCE:
		return backend_reduce(c->communicator, c->stream, c->to, c->from, all, c->precision,
				      REDUCE_SUM, COLLECTIVE_ROOT, err);
	case SEND_RECV:
		return collective_data_send_recv(c, err);
	default:
		return backend_all_to_all(c->communicator, c->stream, c->to, c->from, part,
					  c->precision, err);
	}
}

/* Parts start where every device can read and write at full speed. */
#define ALIGNMENT 16

/* A range of `to`: bytes [first, first + bytes) of a rank's data. */
struct data_piece {
	size_t offset, bytes, first;
	int rank;
};

size_t collective_data_bytes(const struct operation *operation, size_t size, int ranks,
			     size_t *part)
{
	size_t parts = operation->parts ? (size_t)ranks : 1;

	*part = size / parts / ALIGNMENT * ALIGNMENT;
	return *part * parts;
}

uint64_t collective_data_footprint(const struct operation *operation, bool in_place, uint64_t bytes,
				   int ranks)
{
	uint64_t part = bytes / (operation->parts ? (uint64_t)ranks : 1);
	uint64_t from = operation->one_part_from ? part : bytes;
	uint64_t to = operation->one_part_to ? part : bytes;

	return (in_place ? bytes : from + to) + sizeof(struct reduction_mismatch);
}

/* In place, the part is the rank's own part of the whole tensor. */
enum status collective_data_open(struct collective *c, struct error *err)
{
	size_t from = c->operation->one_part_from ? c->part : c->bytes;
	size_t to = c->operation->one_part_to ? c->part : c->bytes;
	size_t own = (size_t)c->rank * c->part;

	if (buffer_alloc(&c->tensor, c->device, ALLOCATOR_DEVICE, c->in_place ? c->bytes : to,
			 err) != STATUS_OK)
		return err->status;
	c->to = c->tensor.memory;
	if (c->in_place) {
		c->from = c->to + (c->operation->one_part_from ? own : 0);
		c->to += c->operation->one_part_to ? own : 0;
		return STATUS_OK;
	}
	if (buffer_alloc(&c->source, c->device, ALLOCATOR_DEVICE, from, err) != STATUS_OK)
		return err->status;
	c->from = c->source.memory;
	return STATUS_OK;
}

void collective_data_close(struct collective *c)
{
	backend_stream_synchronize(c->stream, NULL);
	buffer_free(&c->tensor);
	buffer_free(&c->source);
}

/* Offset of a rank's data, its part of the tensor, so that the data differ by rank. */
static size_t collective_data_first_byte(const struct collective *c)
{
	return c->operation->one_part_from ? (size_t)c->rank * c->part : 0;
}

enum status collective_data_prepare(const struct collective *c, struct error *err)
{
	size_t bytes = c->operation->one_part_from ? c->part : c->bytes;
	bool sums = c->operation->reduces;
	struct fill_arguments fill = {
		.memory = c->from,
		.kind = sums ? (c->precision == PRECISION_FP16   ? FILL_FP16
				: c->precision == PRECISION_BF16 ? FILL_BF16
								 : FILL_FP32)
			     : FILL_BITS,
		.count = sums ? bytes / precision_bytes(c->precision) : bytes,
		.first = collective_data_first_byte(c),
		.seed = c->seed + (uint64_t)c->rank,
		.scale = 1,
	};

	if (buffer_poison(&c->tensor, c->stream, err) != STATUS_OK ||
	    backend_launch(c->stream, "fill", &fill, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(c->stream, err);
}

static enum status collective_data_check_bits(const struct collective *c, struct buffer *record,
					      const char *memory, struct data_piece piece,
					      const char *what, struct error *err)
{
	struct fill_mismatch found = { 0, UINT64_MAX, 0, 0 };
	struct check_fill_arguments check = {
		.memory = memory + piece.offset,
		.bytes = piece.bytes,
		.first = piece.first,
		.seed = c->seed + (uint64_t)piece.rank,
		.out = record->memory,
	};

	if (buffer_launch_check(c->stream, "check_fill", &check, record->memory, &found,
				sizeof(found), err) != STATUS_OK)
		return err->status;
	if (found.count == 0)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "%s on rank %d: wrong data at byte %" PRIu64 ": expected 0x%016" PRIx64
			 " of rank %d, got 0x%016" PRIx64 " (%" PRIu64
			 " of %zu 8-byte words wrong)",
			 what, c->rank, piece.offset + found.index, found.expected, piece.rank,
			 found.got, found.count, piece.bytes / 8);
}

double collective_data_tolerance(const struct collective *c)
{
	double rounding = c->precision == PRECISION_FP16   ? 0x1p-11
			  : c->precision == PRECISION_BF16 ? 0x1p-8
							   : 0x1p-24;

	/* 1.01 covers the terms of higher order. */
	return 1.01 * (c->ranks - 1) * rounding;
}

/*
 * Checks elements from byte `first` on against the sums of the data of `ranks` ranks, starting with
 * `rank`.
 */
static enum status collective_data_check_sums(struct collective *c, struct buffer *record,
					      const char *memory, struct data_piece piece,
					      int ranks, const char *what, struct error *err)
{
	struct reduction_mismatch found = { 0, UINT64_MAX, 0, 0, 0 };
	size_t element = precision_bytes(c->precision);
	struct check_reduction_arguments check = {
		.memory = memory,
		.precision = c->precision,
		.count = piece.bytes / element,
		.first = piece.first / element,
		.seed = c->seed + (uint64_t)piece.rank,
		.ranks = ranks,
		.scale = 1,
		.tolerance = ranks > 1 ? collective_data_tolerance(c) : 0,
		.out = record->memory,
	};

	if (buffer_launch_check(c->stream, "check_reduction", &check, record->memory, &found,
				sizeof(found), err) != STATUS_OK)
		return err->status;
	c->error = fmax(c->error, found.error);
	if (found.count == 0)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "%s on rank %d: wrong element %" PRIu64
			 ": expected %.9g, got %.9g (%" PRIu64 " of %" PRIu64 " elements wrong)",
			 what, c->rank, found.index, found.expected, found.got, found.count,
			 check.count);
}

/* Expected i-th piece of `to`. */
static struct data_piece collective_data_moved_piece(const struct collective *c, int i)
{
	size_t part = (size_t)i * c->part;

	switch (c->kind) {
	case ALL_GATHER:
		return (struct data_piece){ part, c->part, part, i };
	case ALL_TO_ALL:
		return (struct data_piece){ part, c->part, (size_t)c->rank * c->part, i };
	case SEND_RECV:
		return (struct data_piece){ 0, c->bytes, 0, (c->rank + c->ranks - 1) % c->ranks };
	default:
		return (struct data_piece){ 0, c->bytes, 0, COLLECTIVE_ROOT };
	}
}

enum status collective_data_check(struct collective *c, struct error *err)
{
	int pieces = c->kind == ALL_GATHER || c->kind == ALL_TO_ALL ? c->ranks : 1;
	struct data_piece all = { 0, c->bytes, 0, 0 };
	struct data_piece own = { 0, c->part, (size_t)c->rank * c->part, 0 };
	struct buffer record;
	enum status status = backend_stream_synchronize(c->stream, err);

	if (status == STATUS_OK)
		status = buffer_alloc(&record, c->device, ALLOCATOR_DEVICE,
				      sizeof(struct reduction_mismatch), err);
	if (status != STATUS_OK)
		return status;
	if (!c->operation->reduces)
		for (int i = 0; i < pieces && status == STATUS_OK; i++)
			status = collective_data_check_bits(c, &record, c->to,
							    collective_data_moved_piece(c, i),
							    "result", err);
	else if (c->kind != REDUCE || c->rank == COLLECTIVE_ROOT)
		status = collective_data_check_sums(c, &record, c->to,
						    c->operation->one_part_to ? own : all, c->ranks,
						    "result", err);
	/* Check the source. Its error must not replace the error of the result. */
	if (status == STATUS_OK && !c->in_place) {
		struct data_piece source = { 0, c->source.bytes, collective_data_first_byte(c),
					     c->rank };
		double error = c->error;

		status = c->operation->reduces
				 ? collective_data_check_sums(c, &record, c->from, source, 1,
							      "source", err)
				 : collective_data_check_bits(c, &record, c->from, source, "source",
							      err);
		c->error = error;
	}
	buffer_free(&record);
	return status;
}
