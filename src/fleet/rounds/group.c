/* Orders to the nodes of a group, and what these say of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "fleet/rounds/rounds_internal.h"

/* Starting processes, opening devices and connecting, beyond the limits of the cases. */
#define START_SECONDS 150.0
/* From the report of a missing rank until the group is ended. */
#define REASON_SECONDS 2.0
/* From the order to end until a node is no longer waited for. */
#define END_SECONDS 20.0

static void group_send_order(struct rounds *r, struct group *g, int place, const char *kind,
			     const char *address)
{
	struct fleet_message message = { .kind = kind,
					 .group = g->number,
					 .scope = g->what.kind,
					 .round = g->what.round,
					 .first = (int64_t)g->first,
					 .last = (int64_t)g->last,
					 .asked = g->what.asked,
					 .point = g->what.point,
					 .address = address };
	struct text names = TEXT_EMPTY;

	for (int i = 0; i < g->what.nodes; i++)
		text_addf(&names, "%s%s", i ? "," : "", r->members[g->members[i]].name);
	message.text = names.data;
	r->callbacks.send(r->callbacks.context, r->members[g->members[place]].node, &message);
	text_release(&names);
}

/* Nodes pass over what is skipped, but would repeat a case that is done. */
static bool group_is_open(const struct group *g, size_t index)
{
	return index < g->plan.case_count && (!g->done[index] || g->plan.cases[index].skip_reason);
}

static void group_begin(struct rounds *r, struct group *g)
{
	g->number = ++r->number;
	g->begun = true;
	g->joined = g->stopping = false;
	error_clear(&g->failure);
	g->lost = NULL;
	for (int i = 0; i < g->what.nodes; i++)
		g->ended[i] = i > 0; /* the others are asked once the leader listens */
	g->limit = clock_seconds() + START_SECONDS + g->plan.cases[g->first].limit_seconds;
	for (g->last = g->first; group_is_open(g, g->last + 1); g->last++)
		g->limit += g->plan.cases[g->last + 1].limit_seconds;
	group_send_order(r, g, 0, "lead", NULL);
}

/* Keeps the first failure, but replaces one of a rank that only missed another one. */
static void group_fail(struct group *g, const struct error *why, const char *lost)
{
	if (why->status == STATUS_OK ||
	    (g->failure.status != STATUS_OK &&
	     (why->status == STATUS_LOST || g->failure.status != STATUS_LOST)))
		return;
	g->failure = *why;
	g->lost = lost;
}

static void group_stop(struct rounds *r, struct group *g)
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

const struct member *rounds_lost_member(const struct rounds *r, const struct group *g)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (r->members[g->members[i]].lost)
			return &r->members[g->members[i]];
	return NULL;
}

static bool group_all_ended(const struct rounds *r, const struct group *g)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (!g->ended[i] && !r->members[g->members[i]].lost)
			return false;
	return true;
}

static struct group *group_by_number(struct rounds *r, int64_t number)
{
	for (size_t i = 0; i < r->group_count; i++)
		if (r->groups[i].begun && r->groups[i].number == number)
			return &r->groups[i];
	return NULL;
}

static int group_place_of_node(const struct rounds *r, const struct group *g, size_t node)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (r->members[g->members[i]].node == node)
			return i;
	return -1;
}

void rounds_message(struct rounds *r, size_t node, const struct fleet_message *m)
{
	struct group *g = group_by_number(r, m->group);
	int place = g ? group_place_of_node(r, g, node) : -1;

	if (place < 0)
		return;
	if (strcmp(m->kind, "listens") == 0 && place == 0 && !g->joined && !g->stopping) {
		g->joined = true;
		for (int i = 1; i < g->what.nodes; i++) {
			g->ended[i] = false;
			group_send_order(r, g, i, "join", m->address);
		}
	} else if (strcmp(m->kind, "ended") == 0) {
		struct error why = { .rank = (int)m->rank };

		if (m->status != STATUS_OK)
			error_set(&why, (enum status)m->status, "%s", m->text);
		g->ended[place] = true;
		group_fail(g, &why, NULL);
		/* The node where it began may still be about to say so. */
		if (why.status == STATUS_LOST && !g->stopping)
			g->limit = fmin(g->limit, clock_seconds() + REASON_SECONDS);
		else if (why.status != STATUS_OK)
			group_stop(r, g);
	}
}

void rounds_lost(struct rounds *r, size_t node, const char *reason)
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
			    group_place_of_node(r, &r->groups[k], node) >= 0) {
				group_fail(&r->groups[k], &why, m->name);
				group_stop(r, &r->groups[k]);
			}
	}
}

void rounds_stop(struct rounds *r)
{
	r->stopped = true;
	for (size_t i = 0; i < r->group_count; i++)
		if (r->groups[i].begun)
			group_stop(r, &r->groups[i]);
}

/* True while the group has something to do. */
bool rounds_step_group(struct rounds *r, struct group *g)
{
	double now = clock_seconds();
	struct error why = ERROR_NONE;

	if (g->begun && group_all_ended(r, g)) {
		rounds_settle(r, g);
	} else if (g->begun && now > g->limit && !g->stopping) {
		error_set(&why, STATUS_LOST, "a group of %d nodes timed out; unknown cause",
			  g->what.nodes);
		group_fail(g, &why, NULL);
		group_stop(r, g);
	} else if (g->begun && now > g->limit) {
		for (int i = 0; i < g->what.nodes; i++)
			g->ended[i] = true;
		rounds_settle(r, g);
	}
	if (!g->begun && rounds_first_left(g) < g->plan.case_count && !r->stopped) {
		const struct member *lost = rounds_lost_member(r, g);

		if (lost)
			rounds_give_up(g, NULL, lost);
		else
			group_begin(r, g);
	}
	return g->begun;
}
