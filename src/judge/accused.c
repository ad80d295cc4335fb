/*
 * Nodes that a run on several holds to be at fault (findings "node n3" and "link of n3 and n7" of
 * rounds of pairs and of bisection; a fault that takes more nodes together is no node's), and
 * those that rounds of pairs have looked at without accusing them: a limit on node.accused judges
 * each node.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "judge/judging.h"

struct node_look {
	const struct result_node *node;
	size_t pairs;    /* cases of it and another node that were measured in a round */
	size_t accused;  /* findings that name it */
	const char *why; /* subject of the first of these */
	const char *text;
	const char *doubt; /* text of a warning about it, which neither accuses nor clears; NULL */
};

/* Two nodes that are slow with each other do not say which of them is: pairs accuse neither. */
#define COMPARED_LEAST 3

#define NODE "node "
#define LINK "link of "

bool judge_accuses(const struct result *result, const struct finding *f)
{
	return result->node_count && f->severity == SEVERITY_ERROR &&
	       (text_starts_with(f->subject, NODE) || text_starts_with(f->subject, LINK));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct node_look *)a)->node->name,
		      ((const struct node_look *)b)->node->name);
}

static struct node_look *find(struct node_look *looks, size_t count, const char *name,
			      size_t length)
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

static void note_accusation(struct node_look *looks, size_t count, const struct finding *f)
{
	const char *name = f->subject + strlen(NODE);
	struct node_look *look = NULL;

	if (text_starts_with(f->subject, NODE))
		look = find(looks, count, name, strlen(name));
	if (look && f->severity == SEVERITY_WARNING)
		look->doubt = f->text;
	if (look && f->severity == SEVERITY_ERROR && !look->accused++) {
		look->why = f->subject;
		look->text = f->text;
	}
}

/* Belongs to a suite whose cases are one point over the rounds of pairs. */
static bool is_of_round(const struct result *result, const struct case_result *c)
{
	const struct presentation *p = result_presentation(result, c->suite);
	const struct role_row *round = p ? presentation_role(p, ROLE_ROUND, NULL) : NULL;

	return c->status == CASE_OK && round && case_parameter(c, round->name);
}

static void note_pair(struct node_look *looks, size_t count, const struct case_result *c)
{
	for (size_t i = 0; i < c->device_count; i++) {
		struct node_look *look =
			find(looks, count, c->devices[i], device_node_length(c->devices[i]));

		if (look && (!i || !device_ids_share_node(c->devices[i], c->devices[i - 1])))
			look->pairs++;
	}
}

static struct node_look *look_at_nodes(const struct result *result)
{
	size_t count = result->node_count;
	struct node_look *looks = xcalloc(count + 1, sizeof(*looks));

	for (size_t i = 0; i < count; i++)
		looks[i].node = &result->nodes[i];
	qsort(looks, count, sizeof(*looks), by_name);
	for (size_t i = 0; i < result->postflight_count; i++)
		note_accusation(looks, count, &result->postflight[i]);
	for (size_t i = 0; i < result->case_count; i++)
		if (is_of_round(result, &result->cases[i]))
			note_pair(looks, count, &result->cases[i]);
	return looks;
}

static bool is_selected(const struct result *result, const struct limit *limit,
			const struct result_node *node)
{
	for (size_t i = 0; i < result->device_count; i++)
		if (device_id_is_of_node(result->devices[i].id, node->name) &&
		    limit_admits(limit, &result->devices[i]))
			return true;
	return !limit->condition_count;
}

static void say_fault(struct verdict_check *check, const char *why, const char *text)
{
	char *reason = xasprintf("%s: %s", why, text);

	judging_set(&check->reason, reason);
	check->cause = CAUSE_NODE_NETWORK;
	free(reason);
}

/* `compared`: how many nodes were in a pair. */
static void judge_look(const struct result *result, const struct limit *limit,
		       const struct node_look *look, size_t compared, struct verdicts *verdicts)
{
	bool known = look->accused || (!look->doubt && look->pairs && compared >= COMPARED_LEAST);
	struct verdict_check *check = judging_node_check(
		verdicts, limit, &limit->max, AT_MOST, known ? (double)look->accused : (double)NAN,
		look->doubt   ? look->doubt
		: look->pairs ? "two nodes are measured with each other, which compares neither: "
				"three nodes are needed"
			      : "no pair with it was measured");
	char *devices = node_devices(result, look->node), *reason;

	judging_set(&check->devices, devices);
	free(devices);
	if (look->accused) {
		say_fault(check, look->why, look->text);
	} else if (known) {
		reason = xasprintf("node %s: %zu case%s with other nodes", look->node->name,
				   look->pairs, look->pairs == 1 ? "" : "s");
		judging_set(&check->reason, reason);
		free(reason);
	}
}

/* "link of n3 and n7": a check of both, as neither is slow with others. */
static void judge_link(const struct result *result, const struct limit *limit,
		       const struct finding *f, struct node_look *looks, struct verdicts *verdicts)
{
	const char *first = f->subject + strlen(LINK), *and = strstr(first, " and ");
	const struct node_look *a, *b;
	struct verdict_check *check;
	char *of_a, *of_b, *both;

	if (!and)
		return;
	a = find(looks, result->node_count, first, (size_t)(and-first));
	b = find(looks, result->node_count, and+5, strlen(and+5));
	if (!a || !b ||
	    !(is_selected(result, limit, a->node) || is_selected(result, limit, b->node)))
		return;
	of_a = node_devices(result, a->node);
	of_b = node_devices(result, b->node);
	both = xasprintf("%s,%s", of_a, of_b);
	check = judging_node_check(verdicts, limit, &limit->max, AT_MOST, 1, NULL);
	judging_set(&check->devices, both);
	say_fault(check, f->subject, f->text);
	free(of_a);
	free(of_b);
	free(both);
}

void judge_accused(const struct judge_input *input, const struct limit *limit,
		   struct verdicts *verdicts)
{
	const struct result *result = &input->results[0];
	struct node_look *looks;
	size_t compared = 0;

	if (!result->node_count) {
		judging_node_check(verdicts, limit, &limit->max, AT_MOST, NAN,
				   "it is known of runs on several nodes alone");
		return;
	}
	looks = look_at_nodes(result);
	for (size_t i = 0; i < result->node_count; i++)
		compared += looks[i].pairs > 0;
	/* A node without a whole result has a check of its own. */
	for (size_t i = 0; i < result->node_count; i++)
		if ((looks[i].node->status == NODE_OK || looks[i].accused) &&
		    is_selected(result, limit, looks[i].node))
			judge_look(result, limit, &looks[i], compared, verdicts);
	for (size_t i = 0; i < result->postflight_count; i++)
		if (judge_accuses(result, &result->postflight[i]) &&
		    text_starts_with(result->postflight[i].subject, LINK))
			judge_link(result, limit, &result->postflight[i], looks, verdicts);
	free(looks);
}
