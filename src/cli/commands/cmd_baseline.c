/* gpuproof baseline: named sets of results for comparisons. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/input/history_file.h"
#include "cli/options.h"
#include "cli/output/table.h"
#include "history/baseline.h"

struct baseline_arguments {
	const char *db;
	bool replace;
};

static const struct option_row rows[] = {
	HISTORY_ROW(baseline_arguments),
	FLAG_ROW(0, "replace", baseline_arguments, replace, .actions = "save"),
	{ 0 },
};

static int cmd_baseline_save_action(struct call *call)
{
	const struct baseline_arguments *a = call->arguments;

	if (cli_command_read_results(call, 1) == STATUS_OK &&
	    cli_command_open_history(call, a->db, STORE_CREATE) == STATUS_OK &&
	    baseline_save(call->history, call->operands[0], call->results.items,
			  call->results.count, a->replace, &call->err) == STATUS_OK)
		fprintf(stderr, "gpuproof: stored baseline:%s in %s\n", call->operands[0],
			history_file(a->db));
	return EXIT_ACCEPTED;
}

static int cmd_baseline_list_action(struct call *call)
{
	const struct baseline_arguments *a = call->arguments;
	struct baseline_list found;
	struct output_table table = TABLE_EMPTY;

	if (cli_command_open_history(call, a->db, STORE_READ) != STATUS_OK)
		return EXIT_ENVIRONMENT;
	if (store_notes_baselines(call->history, &found, &call->err) == STATUS_OK) {
		TABLE_ROW(&table, "NAME", "RESULTS", "SAVED");
		for (size_t i = 0; i < found.count; i++) {
			char number[24];

			snprintf(number, sizeof(number), "%zu", found.items[i].results);
			TABLE_ROW(&table, found.items[i].name, number, found.items[i].saved);
		}
		table_finish(&table, stdout);
	}
	baseline_list_release(&found);
	return EXIT_ACCEPTED;
}

static int cmd_baseline_show(struct call *call)
{
	const struct baseline_arguments *a = call->arguments;
	struct result *results = NULL;
	struct output_table table = TABLE_EMPTY;
	size_t found = 0;

	if (cli_command_open_history(call, a->db, STORE_READ) == STATUS_OK &&
	    baseline_load(call->history, call->operands[0], &results, &found, &call->err) ==
		    STATUS_OK) {
		TABLE_ROW(&table, "RUN", "STARTED", "LABEL", "STATE", "CASES", "DEVICE");
		for (size_t i = 0; i < found; i++) {
			const struct result *r = &results[i];
			char cases[24];

			snprintf(cases, sizeof(cases), "%zu", r->case_count);
			TABLE_ROW(&table, r->run_id, r->started, r->label, r->state, cases,
				  r->device_count ? r->devices[0].name : "");
		}
		table_finish(&table, stdout);
	}
	for (size_t i = 0; i < found; i++)
		result_release(&results[i]);
	free(results);
	return EXIT_ACCEPTED;
}

static int cmd_baseline_delete_action(struct call *call)
{
	const struct baseline_arguments *a = call->arguments;

	if (cli_command_open_history(call, a->db, STORE_WRITE) == STATUS_OK)
		baseline_delete(call->history, call->operands[0], &call->err);
	return EXIT_ACCEPTED;
}

static const struct action actions[] = {
	{ .name = "save", .least = 2, .most = ANY_NUMBER, .run = cmd_baseline_save_action },
	{ .name = "list", .run = cmd_baseline_list_action },
	{ .name = "show", .least = 1, .most = 1, .run = cmd_baseline_show },
	{ .name = "delete", .least = 1, .most = 1, .run = cmd_baseline_delete_action },
	{ 0 },
};

const struct command command_baseline = {
	.name = "baseline",
	.actions = actions,
	.options = rows,
	.arguments = sizeof(struct baseline_arguments),
};
