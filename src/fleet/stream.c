/* Cases of a run on several nodes as they end, for who follows the run. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "fleet/nodes.h"
#include "run/group.h"
#include "run/journal.h"

#define STREAM_SECONDS 1.0 /* between two looks into the journals */

/* Nodes are known once all have called; their devices once each has its plan. */
static bool can_begin(const struct fleet *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->nodes[i].phase == NODE_WAITS ||
		    (f->nodes[i].phase == NODE_RUNS && !f->nodes[i].planned))
			return false;
	return f->join_over;
}

/* A node that was lost before it knew its devices has none. */
static void begin(struct fleet *f)
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

		if (group_devices(f->directory, &name, 1, &some, &count, &ignored) == STATUS_OK &&
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
static void read_node(struct fleet *f, struct node *n)
{
	char *path = xasprintf("%s/nodes/%s/" JOURNAL_NAME, f->directory, n->name);
	struct result read = { 0 };

	group_read(path, &n->streamed, &read);
	for (size_t i = 0; i < read.case_count; i++) {
		case_put_on_node(&read.cases[i], n->name);
		f->options->events->settled(f->options->events->context, &read.cases[i]);
		case_result_release(&read.cases[i]);
	}
	free(read.cases);
	free(path);
}

void nodes_stream(struct fleet *f, bool last)
{
	double now = clock_seconds();

	if (!f->options->events || f->options->before || (!last && now < f->stream.due))
		return;
	f->stream.due = now + STREAM_SECONDS;
	if (!f->stream.begun && (last || can_begin(f)))
		begin(f);
	if (!f->stream.begun)
		return;
	for (size_t i = 0; i < f->count; i++) {
		struct node *n = &f->nodes[i];

		if (last || n->finished != n->finished_streamed)
			read_node(f, n);
		n->finished_streamed = n->finished;
	}
	if (f->rounds)
		rounds_each_found(f->rounds, &f->stream.found, f->options->events->settled,
				  f->options->events->context);
}
