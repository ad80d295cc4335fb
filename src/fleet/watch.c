/*
 * While nodes run: notices those that cannot be heard any more, and requests to stop; says how far
 * all are in DIR/status.json, and gives cases as they end to who follows the run.
 */
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
#include "run/group.h"
#include "run/journal.h"

#define HELLO_SECONDS 10.0 /* in which a connection must have identified itself */

static void fleet_watch_handle_stops(struct fleet_run *f)
{
	int stops = signals_stops();

	if (stops == f->stops_seen)
		return;
	f->stops_seen = stops;
	if (stops == 1) {
		fprintf(stderr, "gpuproof: stopping all nodes after their current sample. Press "
				"Ctrl-C again to stop now.\n");
		nodes_stop(f);
		return;
	}
	for (size_t i = 0; i < f->count; i++)
		if (f->nodes[i].phase != NODE_ENDED)
			nodes_end(f, i, NODE_LOST,
				  "abandoned, because the run was stopped immediately");
}

/* Those that have not called. */
static void fleet_watch_end_joining(struct fleet_run *f, const char *reason)
{
	f->join_over = true;
	for (size_t i = 0; i < f->count; i++) {
		struct node *n = &f->nodes[i];
		char *text =
			n->phase == NODE_WAITS && n->refused
				? xasprintf("%s; an agent with the node name %s was rejected: %s",
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
static void fleet_watch_last_words(const struct fleet_run *f, char *words, size_t size)
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
static void fleet_watch_processes(struct fleet_run *f)
{
	for (size_t i = 0; i < f->launcher.process_count && !f->peers.count; i++) {
		size_t index = f->launcher.kind == LAUNCH_SIMULATED
				       ? nodes_find(f, f->launcher.names[i])
				       : NO_NODE;
		char reason[256];

		if (index == NO_NODE || f->launcher.processes[i] > 0)
			continue;
		snprintf(reason, sizeof(reason), "the agent of the node never connected: %s",
			 f->launcher.ending);
		if (f->nodes[index].phase == NODE_WAITS)
			nodes_end(f, index, NODE_LOST, reason);
	}
}

static void fleet_watch_joining(struct fleet_run *f, bool launching)
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
		fleet_watch_last_words(f, words, sizeof(words));
		snprintf(reason, sizeof(reason),
			 "the agent of the node never connected: the launcher %s%s",
			 *f->launcher.ending ? f->launcher.ending : "has ended", words);
		fleet_watch_end_joining(f, reason);
	} else if (clock_seconds() - f->began > f->join_within) {
		snprintf(reason, sizeof(reason),
			 "the agent of the node has not connected within %g s", f->join_within);
		fleet_watch_end_joining(f, reason);
	}
}

void fleet_watch_nodes(struct fleet_run *f, const struct config *config, bool launching)
{
	const char *text = section_text(config_section(config, "fleet", ""), "min_nodes");
	double now, number = strtod(text, NULL);
	size_t wanted, left;
	char reason[128];

	fleet_watch_handle_stops(f);
	now = clock_seconds();
	snprintf(reason, sizeof(reason), "the agent sent no message for %g s", f->silent_after);
	for (size_t i = 0; i < f->peers.count; i++) {
		struct peer *peer = f->peers.items[i];

		if (peer->closing)
			continue;
		if (peer->node == NO_NODE && now - peer->since > HELLO_SECONDS)
			peer->closing = true;
		else if (peer->node != NO_NODE && now - peer->heard > f->silent_after)
			nodes_lose(f, peer, reason);
	}
	fleet_watch_processes(f);
	fleet_watch_joining(f, launching);
	wanted =
		(size_t)(strchr(text, '%') ? ceil(number / 100 * (double)nodes_wanted(f)) : number);
	left = nodes_left(f);
	/* More may call. */
	if (f->stopping || left >= wanted || (!f->launcher.expected && !f->join_over))
		return;
	f->too_few = true;
	fprintf(stderr,
		"gpuproof: stopping the run, because %zu of %zu nodes are left and min_nodes "
		"requires %zu\n",
		left, nodes_wanted(f), wanted);
	nodes_stop(f);
}

#define JOINING_SECONDS 0.3 /* between two documents while nodes have not called */

void fleet_watch_nodes_status_begin(struct fleet_run *f, const struct result *result)
{
	struct run_status *s = f->options->status;

	if (!s)
		return;
	run_status_begin(s, result);
	gethostname(s->hostname, sizeof(s->hostname) - 1);
	s->launch = s->launches = 1;
}

/* The node that is last, with its case in flight and the seconds that it has left. */
static void fleet_watch_take_last(struct run_status *s, const struct fleet_run *f)
{
	const struct node *last = NULL;
	double passed = clock_seconds() - f->began;

	for (size_t i = 0; i < f->count; i++) {
		const struct node *n = &f->nodes[i];

		if (n->phase == NODE_RUNS && n->finished <= n->planned &&
		    (!last || n->finished * last->planned < last->finished * n->planned))
			last = n;
	}
	/* By the node's own rate so far; unknown until it has finished a case. */
	s->seconds_left = (double)NAN;
	if (last && !s->nodes.waiting && last->finished)
		s->seconds_left =
			passed * (double)(last->planned - last->finished) / (double)last->finished;
	if (last && last->at && *last->at) {
		snprintf(s->current.part, sizeof(s->current.part), "in flight");
		snprintf(s->current.id, sizeof(s->current.id), "%.60s: %.180s", last->name,
			 last->at);
	}
}

void fleet_watch_nodes_status(struct fleet_run *f)
{
	struct run_status *s = f->options->status;
	struct error err = ERROR_NONE;
	double now = clock_seconds();

	if (!s || now < f->status_due)
		return;
	s->seconds = now - f->began;
	s->seconds_left = (double)NAN;
	memset(&s->nodes, 0, sizeof(s->nodes));
	memset(&s->current, 0, sizeof(s->current));
	s->current.seconds = s->current.median = s->current.half_width = (double)NAN;
	s->planned = s->settled = 0;
	s->nodes.planned = nodes_wanted(f);
	for (size_t i = 0; i < f->count; i++) {
		const struct node *n = &f->nodes[i];
		bool whole = n->status == NODE_OK;

		s->nodes.waiting += n->phase == NODE_WAITS;
		s->nodes.running += n->phase == NODE_RUNS;
		s->nodes.done += n->phase == NODE_READY || (n->phase == NODE_ENDED && whole);
		s->nodes.lost += n->phase == NODE_ENDED && !whole;
		s->planned += n->planned;
		s->settled += n->finished;
	}
	/* Those that have not called, of which a launcher says only how many there are. */
	s->nodes.waiting += s->nodes.planned - f->count;
	f->status_due = now + (s->nodes.waiting ? JOINING_SECONDS : STATUS_SECONDS);
	if (f->rounds) {
		rounds_group_count(f->rounds, &s->planned, &s->settled);
		snprintf(s->doing, sizeof(s->doing), "measuring groups of nodes");
	} else {
		fleet_watch_take_last(s, f);
	}
	/* Says once that it cannot be written, which is no reason to lose the run. */
	if (run_status_write(s, f->directory, &err) != STATUS_OK) {
		nodes_log(f,
			  "cannot write the status of the run, so `gpuproof watch` will not be "
			  "updated: %s",
			  err.message);
		f->status_due = (double)INFINITY;
	}
}

#define STREAM_SECONDS 1.0 /* between two looks into the journals */

/* A node that was lost before it knew its devices has none. */
static void fleet_watch_begin_stream(struct fleet_run *f)
{
	struct result *h = &f->stream.header;

	*h = *f->stream.run;
	h->devices = NULL;
	h->device_count = 0;
	for (size_t i = 0; i < f->count; i++) {
		const char *name = f->nodes[i].name;
		struct device_info *some = NULL;
		struct error ignored = ERROR_NONE;
		size_t count = 0;

		if (run_group_devices(f->directory, &name, 1, &some, &count, &ignored) ==
			    STATUS_OK &&
		    count) {
			h->devices =
				xrealloc(h->devices, h->device_count + count, sizeof(*h->devices));
			memcpy(h->devices + h->device_count, some, count * sizeof(*some));
			h->device_count += count;
		}
		free(some);
	}
	f->stream.begun = true;
	f->options->events->began(f->options->events->context, h);
}

/* Cases that the node's journal has got since. */
static void fleet_watch_stream_node(struct fleet_run *f, struct node *n)
{
	char *path = xasprintf("%s/nodes/%s/" JOURNAL_NAME, f->directory, n->name);
	struct result read = { 0 };

	run_group_read(path, &n->streamed, false, &read);
	for (size_t i = 0; i < read.case_count; i++) {
		case_put_on_node(&read.cases[i], n->name);
		f->options->events->settled(f->options->events->context, &read.cases[i]);
		case_result_release(&read.cases[i]);
	}
	free(read.cases);
	free(path);
}

void fleet_watch_nodes_stream(struct fleet_run *f, bool last)
{
	double now = clock_seconds();
	bool known = f->join_over;

	if (!f->options->events || f->options->before || (!last && now < f->stream.due))
		return;
	f->stream.due = now + STREAM_SECONDS;
	/* Nodes are known once all have called; their devices once each has its plan. */
	for (size_t i = 0; i < f->count; i++)
		known = known && f->nodes[i].phase != NODE_WAITS &&
			(f->nodes[i].phase != NODE_RUNS || f->nodes[i].planned);
	if (!f->stream.begun && (last || known))
		fleet_watch_begin_stream(f);
	if (!f->stream.begun)
		return;
	for (size_t i = 0; i < f->count; i++) {
		struct node *n = &f->nodes[i];

		if (last || n->finished != n->finished_streamed)
			fleet_watch_stream_node(f, n);
		n->finished_streamed = n->finished;
	}
	if (f->rounds)
		rounds_each_found(f->rounds, &f->stream.found, f->options->events->settled,
				  f->options->events->context);
}
