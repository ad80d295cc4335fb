/* Hears what agents say to the conductor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/nodes.h"
#include "result/host/build.h"

static void refuse(struct fleet *f, struct peer *peer, const char *reason)
{
	nodes_send(f, peer, &(struct fleet_message){ .kind = "refuse", .text = reason });
	peer->closing = true;
}

/* Why an agent with a right token is not wanted; NULL: it is. Malloc'ed. */
static char *objection(const struct fleet *f, const struct fleet_message *hello, size_t index)
{
	if (hello->protocol != FLEET_PROTOCOL || strcmp(hello->build, build_version()) != 0)
		return xasprintf("other build: gpuproof %s (protocol %lld), the conductor is "
				 "gpuproof %s (protocol %d)",
				 *hello->build ? hello->build : "of no version",
				 (long long)hello->protocol, build_version(), FLEET_PROTOCOL);
	if (f->stopping)
		return xstrdup("the run is being stopped");
	if (index != NO_NODE &&
	    (f->nodes[index].phase == NODE_RUNS || f->nodes[index].phase == NODE_READY))
		return xasprintf("node %s has an agent already: one per node", hello->node);
	if (index != NO_NODE && f->nodes[index].phase == NODE_ENDED &&
	    f->nodes[index].status == NODE_OK)
		return xasprintf("node %s has nothing left to do", hello->node);
	if (index == NO_NODE && f->launcher.name_count)
		return xasprintf("node %s is not one of the run's", hello->node);
	return NULL;
}

static void start_node(struct fleet *f, struct peer *peer, size_t index)
{
	bool shared = f->launcher.kind == LAUNCH_SIMULATED;
	struct fleet_message start = { .kind = "start",
				       .directory = f->directory,
				       .run = f->run_id,
				       .silent_after = f->silent_after,
				       .share = shared ? (int64_t)index : 0,
				       .groups = f->has_groups,
				       .shares = shared ? (int64_t)f->launcher.name_count : 1 };
	struct node *n = &f->nodes[index];

	peer->node = index;
	n->peer = peer;
	n->phase = NODE_RUNS;
	if (!f->own_began)
		f->own_began = clock_seconds();
	nodes_send(f, peer, &start);
}

static void on_hello(struct fleet *f, struct peer *peer, const struct fleet_message *hello)
{
	bool trusted = fleet_token_equal(f->token, hello->token);
	bool named = fleet_name_valid(hello->node);
	size_t index = named ? nodes_find(f, hello->node) : NO_NODE;
	char *reason;

	if (strcmp(hello->kind, "hello") != 0 || !trusted || !named) {
		reason = xstrdup(!trusted ? "wrong token" : "this is no agent's hello");
		fprintf(stderr,
			"gpuproof: an agent at %s that calls itself node %s is refused: %s\n",
			peer->from, named ? hello->node : "by no valid name", reason);
		/* Its name is only a hint for a node that never calls. */
		if (index != NO_NODE && f->nodes[index].phase == NODE_WAITS)
			nodes_text(&f->nodes[index].refused, reason);
		refuse(f, peer, reason);
		free(reason);
		return;
	}
	reason = objection(f, hello, index);
	if (!reason) {
		start_node(f, peer, index == NO_NODE ? nodes_add(f, hello->node) : index);
		return;
	}
	refuse(f, peer, reason);
	if (index == NO_NODE && !f->launcher.name_count)
		index = nodes_add(f, hello->node);
	if (index != NO_NODE && f->nodes[index].phase == NODE_WAITS)
		nodes_end(f, index, NODE_ERROR, reason);
	free(reason);
}

static size_t counted(int64_t number)
{
	return number > 0 ? (size_t)number : 0;
}

static void on_done(struct fleet *f, size_t index, const char *state)
{
	if (strcmp(state, "complete") == 0 && f->has_groups && !f->stopping)
		f->nodes[index].phase = NODE_READY;
	else if (strcmp(state, "complete") == 0)
		nodes_end(f, index, NODE_OK, "");
	else if (strcmp(state, "interrupted") == 0)
		nodes_end(f, index, NODE_INTERRUPTED,
			  f->too_few ? "stopped: too few nodes are left" : "interrupted");
	else
		nodes_end(f, index, NODE_ERROR, "its run did not reach its end");
}

static void on_message(struct fleet *f, struct peer *peer, const struct fleet_message *m)
{
	struct node *n;

	if (peer->node == NO_NODE) {
		on_hello(f, peer, m);
		return;
	}
	n = &f->nodes[peer->node];
	if (strcmp(m->kind, "alive") == 0) {
		n->planned = counted(m->planned);
		n->finished = counted(m->finished);
		nodes_text(&n->at, m->text);
	} else if (strcmp(m->kind, "done") == 0) {
		on_done(f, peer->node, m->state);
	} else if (f->rounds) {
		rounds_message(f->rounds, peer->node, m);
	} else if (strcmp(m->kind, "failed") == 0) {
		nodes_end(f, peer->node, NODE_ERROR, m->text);
	}
}

void nodes_lose(struct fleet *f, struct peer *peer, const char *reason)
{
	if (peer->node != NO_NODE)
		nodes_end(f, peer->node, NODE_LOST, reason);
	peer->closing = true;
}

/* Every whole line that has come. */
static void read_lines(struct fleet *f, struct peer *peer)
{
	char *line, *end;
	size_t used = 0;

	while (!peer->closing && used < peer->in.length &&
	       (end = memchr(peer->in.data + used, '\n', peer->in.length - used))) {
		struct error err = ERROR_NONE;
		struct fleet_message message;

		line = peer->in.data + used;
		if (fleet_message_parse(line, (size_t)(end - line), &message, &err) == STATUS_OK)
			on_message(f, peer, &message);
		else
			nodes_lose(f, peer, "it sent what is no message");
		fleet_message_release(&message);
		used += (size_t)(end - line) + 1;
	}
	if (used)
		memmove(peer->in.data, peer->in.data + used, peer->in.length - used);
	peer->in.length -= used;
	if (peer->in.length > (peer->node == NO_NODE ? FLEET_HELLO_MOST : FLEET_MESSAGE_MOST))
		nodes_lose(f, peer, "it sent a line without an end");
}

void nodes_read(struct fleet *f, struct peer *peer)
{
	bool open = peer_receive(peer);

	if (!open)
		text_reset(&peer->out);
	read_lines(f, peer);
	if (!open && !peer->closing)
		nodes_lose(f, peer, "its agent has died: the connection was closed");
}
