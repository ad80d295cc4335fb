/* Cases of a group: from its leader's journal, or as errors with the reason. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fleet/rounds/rounds_internal.h"
#include "run/group.h"

/* Groups of the same nodes in a row that finish no case. */
#define IDLE_MOST 2

static void group_keep_case(struct group *g, struct case_result *c)
{
	for (size_t i = 0; i < g->plan.case_count; i++)
		if (!g->done[i] && strcmp(g->plan.cases[i].id, c->id) == 0) {
			g->cases[i] = *c;
			g->done[i] = true;
			return;
		}
	case_result_release(c);
}

static void set_unrun(struct group *g, size_t index, const struct group_fault *why)
{
	if (g->done[index])
		case_result_release(&g->cases[index]);
	group_unrun(&g->plan, index, why, &g->cases[index]);
	g->done[index] = true;
}

/* The case as it ended with the group. */
static void set_failed(struct group *g, size_t index)
{
	set_unrun(g, index,
		  &(struct group_fault){ .end = case_end_of_status(g->failure.status),
					 .rank = g->failure.rank - 1,
					 .node = g->lost,
					 .reason = g->failure.message });
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
static bool group_explain_error(struct group *g)
{
	for (size_t i = g->first; i < g->plan.case_count; i++) {
		if (!g->done[i] || g->cases[i].status != CASE_ERROR)
			continue;
		if (g->failure.status != STATUS_OK && g->failure.status != STATUS_LOST)
			set_failed(g, i);
		return true;
	}
	return false;
}

void rounds_give_up(struct group *g, const struct error *why, const struct member *lost)
{
	char *text = xasprintf("not attempted: %s", lost ? lost->lost : why->message);
	const struct group_fault fault = {
		.end = CASE_END_LOST, .rank = -1, .node = lost ? lost->name : NULL, .reason = text
	};

	for (size_t i = 0; i < g->plan.case_count; i++)
		if (!g->done[i])
			set_unrun(g, i, &fault);
	free(text);
}

/* All of its nodes have ended: takes its cases, and begins again with those that are left. */
void rounds_settle(struct rounds *r, struct group *g)
{
	const struct member *lost = rounds_lost_member(r, g);
	const struct error silent = { .status = STATUS_CRASHED,
				      .message = "its ranks exited without a result" },
			   early = { .message = "groups of these nodes end early" };
	size_t left, before = g->first;
	bool told, failed = g->failure.status != STATUS_OK;
	struct member *leader = &r->members[g->members[0]];
	struct result read = { 0 };

	group_read(leader->path, &leader->offset, true, &read);
	for (size_t i = 0; i < read.case_count; i++)
		group_keep_case(g, &read.cases[i]);
	free(read.cases);
	told = group_explain_error(g);
	left = rounds_first_left(g);
	g->begun = false;
	g->idle = left > before ? 0 : g->idle + 1;
	/* The case in flight is lost with the group. */
	if (left <= g->last && !r->stopped && !told && (failed || left == before)) {
		error_copy(&g->failure, &silent);
		set_failed(g, left);
	}
	left = rounds_first_left(g);
	if (left == g->plan.case_count || r->stopped)
		return;
	if (lost || g->idle >= IDLE_MOST)
		rounds_give_up(g, failed ? &g->failure : &early, lost);
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
static void group_take_known(struct rounds *r, struct group *g)
{
	for (size_t i = 0; i < g->plan.case_count; i++)
		if (g->plan.cases[i].skip_reason) {
			set_unrun(g, i,
				  &(struct group_fault){ .end = CASE_END_UNSUPPORTED,
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
		rounds_note(r, SEVERITY_WARNING, "cases of several nodes", "cases of several nodes",
			    err.message);
	g->cases = xcalloc(g->plan.case_count + 1, sizeof(*g->cases));
	g->done = xcalloc(g->plan.case_count + 1, sizeof(*g->done));
	r->planned += g->plan.case_count;
	free(devices);
	group_take_known(r, g);
}
