/* Groups that find the fewest nodes with which a case hangs, or is slow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "fleet/rounds/parts.h"

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

/* False: a group gave no answer, for the reason *why. */
static bool take_answers(struct rounds *r, const char **why)
{
	for (size_t i = 0; i < r->bisection.try_count; i++) {
		struct bisection_try *t = &r->bisection.tries[i];
		const struct case_result *c = bisection_case(r, t->nodes[0]);
		enum scale_answer answer = scale_fault_ask(&r->fault, c);

		if (answer == SCALE_UNKNOWN) {
			*why = c ? c->reason : "it was not carried out";
			return false;
		}
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
			rounds_note(r, SEVERITY_ERROR, subject, text);
			free(subject);
		}
	} else {
		subject = xasprintf(b->left_count == 1   ? "node %s"
				    : b->left_count == 2 ? "link of %s"
							 : "nodes %s",
				    names.data);
		rounds_note(r, SEVERITY_ERROR, subject, text);
		free(subject);
	}
	text_release(&names);
	free(fault);
	free(text);
}

static void add_names(const struct rounds *r, const size_t *nodes, size_t count, struct text *out)
{
	for (size_t i = 0; i < count && i < NODES_NAMED; i++)
		text_addf(out, "%s%s", out->length ? ", " : "", r->members[nodes[i]].name);
	if (count > NODES_NAMED)
		text_addf(out, " and %zu more", count - NODES_NAMED);
}

/* The nodes among which it is, where fewer cannot say. */
static void tell_unfinished(struct rounds *r, const char *why)
{
	const struct bisection *b = &r->bisection;
	char *fault = fault_text(&r->fault), *text;
	struct text names = TEXT_EMPTY;

	add_names(r, b->left, b->left_count, &names);
	add_names(r, b->right, b->right_count, &names);
	text = xasprintf("%s; among %s, and fewer of them cannot say: %s", fault, names.data, why);
	rounds_note(r, SEVERITY_WARNING, "nodes at fault", text);
	text_release(&names);
	free(fault);
	free(text);
}

void rounds_close_bisection(struct rounds *r)
{
	if (r->fault.point)
		bisection_close(&r->bisection);
	scale_fault_release(&r->fault);
}

/* Groups of the fault's nodes, until the fewest that show it are known. */
bool rounds_make_bisection(struct rounds *r)
{
	const char *why = "";
	size_t tries;

	if (r->step == 0 && !open_bisection(r))
		return false;
	if (!take_answers(r, &why)) {
		tell_unfinished(r, why);
		rounds_close_bisection(r);
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

		rounds_add_group(r, what, t->nodes);
	}
	if (tries)
		return true;
	accuse_bisected(r);
	rounds_close_bisection(r);
	return false;
}
