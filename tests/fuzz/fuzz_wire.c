/*
 * Messages between the conductor of a run on several nodes and an agent. The first byte chooses who
 * reads: the conductor from the call on, the conductor an agent that it has accepted, or an agent.
 */
#include "fuzz.h"

#include <stdlib.h>

#include "memory_socket.h"

#include "fleet/wire/peer.c"

#include "base/memory.h"
#include "fleet/nodes.h"
#include "result/host/build.h"

#define TOKEN "0000000000000000000000000000000000000000000000000000000000000000"
#define PIECE 1000 /* bytes that come at once */

static void release_fleet(struct fleet_run *f)
{
	peers_close(&f->peers);
	for (size_t i = 0; i < f->count; i++) {
		free(f->nodes[i].name);
		free(f->nodes[i].reason);
		free(f->nodes[i].at);
		free(f->nodes[i].refused);
	}
	free(f->nodes);
}

/* A hello that is right. */
static const struct text *hello_line(void)
{
	static struct text line = TEXT_EMPTY;
	char *build;

	if (line.length)
		return &line;
	build = xstrdup(build_version());
	wire_message_add(&line, &(struct fleet_message){ .kind = "hello",
							 .protocol = FLEET_PROTOCOL,
							 .build = build,
							 .node = "n1" });
	free(build);
	return &line;
}

static void receive_piece(struct fleet_run *f, const void *bytes, size_t count)
{
	memory_socket.bytes = bytes;
	memory_socket.count = count;
	nodes_read(f, f->peers.items[0]);
}

/* In pieces, as TCP may bring them; `said`: after a hello that is right. */
static void conductor_reads(const uint8_t *data, size_t size, bool said)
{
	const struct fleet_options options = { .quiet = true };
	char folder[] = "/runs/r";
	struct fleet_run f = { .options = &options,
			       .launcher.kind = LAUNCH_COMMAND,
			       .peers = PEERS_NONE,
			       .token = TOKEN,
			       .directory = folder,
			       .run_id = "run",
			       .silent_after = 15 };

	memory_socket = (typeof(memory_socket)){ .now = 1 };
	peers_add(&f.peers, 1000, "127.0.0.1:1");
	if (said) {
		receive_piece(&f, hello_line()->data, hello_line()->length);
		if (f.count != 1 || f.nodes[0].phase != NODE_RUNS)
			abort();
	}
	for (size_t at = 0; at < size && !f.peers.items[0]->closing; at += PIECE)
		receive_piece(&f, data + at, size - at < PIECE ? size - at : PIECE);
	memory_socket.over = true;
	if (!f.peers.items[0]->closing)
		receive_piece(&f, NULL, 0);
	nodes_report_lost(&f);
	release_fleet(&f);
}

/* Nothing is parsed of a caller whose token is wrong. */
static void conductor_answers_call(const uint8_t *data, size_t size)
{
	char node[FLEET_NAME_MOST + 1];
	struct fleet_call call;

	if (size < sizeof(call))
		return;
	memcpy(&call, data, sizeof(call));
	if (wire_message_call_read(&call, TOKEN, node))
		conductor_reads(data + sizeof(call), size - sizeof(call), false);
	if (*node && !wire_message_name_valid(node))
		abort();
}

static void agent_reads(const uint8_t *data, size_t size)
{
	struct fleet_message message;
	struct text in = TEXT_EMPTY;

	text_add_bytes(&in, (const char *)data, size);
	while (wire_message_next(&in, &message)) {
		if (!message.kind)
			abort();
		wire_message_release(&message);
	}
	text_release(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (*data % 3 == 0)
		conductor_answers_call(data + 1, size - 1);
	else if (*data % 3 == 1)
		conductor_reads(data + 1, size - 1, true);
	else
		agent_reads(data + 1, size - 1);
	return 0;
}
