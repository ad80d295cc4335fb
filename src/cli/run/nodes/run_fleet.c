#include "cli/run/nodes/run_fleet.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output/print.h"
#include "cli/run/run_events.h"
#include "cli/run/run_launches.h"
#include "cli/run/run_summary.h"
#include "fleet/fleet.h"
#include "fleet/merge.h"
#include "measure/processes/signals.h"
#include "result/outcome.h"
#include "result/status/run_status.h"
#include "result/verdict.h"
#include "run/journal.h"

/* A line for all nodes with the same reason. */
static void run_fleet_print_losses(const struct result *result)
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

static int fleet_run_finish(struct run_request *a, struct result *result, enum status status,
			    int stopped_by, struct error *err)
{
	struct error unpublished = ERROR_NONE;
	int code = EXIT_ACCEPTED;

	if (!a->quiet)
		run_print_summary(result);
	if (!a->quiet || result_lost_nodes(result)) {
		size_t lost = result_lost_nodes(result);

		printf("%zu node%s: %zu complete", result->node_count,
		       text_plural(result->node_count), result->node_count - lost);
		printf(lost ? ", %zu not\n" : "\n", lost);
		run_fleet_print_losses(result);
	}
	if (result->judgement) {
		print_verdicts(result->judgement, false);
	} else if (a->check.wanted && status != STATUS_INTERRUPTED) {
		code = cli_command_fail(err);
	} else if (!a->quiet) {
		run_summary_print_judgement(result, a->directory);
	}
	code = one_node_graver_code(result_outcome_exit_code(result), code);
	if (one_node_publish_nodes(a, result, &unpublished) != STATUS_OK)
		code = one_node_first_code(code, cli_command_fail(&unpublished));
	if (status == STATUS_INTERRUPTED) {
		run_summary_print_resume(a->directory);
		return stopped_by == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
	}
	if (status != STATUS_OK)
		fprintf(stderr, "gpuproof: %s\n", err->message);
	return code;
}

/* While nodes run, the document counts only nodes. */
static void run_fleet_count_outcomes(struct run_status *status, const struct result *result)
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
}

#define CONFIRM_ROUNDS 4

/* Ids of cases, and "NODE POINT" for all cases of a point on a node; sorted. */
struct suspects {
	char **keys;
	size_t count, capacity;
};

static int run_fleet_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_fleet_add_key(struct suspects *s, char *key)
{
	ARRAY_GROW(s->keys, s->count, s->capacity);
	s->keys[s->count++] = key;
}

static bool run_fleet_holds(const struct suspects *s, const char *key)
{
	return s->count && bsearch(&key, s->keys, s->count, sizeof(*s->keys), run_fleet_by_text);
}

/* Sends node `n` the list of cases to measure again; returns their number. */
static size_t run_fleet_tell_node(const struct result *result, const struct result_node *n,
				  const struct suspects *s, size_t *at, const char *directory,
				  struct error *err)
{
	struct text ids = TEXT_EMPTY;
	size_t count = 0;

	/* Cases are sorted by node. */
	for (; *at < result->case_count; ++*at) {
		const struct case_result *c = &result->cases[*at];
		char *id, *point, *key;

		if (!c->node || strcmp(c->node, n->name) != 0)
			break;
		if (n->status != NODE_OK || c->status != CASE_OK)
			continue;
		id = case_id_on_node(c);
		point = case_point(c);
		key = xasprintf("%s %s", c->node, point);
		if (run_fleet_holds(s, c->id) || run_fleet_holds(s, key)) {
			text_addf(&ids, "%s\n", id);
			count++;
		}
		free(id);
		free(point);
		free(key);
	}
	if (count) {
		char *path = merge_confirm_path(directory, n->name);

		file_write(path, ids.data, ids.length, err);
		free(path);
	}
	text_release(&ids);
	return count;
}

/* Returns the number of cases, and of nodes, to measure again. */
static size_t run_fleet_tell_nodes(const struct result *result, const char *directory,
				   size_t *nodes, struct error *err)
{
	struct suspects s = { 0 };
	size_t cases = 0, at = 0;

	*nodes = 0;
	for (size_t i = 0; i < result->judgement->count; i++) {
		const struct verdict_check *c = &result->judgement->checks[i];

		if (!judge_check_wants_more(c) || !*c->case_id)
			continue;
		run_fleet_add_key(&s, xstrdup(c->case_id));
		if (c->comparison == LIKE_IDENTICAL || verdict_check_is_of_node(c))
			run_fleet_add_key(&s,
					  xasprintf("%.*s %s", (int)device_node_length(c->devices),
						    c->devices, c->point));
	}
	if (s.count)
		qsort(s.keys, s.count, sizeof(*s.keys), run_fleet_by_text);
	for (size_t i = 0; i < result->node_count && s.count && !err->status; i++) {
		size_t count =
			run_fleet_tell_node(result, &result->nodes[i], &s, &at, directory, err);

		cases += count;
		*nodes += count > 0;
	}
	for (size_t i = 0; i < s.count; i++)
		free(s.keys[i]);
	free(s.keys);
	return cases;
}

/*
 * Judges the nodes' `result`. While cases are undecided, and at most CONFIRM_ROUNDS times, their
 * nodes measure them in LAUNCHES_EXTENSION more launches, all at the same time, and everything is
 * judged again; the number of rounds does not depend on the number of nodes. `result` and
 * DIR/result.json then cover all launches. Returns as fleet_run() if a round is stopped.
 */
static enum status run_fleet_repeat_undecided(struct run_check *check, const struct config *config,
					      const struct fleet_options *options,
					      struct result *result, struct error *err)
{
	struct fleet_options again = *options;
	enum status status = run_check_nodes(check, config, options->directory, result, err);

	again.resume = true;
	again.before = result;
	for (int round = 0; round < CONFIRM_ROUNDS && status == STATUS_OK; round++) {
		struct result next;
		size_t nodes, cases = run_fleet_tell_nodes(result, options->directory, &nodes, err);

		if (err->status || !cases)
			return err->status;
		if (!options->quiet)
			fprintf(stderr,
				"gpuproof: %zu case%s of %zu node%s undecided and will be repeated "
				"in %d more launches\n",
				cases, text_plural(cases), nodes,
				nodes == 1 && cases == 1 ? " is" : "s are", LAUNCHES_EXTENSION);
		status = fleet_run(config, &again, &next, err);
		if (!next.gpuproof_version)
			return status;
		result_release(result);
		*result = next;
		if (status == STATUS_OK)
			status = run_check_nodes(check, config, options->directory, result, err);
	}
	return status;
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
		return cli_command_fail(&err);
	status = fleet_run(config, &options, &result, &err);
	if (result.gpuproof_version)
		one_node_tell_status(&run_status, a->directory,
				     a->check.wanted ? "judging" : "writing the report");
	/* Also judges the result if too few nodes are left. */
	if (a->check.wanted && status == STATUS_UNSUPPORTED)
		run_check_nodes(&a->check, config, a->directory, &result, &unjudged);
	else if (a->check.wanted && status == STATUS_OK)
		status = run_fleet_repeat_undecided(&a->check, config, &options, &result, &err);
	/* Otherwise the run never started. */
	code = result.gpuproof_version ? fleet_run_finish(a, &result, status, stopped_by, &err)
				       : cli_command_fail(&err);
	if (result.gpuproof_version) {
		run_events_rest(&events, &result);
		run_events_finish(&events, &result);
		run_fleet_count_outcomes(&run_status, &result);
		one_node_end_status(&run_status, a->directory, &result, code);
	}
	error_clear(&err);
	if (run_events_close(&events, &err) != STATUS_OK)
		code = one_node_graver_code(code, cli_command_fail(&err));
	result_release(&result);
	run_status_release(&run_status);
	signals_end();
	return code;
}

bool run_fleet_places_conflict(const struct run_places *places)
{
	return (places->simulated > 0) + (places->hosts != NULL) + (places->launch != NULL) > 1;
}

void run_fleet_places_override(const struct run_places *places, struct overrides *overrides)
{
	const char *launcher = places->simulated ? "simulate"
			       : places->hosts   ? "mpirun"
			       : places->launch  ? "command"
						 : NULL;
	char *path = places->hosts ? realpath(places->hosts, NULL) : NULL;

	if (launcher)
		overrides_add(overrides, xasprintf("fleet.launcher=%s", launcher));
	if (places->hosts)
		overrides_add(overrides, xasprintf("fleet.nodes=%s", path ? path : places->hosts));
	else if (places->simulated)
		overrides_add(overrides,
			      xasprintf("fleet.nodes=%lld", (long long)places->simulated));
	free(path);
}

/* Launchers that start copies, and the right command for each. */
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

bool run_fleet_is_copied(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(copiers); i++) {
		const char *text = getenv(copiers[i].variable);
		long count = text ? strtol(text, NULL, 10) : 1;

		if (count <= 1)
			continue;
		fprintf(stderr,
			"gpuproof run: %s has started %ld copies of this command. Start only one, "
			"because it starts an agent on each node: %s\n",
			copiers[i].launcher, count, copiers[i].instead);
		return true;
	}
	return false;
}
