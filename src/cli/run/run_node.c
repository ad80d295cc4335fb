#include "cli/run/run_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "cli/run/run_health.h"
#include "cli/run/run_launches.h"
#include "cli/run/run_left.h"
#include "cli/run/run_setup.h"

/* A node that was measured with another config would be neither the one nor the other. */
static enum status same_config(const char *folder, const char *directory, struct error *err)
{
	struct result run = { 0 }, node = { 0 };

	if (conduct_resume_header(directory, &run, err) == STATUS_OK &&
	    conduct_resume_header(folder, &node, err) == STATUS_OK &&
	    strcmp(run.config_text, node.config_text) != 0)
		error_set(err, STATUS_USAGE, "other config: %s was begun with another one than %s",
			  folder, directory);
	result_release(&run);
	result_release(&node);
	return err->status;
}

static enum status measure(const struct run_setup *setup, struct conduct_options *options,
			   struct agent_report *report, char *state, size_t size, struct error *err)
{
	struct launches launches = { 0 };
	struct run_left left;
	struct result result;
	struct finding *before;
	size_t before_count;
	enum status status, pooled;

	status = options->resume ? run_left_of(&left, &setup->plan, options->directory, err)
				 : run_left_new(&left, &setup->plan, options->directory, err);
	if (status != STATUS_OK)
		return status;
	agent_report_plan(report, left.planned, left.planned - left.cases);
	/* On every node, as the conductor alone knows whether its run will be judged. */
	health_collect(&setup->probe, &before, &before_count);
	status = launches_run(&launches, &setup->plan, &setup->probe, options, err);
	pooled = launches_pool(&launches, options->directory, &result, err);
	if (pooled == STATUS_OK && result.gpuproof_version)
		pooled = health_add(&result, before, before_count, &setup->config,
				    options->directory, err);
	else
		free(before);
	snprintf(state, size, "%s", result.state ? result.state : "incomplete");
	launches_release(&launches);
	result_release(&result);
	return status == STATUS_OK ? pooled : status;
}

enum status run_node(const struct fleet_message *order, struct agent_report *report, char *state,
		     size_t size, struct error *err)
{
	char *folder = xasprintf("%s/nodes/%s", order->directory, order->node);
	int stopped_by = 0;
	struct conduct_options options = { .directory = folder,
					   .resume = launch_begun(folder),
					   .quiet = true,
					   .command = "gpuproof agent",
					   .watch = agent_report_case,
					   .watch_context = report,
					   .stopped_by = &stopped_by };
	struct run_setup setup = { 0 };
	enum status status = run_setup_node(&setup, order->directory, order->run, (int)order->share,
					    (int)order->shares, err);

	if (status == STATUS_OK && options.resume)
		status = same_config(folder, order->directory, err);
	if (status == STATUS_OK)
		status = measure(&setup, &options, report, state, size, err);
	run_setup_release(&setup);
	free(folder);
	return status;
}
