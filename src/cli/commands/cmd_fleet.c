/* gpuproof fleet: evaluates a multi-node run. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/command.h"
#include "cli/input/result_list.h"
#include "fleet/wire/message.h"
#include "result/verdict.h"

/* Length of the name of the only node in the check; 0: none, or several. */
static size_t cmd_fleet_node_of(const struct verdict_check *c)
{
	size_t length = strcspn(c->devices, "/,");

	if (c->devices[length] != '/')
		return 0;
	for (const char *at = c->devices; *at;) {
		if (strncmp(at, c->devices, length + 1) != 0)
			return 0;
		at += strcspn(at, ",");
		at += *at == ',';
	}
	return length;
}

/* Why the node should be drained; NULL: no reason. The caller frees the string. */
static char *cmd_fleet_node_drain_reason(const struct result *result,
					 const struct result_node *node)
{
	const struct verdict_check *worst = NULL;
	struct text reason = TEXT_EMPTY;
	size_t failed = 0;

	for (size_t i = 0; result->judgement && i < result->judgement->count; i++) {
		const struct verdict_check *c = &result->judgement->checks[i];

		if (c->verdict != VERDICT_FAIL || c->accepted ||
		    cmd_fleet_node_of(c) != strlen(node->name) ||
		    !text_starts_with(c->devices, node->name))
			continue;
		failed++;
		worst = !worst || (c->wrong && !worst->wrong) ? c : worst;
	}
	if (!worst && node->status != NODE_LOST)
		return NULL;
	text_add(&reason, "gpuproof:");
	if (node->status == NODE_LOST)
		text_addf(&reason, " lost%s%s: %s", *node->lost_at ? " at " : "", node->lost_at,
			  node->reason);
	if (worst)
		text_addf(&reason, "%s %s: %s fails [limit %s]",
			  node->status == NODE_LOST ? ";" : "", cause_name(worst->cause),
			  worst->devices, worst->limit);
	if (failed > 1)
		text_addf(&reason, " and %zu more", failed - 1);
	return text_detach(&reason);
}

static enum status cmd_fleet_drain_print_nodes(const struct result *result, size_t *drained,
					       struct error *err)
{
	if (!result->node_count)
		return error_set(err, STATUS_USAGE,
				 "this is the result of one node; fleet needs the result of a "
				 "multi-node run");
	/* Before the first line is printed, so that no list is used incompletely. */
	for (size_t i = 0; i < result->node_count; i++)
		if (!wire_message_name_valid(result->nodes[i].name))
			return error_set(err, STATUS_USAGE, "invalid node name '%.80s'",
					 result->nodes[i].name);
	for (size_t i = 0; i < result->node_count; i++) {
		const struct result_node *node = &result->nodes[i];
		char *reason = cmd_fleet_node_drain_reason(result, node);

		if (reason) {
			/* A result may be untrusted: safe for a shell and for Slurm. */
			for (char *c = reason; *c; c++)
				if (!isalnum((unsigned char)*c) && !strchr(" .,:;/%+=_@[]()-", *c))
					*c = '_';
			printf("scontrol update NodeName=%s State=DRAIN Reason='%.200s'\n",
			       node->name, reason);
			++*drained;
		} else if (node->status == NODE_ERROR) {
			fprintf(stderr,
				"gpuproof: no command to drain %s: its agent ended with an error, "
				"which does not show that a device is faulty: %s\n",
				node->name, node->reason);
		}
		free(reason);
	}
	return STATUS_OK;
}

static int cmd_fleet_drain_action(struct call *call)
{
	struct result_list *list = &call->results;
	size_t drained = 0;

	if (result_list_add(list, call->operands[0], &call->err) != STATUS_OK ||
	    cmd_fleet_drain_print_nodes(&list->items[0], &drained, &call->err) != STATUS_OK)
		return EXIT_USAGE;
	if (!list->items[0].judgement)
		fprintf(stderr, "gpuproof: the result has no judgement, so this list contains only "
				"lost nodes. To judge it: gpuproof check RESULT -o FILE\n");
	if (!drained)
		fprintf(stderr, "gpuproof: no reason to drain any of the %zu nodes\n",
			list->items[0].node_count);
	return EXIT_ACCEPTED;
}

static const struct action actions[] = {
	{ .name = "drain", .least = 1, .most = 1, .run = cmd_fleet_drain_action },
	{ 0 },
};

const struct command command_fleet = { .name = "fleet", .actions = actions };
