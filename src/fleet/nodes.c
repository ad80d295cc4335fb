/* The nodes of a run on several, and what their agents say to the conductor. */
#include "fleet/nodes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "result/host/build.h"

#define REASON_MOST 500     /* bytes of a text that an agent sends */
#define REPORT_SECONDS 60.0 /* between two lines about strangers */

void nodes_log(const struct fleet_run *f, const char *format, ...)
{
	struct text line = TEXT_EMPTY;
	va_list ap;
	char *text;

	if (f->options->quiet)
		return;
	va_start(ap, format);
	if (vasprintf(&text, format, ap) >= 0) {
		text_addf(&line, "gpuproof: %s\n", text);
		fputs(line.data, stderr);
		free(text);
	}
	va_end(ap);
	text_release(&line);
}

size_t nodes_find(const struct fleet_run *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->nodes[i].name, name) == 0)
			return i;
	return NO_NODE;
}

size_t nodes_add(struct fleet_run *f, const char *name)
{
	size_t index = nodes_find(f, name);

	if (index != NO_NODE)
		return index;
	ARRAY_GROW(f->nodes, f->count, f->capacity);
	f->nodes[f->count] = (struct node){ .name = xstrdup(name) };
	return f->count++;
}

void nodes_text(char **to, const char *text)
{
	char *copy = text && *text ? text_harmless(text) : xstrdup("");

	free(*to);
	*to = copy;
}

void nodes_end(struct fleet_run *f, size_t index, enum node_status status, const char *reason)
{
	struct node *n = &f->nodes[index];
	bool at = status == NODE_LOST && n->at && *n->at;

	if (n->phase == NODE_ENDED)
		return;
	if (f->rounds && status != NODE_OK)
		rounds_group_node_lost(f->rounds, index, reason);
	if (n->peer)
		n->peer->node = NO_NODE, n->peer->closing = true;
	n->peer = NULL;
	n->phase = NODE_ENDED;
	n->status = status;
	nodes_text(&n->reason, reason);
	n->unreported = status != NODE_OK;
	if (!at)
		nodes_text(&n->at, "");
	if (status == NODE_OK)
		nodes_log(f, "%s is done: %zu cases", n->name, n->finished);
	if (status == NODE_LOST)
		launcher_kill_node(&f->launcher, index);
}

void nodes_report_lost(struct fleet_run *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct node *first = &f->nodes[i];
		struct text names = TEXT_EMPTY;
		size_t count = 0;

		for (size_t k = i; first->unreported && k < f->count; k++) {
			struct node *n = &f->nodes[k];

			if (!n->unreported || n->status != first->status ||
			    strcmp(n->at, first->at) != 0 || strcmp(n->reason, first->reason) != 0)
				continue;
			if (count++ < NODES_NAMED)
				text_addf(&names, "%s%s", count > 1 ? ", " : "", n->name);
			if (k > i)
				n->unreported = false;
		}
		f->nodes[i].unreported = false;
		if (count > NODES_NAMED)
			text_addf(&names, " and %zu more", count - NODES_NAMED);
		if (count)
			fprintf(stderr, "gpuproof: %s: %s%s%s: %s\n", names.data,
				node_status_name(first->status), *first->at ? " at " : "",
				first->at, first->reason);
		text_release(&names);
	}
}

void nodes_send(struct fleet_run *f, struct peer *peer, const struct fleet_message *message)
{
	struct text line = TEXT_EMPTY;

	wire_message_add(&line, message);
	peer_send(&f->peers, peer, line.data, line.length);
	text_release(&line);
}

/* Nodes that can still give a whole result. */
size_t nodes_left(const struct fleet_run *f)
{
	size_t left = 0;

	for (size_t i = 0; i < f->count; i++)
		left += f->nodes[i].phase != NODE_ENDED || f->nodes[i].status == NODE_OK;
	if (!f->join_over && f->launcher.expected > f->count)
		left += f->launcher.expected - f->count;
	return left;
}

size_t nodes_wanted(const struct fleet_run *f)
{
	return f->launcher.expected > f->count ? f->launcher.expected : f->count;
}

void nodes_stop(struct fleet_run *f)
{
	f->stopping = true;
	for (size_t i = 0; i < f->count; i++) {
		if ((f->nodes[i].phase == NODE_RUNS || f->nodes[i].phase == NODE_READY) &&
		    f->nodes[i].peer)
			nodes_send(f, f->nodes[i].peer, &(struct fleet_message){ .kind = "stop" });
		else if (f->nodes[i].phase == NODE_WAITS)
			nodes_end(f, i, NODE_INTERRUPTED, "interrupted before the agent started");
	}
}

void nodes_report_strangers(struct fleet_run *f, bool last)
{
	size_t wrong = f->strangers.wrong, silent = greeter_closed(f->peers.greeter);
	double now = clock_seconds();

	f->strangers.silent += silent;
	silent = f->strangers.silent;
	if (wrong + silent == 0 ||
	    (!last && f->strangers.said && now - f->strangers.said < REPORT_SECONDS))
		return;
	if (wrong == 1)
		fprintf(stderr,
			"gpuproof: rejected an agent at %s with the node name %s: wrong token\n",
			f->strangers.from, *f->strangers.node ? f->strangers.node : "(invalid)");
	else if (wrong)
		fprintf(stderr,
			"gpuproof: rejected %zu connections with a wrong token, the last from %s\n",
			wrong, f->strangers.from);
	if (silent)
		fprintf(stderr, "gpuproof: rejected %zu connections without a token\n", silent);
	f->strangers.said = now;
	f->strangers.wrong = f->strangers.silent = 0;
}

/* Says so and closes the connection; its name is only a hint for a node that never calls. */
static void nodes_turn_away(struct fleet_run *f, int fd, const char *from, const char *name)
{
	static const struct fleet_message no = { .kind = "refuse", .text = "wrong token" };
	size_t index = *name ? nodes_find(f, name) : NO_NODE;
	char ignored[FLEET_HELLO_MOST];
	struct text line = TEXT_EMPTY;

	if (index != NO_NODE && f->nodes[index].phase == NODE_WAITS)
		nodes_text(&f->nodes[index].refused, no.text);
	f->strangers.wrong++;
	snprintf(f->strangers.from, sizeof(f->strangers.from), "%s", from);
	snprintf(f->strangers.node, sizeof(f->strangers.node), "%s", name);
	/* With unread bytes TCP would reset the connection, and the answer be lost. */
	if (recv(fd, ignored, sizeof(ignored), MSG_DONTWAIT) != 0) {
		wire_message_add(&line, &no);
		send(fd, line.data, line.length, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	text_release(&line);
	close(fd);
}

void nodes_take_calls(struct fleet_run *f)
{
	char from[GREETER_FROM], name[FLEET_NAME_MOST + 1];
	struct fleet_call call;
	int fd;

	while ((fd = peers_call(&f->peers, &call, from)) >= 0) {
		if (wire_message_call_read(&call, f->token, name))
			peers_add(&f->peers, fd, from);
		else
			nodes_turn_away(f, fd, from, name);
	}
	nodes_report_strangers(f, false);
}

static void nodes_peer_refuse(struct fleet_run *f, struct peer *peer, const char *reason)
{
	nodes_send(f, peer, &(struct fleet_message){ .kind = "refuse", .text = reason });
	peer->closing = true;
}

/* Why an agent with a right token is not wanted; NULL: it is. Malloc'ed. */
static char *nodes_agent_refusal_reason(const struct fleet_run *f,
					const struct fleet_message *hello, size_t index)
{
	if (hello->protocol != FLEET_PROTOCOL || strcmp(hello->build, build_version()) != 0)
		return xasprintf("the agent is gpuproof %s (protocol %lld), but the conductor is "
				 "gpuproof %s (protocol %d); install the same version on all nodes",
				 *hello->build ? hello->build : "of an unknown version",
				 (long long)hello->protocol, build_version(), FLEET_PROTOCOL);
	if (f->stopping)
		return xstrdup("the run is stopping");
	if (index != NO_NODE &&
	    (f->nodes[index].phase == NODE_RUNS || f->nodes[index].phase == NODE_READY))
		return xasprintf("node %s already has an agent; start one per node", hello->node);
	if (index != NO_NODE && f->nodes[index].phase == NODE_ENDED &&
	    f->nodes[index].status == NODE_OK)
		return xasprintf("node %s has already finished", hello->node);
	if (index == NO_NODE && f->launcher.name_count)
		return xasprintf("node %s does not belong to the run", hello->node);
	return NULL;
}

static void calls_start_node(struct fleet_run *f, struct peer *peer, size_t index)
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

static void nodes_on_hello(struct fleet_run *f, struct peer *peer,
			   const struct fleet_message *hello)
{
	bool named = wire_message_name_valid(hello->node);
	size_t index = named ? nodes_find(f, hello->node) : NO_NODE;
	char *reason;

	if (strcmp(hello->kind, "hello") != 0 || !named) {
		fprintf(stderr, "gpuproof: rejected an agent at %s: %s\n", peer->from,
			"the first message is not that of an agent");
		nodes_peer_refuse(f, peer, "the first message is not that of an agent");
		return;
	}
	reason = nodes_agent_refusal_reason(f, hello, index);
	if (!reason) {
		calls_start_node(f, peer, index == NO_NODE ? nodes_add(f, hello->node) : index);
		return;
	}
	nodes_peer_refuse(f, peer, reason);
	if (index == NO_NODE && !f->launcher.name_count)
		index = nodes_add(f, hello->node);
	if (index != NO_NODE && f->nodes[index].phase == NODE_WAITS)
		nodes_end(f, index, NODE_ERROR, reason);
	free(reason);
}

static size_t nodes_count_from_message(int64_t number)
{
	return number > 0 ? (size_t)number : 0;
}

static void nodes_on_message(struct fleet_run *f, struct peer *peer, const struct fleet_message *m)
{
	struct node *n;

	if (peer->node == NO_NODE) {
		nodes_on_hello(f, peer, m);
		return;
	}
	n = &f->nodes[peer->node];
	if (strcmp(m->kind, "alive") == 0) {
		n->planned = nodes_count_from_message(m->planned);
		n->finished = nodes_count_from_message(m->finished);
		nodes_text(&n->at, m->text);
	} else if (strcmp(m->kind, "done") == 0) {
		if (strcmp(m->state, "complete") == 0 && f->has_groups && !f->stopping)
			f->nodes[peer->node].phase = NODE_READY;
		else if (strcmp(m->state, "complete") == 0)
			nodes_end(f, peer->node, NODE_OK, "");
		else if (strcmp(m->state, "interrupted") == 0)
			nodes_end(f, peer->node, NODE_INTERRUPTED,
				  f->too_few
					  ? "stopped, because fewer nodes than min_nodes were left"
					  : "interrupted");
		else
			nodes_end(f, peer->node, NODE_ERROR,
				  "the cases of the node did not finish");
	} else if (f->rounds) {
		rounds_group_message(f->rounds, peer->node, m);
	} else if (strcmp(m->kind, "failed") == 0) {
		nodes_end(f, peer->node, NODE_ERROR, m->text);
	}
}

void nodes_lose(struct fleet_run *f, struct peer *peer, const char *reason)
{
	if (peer->node != NO_NODE)
		nodes_end(f, peer->node, NODE_LOST, reason);
	peer->closing = true;
}

/* Text of an agent, for messages and pages: one line, cut. */
static void nodes_tame_words(const char **words)
{
	char *cut = xasprintf("%.*s", REASON_MOST, *words), *line = text_harmless(cut);

	for (char *c = line; *c; c++)
		*c = *c == '\n' || *c == '\t' ? ' ' : *c;
	free((void *)*words);
	*words = line;
	free(cut);
}

void nodes_read(struct fleet_run *f, struct peer *peer)
{
	bool open = peer_receive(peer);
	struct fleet_message message;

	if (!open)
		text_reset(&peer->out);
	if (peer->node == NO_NODE && peer->in.length > FLEET_HELLO_MOST &&
	    !memchr(peer->in.data, '\n', FLEET_HELLO_MOST))
		nodes_lose(f, peer, "the first message of the agent is too long");
	while (!peer->closing && wire_message_next(&peer->in, &message)) {
		if (*message.kind) {
			nodes_tame_words(&message.text);
			nodes_tame_words(&message.build);
			nodes_on_message(f, peer, &message);
		} else {
			nodes_lose(f, peer, "the agent sent an invalid message");
		}
		wire_message_release(&message);
	}
	if (peer->in.length > FLEET_MESSAGE_MOST)
		nodes_lose(f, peer, "the agent sent a message that is too long");
	if (!open && !peer->closing)
		nodes_lose(f, peer, "the agent died, because its connection was closed");
}
