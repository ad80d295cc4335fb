#include "fleet/nodes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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
		rounds_lost(f->rounds, index, reason);
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

	fleet_message_add(&line, message);
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
			nodes_end(f, i, NODE_INTERRUPTED, "interrupted before its start");
	}
}
