#include "suites/parallel/team.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* One send, or one copy to the host, at a time: keeps staging buffers of libraries small. */
#define PIECE_BYTES (UINT64_C(64) << 20)

enum status team_open(struct team *team, struct device *device, struct world *world,
		      struct error *err)
{
	return team_open_over(team, device, world, TRANSPORT_AUTO, 0, err);
}

enum status team_open_over(struct team *team, struct device *device, struct world *world,
			   enum transport transport, int multiprocessors, struct error *err)
{
	enum status status = STATUS_OK;

	*team = (struct team){ .device = device,
			       .world = world,
			       .multiprocessors = multiprocessors };
	for (int i = 0; i < STREAM_COUNT && status == STATUS_OK; i++)
		status = backend_stream_create(device, i != STREAM_COMPUTE, &team->streams[i], err);
	status = world_agree(world, status, err);
	if (status != STATUS_OK || world->size == 1)
		return status;
	return team_open_world(team, transport, err);
}

void team_close(struct team *team)
{
	if (team->up_back != team->up)
		backend_communicator_close(team->up_back);
	if (team->down_back != team->down)
		backend_communicator_close(team->down_back);
	if (team->up != team->all)
		backend_communicator_close(team->up);
	if (team->down != team->all)
		backend_communicator_close(team->down);
	backend_communicator_close(team->tensor);
	backend_communicator_close(team->data);
	backend_communicator_close(team->all);
	for (int i = 0; i < STREAM_COUNT; i++)
		backend_stream_destroy(team->streams[i]);
	*team = (struct team){ 0 };
}

enum status team_phase(struct team *team, const char *name, struct error *err)
{
	return phases_next(team->phases, team->world, name, err);
}

enum status team_synchronize(struct team *team, struct error *err)
{
	for (int i = 0; i < STREAM_COUNT; i++)
		if (backend_stream_synchronize(team->streams[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status move_piece(struct team *team, int source, const void *from, void *to,
			      uint64_t bytes, struct error *err)
{
	struct stream *stream = team->streams[STREAM_COMPUTE];

	if (team->world->rank == source && source == 0)
		return backend_copy(stream, to, from, bytes, err);
	if (team->world->rank == source)
		return backend_send(team->all, stream, from, bytes, 0, err);
	return backend_receive(team->all, stream, to, bytes, source, err);
}

enum status team_collect(struct team *team, int source, const void *from, void *to, uint64_t bytes,
			 struct error *err)
{
	if (team->world->rank != source && team->world->rank != 0)
		return STATUS_OK;
	for (uint64_t done = 0; done < bytes; done += PIECE_BYTES) {
		uint64_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;

		if (move_piece(team, source, (const char *)from + done, (char *)to + done, piece,
			       err) != STATUS_OK)
			return err->status;
	}
	return backend_stream_synchronize(team->streams[STREAM_COMPUTE], err);
}

enum status team_fetch(struct team *team, void *to, const void *from, uint64_t bytes,
		       struct error *err)
{
	if (backend_copy(team->streams[STREAM_COMPUTE], to, from, bytes, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(team->streams[STREAM_COMPUTE], err);
}

/* Independent sums that a core works on at once. */
#define LANES 4
#define LANE_FACTOR UINT64_C(0x9E3779B97F4A7C15)

/* An odd factor and a xor are both reversible: no single change can cancel out. */
static uint64_t mix_word(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * LANE_FACTOR;
	return sum ^ sum >> 32;
}

static uint64_t mix(uint64_t sum, const unsigned char *bytes, uint64_t count)
{
	uint64_t lanes[LANES] = { sum, 1, 2, 3 }, words[LANES], i = 0;

	for (; i + sizeof(words) <= count; i += sizeof(words)) {
		memcpy(words, bytes + i, sizeof(words));
		for (int lane = 0; lane < LANES; lane++)
			lanes[lane] = mix_word(lanes[lane], words[lane]);
	}
	for (int lane = 1; lane < LANES; lane++)
		lanes[0] = mix_word(lanes[0], lanes[lane]);
	for (; i < count; i++)
		lanes[0] = mix_word(lanes[0], bytes[i]);
	return lanes[0];
}

enum status team_checksum(struct team *team, const void *memory, uint64_t bytes, uint64_t *sum,
			  struct error *err)
{
	uint64_t size = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
	unsigned char *host = xmalloc(size);

	*sum = bytes;
	for (uint64_t done = 0; done < bytes; done += size) {
		uint64_t piece = bytes - done < size ? bytes - done : size;

		if (team_fetch(team, host, (const char *)memory + done, piece, err) != STATUS_OK)
			break;
		*sum = mix(*sum, host, piece);
	}
	free(host);
	return err->status;
}
