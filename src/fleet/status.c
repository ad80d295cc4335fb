/* How far all nodes are, in DIR/status.json. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/nodes.h"

#define JOINING_SECONDS 0.3 /* between two documents while nodes have not called */

void nodes_status_begin(struct fleet *f, const struct result *result)
{
	struct run_status *s = f->options->status;

	if (!s)
		return;
	run_status_begin(s, result);
	gethostname(s->hostname, sizeof(s->hostname) - 1);
	s->launch = s->launches = 1;
}

static void count_node(struct run_status *s, const struct node *n)
{
	bool whole = n->status == NODE_OK;

	s->nodes.waiting += n->phase == NODE_WAITS;
	s->nodes.running += n->phase == NODE_RUNS;
	s->nodes.done += n->phase == NODE_READY || (n->phase == NODE_ENDED && whole);
	s->nodes.lost += n->phase == NODE_ENDED && !whole;
	s->planned += n->planned;
	s->settled += n->finished;
}

/* Estimates it by the node's own rate so far; NaN: it has not finished a case. */
static double seconds_left(const struct fleet *f, const struct node *n)
{
	double passed = clock_seconds() - f->began;

	return n->finished ? passed * (double)(n->planned - n->finished) / (double)n->finished
			   : (double)NAN;
}

/* The node that is last, with its case in flight and the seconds that it has left. */
static void take_last(struct run_status *s, const struct fleet *f)
{
	const struct node *last = NULL;

	for (size_t i = 0; i < f->count; i++) {
		const struct node *n = &f->nodes[i];

		if (n->phase == NODE_RUNS && n->finished <= n->planned &&
		    (!last || n->finished * last->planned < last->finished * n->planned))
			last = n;
	}
	s->seconds_left = last && !s->nodes.waiting ? seconds_left(f, last) : (double)NAN;
	if (last && last->at && *last->at) {
		snprintf(s->current.part, sizeof(s->current.part), "in flight");
		snprintf(s->current.id, sizeof(s->current.id), "%.60s: %.180s", last->name,
			 last->at);
	}
}

void nodes_status(struct fleet *f)
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
	for (size_t i = 0; i < f->count; i++)
		count_node(s, &f->nodes[i]);
	/* Those that have not called, of which a launcher says only how many there are. */
	s->nodes.waiting += s->nodes.planned - f->count;
	f->status_due = now + (s->nodes.waiting ? JOINING_SECONDS : STATUS_SECONDS);
	if (f->rounds) {
		rounds_count(f->rounds, &s->planned, &s->settled);
		snprintf(s->doing, sizeof(s->doing), "measuring groups of nodes");
	} else {
		take_last(s, f);
	}
	/* Says once that it cannot be written, which is no reason to lose the run. */
	if (run_status_write(s, f->directory, &err) != STATUS_OK) {
		nodes_say(f, "%s: `gpuproof watch` will show nothing new", err.message);
		f->status_due = (double)INFINITY;
	}
}
