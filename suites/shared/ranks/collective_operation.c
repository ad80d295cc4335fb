#include "suites/shared/ranks/collective_operation.h"

const char *const operation_names[] = { "all_reduce", "all_gather", "reduce_scatter", "broadcast",
					"reduce",     "send_recv",  "all_to_all",     NULL };

/* Each element is sent once to be summed and once as the sum, except the rank's own part. */
static double bus_there_and_back(double n)
{
	return 2 * (n - 1) / n;
}

/* All except the rank's own part. */
static double all_but_one(double n)
{
	return (n - 1) / n;
}

static double bus_factor_one(double n)
{
	(void)n;
	return 1;
}

static size_t collective_elements(const struct collective *c, size_t bytes)
{
	return bytes / precision_bytes(c->precision);
}

static enum status bus_enqueue_all_reduce(const struct collective *c, struct error *err)
{
	return backend_all_reduce(c->communicator, c->stream, c->to, c->from,
				  collective_elements(c, c->bytes), c->precision, REDUCE_SUM, err);
}

static enum status bus_enqueue_all_gather(const struct collective *c, struct error *err)
{
	return backend_all_gather(c->communicator, c->stream, c->to, c->from,
				  collective_elements(c, c->part), c->precision, err);
}

static enum status enqueue_reduce_scatter(const struct collective *c, struct error *err)
{
	return backend_reduce_scatter(c->communicator, c->stream, c->to, c->from,
				      collective_elements(c, c->part), c->precision, REDUCE_SUM,
				      err);
}

static enum status enqueue_broadcast(const struct collective *c, struct error *err)
{
	return backend_broadcast(c->communicator, c->stream, c->to, c->bytes, COLLECTIVE_ROOT, err);
}

static enum status bus_enqueue_reduce(const struct collective *c, struct error *err)
{
	return backend_reduce(c->communicator, c->stream, c->to, c->from,
			      collective_elements(c, c->bytes), c->precision, REDUCE_SUM,
			      COLLECTIVE_ROOT, err);
}

/* A ring: to the next rank, from the previous one. Ends a group that was begun. */
static enum status send_recv(const struct collective *c, struct error *err)
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

static enum status bus_enqueue_all_to_all(const struct collective *c, struct error *err)
{
	return backend_all_to_all(c->communicator, c->stream, c->to, c->from,
				  collective_elements(c, c->part), c->precision, err);
}

const struct operation operations[OPERATION_COUNT] = {
	[ALL_REDUCE] = { .reduces = true,
			 .bus_factor = bus_there_and_back,
			 .enqueue = bus_enqueue_all_reduce },
	[ALL_GATHER] = { .parts = true,
			 .one_part_from = true,
			 .bus_factor = all_but_one,
			 .enqueue = bus_enqueue_all_gather },
	[REDUCE_SCATTER] = { .parts = true,
			     .reduces = true,
			     .one_part_to = true,
			     .bus_factor = all_but_one,
			     .enqueue = enqueue_reduce_scatter },
	[BROADCAST] = { .placements = IN_PLACE_ONLY,
			.bus_factor = bus_factor_one,
			.enqueue = enqueue_broadcast },
	[REDUCE] = { .reduces = true, .bus_factor = bus_factor_one, .enqueue = bus_enqueue_reduce },
	[SEND_RECV] = { .placements = OUT_OF_PLACE_ONLY,
			.bus_factor = bus_factor_one,
			.enqueue = send_recv },
	[ALL_TO_ALL] = { .parts = true,
			 .placements = OUT_OF_PLACE_ONLY,
			 .bus_factor = all_but_one,
			 .enqueue = bus_enqueue_all_to_all },
};
