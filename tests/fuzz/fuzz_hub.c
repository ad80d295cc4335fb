/*
 * Hellos and frames that the hub of a world over TCP receives. Functions of its file alone read
 * them, so that the file is part of this one.
 */
#include "fuzz.h"

#include "measure/processes/world_hub.c"

#define RANKS 3

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
	rank = hub_rank_of(&s, &said);
	if (rank != -1 && (rank < 1 || rank >= RANKS))
		abort();
}

struct trial {
	struct hub_session s;
	struct world_notice notice;
	struct hub hub;
	struct hub_member members[RANKS];
	struct connection *connections[RANKS];
	int ends[RANKS];
};

static void join_rank(struct trial *t, int rank)
{
	struct connection *c = xcalloc(1, sizeof(*c));
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		abort();
	c->fd = pair[0];
	c->rank = rank;
	t->ends[rank] = pair[1];
	t->connections[rank] = c;
	t->members[rank].connection = c;
	t->members[rank].joined = true;
}

/* Each piece: its rank, its length, and bytes as they come from the network. */
static void hub_reads(const uint8_t *data, size_t size)
{
	static struct trial t;
	size_t at = 0;

	memset(&t, 0, sizeof(t));
	t.hub = (struct hub){ .size = RANKS, .notice = &t.notice };
	t.s = (struct hub_session){ .hub = &t.hub,
				    .members = t.members,
				    .connections = t.connections,
				    .count = RANKS,
				    .joined = RANKS,
				    .failed_rank = -1 };
	for (int rank = 0; rank < RANKS; rank++)
		join_rank(&t, rank);
	while (at + 2 < size && !t.s.ended) {
		struct connection *c = t.connections[data[at] % RANKS];
		size_t length = 16 * (size_t)data[at + 1] + 4;

		at += 2;
		length = length < size - at ? length : size - at;
		send(t.ends[c->rank], data + at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		at += length;
		if (c->fd >= 0)
			hub_receive(&t.s, c);
	}
	for (int rank = 0; rank < RANKS; rank++) {
		hub_drop_connection(&t.s, t.connections[rank]);
		free(t.connections[rank]);
		close(t.ends[rank]);
	}
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
