/*
 * Transfers and collectives while GEMMs keep the device busy. Each turn sends fresh random bits to
 * the host and back, and around the ring of ranks, and sums over the ranks. The device compares all
 * of it before the next turn.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "device/ranks/relay.h"
#include "kernels/reduction.h"
#include "plan/config.h"
#include "suites/burn/burn.h"
#include "suites/shared/ranks/collective_data.h"

#define TURNS_MOST 2000

struct links {
	struct burn *b;
	struct products products;
	struct burn_record record;              /* of the stream of the transfers */
	struct communicator *communicator;      /* NULL: one rank */
	struct buffer source, landed, received; /* on the device */
	struct buffer host;
	struct collective sums;
	struct buffer sums_record; /* struct reduction_mismatch */
	uint64_t bytes, turn;
	double turn_bytes;
};

static uint64_t link_bytes(const struct section *section)
{
	return (uint64_t)section_integer(section, "link_size") / 4096 * 4096;
}

uint64_t burn_links_bytes(const struct section *section, int ranks)
{
	return burn_products_bytes(section, PRECISION_FP32) +
	       link_bytes(section) * (ranks > 1 ? 5 : 2);
}

/* Pattern that rank `rank` sends in a turn. */
static struct pattern links_sent_by(const struct links *l, int rank)
{
	return (struct pattern){ .kind = PATTERN_RANDOM,
				 .value = (l->turn * (uint64_t)l->b->world->size + (uint64_t)rank +
					   1) *
					  UINT64_C(0x9E3779B97F4A7C15) };
}

static enum status links_write_source(const struct links *l, struct error *err)
{
	struct soak_memory_arguments a = { .memory = l->source.memory,
					   .words = l->bytes / 8,
					   .next = links_sent_by(l, l->b->world->rank),
					   .write = true };

	return backend_launch(l->record.stream, "soak_memory", &a, err);
}

/* Compares, then writes the inverse, so that the next turn detects missing data. */
static enum status links_check_arrived(const struct links *l, const struct buffer *arrived,
				       int sender, struct error *err)
{
	struct soak_memory_arguments a = { .memory = arrived->memory,
					   .words = l->bytes / 8,
					   .expected = links_sent_by(l, sender),
					   .next = links_sent_by(l, sender),
					   .check = true,
					   .write = true,
					   .out = l->record.buffer.memory };

	a.next.inverted = UINT64_MAX;
	return backend_launch(l->record.stream, "soak_memory", &a, err);
}

static enum status links_to_host_and_back(const struct links *l, struct error *err)
{
	if (backend_copy(l->record.stream, l->host.memory, l->source.memory, l->bytes, err) !=
	    STATUS_OK)
		return err->status;
	return backend_copy(l->record.stream, l->landed.memory, l->host.memory, l->bytes, err);
}

static enum status links_around_the_ring(const struct links *l, struct error *err)
{
	const struct world *world = l->b->world;
	int next = (world->rank + 1) % world->size,
	    previous = (world->rank + world->size - 1) % world->size;
	struct stream *stream = l->record.stream;
	enum status status = backend_group_begin(l->communicator, err);

	if (status != STATUS_OK)
		return status;
	if (backend_send(l->communicator, stream, l->source.memory, l->bytes, next, err) ==
	    STATUS_OK)
		backend_receive(l->communicator, stream, l->received.memory, l->bytes, previous,
				err);
	if (backend_group_end(l->communicator, err) != STATUS_OK || err->status != STATUS_OK)
		return err->status;
	return links_check_arrived(l, &l->received, previous, err);
}

static enum status links_sum_over_ranks(const struct links *l, struct error *err)
{
	const struct collective *c = &l->sums;
	struct check_reduction_arguments check = {
		.memory = c->to,
		.precision = PRECISION_FP32,
		.count = c->bytes / 4,
		.seed = c->seed,
		.ranks = c->ranks,
		.scale = 1,
		.tolerance = collective_data_tolerance(c),
		.out = l->sums_record.memory,
	};

	if (backend_memory_set(l->record.stream, c->to, 0xFF, c->bytes, err) != STATUS_OK ||
	    collective_data_enqueue(c, err) != STATUS_OK)
		return err->status;
	return backend_launch(l->record.stream, "check_reduction", &check, err);
}

static enum status links_enqueue_turn(struct links *l, struct error *err)
{
	l->turn++;
	if (links_write_source(l, err) != STATUS_OK ||
	    links_to_host_and_back(l, err) != STATUS_OK ||
	    links_check_arrived(l, &l->landed, l->b->world->rank, err) != STATUS_OK)
		return err->status;
	if (l->communicator && links_around_the_ring(l, err) == STATUS_OK)
		links_sum_over_ranks(l, err);
	return err->status;
}

/* One turn of this rank alone; flips a bit before the comparison. */
static enum status links_inject_bit(struct links *l, struct error *err)
{
	struct burn *b = l->b;
	const struct burn_place place = { .what = "transfer to the host and back",
					  .bytes = l->bytes };
	uint64_t offset = 8 * burn_look_inject_word(b, l->bytes / 8);

	if (burn_look_begin(&l->record, err) != STATUS_OK ||
	    links_write_source(l, err) != STATUS_OK ||
	    links_to_host_and_back(l, err) != STATUS_OK ||
	    burn_look_inject(b, l->record.stream, (char *)l->landed.memory + offset, offset, err) !=
		    STATUS_OK ||
	    links_check_arrived(l, &l->landed, b->world->rank, err) != STATUS_OK)
		return err->status;
	return burn_look_end(b, &l->record, &place, err);
}

static const struct reduction_mismatch no_mismatch = { 0, UINT64_MAX, 0, 0, 0 };

static enum status links_look_at_sums(const struct links *l, struct error *err)
{
	struct reduction_mismatch found = no_mismatch;
	char text[192];

	if (!l->communicator)
		return STATUS_OK;
	if (backend_copy(l->record.stream, &found, l->sums_record.memory, sizeof(found), err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(l->record.stream, err) != STATUS_OK)
		return err->status;
	if (!found.count)
		return STATUS_OK;
	snprintf(text, sizeof(text),
		 "all-reduce, element %" PRIu64 ": expected %.9g, read %.9g (%" PRIu64 " elements)",
		 found.index, found.expected, found.got, found.count);
	burn_look_note_wrong(l->b, found.count, text);
	return STATUS_OK;
}

/* Runs `turns` transfers concurrently with `count` GEMMs. */
static enum status links_round_of(struct links *l, uint64_t turns, uint64_t count, double *seconds,
				  struct error *err)
{
	struct burn *b = l->b;
	uint64_t elements = products_elements(&l->products), bytes = l->products.element_bytes;
	const struct burn_place product = { .what = "FP32 GEMM during transfers",
					    .bytes = elements * bytes,
					    .compared = count * elements,
					    .rows = (uint64_t)l->products.gemm.m,
					    .element_bytes = l->products.element_bytes,
					    .replicas = products_replicas(&l->products) },
				arrived = { .what = b->world->size > 1
							    ? "transfer to the host and back, or "
							      "around the ring of devices"
							    : "transfer to the host and back",
					    .bytes = l->bytes };

	if (burn_look_begin(&b->record, err) != STATUS_OK ||
	    burn_look_begin(&l->record, err) != STATUS_OK ||
	    (l->communicator && backend_copy(l->record.stream, l->sums_record.memory, &no_mismatch,
					     sizeof(no_mismatch), err) != STATUS_OK) ||
	    (count &&
	     products_enqueue(&l->products, count, b->record.buffer.memory, err) != STATUS_OK) ||
	    backend_event_record(b->start, l->record.stream, err) != STATUS_OK)
		return err->status;
	for (uint64_t i = 0; i < turns; i++)
		if (links_enqueue_turn(l, err) != STATUS_OK)
			return err->status;
	if (backend_event_record(b->end, l->record.stream, err) != STATUS_OK ||
	    burn_look_end(b, &l->record, &arrived, err) != STATUS_OK ||
	    links_look_at_sums(l, err) != STATUS_OK ||
	    burn_look_end(b, &b->record, &product, err) != STATUS_OK ||
	    (count && products_check_canary(&l->products, b, err) != STATUS_OK))
		return err->status;
	b->tally.rounds += turns;
	b->tally.verified_bytes +=
		(double)turns * l->turn_bytes + (double)count * (double)(elements * bytes);
	return backend_event_elapsed(b->start, b->end, seconds, err);
}

/* Rank 0's clock decides for all ranks. It waits for ranks that still have bits to inject. */
static bool links_agreed_to_go_on(struct burn *b, struct error *err)
{
	double wanted = burn_look_interrupted(b, err) == STATUS_OK && burn_look_go_on(b);
	int time_left = wanted > 0;

	world_broadcast(b->world, 0, &time_left, sizeof(time_left));
	return world_agree(b->world, err->status, err) == STATUS_OK &&
	       (world_max(b->world, burn_look_inject_due(b)) > 0 || time_left);
}

static enum status links_transfer_slice(struct links *l, struct error *err)
{
	struct burn *b = l->b;
	uint64_t turns, products;
	double seconds, product_seconds, began;

	/* Time both alone first: GEMMs and turns of equal duration keep both busy. */
	links_round_of(l, 1, 1, &b->series->first, err);
	began = clock_seconds();
	if (err->status == STATUS_OK)
		links_round_of(l, 0, 4, &seconds, err);
	product_seconds = (clock_seconds() - began) / 4;
	if (err->status == STATUS_OK)
		links_round_of(l, 4, 0, &seconds, err);
	if (world_agree(b->world, err->status, err) != STATUS_OK)
		return err->status;
	/* All ranks take the number of turns that rank 0 chooses. */
	turns = products_in_chunk(b, seconds / 4);
	turns = turns < TURNS_MOST ? turns : TURNS_MOST;
	world_broadcast(b->world, 0, &turns, sizeof(turns));
	products = products_in_chunk(b, product_seconds);
	b->series->batch = (unsigned)turns;
	do {
		if (burn_look_inject_due(b))
			links_inject_bit(l, err);
		if (err->status == STATUS_OK)
			links_round_of(l, turns, products, &seconds, err);
		if (world_agree(b->world, err->status, err) != STATUS_OK)
			return err->status;
		burn_look_timed(b, seconds, (double)turns, (double)turns * l->turn_bytes);
		burn_look_pulse(b);
	} while (links_agreed_to_go_on(b, err));
	return err->status;
}

static enum status links_open_ranks(struct links *l, struct error *err)
{
	struct burn *b = l->b;
	struct burn_state *state = b->run->suite_state;
	const struct collective_session *session;
	struct collective *c = &l->sums;

	if (b->world->size == 1)
		return STATUS_OK;
	session = communicators_session_find(state->sessions, b->device, b->world, TRANSPORT_AUTO,
					     err);
	if (!session)
		return err->status;
	*c = (struct collective){ .kind = ALL_REDUCE,
				  .operation = &operations[ALL_REDUCE],
				  .precision = PRECISION_FP32,
				  .rank = b->world->rank,
				  .ranks = b->world->size,
				  .bytes = l->bytes,
				  .part = l->bytes,
				  .seed = b->run->seed, /* ranks add their number to it */
				  .device = b->device,
				  .stream = l->record.stream,
				  .communicator = session->communicator };
	if (buffer_alloc(&l->received, b->device, ALLOCATOR_DEVICE, l->bytes, err) != STATUS_OK ||
	    buffer_alloc(&l->sums_record, b->device, ALLOCATOR_DEVICE,
			 sizeof(struct reduction_mismatch), err) != STATUS_OK ||
	    collective_data_open(c, err) != STATUS_OK ||
	    collective_data_prepare(c, err) != STATUS_OK)
		return err->status;
	l->communicator = session->communicator;
	return STATUS_OK;
}

enum status burn_links(struct burn *b, struct error *err)
{
	struct links l = { .b = b,
			   .bytes = link_bytes(b->run->c->section),
			   .turn_bytes = (double)link_bytes(b->run->c->section) *
					 (b->world->size > 1 ? 4 : 2) };

	if (burn_look_record_open(&l.record, b->device, err) == STATUS_OK &&
	    buffer_alloc(&l.source, b->device, ALLOCATOR_DEVICE, l.bytes, err) == STATUS_OK &&
	    buffer_alloc(&l.landed, b->device, ALLOCATOR_DEVICE, l.bytes, err) == STATUS_OK &&
	    buffer_alloc(&l.host, b->device, ALLOCATOR_PINNED, l.bytes, err) == STATUS_OK)
		products_open(&l.products, b, b->record.stream, PRECISION_FP32, err);
	/* If its first GEMM is wrong, a rank still leaves together with the others. */
	if (world_agree(b->world, err->status, err) == STATUS_OK &&
	    world_agree(b->world, links_open_ranks(&l, err), err) == STATUS_OK)
		links_transfer_slice(&l, err);
	products_close(&l.products);
	if (l.sums.stream)
		collective_data_close(&l.sums);
	burn_look_record_close(&l.record);
	relay_settled(l.communicator); /* the next slice reuses it with its own stream */
	buffer_free(&l.sums_record);
	buffer_free(&l.received);
	buffer_free(&l.source);
	buffer_free(&l.landed);
	buffer_free(&l.host);
	return err->status;
}
