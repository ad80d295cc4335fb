/* Cases of a group: from its leader's journal, or as errors with the reason. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fleet/rounds/parts.h"
#include "run/group.h"

/* Groups of the same nodes in a row that finish no case. */
#define IDLE_MOST 2

static void keep(struct group *g, struct case_result *c)
{
	for (size_t i = 0; i < g->plan.case_count; i++)
		if (!g->done[i] && strcmp(g->plan.cases[i].id, c->id) == 0) {
			g->cases[i] = *c;
			g->done[i] = true;
			return;
		}
	case_result_release(c);
}

static void read_cases(struct rounds *r, struct group *g)
{
	struct member *leader = &r->members[g->members[0]];
	struct result read = { 0 };

	group_read(leader->path, &leader->offset, &read);
	for (size_t i = 0; i < read.case_count; i++)
		keep(g, &read.cases[i]);
	free(read.cases);
}

static void set_error(struct group *g, size_t index, const char *reason)
{
	if (g->done[index])
		case_result_release(&g->cases[index]);
	group_unrun(&g->plan, index, CASE_ERROR, reason, &g->cases[index]);
	g->done[index] = true;
}

size_t rounds_first_left(const struct group *g)
{
	size_t i = 0;

	while (i < g->plan.case_count && g->done[i])
		i++;
	return i;
}

/*
 * True if the leader has settled a case as an error, of which it knows only that a rank was missed:
 * the reason becomes that of the node where it happened.
 */
static bool explain(struct group *g)
{
	for (size_t i = g->first; i < g->plan.case_count; i++) {
		if (!g->done[i] || g->cases[i].status != CASE_ERROR)
			continue;
		if (g->reason && !g->secondary)
			set_error(g, i, g->reason);
		return true;
	}
	return false;
}

void rounds_give_up(struct group *g, const char *reason)
{
	char *text = xasprintf("not attempted: %s", reason);

	for (size_t i = 0; i < g->plan.case_count; i++)
		if (!g->done[i])
			set_error(g, i, text);
	free(text);
}

/* All of its nodes have ended: takes its cases, and begins again with those that are left. */
void rounds_settle(struct rounds *r, struct group *g)
{
	const char *lost = rounds_lost_member(r, g);
	size_t left, before = g->first;
	bool told;

	read_cases(r, g);
	told = explain(g);
	left = rounds_first_left(g);
	g->begun = false;
	g->idle = left > before ? 0 : g->idle + 1;
	/* The case in flight is lost with the group. */
	if (left < g->plan.case_count && !r->stopped && !told && (g->reason || left == before))
		set_error(g, left, g->reason ? g->reason : "its ranks ended without a result");
	left = rounds_first_left(g);
	if (left == g->plan.case_count || r->stopped)
		return;
	if (lost || g->idle >= IDLE_MOST)
		rounds_give_up(g, lost        ? lost
				  : g->reason ? g->reason
					      : "groups of these nodes end early");
	else
		g->first = left;
}

void rounds_count(const struct rounds *r, size_t *planned, size_t *settled)
{
	*planned += r->planned;
	*settled += r->found.case_count;
	for (size_t i = 0; i < r->group_count; i++)
		for (size_t k = 0; k < r->groups[i].plan.case_count; k++)
			*settled += r->groups[i].done[k];
}

/* Cases that cannot be carried out, and those that an earlier conductor has. */
static void take_known(struct rounds *r, struct group *g)
{
	for (size_t i = 0; i < g->plan.case_count; i++)
		if (g->plan.cases[i].skip_reason) {
			group_unrun(&g->plan, i, CASE_SKIPPED, g->plan.cases[i].skip_reason,
				    &g->cases[i]);
			g->done[i] = true;
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
	g->first = rounds_first_left(g);
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
		rounds_note(r, SEVERITY_WARNING, "cases of several nodes", err.message);
	g->cases = xcalloc(g->plan.case_count + 1, sizeof(*g->cases));
	g->done = xcalloc(g->plan.case_count + 1, sizeof(*g->done));
	r->planned += g->plan.case_count;
	free(devices);
	take_known(r, g);
}
