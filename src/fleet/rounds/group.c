/* Orders to the nodes of a group, and what these say of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "fleet/rounds/parts.h"

/* Starting processes, opening devices and connecting, beyond the limits of the cases. */
#define START_SECONDS 150.0
/* From the report of a missing rank until the group is ended. */
#define REASON_SECONDS 2.0
/* From the order to end until a node is no longer waited for. */
#define END_SECONDS 20.0

static char *names_of(const struct rounds *r, const struct group *g)
{
	struct text names = TEXT_EMPTY;

	for (int i = 0; i < g->what.nodes; i++)
		text_addf(&names, "%s%s", i ? "," : "", r->members[g->members[i]].name);
	return text_detach(&names);
}

static void order(struct rounds *r, struct group *g, int place, const char *kind,
		  const char *address)
{
	char *names = names_of(r, g);
	const struct fleet_message message = { .kind = kind,
					       .group = g->number,
					       .scope = g->what.kind,
					       .round = g->what.round,
					       .first = (int64_t)g->first,
					       .asked = g->what.asked,
					       .point = g->what.point,
					       .address = address,
					       .text = names };

	r->door.send(r->door.context, r->members[g->members[place]].node, &message);
	free(names);
}

static double seconds_of(const struct group *g)
{
	double sum = START_SECONDS;

	for (size_t i = g->first; i < g->plan.case_count; i++)
		sum += g->plan.cases[i].limit_seconds;
	return sum;
}

static void begin(struct rounds *r, struct group *g)
{
	g->number = ++r->number;
	g->begun = true;
	g->joined = g->stopping = g->secondary = false;
	free(g->reason);
	g->reason = NULL;
	for (int i = 0; i < g->what.nodes; i++)
		g->ended[i] = i > 0; /* the others are asked once the leader listens */
	g->limit = clock_seconds() + seconds_of(g);
	order(r, g, 0, "lead", NULL);
}

static void fail(struct group *g, const char *reason, bool secondary)
{
	if (!*reason || (g->reason && (secondary || !g->secondary)))
		return;
	free(g->reason);
	g->reason = xstrdup(reason);
	g->secondary = secondary;
}

static void stop(struct rounds *r, struct group *g)
{
	if (g->stopping)
		return;
	g->stopping = true;
	g->limit = clock_seconds() + END_SECONDS;
	for (int i = 0; i < g->what.nodes; i++)
		if (!g->ended[i])
			r->door.send(r->door.context, r->members[g->members[i]].node,
				     &(struct fleet_message){ .kind = "end", .group = g->number });
}

const char *rounds_lost_member(const struct rounds *r, const struct group *g)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (r->members[g->members[i]].lost)
			return r->members[g->members[i]].lost;
	return NULL;
}

static bool all_ended(const struct rounds *r, const struct group *g)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (!g->ended[i] && !r->members[g->members[i]].lost)
			return false;
	return true;
}

static struct group *find(struct rounds *r, int64_t number)
{
	for (size_t i = 0; i < r->group_count; i++)
		if (r->groups[i].begun && r->groups[i].number == number)
			return &r->groups[i];
	return NULL;
}

static int place_of(const struct rounds *r, const struct group *g, size_t node)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (r->members[g->members[i]].node == node)
			return i;
	return -1;
}

void rounds_message(struct rounds *r, size_t node, const struct fleet_message *m)
{
	struct group *g = find(r, m->group);
	int place = g ? place_of(r, g, node) : -1;

	if (place < 0)
		return;
	if (strcmp(m->kind, "listens") == 0 && place == 0 && !g->joined && !g->stopping) {
		g->joined = true;
		for (int i = 1; i < g->what.nodes; i++) {
			g->ended[i] = false;
			order(r, g, i, "join", m->address);
		}
	} else if (strcmp(m->kind, "ended") == 0) {
		/* A rank that ends because another one has gone says which one it missed. */
		bool secondary = strstr(m->text, " ends: ") != NULL;

		g->ended[place] = true;
		fail(g, m->text, secondary);
		/* The node where it began may still be about to say so. */
		if (secondary && !g->stopping)
			g->limit = fmin(g->limit, clock_seconds() + REASON_SECONDS);
		else if (*m->text)
			stop(r, g);
	}
}

void rounds_lost(struct rounds *r, size_t node, const char *reason)
{
	for (size_t i = 0; i < r->count; i++) {
		struct member *m = &r->members[i];

		if (m->node != node || m->lost)
			continue;
		m->lost = xasprintf("node %s was lost: %s", m->name, reason);
		for (size_t k = 0; k < r->group_count; k++)
			if (r->groups[k].begun && place_of(r, &r->groups[k], node) >= 0) {
				fail(&r->groups[k], m->lost, false);
				stop(r, &r->groups[k]);
			}
	}
}

void rounds_stop(struct rounds *r)
{
	r->stopped = true;
	for (size_t i = 0; i < r->group_count; i++)
		if (r->groups[i].begun)
			stop(r, &r->groups[i]);
}

/* True while the group has something to do. */
bool rounds_step_group(struct rounds *r, struct group *g)
{
	double now = clock_seconds();
	char reason[96];

	if (g->begun && all_ended(r, g)) {
		rounds_settle(r, g);
	} else if (g->begun && now > g->limit && !g->stopping) {
		snprintf(reason, sizeof(reason),
			 "a group of %d nodes did not end in time; cause unknown", g->what.nodes);
		fail(g, reason, true);
		stop(r, g);
	} else if (g->begun && now > g->limit) {
		for (int i = 0; i < g->what.nodes; i++)
			g->ended[i] = true;
		rounds_settle(r, g);
	}
	if (!g->begun && rounds_first_left(g) < g->plan.case_count && !r->stopped) {
		const char *lost = rounds_lost_member(r, g);

		if (lost)
			rounds_give_up(g, lost);
		else
			begin(r, g);
	}
	return g->begun;
}
