/*
 * Judges the nodes of a multi-node run by the limit on node.suspect. Suspects are the nodes that
 * findings of pairs name ("node n3", "link of n3 and n7"). A node passes if pairs measured it and
 * no finding names it. A fault that needs several nodes to appear is not attributed to one. With
 * two nodes no suspect can be named; only their link is judged, by a limit on its rate or by
 * comparing its rails with each other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "judge/judging.h"

struct node_look {
	const struct result_node *node;
	size_t pairs;    /* cases in which a round measured this node with another node */
	size_t named;    /* findings that name this node */
	const char *why; /* subject of the first such finding */
	const char *text;
	const char *
		doubt; /* warning about the node, which is neither a suspect nor cleared; or NULL */
};

/* One slow pair cannot identify the slow node. */
#define COMPARED_LEAST 3

bool judge_names_suspect(const struct result *result, const struct finding *f)
{
	return result->node_count && f->severity == SEVERITY_ERROR &&
	       (strcmp(f->topic, FINDING_NODE) == 0 || strcmp(f->topic, FINDING_LINK) == 0);
}

static int judge_suspects_by_name(const void *a, const void *b)
{
	return strcmp(((const struct node_look *)a)->node->name,
		      ((const struct node_look *)b)->node->name);
}

static struct node_look *judge_suspects_find(struct node_look *looks, size_t count,
					     const char *name, size_t length)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const char *there = looks[middle].node->name;
		int order = strncmp(there, name, length);

		order = order ? order : there[length] != '\0';
		if (order == 0)
			return &looks[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* True for cases of suites that measure one point over rounds of pairs. */
static bool judge_suspects_of_round(const struct result *result, const struct case_result *c)
{
	const struct presentation *p = result_presentation(result, c->suite);
	const struct role_row *round = p ? presentation_role(p, ROLE_ROUND, NULL) : NULL;

	return c->status == CASE_OK && round && case_parameter(c, round->name);
}

static struct node_look *judge_suspects_make(const struct result *result)
{
	size_t count = result->node_count;
	struct node_look *looks = xcalloc(count + 1, sizeof(*looks));

	for (size_t i = 0; i < count; i++)
		looks[i].node = &result->nodes[i];
	qsort(looks, count, sizeof(*looks), judge_suspects_by_name);
	for (size_t i = 0; i < result->postflight_count; i++) {
		const struct finding *f = &result->postflight[i];
		struct node_look *look =
			strcmp(f->topic, FINDING_NODE) == 0
				? judge_suspects_find(looks, count, f->node, strlen(f->node))
				: NULL;

		if (look && f->severity == SEVERITY_WARNING)
			look->doubt = f->text;
		if (look && f->severity == SEVERITY_ERROR && !look->named++) {
			look->why = f->subject;
			look->text = f->text;
		}
	}
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		for (size_t d = 0; d < c->device_count && judge_suspects_of_round(result, c); d++) {
			struct node_look *look =
				judge_suspects_find(looks, count, c->devices[d],
						    device_node_length(c->devices[d]));

			if (look &&
			    (!d || !device_ids_share_node(c->devices[d], c->devices[d - 1])))
				look->pairs++;
		}
	}
	return looks;
}

static bool judge_suspects_is_selected(const struct result *result, const struct limit *limit,
				       const struct result_node *node)
{
	for (size_t i = 0; i < result->device_count; i++)
		if (device_id_is_of_node(result->devices[i].id, node->name) &&
		    judge_limits_admits(limit, &result->devices[i]))
			return true;
	return !limit->condition_count;
}

static void judge_suspects_say_fault(struct verdict_check *check, const char *why, const char *text)
{
	run_findings_take(&check->reason, xasprintf("%s: %s", why, text));
	check->cause = CAUSE_NODE_NETWORK;
}

/*
 * `compared`: number of nodes that were part of a pair. A limit with allow_skipped does not excuse
 * a node without pairs if other nodes have some.
 */
static void judge_suspects_look(const struct result *result, const struct limit *limit,
				const struct node_look *look, size_t compared,
				struct verdicts *verdicts)
{
	bool known = look->named || (!look->doubt && look->pairs && compared >= COMPARED_LEAST);
	struct verdict_check *check =
		judging_node_check(verdicts, limit, &limit->max, AT_MOST,
				   known ? (double)look->named : (double)NAN,
				   look->doubt   ? look->doubt
				   : look->pairs ? "a single slow pair cannot identify the slow "
						   "node; measure at least three nodes"
						 : "no pair with this node was measured");

	run_findings_take(&check->devices, health_node_devices(result, look->node));
	if (!known && !look->doubt && !compared && limit->allow_skipped)
		judge_check_decide(check, limit, VERDICT_SKIP, NULL);
	if (look->named) {
		judge_suspects_say_fault(check, look->why, look->text);
	} else if (known) {
		run_findings_take(&check->reason, xasprintf("node %s: %zu case%s with other nodes",
							    look->node->name, look->pairs,
							    text_plural(look->pairs)));
	}
}

/* Adds a check to both nodes of a slow link if neither is slow with other nodes. */
static void judge_suspects_link(const struct result *result, const struct limit *limit,
				const struct finding *f, struct node_look *looks,
				struct verdicts *verdicts)
{
	const struct node_look *a =
		judge_suspects_find(looks, result->node_count, f->node, strlen(f->node));
	const struct node_look *b = judge_suspects_find(looks, result->node_count, f->other_node,
							strlen(f->other_node));
	struct verdict_check *check;
	char *of_a, *of_b;

	if (!a || !b ||
	    !(judge_suspects_is_selected(result, limit, a->node) ||
	      judge_suspects_is_selected(result, limit, b->node)))
		return;
	of_a = health_node_devices(result, a->node);
	of_b = health_node_devices(result, b->node);
	check = judging_node_check(verdicts, limit, &limit->max, AT_MOST, 1, NULL);
	run_findings_take(&check->devices, xasprintf("%s,%s", of_a, of_b));
	judge_suspects_say_fault(check, f->subject, f->text);
	free(of_a);
	free(of_b);
}

/* Value of a rail relative to the best of the others, which carry the same; 1: the same rate. */
struct rail_look {
	double ratio;
	const char *name;
	size_t rails; /* that were compared */
};

/* Rails of one pair may share switches and root ports, so they differ more than nodes do. */
#define RAIL_MARGIN 0.1
#define RAILS_LEAST 3

/* True if both cases measured the same of the same pair, over different rails. */
static bool judge_suspects_differ_in_rail(const struct case_result *a, const struct case_result *b,
					  const char *rail)
{
	if (strcmp(a->suite, b->suite) != 0 || a->parameter_count != b->parameter_count)
		return false;
	for (size_t i = 0; i < a->parameter_count; i++) {
		const struct case_parameter *p = &a->parameters[i], *q = case_parameter(b, p->name);

		if (strcmp(p->name, rail) != 0 && (!q || strcmp(p->text, q->text) != 0))
			return false;
	}
	return true;
}

/*
 * Compares a rail with the best of those that measured the same in the same round: a median would
 * follow the slow ones if half of the rails are slow.
 */
static void judge_suspects_compare_rail(const struct result *result, const struct case_result *c,
					struct rail_look *worst)
{
	const struct presentation *p = result_presentation(result, c->suite);
	const struct role_row *role = p ? presentation_role(p, ROLE_RAIL, NULL) : NULL;
	const char *rail = role && case_parameter(c, role->name) ? role->name : NULL;
	const struct metric_value *own = NULL;
	double best = NAN, ratio;
	size_t count = 0;

	for (size_t i = 0; i < c->metric_count && !own; i++)
		own = c->metrics[i].headline ? &c->metrics[i] : NULL;
	if (!rail || !own)
		return;
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *other = &result->cases[i];
		const struct metric_value *m =
			other != c && other->status == CASE_OK &&
					judge_suspects_differ_in_rail(c, other, rail)
				? case_metric(other, own->name)
				: NULL;

		if (!m)
			continue;
		count++;
		if (m->value > 0)
			best = own->better == BETTER_LOWER ? fmin(best, m->value)
							   : fmax(best, m->value);
	}
	if (count + 1 < RAILS_LEAST)
		return;
	ratio = own->better == BETTER_LOWER ? best / own->value : own->value / best;
	if (!(own->value > 0) || !isfinite(ratio))
		ratio = 0;
	if (!(ratio >= worst->ratio))
		*worst = (struct rail_look){ .ratio = ratio,
					     .name = case_parameter(c, rail)->text,
					     .rails = count + 1 };
}

/*
 * A limit that requires a bandwidth of pairs, and so judges the link of two nodes; one on their
 * latency does not. NULL: none.
 */
static const struct limit *judge_suspects_link_limit(const struct judge_input *input)
{
	const struct result *result = &input->results[0];

	for (size_t k = 0; k < input->limits->count; k++) {
		const struct limit *limit = &input->limits->items[k];

		if (!limit->min.kind || limit->severity != LIMIT_FAILS)
			continue;
		for (size_t i = 0; i < result->case_count; i++)
			if (judge_suspects_of_round(result, &result->cases[i]) &&
			    judge_limits_selects(limit, &result->cases[i], "") &&
			    aspect_of(limit->suite->aspects, limit->metric->name,
				      &result->cases[i]) == ASPECT_LINK)
				return limit;
	}
	return NULL;
}

/* Two nodes do not show which one is slow. Adds one check for both. */
static void judge_suspects_two_nodes(const struct judge_input *input, const struct limit *limit,
				     const struct node_look *looks, struct verdicts *verdicts)
{
	const struct result *result = &input->results[0];
	const struct limit *of_link = judge_suspects_link_limit(input);
	struct rail_look worst = { .ratio = (double)NAN };
	struct text devices = TEXT_EMPTY;
	struct verdict_check *check;

	for (size_t i = 0; i < result->case_count; i++)
		if (judge_suspects_of_round(result, &result->cases[i]))
			judge_suspects_compare_rail(result, &result->cases[i], &worst);
	for (size_t i = 0; i < result->node_count; i++)
		if (looks[i].pairs) {
			char *own = health_node_devices(result, looks[i].node);

			text_addf(&devices, "%s%s", devices.length ? "," : "", own);
			free(own);
		}
	check = judging_node_check(
		verdicts, limit, &limit->max, AT_MOST,
		worst.rails ? (double)(worst.ratio < 1 - RAIL_MARGIN) : (double)NAN,
		"two nodes do not show which one is slow, and no limit judges their link; add a "
		"limit on the bandwidth of pairs (gpuproof config show fabric), or a third node");
	run_findings_take(&check->devices, text_detach(&devices));
	if (worst.rails && check->verdict != VERDICT_PASS)
		run_findings_take(&check->reason,
				  xasprintf("link of both nodes: rail %s is %.0f %% slower than "
					    "the fastest of the other %zu",
					    worst.name, 100 * (1 - worst.ratio), worst.rails - 1));
	else if (worst.rails)
		run_findings_take(&check->reason,
				  xasprintf("the %zu rails between both nodes agree within %.0f %%",
					    worst.rails, 100 * RAIL_MARGIN));
	else if (of_link)
		judge_check_decide(check, limit, VERDICT_SKIP,
				   "two nodes do not show which one is slow; [limit %s] judges "
				   "their "
				   "link",
				   of_link->name);
	if (worst.rails && check->verdict != VERDICT_PASS)
		check->cause = CAUSE_NODE_NETWORK;
	check->accepted = check->accepted || check->verdict == VERDICT_SKIP;
}

void judge_suspects(const struct judge_input *input, const struct limit *limit,
		    struct verdicts *verdicts)
{
	const struct result *result = &input->results[0];
	struct node_look *looks;
	size_t compared = 0;
	bool open = false, two;

	if (!result->node_count) {
		if (!limit->allow_skipped)
			judging_node_check(verdicts, limit, &limit->max, AT_MOST, NAN,
					   "this value exists only in multi-node runs");
		return;
	}
	looks = judge_suspects_make(result);
	for (size_t i = 0; i < result->node_count; i++)
		compared += looks[i].pairs > 0;
	for (size_t i = 0; i < result->node_count; i++)
		open = open || looks[i].named || looks[i].doubt;
	two = compared == 2 && !open;
	if (two)
		judge_suspects_two_nodes(input, limit, looks, verdicts);
	/* A node without a complete result has its own check. */
	for (size_t i = 0; i < result->node_count; i++)
		if ((looks[i].node->status == NODE_OK || looks[i].named) &&
		    !(two && looks[i].pairs) &&
		    judge_suspects_is_selected(result, limit, looks[i].node))
			judge_suspects_look(result, limit, &looks[i], compared, verdicts);
	for (size_t i = 0; i < result->postflight_count; i++)
		if (judge_names_suspect(result, &result->postflight[i]) &&
		    strcmp(result->postflight[i].topic, FINDING_LINK) == 0)
			judge_suspects_link(result, limit, &result->postflight[i], looks, verdicts);
	free(looks);
}
