/* Notices nodes that cannot be heard any more, and requests to stop. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/nodes.h"
#include "measure/processes/signals.h"

#define HELLO_SECONDS 10.0 /* in which a connection must have identified itself */

static void heed_stops(struct fleet *f)
{
	int stops = signals_stops();

	if (stops == f->stops_seen)
		return;
	f->stops_seen = stops;
	if (stops == 1) {
		fprintf(stderr, "gpuproof: stopping all nodes after their sample in flight; once "
				"more to stop at once\n");
		nodes_stop(f);
		return;
	}
	for (size_t i = 0; i < f->count; i++)
		if (f->nodes[i].phase != NODE_ENDED)
			nodes_end(f, i, NODE_LOST, "given up: the run was stopped at once");
}

/* Those that have not called. */
static void end_joining(struct fleet *f, const char *reason)
{
	f->join_over = true;
	for (size_t i = 0; i < f->count; i++) {
		struct node *n = &f->nodes[i];
		char *text =
			n->phase == NODE_WAITS && n->refused
				? xasprintf("%s; an agent that called itself %s was refused: %s",
					    reason, n->name, n->refused)
				: xstrdup(reason);

		if (n->phase == NODE_WAITS)
			nodes_end(f, i, NODE_LOST, text);
		free(text);
	}
	for (size_t known = f->count, i = known; i < f->launcher.expected && !f->stopping; i++) {
		char *name = xasprintf("unknown-%zu", i - known + 1);

		nodes_end(f, nodes_add(f, name), NODE_LOST, reason);
		free(name);
	}
}

/* ": <last line of agents.log>", by which a launcher tells what it lacks; "" without one. */
static void last_words(const struct fleet *f, char *words, size_t size)
{
	char *path = xasprintf("%s/agents.log", f->directory), end[512], *line;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t length = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = 0;

	if (length > f->log_began)
		n = pread(fd, end, sizeof(end) - 1,
			  length > (off_t)sizeof(end) - 1 ? length - (off_t)sizeof(end) + 1 : 0);
	while (n > 0 && end[n - 1] == '\n')
		n--;
	end[n > 0 ? n : 0] = '\0';
	line = strrchr(end, '\n');
	text_mend(end);
	snprintf(words, size, "%s%.200s", *end ? ": " : "", line ? line + 1 : end);
	if (fd >= 0)
		close(fd);
	free(path);
}

/* Agents of this machine that ended before they called. */
static void watch_processes(struct fleet *f)
{
	for (size_t i = 0; i < f->launcher.process_count && !f->peers.count; i++) {
		size_t index = f->launcher.kind == LAUNCH_SIMULATED
				       ? nodes_find(f, f->launcher.names[i])
				       : NO_NODE;
		char reason[256];

		if (index == NO_NODE || f->launcher.processes[i] > 0)
			continue;
		snprintf(reason, sizeof(reason), "its agent never called: %s", f->launcher.ending);
		if (f->nodes[index].phase == NODE_WAITS)
			nodes_end(f, index, NODE_LOST, reason);
	}
}

static void watch_joining(struct fleet *f, bool launching)
{
	char reason[512], words[256];
	bool waits = f->launcher.expected > f->count || !f->launcher.expected;

	for (size_t i = 0; i < f->count; i++)
		waits = waits || f->nodes[i].phase == NODE_WAITS;
	if (f->join_over)
		return;
	if (!waits || f->stopping) {
		f->join_over = true;
	} else if (!launching && !f->peers.count) {
		last_words(f, words, sizeof(words));
		snprintf(reason, sizeof(reason), "its agent never called: what starts it %s%s",
			 *f->launcher.ending ? f->launcher.ending : "has ended", words);
		end_joining(f, reason);
	} else if (clock_seconds() - f->began > f->join_within) {
		snprintf(reason, sizeof(reason), "its agent has not called within %g s",
			 f->join_within);
		end_joining(f, reason);
	}
}

static void watch_silence(struct fleet *f)
{
	double now = clock_seconds();
	char reason[128];

	snprintf(reason, sizeof(reason), "it has said nothing for %g s", f->silent_after);
	for (size_t i = 0; i < f->peers.count; i++) {
		struct peer *peer = f->peers.items[i];

		if (peer->closing)
			continue;
		if (peer->node == NO_NODE && now - peer->since > HELLO_SECONDS)
			peer->closing = true;
		else if (peer->node != NO_NODE && now - peer->heard > f->silent_after)
			nodes_lose(f, peer, reason);
	}
}

static size_t min_nodes(const struct config *config, size_t all)
{
	const char *text = section_text(config_section(config, "fleet", ""), "min_nodes");
	double number = strtod(text, NULL);

	return strchr(text, '%') ? (size_t)ceil(number / 100 * (double)all) : (size_t)number;
}

static void watch_min_nodes(struct fleet *f, const struct config *config)
{
	size_t wanted = min_nodes(config, nodes_wanted(f)), left = nodes_left(f);

	/* More may call. */
	if (f->stopping || left >= wanted || (!f->launcher.expected && !f->join_over))
		return;
	f->too_few = true;
	fprintf(stderr, "gpuproof: %zu of %zu nodes are left, min_nodes asks for %zu: stopping\n",
		left, nodes_wanted(f), wanted);
	nodes_stop(f);
}

void nodes_watch(struct fleet *f, const struct config *config, bool launching)
{
	heed_stops(f);
	watch_silence(f);
	watch_processes(f);
	watch_joining(f, launching);
	watch_min_nodes(f, config);
}
