/* gpuproof agent: one node of a multi-node run. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/run/run_launches.h"
#include "cli/run/run_setup.h"
#include "fleet/agent/agent.h"
#include "fleet/merge.h"
#include "run/group.h"
#include "run/journal.h"

#define CONFIRM_MOST ((size_t)64 << 20) /* maximum size of a list of cases */

/* A node measured with another config would belong to neither run. */
static enum status cmd_agent_run_node_same_config(const char *folder, const char *directory,
						  struct error *err)
{
	struct result run = { 0 }, node = { 0 };

	if (journal_read_header(directory, &run, err) == STATUS_OK &&
	    journal_read_header(folder, &node, err) == STATUS_OK &&
	    strcmp(run.config_text, node.config_text) != 0)
		error_set(err, STATUS_USAGE,
			  "%s was started with a different config than the run in %s", folder,
			  directory);
	result_release(&run);
	result_release(&node);
	return err->status;
}

/* Writes what the conductor merges, and removes the samples from `result`. */
static void cmd_agent_node_write_summary(struct result *result, const char *path, struct error *err)
{
	char *json;

	result_leave_samples(result);
	json = result_to_json_line(result);
	file_write(path, json, strlen(json), err);
	free(json);
}

static enum status cmd_agent_node_measure_cases(struct launches *launches,
						struct agent_report *report, const char *summary,
						char *state, size_t size, struct error *err)
{
	const struct run_setup *setup = launches->setup;
	const struct conduct_options *options = launches->options;
	struct run_left left;
	struct result result;
	struct health before;
	enum status status, pooled;

	status = run_launches_left_find(&left, &setup->plan, options->directory, options->resume,
					err);
	if (status != STATUS_OK)
		return status;
	agent_report_plan(report, left.planned, left.planned - left.cases);
	/* On every node, because only the conductor knows if its run will be judged. */
	before = run_launches_health_collect(&setup->probe);
	status = launches_run(launches, &setup->plan, 1, left.launches, err);
	if (status == STATUS_OK)
		status = launches_run_needed(launches, err);
	pooled = run_launches_finish(launches, &before, &result, err);
	snprintf(state, size, "%s", result.state ? result.state : "incomplete");
	if (pooled == STATUS_OK && result.gpuproof_version)
		cmd_agent_node_write_summary(&result, summary, err);
	result_release(&result);
	return status == STATUS_OK ? pooled : status;
}

/* True if `lines` contains the case's id on a separate line. */
static bool cmd_agent_is_listed(const void *lines, const struct plan_case *c)
{
	const char *ids = lines, *at = ids;
	size_t length = strlen(c->id);

	while ((at = strstr(at, c->id)) && !((at == ids || at[-1] == '\n') && at[length] == '\n'))
		at += length;
	return at != NULL;
}

/* Measures the conductor's suspect cases again, and adds them to the node's result. */
static enum status cmd_agent_node_confirm_cases(struct launches *launches, const char *list,
						struct agent_report *report, const char *summary,
						char *state, size_t size, struct error *err)
{
	const char *directory = launches->options->directory;
	struct text ids = TEXT_EMPTY;
	struct result result = { 0 };
	struct plan part = { 0 };
	enum status status = input_read_file(list, "list of cases", CONFIRM_MOST, &ids, err);

	if (status == STATUS_OK)
		status = result_read_from(&result, directory, err);
	if (status == STATUS_OK) {
		part = plan_subset(&launches->setup->plan, cmd_agent_is_listed,
				   ids.data ? ids.data : "");
		agent_report_plan(report, part.case_count * LAUNCHES_EXTENSION, 0);
		status = run_launches_extend(launches, &part, &result, err);
	}
	if (status == STATUS_OK)
		status = result_write_to(&result, directory, err);
	if (status == STATUS_OK)
		cmd_agent_node_write_summary(&result, summary, err);
	if (!err->status)
		remove(list);
	snprintf(state, size, "%s", status == STATUS_INTERRUPTED ? "interrupted" : "complete");
	free(part.cases);
	result_release(&result);
	text_release(&ids);
	return status;
}

static enum status cmd_agent_run_node(const struct fleet_message *order,
				      struct agent_report *report, char *state, size_t size,
				      struct error *err)
{
	char *folder = xasprintf("%s/nodes/%s", order->directory, order->node);
	char *list = merge_confirm_path(order->directory, order->node);
	char *summary = merge_summary_path(order->directory, order->node);
	int stopped_by = 0;
	struct conduct_options options = { .directory = folder,
					   .resume = journal_begun(folder),
					   .quiet = true,
					   .command = "gpuproof agent",
					   .watch = agent_report_case,
					   .watch_context = report,
					   .stopped_by = &stopped_by };
	struct run_setup setup = { 0 };
	struct launches launches = { .setup = &setup, .options = &options };
	enum status status = run_setup_node(&setup, order->directory, order->run, (int)order->share,
					    (int)order->shares, err);

	if (status == STATUS_OK && options.resume)
		status = cmd_agent_run_node_same_config(folder, order->directory, err);
	/* Until there is a new one. */
	unlink(summary);
	if (status == STATUS_OK && options.resume && access(list, F_OK) == 0)
		status = cmd_agent_node_confirm_cases(&launches, list, report, summary, state, size,
						      err);
	else if (status == STATUS_OK)
		status = cmd_agent_node_measure_cases(&launches, report, summary, state, size, err);
	run_launches_release(&launches);
	run_setup_release(&setup);
	free(folder);
	free(list);
	free(summary);
	return status == STATUS_OK ? err->status : status;
}

#define GROUP_LOG_NAME "groups.log"

/* Writes "10.0.0.1 4242 ID TOKEN", the numbers in hexadecimal except the port. */
static void cmd_agent_tell_address(void *report, const struct world_tcp_address *address)
{
	struct text text = TEXT_EMPTY;

	text_addf(&text, "%s %d %016" PRIx64 " ", address->host, address->port, address->id);
	for (size_t i = 0; i < sizeof(address->token); i++)
		text_addf(&text, "%02x", address->token[i]);
	agent_report_listening(report, text.data);
	text_release(&text);
}

static enum status cmd_agent_read_address(const char *text, struct world_tcp_address *out,
					  struct error *err)
{
	char token[2 * sizeof(out->token) + 1] = "";
	bool whole = sscanf(text, "%63s %d %" SCNx64 " %64s", out->host, &out->port, &out->id,
			    token) == 4 &&
		     strlen(token) == sizeof(token) - 1;

	for (size_t i = 0; i < sizeof(out->token) && whole; i++)
		whole = sscanf(token + 2 * i, "%2hhx", &out->token[i]) == 1;
	return whole ? STATUS_OK
		     : error_set(err, STATUS_INTERNAL,
				 "the order has an invalid address of the leading node");
}

/* Splits "n1,n2" in place; the names point into it. */
static size_t cmd_agent_divide_names(char *text, const char **names, size_t most)
{
	size_t count = 0;
	char *rest = text, *name;

	while (count < most && (name = strtok_r(rest, ",", &rest)))
		names[count++] = name;
	return count;
}

static enum status cmd_agent_run_group(const struct fleet_message *start,
				       const struct fleet_message *order, const char *host,
				       struct agent_report *report, struct error *err)
{
	char *folder = xasprintf("%s/nodes/%s", start->directory, start->node);
	char *path = xasprintf("%s/" GROUP_JOURNAL_NAME, folder);
	char *log = xasprintf("%s/" GROUP_LOG_NAME, folder);
	char *networks = xasprintf("%s/" GROUP_NETWORKS_NAME, folder), *text = xstrdup(order->text);
	const char **names = xcalloc(strlen(text) + 1, sizeof(*names));
	struct run_setup setup = { 0 };
	struct group_part part = { .plan = &setup.plan,
				   .first = (size_t)order->first,
				   .last = (size_t)order->last,
				   .path = path,
				   .host = host,
				   .listening = cmd_agent_tell_address,
				   .context = report };
	struct plan_group group = { .kind = (enum suite_groups)order->scope,
				    .asked = (int)order->asked,
				    .round = (int)order->round };

	group.nodes = (int)cmd_agent_divide_names(text, names, strlen(text) + 1);
	while (part.node < group.nodes && strcmp(names[part.node], start->node) != 0)
		part.node++;
	part.log = open(log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	part.networks = open(networks, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (part.log < 0)
		error_errno(err, "%s", log);
	else if (part.node == group.nodes)
		error_set(err, STATUS_INTERNAL,
			  "this node (%s) is not in the list of nodes of its group", start->node);
	else if (part.node == 0 ||
		 cmd_agent_read_address(order->address, &part.address, err) == STATUS_OK) {
		if (start->shares > 1)
			setenv("NCCL_HOSTID", start->node, 1);
		if (run_setup_group(&setup, start->directory, names, &group, err) == STATUS_OK)
			group_run(&part, err);
		run_group_note_adapters(folder);
	}
	if (part.networks >= 0)
		close(part.networks);
	if (part.log >= 0)
		close(part.log);
	run_setup_release(&setup);
	free(names);
	free(text);
	free(networks);
	free(log);
	free(path);
	free(folder);
	return err->status;
}

static int cmd_agent_run(struct call *call)
{
	fleet_agent(cmd_agent_run_node, cmd_agent_run_group, &call->err);
	return EXIT_ACCEPTED;
}

const struct command command_agent = { .name = "agent", .run = cmd_agent_run };
