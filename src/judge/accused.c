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
};

/* After the word that says who is accused; NULL: the finding accuses no node. */
static const char *accused_names(const struct finding *f)
{
	static const char *const begins[] = { "link of ", "node " };

	for (size_t i = 0; f->severity == SEVERITY_ERROR && i < ARRAY_SIZE(begins); i++)
		if (text_starts_with(f->subject, begins[i]))
			return f->subject + strlen(begins[i]);
	return NULL;
}

bool judge_accuses(const struct result *result, const struct finding *f)
{
	return result->node_count && accused_names(f);
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

/* "n3 and n7" */
static void note_accusation(struct node_look *looks, size_t count, const struct finding *f)
{
	for (const char *at = accused_names(f); at && *at;) {
		size_t length = strcspn(at, ", ");
		struct node_look *look = find(looks, count, at, length);

		if (look && !look->accused++) {
			look->why = f->subject;
			look->text = f->text;
		}
		at += length;
		at += strspn(at, ", ");
		at += text_starts_with(at, "and ") ? 4 : 0;
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
	size_t length = strlen(node->name);

	for (size_t i = 0; i < result->device_count; i++)
		if (device_node_length(result->devices[i].id) == length &&
		    strncmp(result->devices[i].id, node->name, length) == 0 &&
		    limit_admits(limit, &result->devices[i]))
			return true;
	return !limit->condition_count;
}

static void judge_look(const struct result *result, const struct limit *limit,
		       const struct bound *bound, const struct node_look *look,
		       struct verdicts *verdicts)
{
	double value = look->accused || look->pairs ? (double)look->accused : (double)NAN;
	struct verdict_check *check = judging_node_check(verdicts, limit, bound, AT_MOST, value,
							 "no pair with it was measured");
	char *reason = NULL;

	free(check->devices);
	check->devices = node_devices(result, look->node);
	if (look->accused) {
		reason = xasprintf("%s: %s", look->why, look->text);
		check->cause = CAUSE_NODE_NETWORK;
	} else if (look->pairs) {
		reason = xasprintf("node %s: %zu case%s with other nodes, none at fault",
				   look->node->name, look->pairs, look->pairs == 1 ? "" : "s");
	}
	if (reason)
		judging_set(&check->reason, reason);
	free(reason);
}

void judge_accused(const struct judge_input *input, const struct limit *limit,
		   struct verdicts *verdicts)
{
	const struct result *result = &input->results[0];
	struct node_look *looks;

	if (!result->node_count) {
		judging_node_check(verdicts, limit, &limit->max, AT_MOST, NAN,
				   "it is known of runs on several nodes alone");
		return;
	}
	looks = look_at_nodes(result);
	/* A node without a whole result has a check of its own. */
	for (size_t i = 0; i < result->node_count; i++)
		if ((looks[i].node->status == NODE_OK || looks[i].accused) &&
		    is_selected(result, limit, looks[i].node))
			judge_look(result, limit, &limit->max, &looks[i], verdicts);
	free(looks);
}
