#include "fleet/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "fleet/drift.h"
#include "plan/plan.h"
#include "run/group.h"
#include "run/journal.h"

/* Finished cases of a run that wrote no result. */
static enum status merge_read_journal(struct result *node, const struct config *config,
				      const char *directory, struct error *err)
{
	struct case_result *cases = NULL;
	struct plan plan = { 0 };
	bool *done = NULL;
	enum status status = journal_read_header(directory, node, err);

	if (status == STATUS_OK)
		status = plan_build(&plan, config, node->devices, node->device_count, err);
	if (status == STATUS_OK) {
		cases = xcalloc(plan.case_count, sizeof(*cases));
		done = xcalloc(plan.case_count, sizeof(*done));
		status = journal_read(directory, &plan, cases, done, err);
		for (size_t i = 0; i < plan.case_count; i++)
			if (done[i])
				*result_add_case(node) = cases[i];
	}
	free(cases);
	free(done);
	plan_release(&plan);
	return status;
}

/* The summary, or where there is none the result; malloc'ed. */
static char *merge_result_path(const char *directory, const char *name)
{
	char *path = merge_summary_path(directory, name);

	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return xasprintf("%s/nodes/%s/result.json", directory, name);
}

/* `kept`: without its cases. */
static enum status merge_read_node(struct result *node, const struct result_node *about, bool kept,
				   const struct config *config, const char *directory,
				   struct error *err)
{
	char *folder = xasprintf("%s/nodes/%s", directory, about->name);
	char *path = merge_result_path(directory, about->name);
	struct error ignored = ERROR_NONE;
	struct result own = { 0 };
	enum status status;

	memset(node, 0, sizeof(*node));
	/* All of its cases are of several nodes together: it has no result of its own. */
	status = plan_has_groups(config) ? journal_read_header(folder, node, err) : STATUS_OK;
	if (status == STATUS_OK && node->gpuproof_version && node->planned == 0) {
		/* It has looked at its devices and adapters all the same. */
		if (result_read_header(&own, path, &ignored) == STATUS_OK) {
			result_release(node);
			*node = own;
		} else {
			result_release(&own);
		}
		goto out;
	}
	result_release(node);
	error_clear(err);
	if (about->status != NODE_OK && about->status != NODE_INTERRUPTED)
		status = merge_read_journal(node, config, folder, err);
	else if (kept)
		status = result_read_header(node, path, err);
	else
		status = result_read_summary(node, path, err);
out:
	run_group_take_adapters(folder, node);
	if (node->gpuproof_version)
		run_group_take_networks(folder, node);
	free(path);
	free(folder);
	return status;
}

static void merge_devices(struct result *to, const struct result *node, const char *name, int index)
{
	to->devices = xrealloc(to->devices, to->device_count + node->device_count + 1,
			       sizeof(*to->devices));
	for (size_t i = 0; i < node->device_count; i++) {
		struct device_info *d = &to->devices[to->device_count++];

		*d = node->devices[i];
		d->node = index;
		snprintf(d->id, sizeof(d->id), "%.63s/%.31s", name, node->devices[i].id);
	}
}

static void merge_take_cases(struct result *to, struct result *node, const char *name)
{
	result_leave_samples(node);
	for (size_t i = 0; i < node->case_count; i++) {
		struct case_result *c = result_add_case(to);

		*c = node->cases[i];
		case_put_on_node(c, name);
	}
	node->case_count = 0;
}

/*
 * Moves the cases of node `name` from `before` to `to`. They are contiguous; the search starts at
 * *at and passes over the cases of other nodes.
 */
static void merge_take_cases_before(struct result *to, struct result *before, size_t *at,
				    const char *name)
{
	while (*at < before->case_count && strcmp(before->cases[*at].node, name) != 0)
		++*at;
	for (; *at < before->case_count && strcmp(before->cases[*at].node, name) == 0; ++*at) {
		*result_add_case(to) = before->cases[*at];
		memset(&before->cases[*at], 0, sizeof(before->cases[*at]));
		before->cases[*at].node = xstrdup("");
	}
}

/* "ecc errors cuda:0" of node n1 is "ecc errors n1/cuda:0", which names the device as it is called
 * now; "memory" is "memory of n1". */
static void merge_take_findings(struct finding **to, size_t *count, const struct finding *from,
				size_t more, const char *name)
{
	*to = xrealloc(*to, *count + more + 1, sizeof(**to));
	for (size_t i = 0; i < more; i++) {
		struct finding *f = &(*to)[(*count)++];
		char device[sizeof(f->device)];

		*f = from[i];
		snprintf(f->node, sizeof(f->node), "%.63s", name);
		snprintf(device, sizeof(device), "%.63s/%.31s", name, from[i].device);
		if (*from[i].device)
			finding_set_device(f, from[i].topic, device);
		else
			snprintf(f->subject, sizeof(f->subject), "%.90s of %.63s", from[i].subject,
				 name);
	}
}

/* Keeps those that are the same there. */
static void merge_take_facts(struct result *to, const struct result *node, bool first)
{
	if (first) {
		free(to->environment); /* the conductor itself has no facts */
		to->environment = xcalloc(node->environment_count, sizeof(*to->environment));
		for (size_t i = 0; i < node->environment_count; i++)
			to->environment[to->environment_count++] =
				(struct fact){ xstrdup(node->environment[i].name),
					       xstrdup(node->environment[i].value) };
		return;
	}
	for (size_t i = to->environment_count; i-- > 0;) {
		const char *there = result_fact(node, to->environment[i].name);

		if (there && strcmp(there, to->environment[i].value) == 0)
			continue;
		free(to->environment[i].name);
		free(to->environment[i].value);
		to->environment[i] = to->environment[--to->environment_count];
	}
}

static void merge_fail_node(struct result_node *node, const char *message)
{
	char *reason =
		*node->reason ? xasprintf("%s; %s", node->reason, message) : xstrdup(message);

	if (node->status == NODE_OK || node->status == NODE_INTERRUPTED)
		node->status = NODE_ERROR;
	free(node->reason);
	node->reason = reason;
}

/*
 * A node that ended well has all of its cases in the run's folder; else they are on another disk,
 * or what was read is not what it wrote.
 */
static void merge_check_whole(struct result_node *node, const struct result *read,
			      const char *directory)
{
	char *folder = xasprintf("%s/nodes/%s", directory, node->name), *message = NULL;

	if (node->status == NODE_OK && !read)
		message = xasprintf("the results of the node are not in %s; check that all nodes "
				    "share this directory",
				    folder);
	else if (node->status == NODE_OK && node->finished < node->planned)
		message = xasprintf("the results of the node in %s have only %zu of %zu cases",
				    folder, node->finished, node->planned);
	else if (node->status == NODE_OK && strcmp(read->state, "complete") != 0)
		message = xasprintf("the results of the node in %s are %s", folder, read->state);
	if (message)
		merge_fail_node(node, message);
	free(message);
	free(folder);
}

void fleet_merge(struct result *result, struct result *before, const bool *kept,
		 const struct config *config, const char *directory)
{
	struct drift drift = { 0 };
	bool first = true;
	size_t at = 0;

	result->planned = 0;
	result->samples_left_out = true;
	for (size_t i = 0; i < result->node_count; i++) {
		struct result_node *about = &result->nodes[i];
		struct error err = ERROR_NONE;
		bool keeps = before && kept[i] && about->status == NODE_OK;
		size_t count = result->case_count;
		char *folder = xasprintf("%s/nodes/%s", directory, about->name);
		bool begun = journal_begun(folder);
		struct result node;

		free(folder);
		/* A node without a first line has measured nothing. */
		if (!begun) {
			merge_check_whole(about, NULL, directory);
			result->planned += about->planned;
			continue;
		}
		if (merge_read_node(&node, about, keeps, config, directory, &err) != STATUS_OK)
			merge_fail_node(about, err.message);
		if (node.gpuproof_version)
			drift_take(&drift, i, &node);
		about->planned = node.planned;
		result->planned += node.planned;
		merge_devices(result, &node, about->name, (int)i);
		if (keeps)
			merge_take_cases_before(result, before, &at, about->name);
		else
			merge_take_cases(result, &node, about->name);
		about->finished = result->case_count - count;
		if (node.gpuproof_version)
			merge_check_whole(about, &node, directory);
		merge_take_findings(&result->preflight, &result->preflight_count, node.preflight,
				    node.preflight_count, about->name);
		merge_take_findings(&result->postflight, &result->postflight_count, node.postflight,
				    node.postflight_count, about->name);
		for (size_t p = 0; p < node.presentation_count; p++)
			result_present(result, &node.presentations[p]);
		if (node.gpuproof_version)
			merge_take_facts(result, &node, first);
		first = first && !node.gpuproof_version;
		result_release(&node);
	}
	drift_tell(&drift, result);
}

char *merge_summary_path(const char *directory, const char *name)
{
	return xasprintf("%s/nodes/%s/summary.json", directory, name);
}

char *merge_confirm_path(const char *directory, const char *name)
{
	return xasprintf("%s/nodes/%s/confirm", directory, name);
}

bool merge_node_whole(const char *directory, const char *name)
{
	char *path = merge_result_path(directory, name);
	struct error err = ERROR_NONE;
	struct result node;
	bool whole = access(path, F_OK) == 0 && result_read(&node, path, &err) == STATUS_OK;

	if (whole) {
		whole = strcmp(node.state, "complete") == 0 && node.case_count == node.planned;
		result_release(&node);
	}
	free(path);
	path = merge_confirm_path(directory, name);
	whole = whole && access(path, F_OK) != 0;
	free(path);
	return whole;
}
