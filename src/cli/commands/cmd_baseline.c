/* gpuproof baseline: named sets of results for comparisons. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/actions.h"
#include "cli/command.h"
#include "cli/input/history_file.h"
#include "cli/input/result_list.h"
#include "cli/output/table.h"
#include "history/baseline.h"

extern const struct command command_baseline;

struct baseline_arguments {
	const char *db;
	bool replace;
};

static const struct option_row rows[] = {
	HISTORY_OPTION(baseline_arguments),
	{ .name = "replace",
	  FLAG_AT(baseline_arguments, replace),
	  .actions = "save",
	  .help = "replace a set of the same name" },
	{ 0 },
};

static int baseline_save_action(const struct action_call *call)
{
	const struct baseline_arguments *a = call->arguments;
	struct result_list results = { 0 };
	struct error err = ERROR_NONE;
	struct store *history = NULL;

	for (int i = 1; i < call->count && err.status == STATUS_OK; i++)
		result_list_add_launch(&results, call->operands[i], &err);
	if (err.status == STATUS_OK &&
	    store_open(&history, history_file(a->db), STORE_CREATE, &err) == STATUS_OK &&
	    baseline_save(history, call->operands[0], results.items, results.count, a->replace,
			  &err) == STATUS_OK)
		fprintf(stderr, "gpuproof: stored baseline:%s in %s\n", call->operands[0],
			history_file(a->db));
	store_close(history);
	result_list_release(&results);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

static int baseline_list_action(const struct action_call *call)
{
	const struct baseline_arguments *a = call->arguments;
	struct error err = ERROR_NONE;
	struct store *history;
	struct baseline_list found;
	struct output_table table = TABLE_EMPTY;

	if (store_open(&history, history_file(a->db), STORE_READ, &err) != STATUS_OK)
		return command_fail(&err);
	if (store_baselines(history, &found, &err) == STATUS_OK) {
		table_row(&table, (const char *[]){ "NAME", "RESULTS", "SAVED" }, 3);
		for (size_t i = 0; i < found.count; i++) {
			char number[24];

			snprintf(number, sizeof(number), "%zu", found.items[i].results);
			table_row(&table,
				  (const char *[]){ found.items[i].name, number,
						    found.items[i].saved },
				  3);
		}
		table_print(&table, stdout);
	}
	table_release(&table);
	baseline_list_release(&found);
	store_close(history);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

static void baseline_print_result(struct output_table *table, const struct result *r)
{
	char cases[24];

	snprintf(cases, sizeof(cases), "%zu", r->case_count);
	table_row(table,
		  (const char *[]){ r->run_id, r->started, r->label, r->state, cases,
				    r->device_count ? r->devices[0].name : "" },
		  6);
}

static int baseline_show(const struct action_call *call)
{
	const struct baseline_arguments *a = call->arguments;
	struct error err = ERROR_NONE;
	struct store *history;
	struct result *results = NULL;
	struct output_table table = TABLE_EMPTY;
	size_t found = 0;

	if (store_open(&history, history_file(a->db), STORE_READ, &err) == STATUS_OK &&
	    baseline_load(history, call->operands[0], &results, &found, &err) == STATUS_OK) {
		table_row(&table,
			  (const char *[]){ "RUN", "STARTED", "LABEL", "STATE", "CASES", "DEVICE" },
			  6);
		for (size_t i = 0; i < found; i++)
			baseline_print_result(&table, &results[i]);
		table_print(&table, stdout);
	}
	table_release(&table);
	for (size_t i = 0; i < found; i++)
		result_release(&results[i]);
	free(results);
	store_close(history);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

static int baseline_delete_action(const struct action_call *call)
{
	const struct baseline_arguments *a = call->arguments;
	struct error err = ERROR_NONE;
	struct store *history;

	if (store_open(&history, history_file(a->db), STORE_WRITE, &err) == STATUS_OK)
		baseline_delete(history, call->operands[0], &err);
	store_close(history);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

static const struct action actions[] = {
	{ .name = "save",
	  .form = "NAME RESULT...    store results (launches of one measurement) under a name",
	  .least = 2,
	  .most = ANY_NUMBER,
	  .run = baseline_save_action },
	{ .name = "list", .run = baseline_list_action },
	{ .name = "show", .form = "NAME", .least = 1, .most = 1, .run = baseline_show },
	{ .name = "delete", .form = "NAME", .least = 1, .most = 1, .run = baseline_delete_action },
	{ 0 },
};

static int baseline_run(int argc, char **argv)
{
	struct baseline_arguments a = { 0 };

	return command_act(&command_baseline, argc, argv, &a);
}

const struct command command_baseline = {
	.name = "baseline",
	.summary = "name results for later comparisons",
	.about = "Wherever a command takes a RESULT, baseline:NAME then names the stored set:\n  "
		 "gpuproof check run --baseline baseline:NAME\n  gpuproof compare baseline:NAME -- "
		 "run",
	.actions = actions,
	.options = rows,
	.run = baseline_run,
};
