#include "cli/run/nodes/run_fleet.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/output/print_verdicts.h"
#include "cli/run/nodes/run_confirm.h"
#include "cli/run/run_events.h"
#include "cli/run/run_summary.h"
#include "fleet/fleet.h"
#include "measure/processes/signals.h"
#include "result/outcome.h"
#include "result/status/run_status.h"
#include "result/verdict.h"
#include "run/journal.h"

/* A line for all nodes of one reason. */
static void print_losses(const struct result *result)
{
	bool *told = xcalloc(result->node_count + 1, sizeof(*told));

	for (size_t i = 0; i < result->node_count; i++) {
		const struct result_node *n = &result->nodes[i];
		size_t count = 0;
		char *names;

		if (n->status == NODE_OK || told[i])
			continue;
		names = result_nodes_ended_alike(result, i, told, &count);
		printf("%s %s%s%s: %s; %zu of %zu cases%s\n", node_status_name(n->status), names,
		       *n->lost_at ? " at " : "", n->lost_at, n->reason, n->finished, n->planned,
		       count > 1 ? " each" : "");
		free(names);
	}
	free(told);
}

static void print_nodes(const struct result *result)
{
	size_t lost = result_lost_nodes(result);

	printf("%zu node%s: %zu whole", result->node_count, result->node_count == 1 ? "" : "s",
	       result->node_count - lost);
	printf(lost ? ", %zu not\n" : "\n", lost);
	print_losses(result);
}

static int finish(struct run_request *a, struct result *result, enum status status, int stopped_by,
		  struct error *err)
{
	struct error unpublished = ERROR_NONE;
	int code = EXIT_ACCEPTED;

	if (!a->quiet)
		run_print_summary(result);
	if (!a->quiet || result_lost_nodes(result))
		print_nodes(result);
	if (result->judgement) {
		print_verdicts(result->judgement, false);
	} else if (a->check.wanted && status != STATUS_INTERRUPTED) {
		code = command_fail(err);
	} else if (!a->quiet) {
		run_print_judgement(result, a->directory);
	}
	code = run_graver_code(result_exit_code(result), code);
	if (run_publish_nodes(a, result, &unpublished) != STATUS_OK) {
		int failed = command_fail(&unpublished);

		code = code == EXIT_ACCEPTED ? failed : code;
	}
	if (status == STATUS_INTERRUPTED) {
		run_print_resume(a->directory);
		return stopped_by == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
	}
	if (status != STATUS_OK)
		fprintf(stderr, "gpuproof: %s\n", err->message);
	return code;
}

static void tell_status(struct run_status *status, const char *directory, const char *doing)
{
	struct error err = ERROR_NONE; /* the run has its result all the same */

	snprintf(status->doing, sizeof(status->doing), "%s", doing);
	memset(&status->current, 0, sizeof(status->current));
	status->current.seconds = status->current.median = status->current.half_width =
		status->seconds_left = (double)NAN;
	run_status_write(status, directory, &err);
}

/* The last document: how the run has ended. */
static void end_status(struct run_status *status, const char *directory,
		       const struct result *result, int code)
{
	size_t *const counts[] = { [CASE_OK] = &status->ok,
				   [CASE_SKIPPED] = &status->skipped,
				   [CASE_FAILED] = &status->failed,
				   [CASE_ERROR] = &status->errors };

	for (size_t i = 0; i < result->case_count; i++)
		++*counts[result->cases[i].status];
	status->planned = result->planned;
	status->settled = result->case_count;
	status->nodes.planned = result->node_count;
	status->nodes.lost = result_lost_nodes(result);
	status->nodes.done = result->node_count - status->nodes.lost;
	status->nodes.waiting = status->nodes.running = 0;
	snprintf(status->state, sizeof(status->state), "%s", result->state);
	snprintf(status->sentence, sizeof(status->sentence), "%s",
		 result->judgement ? result->judgement->sentence : "");
	status->seconds = result->seconds;
	status->exit_code = code;
	tell_status(status, directory, "");
}

int run_fleet(struct run_request *a, const struct config *config, const char *launch)
{
	int stopped_by = 0, code;
	struct run_status run_status = { .exit_code = -1 };
	struct run_events events;
	const struct fleet_options options = { .directory = a->directory,
					       .launch = launch,
					       .command = a->command,
					       .resume = a->resume,
					       .quiet = a->quiet,
					       .events = a->events ? &events.hooks : NULL,
					       .status = &run_status,
					       .stopped_by = &stopped_by };
	struct error err = ERROR_NONE, unjudged = ERROR_NONE;
	struct result result;
	enum status status;

	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if ((!a->resume && journal_vacant(a->directory, &err) != STATUS_OK) ||
	    run_events_open(&events, a->events, a->directory, &err) != STATUS_OK ||
	    signals_begin(&err) != STATUS_OK)
		return command_fail(&err);
	status = fleet_run(config, &options, &result, &err);
	if (result.gpuproof_version)
		tell_status(&run_status, a->directory,
			    a->check.wanted ? "judging" : "writing the report");
	/* Judges what there is also when too few nodes are left. */
	if (a->check.wanted && status == STATUS_UNSUPPORTED)
		run_check_nodes(&a->check, config, a->directory, &result, &unjudged);
	else if (a->check.wanted && status == STATUS_OK)
		status = run_confirm(&a->check, config, &options, &result, &err);
	/* Else nothing was begun. */
	code = result.gpuproof_version ? finish(a, &result, status, stopped_by, &err)
				       : command_fail(&err);
	if (result.gpuproof_version) {
		run_events_rest(&events, &result);
		run_events_finish(&events, &result);
		end_status(&run_status, a->directory, &result, code);
	}
	error_clear(&err);
	if (run_events_close(&events, &err) != STATUS_OK)
		code = run_graver_code(code, command_fail(&err));
	result_release(&result);
	run_status_release(&run_status);
	signals_end();
	return code;
}

bool run_places_conflict(const struct run_places *places)
{
	return (places->simulated > 0) + (places->hosts != NULL) + (places->launch != NULL) > 1;
}

void run_places_override(const struct run_places *places,
			 enum status (*take)(void *context, const char *name, const char *value,
					     struct error *err),
			 void *context)
{
	const char *launcher = places->simulated ? "simulate"
			       : places->hosts   ? "mpirun"
			       : places->launch  ? "command"
						 : NULL;
	char *path = places->hosts ? realpath(places->hosts, NULL) : NULL, *text;
	struct error err = ERROR_NONE;

	if (launcher) {
		text = xasprintf("fleet.launcher=%s", launcher);
		take(context, "set", text, &err);
		free(text);
	}
	if (places->simulated || places->hosts) {
		text = places->hosts ? xasprintf("fleet.nodes=%s", path ? path : places->hosts)
				     : xasprintf("fleet.nodes=%lld", (long long)places->simulated);
		take(context, "set", text, &err);
		free(text);
	}
	free(path);
}

/* Launchers that start copies, and what is right instead. */
static const struct copier {
	const char *variable, *launcher, *instead;
} copiers[] = {
	{ "SLURM_STEP_NUM_TASKS", "srun", "gpuproof run fleet in the batch script, without srun" },
	{ "OMPI_COMM_WORLD_SIZE", "mpirun", "gpuproof run fleet --hosts FILE, without mpirun" },
	{ "PMI_SIZE", "mpirun", "gpuproof run fleet --hosts FILE, without mpirun" },
	{ "MV2_COMM_WORLD_SIZE", "mpirun", "gpuproof run fleet --hosts FILE, without mpirun" },
	{ "FLUX_JOB_SIZE", "flux",
	  "gpuproof run fleet --launch 'flux run --nodes=4 --tasks-per-node=1'" },
};

bool run_is_copied(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(copiers); i++) {
		const char *text = getenv(copiers[i].variable);
		long count = text ? strtol(text, NULL, 10) : 1;

		if (count <= 1)
			continue;
		fprintf(stderr,
			"gpuproof run: %s has started %ld copies of this command, which would all "
			"conduct the same run; start it once, it starts an agent on each node "
			"itself: %s\n",
			copiers[i].launcher, count, copiers[i].instead);
		return true;
	}
	return false;
}
