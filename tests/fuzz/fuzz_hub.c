/*
 * Hellos and frames that the hub of a world over TCP receives. Functions of its file alone read
 * them, so that the file is part of this one.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "memory_socket.h"

#include "measure/processes/world_hub.c"

#define RANKS 3
#define FIRST_FD 1000

static void hub_answers_hello(const uint8_t *data, size_t size)
{
	struct hub_member members[RANKS] = { { .joined = true } };
	struct hub hub = { .size = RANKS };
	struct hub_session s = { .hub = &hub, .members = members };
	struct hub_hello said;
	int rank;

	if (size < sizeof(said))
		return;
	memcpy(&said, data, sizeof(said));
	rank = world_hub_rank_of(&s, &said);
	if (rank != -1 && (rank < 1 || rank >= RANKS))
		abort();
}

struct trial {
	struct hub_session s;
	struct world_notice notice;
	struct hub hub;
	struct hub_member members[RANKS];
};

/*
 * Each piece: its rank, its length, and bytes as they come from the network. A first byte of two
 * times the ranks means that the rank has closed, of three times that answers fail.
 */
static void hub_reads(const uint8_t *data, size_t size)
{
	static struct trial t;
	size_t at = 0;

	memset(&t.notice, 0, sizeof(t.notice));
	memory_socket = (typeof(memory_socket)){ .now = 1 };
	t.hub = (struct hub){
		.size = RANKS, .notice = &t.notice, .join_seconds = 30, .silent_seconds = 600
	};
	t.s = (struct hub_session){ .hub = &t.hub,
				    .members = t.members,
				    .joined = RANKS,
				    .open = RANKS,
				    .failed_rank = -1 };
	for (int rank = 0; rank < RANKS; rank++)
		t.members[rank] = (struct hub_member){ .fd = FIRST_FD + rank, .joined = true };
	while (at + 2 < size && !t.s.ended) {
		int rank = data[at] % RANKS;
		struct hub_member *m = &t.members[rank];
		size_t length = 16 * (size_t)data[at + 1] + 4;

		memory_socket.over = data[at] >= 2 * RANKS && data[at] < 3 * RANKS;
		memory_socket.refuses = data[at] >= 3 * RANKS && data[at] < 4 * RANKS;
		memory_socket.now += data[at] / 16;
		at += 2;
		length = length < size - at ? length : size - at;
		memory_socket.bytes = data + at;
		memory_socket.count = length;
		at += length;
		do
			if (m->fd >= 0)
				world_hub_receive(&t.s, rank);
		while (memory_socket.over && m->fd >= 0 && !t.s.ended);
		if (m->have > sizeof(m->buffer) || t.s.arrived > RANKS)
			abort();
		world_hub_keep_deadlines(&t.s);
	}
	if (t.s.ended && (t.s.reason.status <= STATUS_OK || t.s.reason.status > STATUS_LOST))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (*data % 2)
		hub_answers_hello(data + 1, size - 1);
	else
		hub_reads(data + 1, size - 1);
	return 0;
}
