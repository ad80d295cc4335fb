/* Faults that only many nodes show, and groups that find the fewest nodes with which one does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/units.h"
#include "fleet/rounds/rounds_internal.h"
#include "plan/suite.h"

/*
 * Points whose usual figure is less than this share of the best point's are bound by latency, which
 * grows with the nodes.
 */
#define SATURATED_SHARE 0.5

static bool is_hung(const struct case_result *c)
{
	return c->status == CASE_ERROR && c->end == CASE_END_HUNG;
}

/* The same but for the number of nodes. */
static bool stage_bisection_same_point(const struct case_result *a, const struct case_result *b)
{
	if (strcmp(a->suite, b->suite) != 0 || strcmp(a->label, b->label) != 0 ||
	    a->parameter_count != b->parameter_count)
		return false;
	for (size_t i = 0; i < a->parameter_count; i++) {
		const struct case_parameter *p = &a->parameters[i],
					    *other = case_parameter(b, p->name);

		if (strcmp(p->name, "nodes") != 0 && (!other || strcmp(p->text, other->text) != 0))
			return false;
	}
	return true;
}

/* Median of the same point over fewer nodes; NaN: none was measured. */
static double usual_of(const struct result *found, const struct case_result *c, size_t nodes,
		       const char *metric)
{
	double *values = xcalloc(found->case_count + 1, sizeof(*values)), median;
	size_t count = 0;

	for (size_t i = 0; i < found->case_count; i++) {
		const struct case_result *other = &found->cases[i];
		const struct metric_value *m =
			other->status == CASE_OK ? case_metric(other, metric) : NULL;

		if (m && stage_bisection_same_point(c, other) && case_node_count(other) < nodes)
			values[count++] = m->value;
	}
	median = count ? median_of(values, count) : (double)NAN;
	free(values);
	return median;
}

static void take_fault(struct scale_fault *out, const struct case_result *c, size_t nodes)
{
	const struct case_parameter *asked = case_parameter(c, "nodes");

	free(out->point);
	free(out->nodes);
	out->point = xasprintf("%.*s", (int)strcspn(c->id, "@"), c->id);
	out->asked = asked ? (int)strtol(asked->text, NULL, 10) : 0;
	out->nodes = xcalloc(nodes, sizeof(*out->nodes));
	out->node_count = 0;
	for (size_t i = 0; i < c->device_count; i++)
		if (!i || !device_ids_share_node(c->devices[i], c->devices[i - 1]))
			snprintf(out->nodes[out->node_count++], sizeof(*out->nodes), "%.*s",
				 (int)device_node_length(c->devices[i]), c->devices[i]);
}

/* The usual figures of the points of one section over the most nodes; the best of them. */
static double best_usual(const struct result *found, const struct section *section, size_t most,
			 double *usual)
{
	double best = 0;

	for (size_t i = 0; i < found->case_count; i++) {
		const struct case_result *c = &found->cases[i];

		usual[i] = NAN;
		if (c->status == CASE_OK && strcmp(c->suite, section->suite->name) == 0 &&
		    strcmp(c->label, section->label) == 0 && case_node_count(c) == most)
			usual[i] = usual_of(found, c, most, section->suite->scale_invariant_metric);
		best = fmax(best, isnan(usual[i]) ? 0 : usual[i]);
	}
	return best;
}

static void find_slow(const struct result *found, const struct section *section, double margin,
		      double *worst, struct scale_fault *out)
{
	size_t most = 0;
	double *usual = xcalloc(found->case_count + 1, sizeof(*usual)), best;

	for (size_t i = 0; i < found->case_count; i++) {
		size_t nodes = case_node_count(&found->cases[i]);

		most = nodes > most ? nodes : most;
	}
	best = best_usual(found, section, most, usual);
	for (size_t i = 0; i < found->case_count && most > 2; i++) {
		const struct metric_value *m =
			isnan(usual[i]) ? NULL
					: case_metric(&found->cases[i],
						      section->suite->scale_invariant_metric);

		/* Not where the interval, if there is one, reaches what is allowed: noise. */
		if (!m || usual[i] < SATURATED_SHARE * best || !(m->value / usual[i] < *worst) ||
		    m->high >= (1 - margin) * usual[i])
			continue;
		*worst = m->value / usual[i];
		take_fault(out, &found->cases[i], most);
		out->metric = section->suite->scale_invariant_metric;
		out->usual = usual[i];
		out->least = (1 - margin) * usual[i];
		out->value = m->value;
		out->unit = m->unit;
	}
	free(usual);
}

/*
 * The fault to look into: of those that hang the one over fewest nodes, else the figure that is
 * furthest below the usual one, by more than `margin`. False: there is none of three nodes or more.
 */
static bool scale_fault_find(const struct result *found, const struct config *config, double margin,
			     struct scale_fault *out)
{
	double worst = 1 - margin;
	size_t fewest;

	*out = (struct scale_fault){ .asked = 0 };
	fewest = 0;
	for (size_t i = 0; i < found->case_count; i++) {
		size_t nodes = is_hung(&found->cases[i]) ? case_node_count(&found->cases[i]) : 0;

		if (nodes < 3 || (fewest && nodes >= fewest))
			continue;
		fewest = nodes;
		take_fault(out, &found->cases[i], nodes);
	}
	if (fewest > 0)
		return true;
	for (size_t i = 0; i < config->count; i++)
		if (config->sections[i].suite && config->sections[i].suite->scale_invariant_metric)
			find_slow(found, &config->sections[i], margin, &worst, out);
	return out->metric != NULL;
}

static void scale_fault_release(struct scale_fault *fault)
{
	free(fault->point);
	free(fault->nodes);
	*fault = (struct scale_fault){ .asked = 0 };
}

enum scale_answer { SCALE_SHOWS, SCALE_DOES_NOT, SCALE_UNKNOWN };

/* Judges a case of the same point over other nodes; NULL: there is none, which is unknown. */
static enum scale_answer scale_fault_ask(const struct scale_fault *fault,
					 const struct case_result *c)
{
	const struct metric_value *m;

	if (!c)
		return SCALE_UNKNOWN;
	if (is_hung(c))
		return SCALE_SHOWS;
	if (c->status != CASE_OK)
		return SCALE_UNKNOWN;
	if (!fault->metric)
		return SCALE_DOES_NOT;
	m = case_metric(c, fault->metric);
	return !m ? SCALE_UNKNOWN : m->value < fault->least ? SCALE_SHOWS : SCALE_DOES_NOT;
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
		while (nodes[i] < r->count &&
		       strcmp(r->members[nodes[i]].name, r->fault.nodes[i]) != 0)
			nodes[i]++;
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
static bool fault_take_answers(struct rounds *r, const char **why)
{
	for (size_t i = 0; i < r->bisection.try_count; i++) {
		struct bisection_try *t = &r->bisection.tries[i];
		const struct case_result *c = bisection_case(r, t->nodes[0]);
		enum scale_answer answer = scale_fault_ask(&r->fault, c);

		if (answer == SCALE_UNKNOWN) {
			*why = c ? c->reason : "it was not run";
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
static void suspect_bisected_nodes(struct rounds *r)
{
	const struct bisection *b = &r->bisection;
	struct text names = TEXT_EMPTY;
	char *fault = fault_text(&r->fault), *text, *subject;

	for (size_t i = 0; i < b->left_count; i++)
		text_addf(&names, "%s%s", i ? i + 1 < b->left_count ? ", " : " and " : "",
			  r->members[b->left[i]].name);
	text = xasprintf("%s; %s does too, found in %u round%s of smaller groups", fault,
			 b->singly && b->left_count == 1 ? "every tried group with this node"
			 : b->singly                     ? "each of these nodes with another one"
			 : b->left_count == 2            ? "this pair, and neither node with others"
			 : b->left_count < r->fault.node_count
				 ? "this group, but none of its halves"
				 : "no smaller group; it needs all of them",
			 b->rounds, text_plural(b->rounds));
	if (b->singly && b->left_count > 1) {
		for (size_t i = 0; i < b->left_count; i++)
			rounds_note_suspect(r, r->members[b->left[i]].name, "", text);
	} else if (b->left_count <= 2) {
		rounds_note_suspect(r, r->members[b->left[0]].name,
				    b->left_count == 2 ? r->members[b->left[1]].name : "", text);
	} else {
		subject = xasprintf("nodes %s", names.data);
		rounds_note(r, SEVERITY_ERROR, FINDING_NODES, subject, text);
		free(subject);
	}
	text_release(&names);
	free(fault);
	free(text);
}

static void stage_bisection_add_names(const struct rounds *r, const size_t *nodes, size_t count,
				      struct text *out)
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

	stage_bisection_add_names(r, b->left, b->left_count, &names);
	stage_bisection_add_names(r, b->right, b->right_count, &names);
	text = xasprintf("%s; among %s, and smaller groups cannot decide: %s", fault, names.data,
			 why);
	rounds_note(r, SEVERITY_WARNING, "suspect nodes", "suspect nodes", text);
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
	if (!fault_take_answers(r, &why)) {
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
	suspect_bisected_nodes(r);
	rounds_close_bisection(r);
	return false;
}
