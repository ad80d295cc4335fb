/* Moves pieces through the slots of a channel; the relay builds collectives from them. */
#include "device/cuda/ranks/channels.h"

#include "device/cuda/ranks/channels_layout.h"
#include "device/cuda/ranks/semaphores.h"

/*
 * All slots of a rank in its device's memory (peer_copy), or of all ranks in host memory. Larger
 * slots gain nothing, smaller ones cost time. Device memory is exported in blocks of 2 MiB.
 */
#define DEVICE_BYTES ((size_t)256 << 20)
#define DEVICE_SLOT_MOST ((size_t)32 << 20)
#define DEVICE_SLOT_UNIT ((size_t)2 << 20)
#define HOST_BYTES ((size_t)32 << 20)
#define HOST_SLOT_MOST ((size_t)2 << 20)
#define HOST_SLOT_UNIT ((size_t)64 << 10)

static size_t channels_flags_at(const struct channels *c)
{
	return (channels_size(c) * sizeof(struct rank_cell) + 4095) / 4096 * 4096;
}

static size_t segment_slots_offset(const struct channels *c)
{
	return channels_flags_at(c) +
	       (channels_size(c) * channels_size(c) * sizeof(struct channel_flags) + 4095) / 4096 *
		       4096;
}

size_t channels_slot_size(const struct channels *c)
{
	size_t peers = channels_size(c) - 1, slots = (peers ? peers : 1) * RELAY_SLOTS;
	size_t unit = channels_over_host(c) ? HOST_SLOT_UNIT : DEVICE_SLOT_UNIT,
	       most = channels_over_host(c) ? HOST_SLOT_MOST : DEVICE_SLOT_MOST,
	       bytes = (channels_over_host(c) ? HOST_BYTES / channels_size(c) : DEVICE_BYTES) /
		       slots / unit * unit;

	return bytes < unit ? unit : bytes > most ? most : bytes;
}

size_t channels_segment_size(const struct channels *c)
{
	size_t slots = channels_size(c) * (channels_size(c) - 1) * RELAY_SLOTS;

	return segment_slots_offset(c) + (channels_over_host(c) ? slots * c->slot_bytes : 0);
}

struct rank_cell *channels_cell(const struct channels *c, int rank)
{
	return (struct rank_cell *)c->segment + rank;
}

static size_t channel_index(const struct channels *c, int from, int to)
{
	return (size_t)from * channels_size(c) + (size_t)to;
}

struct channel_flags *channels_flags(const struct channels *c, char *view, int from, int to)
{
	return (struct channel_flags *)(view + channels_flags_at(c)) + channel_index(c, from, to);
}

/* Device addresses, for semaphores.h. */
static struct channel_flags *channels_flags_of(const struct channels *c, int from, int to)
{
	return channels_flags(c, c->device_view, from, to);
}

/* Index of a rank among the others, because a rank sends nothing to itself. */
static size_t place_among(int rank, int others)
{
	return (size_t)(others < rank ? others : others - 1);
}

static char *channels_slot_of(const struct channels *c, int from, int to, unsigned piece)
{
	size_t place = channels_over_host(c)
			       ? (size_t)to * (channels_size(c) - 1) + place_among(to, from)
			       : place_among(to, from);
	char *slots = channels_over_host(c) ? c->segment + segment_slots_offset(c)
		      : to == c->base.rank  ? c->slots
					    : c->peers[to];

	return slots + (place * RELAY_SLOTS + piece % RELAY_SLOTS) * c->slot_bytes;
}

static enum status channel_push(struct communicator *communicator, struct stream *stream, int peer,
				const void *from, size_t bytes, struct error *err)
{
	struct channels *c = channels(communicator);
	struct channel_flags *flags = channels_flags_of(c, c->base.rank, peer);
	unsigned piece = c->written[peer];
	enum status status;

	cuda_path("transport", transport_names[c->base.transport]);
	status = cuda_semaphore_wait(stream, &flags->taken, piece + 1 - RELAY_SLOTS, err);

	if (status == STATUS_OK)
		status = cuda_copy(stream, channels_slot_of(c, c->base.rank, peer, piece), from,
				   bytes, err);
	if (status == STATUS_OK)
		status = cuda_semaphore_signal(stream, &flags->written, piece + 1, err);
	c->written[peer] += status == STATUS_OK;
	return status;
}

static enum status channel_pull(struct communicator *communicator, struct stream *stream, int peer,
				void *to, size_t bytes, struct error *err)
{
	struct channels *c = channels(communicator);
	struct channel_flags *flags = channels_flags_of(c, peer, c->base.rank);
	unsigned piece = c->taken[peer];
	enum status status = cuda_semaphore_wait(stream, &flags->written, piece + 1, err);

	if (status == STATUS_OK)
		status = cuda_copy(stream, to, channels_slot_of(c, peer, c->base.rank, piece),
				   bytes, err);
	if (status == STATUS_OK)
		status = cuda_semaphore_signal(stream, &flags->taken, piece + 1, err);
	c->taken[peer] += status == STATUS_OK;
	return status;
}

static enum status channel_pull_reduce(struct communicator *communicator, struct stream *stream,
				       int peer, const struct relay_sum *sum, struct error *err)
{
	struct channels *c = channels(communicator);
	struct channel_flags *flags = channels_flags_of(c, peer, c->base.rank);
	size_t bytes = sum->count * precision_bytes(sum->precision);
	unsigned piece = c->taken[peer];
	char *slot = channels_slot_of(c, peer, c->base.rank, piece);
	enum status status;

	if (channels_over_host(c)) {
		status = channel_pull(communicator, stream, peer, c->landing, bytes, err);
		return status == STATUS_OK ? cuda_sum_launch(stream, c->landing, sum, err) : status;
	}
	status = cuda_semaphore_wait(stream, &flags->written, piece + 1, err);
	if (status == STATUS_OK)
		status = cuda_sum_launch(stream, slot, sum, err);
	if (status == STATUS_OK)
		status = cuda_semaphore_signal(stream, &flags->taken, piece + 1, err);
	c->taken[peer] += status == STATUS_OK;
	return status;
}

const struct transport_ops channels_ops = { .push = channel_push,
					    .pull = channel_pull,
					    .pull_reduce = channel_pull_reduce };
