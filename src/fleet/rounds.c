#include "fleet/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "fleet/bisection.h"
#include "fleet/pairing.h"
#include "fleet/scale_fault.h"
#include "plan/plan.h"
#include "run/group.h"

/* Starting processes, opening devices and connecting, beyond the limits of the cases. */
#define START_SECONDS 150.0
/* From the report of a missing rank until the group is ended. */
#define REASON_SECONDS 2.0
/* From the order to end until a node is no longer waited for. */
#define END_SECONDS 20.0
/* Groups of the same nodes in a row that finish no case. */
#define IDLE_MOST 2

struct member {
	char *name;
	size_t node; /* the caller's number */
	char *lost;  /* why; NULL: it is there */
	struct device_info *devices;
	size_t device_count;
	char *path;    /* of groups.jsonl */
	size_t offset; /* read so far */
};

struct group {
	int64_t number;
	struct plan_group what;
	size_t *members;
	bool *ended; /* by member */
	struct plan plan;
	struct case_result *cases; /* by index in the plan */
	bool *done;
	size_t first;
	int idle;
	bool begun, joined, stopping;
	double limit;   /* when it is stopped, or given up once it is stopping */
	char *reason;   /* of what failed first; NULL */
	bool secondary; /* the reason is that another rank was missed */
};

enum stage { STAGE_SIZES, STAGE_BISECTION, STAGE_PAIRS, STAGE_CONFIRM, STAGE_OVER };

struct rounds {
	const struct config *config;
	const char *directory;
	struct rounds_door door;
	struct member *members;
	size_t count;
	struct group *groups;
	size_t group_count, group_capacity;
	int64_t number;
	enum stage stage;
	size_t step;              /* of the stage */
	size_t last_size;         /* nodes of the latest round of sizes */
	struct scale_fault fault; /* the stage bisection looks into it; point NULL: none */
	struct bisection bisection;
	struct pairing pairing;
	struct result found, earlier; /* cases only */
	size_t planned;
	struct finding *notes;
	size_t note_count, note_capacity;
	bool stopped;
};

static bool is_of(const struct section *section, enum suite_groups kind)
{
	return section->suite && section->suite->groups == kind;
}

static void note(struct rounds *r, enum severity severity, const char *subject, const char *text)
{
	struct finding *f;

	ARRAY_GROW(r->notes, r->note_count, r->note_capacity);
	f = &r->notes[r->note_count++];
	*f = (struct finding){ .severity = severity };
	snprintf(f->subject, sizeof(f->subject), "%s", subject);
	snprintf(f->text, sizeof(f->text), "%s", text);
}

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

static size_t first_left(const struct group *g)
{
	size_t i = 0;

	while (i < g->plan.case_count && g->done[i])
		i++;
	return i;
}

static const char *lost_member(const struct rounds *r, const struct group *g)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (r->members[g->members[i]].lost)
			return r->members[g->members[i]].lost;
	return NULL;
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

static void give_up(struct group *g, const char *reason)
{
	char *text = xasprintf("not attempted: %s", reason);

	for (size_t i = 0; i < g->plan.case_count; i++)
		if (!g->done[i])
			set_error(g, i, text);
	free(text);
}

/* All of its nodes have ended: takes its cases, and begins again with those that are left. */
static void settle(struct rounds *r, struct group *g)
{
	const char *lost = lost_member(r, g);
	size_t left, before = g->first;
	bool told;

	read_cases(r, g);
	told = explain(g);
	left = first_left(g);
	g->begun = false;
	g->idle = left > before ? 0 : g->idle + 1;
	/* The case in flight is lost with the group. */
	if (left < g->plan.case_count && !r->stopped && !told && (g->reason || left == before))
		set_error(g, left, g->reason ? g->reason : "its ranks ended without a result");
	left = first_left(g);
	if (left == g->plan.case_count || r->stopped)
		return;
	if (lost || g->idle >= IDLE_MOST)
		give_up(g, lost ? lost : g->reason ? g->reason : "groups of these nodes end early");
	else
		g->first = left;
}

static bool all_ended(const struct rounds *r, const struct group *g)
{
	for (int i = 0; i < g->what.nodes; i++)
		if (!g->ended[i] && !r->members[g->members[i]].lost)
			return false;
	return true;
}

void rounds_count(const struct rounds *r, size_t *planned, size_t *settled)
{
	*planned += r->planned;
	*settled += r->found.case_count;
	for (size_t i = 0; i < r->group_count; i++)
		for (size_t k = 0; k < r->groups[i].plan.case_count; k++)
			*settled += r->groups[i].done[k];
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
	g->first = first_left(g);
}

static void add_group(struct rounds *r, struct plan_group what, const size_t *members)
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
		note(r, SEVERITY_WARNING, "cases of several nodes", err.message);
	g->cases = xcalloc(g->plan.case_count + 1, sizeof(*g->cases));
	g->done = xcalloc(g->plan.case_count + 1, sizeof(*g->done));
	r->planned += g->plan.case_count;
	free(devices);
	take_known(r, g);
}

/* Moves the cases of the round's groups to what was found. */
static void end_round(struct rounds *r)
{
	for (size_t i = 0; i < r->group_count; i++) {
		struct group *g = &r->groups[i];

		for (size_t k = 0; k < g->plan.case_count; k++)
			if (g->done[k])
				*result_add_case(&r->found) = g->cases[k];
		plan_release(&g->plan);
		free(g->cases);
		free(g->done);
		free(g->members);
		free(g->ended);
		free(g->reason);
	}
	r->group_count = 0;
}

static size_t list_members(const struct rounds *r, size_t *out)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		if (!r->members[i].lost)
			out[count++] = i;
	return count;
}

/* The `step`th distinct number of nodes that suites ask for, 0 for all; -1: there is none. */
static int64_t asked_size(const struct rounds *r, size_t step)
{
	int64_t seen[256];
	size_t count = 0;

	for (size_t i = 0; i < r->config->count; i++) {
		const struct section *s = &r->config->sections[i];
		const struct setting *nodes =
			is_of(s, SUITE_OF_NODES) ? section_setting(s, "nodes") : NULL;

		for (size_t v = 0; nodes && v < nodes->count && count < ARRAY_SIZE(seen); v++) {
			bool known = nodes->values[v].integer == 1;

			for (size_t k = 0; k < count; k++)
				known = known || seen[k] == nodes->values[v].integer;
			if (!known)
				seen[count++] = nodes->values[v].integer;
		}
	}
	return step < count ? seen[step] : -1;
}

/*
 * Groups of `size` tile the nodes; where some are left over, the last group is of the last ones,
 * with some that are in another group already, in a round of its own. A round of all in which nodes
 * were lost is made again without them. True: there may be more.
 */
static bool make_sizes(struct rounds *r)
{
	size_t *all = xcalloc(r->count + 1, sizeof(*all)), count = list_members(r, all);
	int64_t asked = asked_size(r, r->step / 2);
	size_t size = asked == 0 ? count : (size_t)asked;
	bool rest = r->step++ % 2 == 1;
	char subject[64], text[160];

	if (size >= 2 && size <= count) {
		const struct plan_group what = { .nodes = (int)size,
						 .asked = (int)asked,
						 .kind = SUITE_OF_NODES };

		if (!rest)
			for (size_t i = 0; i + size <= count; i += size)
				add_group(r, what, all + i);
		else if (asked ? count % size > 0 : count < r->last_size)
			add_group(r, what, all + count - size);
		r->last_size = size;
	} else if (asked >= 0 && !rest) {
		snprintf(subject, sizeof(subject), "nodes = %s%.0lld", asked ? "" : "all",
			 (long long)asked);
		snprintf(text, sizeof(text),
			 "not measured: the run has %zu node%s that %s left for it", count,
			 count == 1 ? "" : "s", count == 1 ? "is" : "are");
		note(r, SEVERITY_WARNING, subject, text);
	}
	free(all);
	return asked >= 0;
}

static size_t member_named(const struct rounds *r, const char *name)
{
	size_t i = 0;

	while (i < r->count && strcmp(r->members[i].name, name) != 0)
		i++;
	return i;
}

/* False: there is nothing to look into, or one of its nodes has gone. */
static bool open_bisection(struct rounds *r)
{
	double margin = section_real(config_section(r->config, "fleet", ""), "bisect");
	size_t *nodes;
	bool all = true;

	if (margin == 0 || !scale_fault_find(&r->found, r->config, margin, &r->fault))
		return false;
	nodes = xcalloc(r->fault.node_count, sizeof(*nodes));
	for (size_t i = 0; i < r->fault.node_count; i++) {
		nodes[i] = member_named(r, r->fault.nodes[i]);
		all = all && nodes[i] < r->count && !r->members[nodes[i]].lost;
	}
	if (all)
		bisection_open(&r->bisection, nodes, r->fault.node_count);
	else
		scale_fault_release(&r->fault);
	free(nodes);
	return all;
}

/* The case of the latest round in the group that begins with this member. */
static const struct case_result *bisection_case(const struct rounds *r, size_t member)
{
	const char *name = r->members[member].name;

	for (size_t i = r->found.case_count; i-- > 0;) {
		const struct case_result *c = &r->found.cases[i];
		const struct case_parameter *round = case_parameter(c, "bisection");

		if (round && strtoul(round->text, NULL, 10) == r->step && c->device_count &&
		    strncmp(c->devices[0], name, strlen(name)) == 0 &&
		    c->devices[0][strlen(name)] == '/')
			return c;
	}
	return NULL;
}

/* False: a group gave no answer. */
static bool take_answers(struct rounds *r)
{
	for (size_t i = 0; i < r->bisection.try_count; i++) {
		struct bisection_try *t = &r->bisection.tries[i];
		enum scale_answer answer =
			scale_fault_ask(&r->fault, bisection_case(r, t->nodes[0]));

		if (answer == SCALE_UNKNOWN)
			return false;
		t->shows = answer == SCALE_SHOWS;
	}
	return true;
}

/* "hangs over 16 nodes", "reaches 1.2 GB/s over 16 nodes, 11 GB/s over fewer" */
static char *fault_text(const struct scale_fault *f)
{
	char value[32], usual[32];

	if (!f->metric)
		return xasprintf("%s hangs over %zu nodes", f->point, f->node_count);
	return xasprintf("%s: %s over %zu nodes, %s over fewer", f->point,
			 units_si(f->value, f->unit, value, sizeof(value)), f->node_count,
			 units_si(f->usual, f->unit, usual, sizeof(usual)));
}

/* Names the fewest nodes that showed it. */
static void accuse_bisected(struct rounds *r)
{
	const struct bisection *b = &r->bisection;
	struct text names = TEXT_EMPTY;
	char *fault = fault_text(&r->fault), *text, *subject;

	for (size_t i = 0; i < b->left_count; i++)
		text_addf(&names, "%s%s", i ? i + 1 < b->left_count ? ", " : " and " : "",
			  r->members[b->left[i]].name);
	text = xasprintf("%s; so does %s, found in %u round%s of smaller groups", fault,
			 b->singly && b->left_count == 1
				 ? "every group with this node that was tried"
			 : b->singly          ? "each of these nodes with another one"
			 : b->left_count == 2 ? "this pair, and neither node with others"
			 : b->left_count < r->fault.node_count
				 ? "this group, and none of its halves"
				 : "no smaller group: it takes all of them",
			 b->rounds, b->rounds == 1 ? "" : "s");
	if (b->singly && b->left_count > 1) {
		for (size_t i = 0; i < b->left_count; i++) {
			subject = xasprintf("node %s", r->members[b->left[i]].name);
			note(r, SEVERITY_ERROR, subject, text);
			free(subject);
		}
	} else {
		subject = xasprintf(b->left_count == 1   ? "node %s"
				    : b->left_count == 2 ? "link of %s"
							 : "nodes %s",
				    names.data);
		note(r, SEVERITY_ERROR, subject, text);
		free(subject);
	}
	text_release(&names);
	free(fault);
	free(text);
}

static void close_bisection(struct rounds *r)
{
	if (r->fault.point)
		bisection_close(&r->bisection);
	scale_fault_release(&r->fault);
}

/* Groups of the fault's nodes, until the fewest that show it are known. */
static bool make_bisection(struct rounds *r)
{
	size_t tries;

	if (r->step == 0 && !open_bisection(r))
		return false;
	if (!take_answers(r)) {
		note(r, SEVERITY_WARNING, "nodes at fault",
		     "not found: a group of the bisection gave no answer");
		close_bisection(r);
		return false;
	}
	tries = bisection_next(&r->bisection);
	r->step++;
	for (size_t i = 0; i < tries; i++) {
		const struct bisection_try *t = &r->bisection.tries[i];
		const struct plan_group what = { .nodes = (int)t->count,
						 .asked = r->fault.asked,
						 .kind = SUITE_OF_NODES,
						 .round = (int)r->step,
						 .point = r->fault.point };

		add_group(r, what, t->nodes);
	}
	if (tries)
		return true;
	accuse_bisected(r);
	close_bisection(r);
	return false;
}

static int64_t pair_setting(const struct rounds *r, const char *key)
{
	int64_t most = -1;

	for (size_t i = 0; i < r->config->count; i++)
		if (is_of(&r->config->sections[i], SUITE_OF_PAIRS)) {
			int64_t value = section_integer(&r->config->sections[i], key);

			most = value > most || value == 0 ? value : most;
			if (value == 0 && strcmp(key, "rounds") == 0)
				return 0;
		}
	return most;
}

static void add_pairs(struct rounds *r, const size_t (*pairs)[2], size_t count, int round)
{
	const struct plan_group what = { .nodes = 2, .kind = SUITE_OF_PAIRS, .round = round };

	for (size_t i = 0; i < count; i++)
		add_group(r, what, pairs[i]);
}

/* Random pairs, or in turn every pair once (rounds = all). */
static bool make_pairs(struct rounds *r)
{
	size_t *all = xcalloc(r->count + 1, sizeof(*all)), count = list_members(r, all), found;
	size_t(*pairs)[2] = xcalloc(r->count + 1, sizeof(*pairs));
	int64_t rounds = pair_setting(r, "rounds");
	size_t last = rounds == 0 ? (count + 1) / 2 * 2 - 1 : (size_t)(rounds > 0 ? rounds : 0);
	bool more = count >= 2 && rounds >= 0 && r->step < last;

	if (rounds >= 0 && count < 2 && r->step == 0)
		note(r, SEVERITY_WARNING, "pairs of nodes",
		     "not measured: fewer than two nodes are left for it");
	if (more) {
		r->step++;
		found = rounds == 0 ? pairing_turn(all, count, r->step, pairs)
				    : pairing_random(&r->pairing, all, count, pairs);
		add_pairs(r, (const size_t(*)[2])pairs, found, (int)r->step);
	}
	free(pairs);
	free(all);
	return more;
}

static size_t accusations(const struct rounds *r, struct accusation **out)
{
	size_t count = 0;

	*out = NULL;
	for (size_t i = 0; i < r->config->count; i++) {
		const struct section *s = &r->config->sections[i];
		struct accusation *some = NULL;
		size_t more =
			s->suite && s->suite->accuse ? s->suite->accuse(&r->found, s, &some) : 0;

		*out = xrealloc(*out, count + more + 1, sizeof(**out));
		if (more)
			memcpy(*out + count, some, more * sizeof(*some));
		count += more;
		free(some);
	}
	return count;
}

/* Suspects meet nodes that are proven; who is at fault is slow with them as well. */
static bool make_confirmation(struct rounds *r)
{
	size_t *proven = xcalloc(r->count + 1, sizeof(*proven)), proven_count = 0;
	size_t *suspects = xcalloc(r->count + 1, sizeof(*suspects)), suspect_count = 0, found = 0;
	size_t(*pairs)[2] = xcalloc(r->count + 1, sizeof(*pairs));
	int64_t confirm = pair_setting(r, "confirm"), rounds = pair_setting(r, "rounds");
	struct accusation *accused;
	size_t count = accusations(r, &accused);

	for (size_t i = 0; i < r->count; i++) {
		bool suspect = false;

		for (size_t a = 0; a < count; a++)
			suspect = suspect || strcmp(accused[a].node, r->members[i].name) == 0 ||
				  strcmp(accused[a].other, r->members[i].name) == 0;
		if (r->members[i].lost)
			continue;
		if (suspect)
			suspects[suspect_count++] = i;
		else
			proven[proven_count++] = i;
	}
	if ((int64_t)r->step < confirm && suspect_count && proven_count) {
		r->step++;
		found = pairing_with(&r->pairing, suspects, suspect_count, proven, proven_count,
				     pairs);
		add_pairs(r, (const size_t(*)[2])pairs, found,
			  (int)(rounds > 0 ? rounds : (int64_t)r->count) + (int)r->step);
	}
	free(accused);
	free(pairs);
	free(suspects);
	free(proven);
	return found > 0;
}

/* The next round with a group that has something to do. */
static bool make_round(struct rounds *r)
{
	static bool (*const make[])(struct rounds *) = { make_sizes, make_bisection, make_pairs,
							 make_confirmation };
	char text[128];

	while (r->stage != STAGE_OVER && !r->group_count) {
		if (make[r->stage](r))
			continue;
		r->stage++;
		r->step = 0;
	}
	if (r->group_count) {
		snprintf(text, sizeof(text), "%zu group%s of %d nodes%s", r->group_count,
			 r->group_count == 1 ? "" : "s", r->groups[0].what.nodes,
			 r->stage == STAGE_CONFIRM     ? " (suspects again)"
			 : r->stage == STAGE_BISECTION ? " (which of them are at fault)"
						       : "");
		r->door.say(r->door.context, text);
	}
	return r->group_count > 0;
}

/* True while the group has something to do. */
static bool step_group(struct rounds *r, struct group *g)
{
	double now = clock_seconds();
	char reason[96];

	if (g->begun && all_ended(r, g)) {
		settle(r, g);
	} else if (g->begun && now > g->limit && !g->stopping) {
		snprintf(reason, sizeof(reason),
			 "a group of %d nodes did not end in time; cause unknown", g->what.nodes);
		fail(g, reason, true);
		stop(r, g);
	} else if (g->begun && now > g->limit) {
		for (int i = 0; i < g->what.nodes; i++)
			g->ended[i] = true;
		settle(r, g);
	}
	if (!g->begun && first_left(g) < g->plan.case_count && !r->stopped) {
		const char *lost = lost_member(r, g);

		if (lost)
			give_up(g, lost);
		else
			begin(r, g);
	}
	return g->begun;
}

bool rounds_step(struct rounds *r)
{
	bool busy = false;

	for (size_t i = 0; i < r->group_count; i++)
		busy = step_group(r, &r->groups[i]) || busy;
	if (busy)
		return true;
	end_round(r);
	return !r->stopped && make_round(r);
}

void rounds_stop(struct rounds *r)
{
	r->stopped = true;
	for (size_t i = 0; i < r->group_count; i++)
		if (r->groups[i].begun)
			stop(r, &r->groups[i]);
}

enum status rounds_open(struct rounds **out, const struct config *config, const char *directory,
			const char *const *names, const size_t *nodes, size_t count, uint64_t seed,
			const struct rounds_door *door, struct error *err)
{
	struct rounds *r = xcalloc(1, sizeof(*r));

	*out = r;
	r->config = config;
	r->directory = directory;
	r->door = *door;
	r->members = xcalloc(count + 1, sizeof(*r->members));
	for (size_t i = 0; i < count; i++) {
		struct member *m = &r->members[r->count++];

		m->name = xstrdup(names[i]);
		m->node = nodes[i];
		m->path = xasprintf("%s/nodes/%s/" GROUP_JOURNAL_NAME, directory, names[i]);
		group_read(m->path, &m->offset, &r->earlier);
		if (group_devices(directory, &names[i], 1, &m->devices, &m->device_count, err) !=
		    STATUS_OK)
			return err->status;
	}
	pairing_open(&r->pairing, count, seed);
	return STATUS_OK;
}

static void add_finding(struct result *result, const struct finding *f)
{
	result->postflight = xrealloc(result->postflight, result->postflight_count + 1,
				      sizeof(*result->postflight));
	result->postflight[result->postflight_count++] = *f;
}

static void add_accusations(const struct rounds *r, struct result *result)
{
	struct accusation *accused;
	size_t count = accusations(r, &accused);

	for (size_t i = 0; i < count; i++) {
		struct finding f = { .severity = SEVERITY_ERROR };

		snprintf(f.subject, sizeof(f.subject),
			 *accused[i].other ? "link of %s and %s" : "node %s%s", accused[i].node,
			 accused[i].other);
		snprintf(f.text, sizeof(f.text), "%s", accused[i].text);
		add_finding(result, &f);
		fprintf(stderr, "gpuproof: %s: %s\n", f.subject, f.text);
	}
	free(accused);
}

void rounds_collect(struct rounds *r, struct result *result)
{
	end_round(r);
	result->planned += r->planned;
	for (size_t i = 0; i < r->config->count; i++)
		if (is_of(&r->config->sections[i], SUITE_OF_NODES) ||
		    is_of(&r->config->sections[i], SUITE_OF_PAIRS)) {
			struct presentation p = suite_presentation(r->config->sections[i].suite);

			result_present(result, &p);
		}
	for (size_t i = 0; i < r->note_count; i++)
		add_finding(result, &r->notes[i]);
	add_accusations(r, result);
	for (size_t i = 0; i < r->found.case_count; i++)
		*result_add_case(result) = r->found.cases[i];
	free(r->found.cases);
	memset(&r->found, 0, sizeof(r->found));
}

void rounds_close(struct rounds *r)
{
	if (!r)
		return;
	end_round(r);
	for (size_t i = 0; i < r->found.case_count; i++)
		case_result_release(&r->found.cases[i]);
	for (size_t i = 0; i < r->earlier.case_count; i++)
		case_result_release(&r->earlier.cases[i]);
	for (size_t i = 0; i < r->count; i++) {
		free(r->members[i].name);
		free(r->members[i].lost);
		free(r->members[i].devices);
		free(r->members[i].path);
	}
	close_bisection(r);
	pairing_close(&r->pairing);
	free(r->found.cases);
	free(r->earlier.cases);
	free(r->members);
	free(r->groups);
	free(r->notes);
	free(r);
}
