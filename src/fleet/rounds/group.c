/*
 * Sends orders to the nodes of a group, reads their answers, and takes its cases from the journal
 * of its leader; cases that the leader did not finish become errors with the reason.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "fleet/rounds/rounds_internal.h"
#include "run/group.h"

/* Starting processes, opening devices and connecting, beyond the limits of the cases. */
#define START_SECONDS 150.0
/* From the report of a missing rank until the group is ended. */
#define REASON_SECONDS 2.0
/* From the order to end until a node is no longer waited for. */
#define END_SECONDS 20.0
/* Groups of the same nodes in a row that finish no case. */
#define IDLE_MOST 2

static void rounds_group_send_order(struct rounds *r, struct group *g, int place, const char *kind,
				    const char *address)
{
	struct fleet_message message = { .kind = kind,
					 .group = g->number,
					 .scope = g->what.kind,
					 .round = g->what.round,
					 .first = (int64_t)g->first,
					 .last = (int64_t)g->last,
					 .asked = g->what.asked,
					 .address = address };
	struct text names = TEXT_EMPTY;

	for (int i = 0; i < g->what.nodes; i++)
		text_addf(&names, "%s%s", i ? "," : "", r->members[g->members[i]].name);
	message.text = names.data;
	r->callbacks.send(r->callbacks.context, r->members[g->members[place]].node, &message);
	text_release(&names);
}

static void rounds_group_begin(struct rounds *r, struct group *g)
{
	g->number = ++r->number;
	g->begun = true;
	g->joined = g->stopping = false;
	error_clear(&g->failure);
	g->lost = NULL;
	for (int i = 0; i < g->what.nodes; i++)
		g->ended[i] = i > 0; /* the others are asked once the leader listens */
	g->limit = clock_seconds() + START_SECONDS + g->plan.cases[g->first].limit_seconds;
	/* Nodes pass over what is skipped, but would repeat a case that is done. */
	for (g->last = g->first; g->last + 1 < g->plan.case_count &&
				 (!g->done[g->last + 1] || g->plan.cases[g->last + 1].skip_reason);
	     g->last++)
		g->limit += g->plan.cases[g->last + 1].limit_seconds;
	rounds_group_send_order(r, g, 0, "lead", NULL);
}

/* Keeps the first failure, but replaces one of a rank that only missed another one. */
static void rounds_group_fail(struct group *g, const struct error *why, const char *lost)
{
	if (why->status == STATUS_OK ||
	    (g->failure.status != STATUS_OK &&
	     (why->status == STATUS_LOST || g->failure.status != STATUS_LOST)))
		return;
	g->failure = *why;
	g->lost = lost;
}

static void rounds_group_stop(struct rounds *r, struct group *g)
{
	if (g->stopping)
		return;
	g->stopping = true;
	g->limit = clock_seconds() + END_SECONDS;
	for (int i = 0; i < g->what.nodes; i++)
		if (!g->ended[i])
			r->callbacks.send(r->callbacks.context, r->members[g->members[i]].node,
					  &(struct fleet_message){ .kind = "end",
								   .group = g->number });
}

static const struct member *rounds_group_lost_member(const struct rounds *r, const struct group *g)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (r->members[g->members[i]].lost)
			return &r->members[g->members[i]];
	return NULL;
}

static int rounds_group_place_of_node(const struct rounds *r, const struct group *g, size_t node)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (r->members[g->members[i]].node == node)
			return i;
	return -1;
}

void rounds_group_message(struct rounds *r, size_t node, const struct fleet_message *m)
{
	struct group *g = NULL;
	int place;

	for (size_t i = 0; i < r->group_count && !g; i++)
		if (r->groups[i].begun && r->groups[i].number == m->group)
			g = &r->groups[i];
	place = g ? rounds_group_place_of_node(r, g, node) : -1;
	if (place < 0)
		return;
	if (strcmp(m->kind, "listens") == 0 && place == 0 && !g->joined && !g->stopping) {
		g->joined = true;
		for (int i = 1; i < g->what.nodes; i++) {
			g->ended[i] = false;
			rounds_group_send_order(r, g, i, "join", m->address);
		}
	} else if (strcmp(m->kind, "ended") == 0) {
		struct error why = { .rank = (int)m->rank };

		if (m->status != STATUS_OK)
			error_set(&why, (enum status)m->status, "%s", m->text);
		g->ended[place] = true;
		rounds_group_fail(g, &why, NULL);
		/* The node where it began may still be about to say so. */
		if (why.status == STATUS_LOST && !g->stopping)
			g->limit = fmin(g->limit, clock_seconds() + REASON_SECONDS);
		else if (why.status != STATUS_OK)
			rounds_group_stop(r, g);
	}
}

void rounds_group_node_lost(struct rounds *r, size_t node, const char *reason)
{
	for (size_t i = 0; i < r->count; i++) {
		struct member *m = &r->members[i];
		struct error why = ERROR_NONE;

		if (m->node != node || m->lost)
			continue;
		m->lost = xasprintf("node %s was lost: %s", m->name, reason);
		error_set(&why, STATUS_IO, "%s", m->lost);
		for (size_t k = 0; k < r->group_count; k++)
			if (r->groups[k].begun &&
			    rounds_group_place_of_node(r, &r->groups[k], node) >= 0) {
				rounds_group_fail(&r->groups[k], &why, m->name);
				rounds_group_stop(r, &r->groups[k]);
			}
	}
}

void rounds_group_stop_all(struct rounds *r)
{
	r->stopped = true;
	for (size_t i = 0; i < r->group_count; i++)
		if (r->groups[i].begun)
			rounds_group_stop(r, &r->groups[i]);
}

static void rounds_group_keep_case(struct group *g, struct case_result *c)
{
	for (size_t i = 0; i < g->plan.case_count; i++)
		if (!g->done[i] && strcmp(g->plan.cases[i].id, c->id) == 0) {
			g->cases[i] = *c;
			g->done[i] = true;
			return;
		}
	case_result_release(c);
}

static void rounds_group_set_unrun(struct group *g, size_t index, const struct group_fault *why)
{
	if (g->done[index])
		case_result_release(&g->cases[index]);
	run_group_unrun(&g->plan, index, why, &g->cases[index]);
	g->done[index] = true;
}

/* The case as it ended with the group. */
static void rounds_group_set_failed(struct group *g, size_t index)
{
	rounds_group_set_unrun(g, index,
			       &(struct group_fault){ .end = case_end_of_status(g->failure.status),
						      .rank = g->failure.rank - 1,
						      .node = g->lost,
						      .reason = g->failure.message });
}

static size_t rounds_group_first_left(const struct group *g)
{
	size_t i = 0;

	while (i < g->plan.case_count && g->done[i])
		i++;
	return i;
}

/*
 * True if the leader recorded a case as an error and knows only that a rank is missing: the case
 * then gets the reason of the node where the error happened.
 */
static bool rounds_group_explain_error(struct group *g)
{
	for (size_t i = g->first; i < g->plan.case_count; i++) {
		if (!g->done[i] || g->cases[i].status != CASE_ERROR)
			continue;
		if (g->failure.status != STATUS_OK && g->failure.status != STATUS_LOST)
			rounds_group_set_failed(g, i);
		return true;
	}
	return false;
}

static void rounds_group_give_up(struct group *g, const struct error *why,
				 const struct member *lost)
{
	char *text = xasprintf("not attempted: %s", lost ? lost->lost : why->message);
	const struct group_fault fault = {
		.end = CASE_END_LOST, .rank = -1, .node = lost ? lost->name : NULL, .reason = text
	};

	for (size_t i = 0; i < g->plan.case_count; i++)
		if (!g->done[i])
			rounds_group_set_unrun(g, i, &fault);
	free(text);
}

/* All of its nodes have ended: takes its cases, and begins again with those that are left. */
static void rounds_group_settle(struct rounds *r, struct group *g)
{
	const struct member *lost = rounds_group_lost_member(r, g);
	const struct error silent = { .status = STATUS_CRASHED,
				      .message = "the ranks of the group exited without a result" },
			   early = { .message = "earlier groups of these nodes failed" };
	size_t left, before = g->first;
	bool told, failed = g->failure.status != STATUS_OK;
	struct member *leader = &r->members[g->members[0]];
	struct result read = { 0 };

	run_group_read(leader->path, &leader->offset, true, &read);
	for (size_t i = 0; i < read.case_count; i++)
		rounds_group_keep_case(g, &read.cases[i]);
	free(read.cases);
	told = rounds_group_explain_error(g);
	left = rounds_group_first_left(g);
	g->begun = false;
	g->idle = left > before ? 0 : g->idle + 1;
	/* The case in flight is lost with the group. */
	if (left <= g->last && !r->stopped && !told && (failed || left == before)) {
		error_copy(&g->failure, &silent);
		rounds_group_set_failed(g, left);
	}
	left = rounds_group_first_left(g);
	if (left == g->plan.case_count || r->stopped)
		return;
	if (lost || g->idle >= IDLE_MOST)
		rounds_group_give_up(g, failed ? &g->failure : &early, lost);
	else
		g->first = left;
}

void rounds_group_count(const struct rounds *r, size_t *planned, size_t *settled)
{
	*planned += r->planned;
	*settled += r->found.case_count;
	for (size_t i = 0; i < r->group_count; i++)
		for (size_t k = 0; k < r->groups[i].plan.case_count; k++)
			*settled += r->groups[i].done[k];
}

/* Cases that cannot be carried out, and those that an earlier conductor has. */
static void rounds_group_take_known(struct rounds *r, struct group *g)
{
	for (size_t i = 0; i < g->plan.case_count; i++)
		if (g->plan.cases[i].skip_reason) {
			rounds_group_set_unrun(g, i,
					       &(struct group_fault){
						       .end = CASE_END_UNSUPPORTED,
						       .rank = -1,
						       .reason = g->plan.cases[i].skip_reason });
		}
	for (size_t i = 0; i < r->earlier.case_count; i++)
		for (size_t k = 0; k < g->plan.case_count && r->earlier.cases[i].id; k++)
			if (!g->done[k] &&
			    strcmp(g->plan.cases[k].id, r->earlier.cases[i].id) == 0) {
				g->cases[k] = r->earlier.cases[i];
				memset(&r->earlier.cases[i], 0, sizeof(r->earlier.cases[i]));
				g->done[k] = true;
				break;
			}
	g->first = rounds_group_first_left(g);
}

void rounds_add_group(struct rounds *r, struct plan_group what, const size_t *members)
{
	struct error err = ERROR_NONE;
	struct device_info *devices = NULL;
	size_t count = 0;
	struct group *g;

	for (int i = 0; i < what.nodes; i++) {
		const struct member *m = &r->members[members[i]];

		devices = xrealloc(devices, count + m->device_count + 1, sizeof(*devices));
		for (size_t d = 0; d < m->device_count; d++) {
			devices[count] = m->devices[d];
			devices[count++].node = i;
		}
	}
	ARRAY_GROW(r->groups, r->group_count, r->group_capacity);
	g = &r->groups[r->group_count++];
	*g = (struct group){ .what = what };
	g->members = xcalloc((size_t)what.nodes, sizeof(*g->members));
	g->ended = xcalloc((size_t)what.nodes, sizeof(*g->ended));
	memcpy(g->members, members, (size_t)what.nodes * sizeof(*members));
	if (plan_build_group(&g->plan, r->config, devices, count, &what, &err) != STATUS_OK)
		rounds_note(r, SEVERITY_WARNING, "cases of several nodes", "cases of several nodes",
			    err.message);
	g->cases = xcalloc(g->plan.case_count + 1, sizeof(*g->cases));
	g->done = xcalloc(g->plan.case_count + 1, sizeof(*g->done));
	r->planned += g->plan.case_count;
	free(devices);
	rounds_group_take_known(r, g);
}

/* True while the group has something to do. */
bool rounds_step_group(struct rounds *r, struct group *g)
{
	double now = clock_seconds();
	struct error why = ERROR_NONE;
	bool all_ended = true;

	for (int i = 0; i < g->what.nodes; i++)
		all_ended = all_ended && (g->ended[i] || r->members[g->members[i]].lost);
	if (g->begun && all_ended) {
		rounds_group_settle(r, g);
	} else if (g->begun && now > g->limit && !g->stopping) {
		error_set(&why, STATUS_LOST, "a group of %d nodes timed out for an unknown reason",
			  g->what.nodes);
		rounds_group_fail(g, &why, NULL);
		rounds_group_stop(r, g);
	} else if (g->begun && now > g->limit) {
		for (int i = 0; i < g->what.nodes; i++)
			g->ended[i] = true;
		rounds_group_settle(r, g);
	}
	if (!g->begun && rounds_group_first_left(g) < g->plan.case_count && !r->stopped) {
		const struct member *lost = rounds_group_lost_member(r, g);

		if (lost)
			rounds_group_give_up(g, NULL, lost);
		else
			rounds_group_begin(r, g);
	}
	return g->begun;
}
