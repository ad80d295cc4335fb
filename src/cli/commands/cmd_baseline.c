/* gpuproof baseline: named sets of results to compare with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/input/history_file.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/output/table.h"
#include "history/baseline.h"

extern const struct command command_baseline;

struct baseline_arguments {
	const char *db;
	bool replace;
	const char **operands; /* after the action */
	int count;
};

static const struct option_row rows[] = {
	HISTORY_OPTION(baseline_arguments),
	{ .name = "replace",
	  FLAG_AT(baseline_arguments, replace),
	  .help = "save over a set of the same name" },
	{ 0 },
};

static int save(const struct baseline_arguments *a)
{
	struct result_list results = { 0 };
	struct error err = ERROR_NONE;
	struct store *history = NULL;

	if (a->count < 2)
		return command_usage(&command_baseline, "save NAME RESULT...");
	for (int i = 1; i < a->count && err.status == STATUS_OK; i++)
		result_list_add_launch(&results, a->operands[i], &err);
	if (err.status == STATUS_OK &&
	    history_file_open(&history, a->db, STORE_CREATE, &err) == STATUS_OK &&
	    baseline_save(history, a->operands[0], results.items, results.count, a->replace,
			  &err) == STATUS_OK)
		fprintf(stderr, "gpuproof: baseline:%s is now in %s\n", a->operands[0], a->db);
	store_close(history);
	result_list_release(&results);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

static int list(const struct baseline_arguments *a)
{
	struct error err = ERROR_NONE;
	struct store *history;
	struct baseline_list found;
	struct output_table table = TABLE_EMPTY;

	if (a->count)
		return command_usage(&command_baseline, "what is '%.60s' for? list takes no name",
				     a->operands[0]);
	if (history_file_open(&history, a->db, STORE_READ, &err) != STATUS_OK)
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

static void print_result(struct output_table *table, const struct result *r)
{
	char cases[24];

	snprintf(cases, sizeof(cases), "%zu", r->case_count);
	table_row(table,
		  (const char *[]){ r->run_id, r->started, r->label, r->state, cases,
				    r->device_count ? r->devices[0].name : "" },
		  6);
}

static int show(const struct baseline_arguments *a)
{
	struct error err = ERROR_NONE;
	struct store *history;
	struct result *results = NULL;
	struct output_table table = TABLE_EMPTY;
	size_t count = 0;

	if (a->count != 1)
		return command_usage(&command_baseline, "show NAME");
	if (history_file_open(&history, a->db, STORE_READ, &err) == STATUS_OK &&
	    baseline_load(history, a->operands[0], &results, &count, &err) == STATUS_OK) {
		table_row(&table,
			  (const char *[]){ "RUN", "STARTED", "LABEL", "STATE", "CASES", "DEVICE" },
			  6);
		for (size_t i = 0; i < count; i++)
			print_result(&table, &results[i]);
		table_print(&table, stdout);
	}
	table_release(&table);
	for (size_t i = 0; i < count; i++)
		result_release(&results[i]);
	free(results);
	store_close(history);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

static int delete (const struct baseline_arguments *a)
{
	struct error err = ERROR_NONE;
	struct store *history;

	if (a->count != 1)
		return command_usage(&command_baseline, "delete NAME");
	if (history_file_open(&history, a->db, STORE_WRITE, &err) == STATUS_OK)
		baseline_delete(history, a->operands[0], &err);
	store_close(history);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

static const struct {
	const char *name;
	int (*run)(const struct baseline_arguments *a);
} actions[] = { { "save", save }, { "list", list }, { "show", show }, { "delete", delete } };

static int act(const struct options *o, struct baseline_arguments *a)
{
	a->db = history_file(a->db);
	a->operands = o->operands + 1;
	a->count = o->operand_count - 1;
	for (size_t i = 0; o->operand_count && i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].name, o->operands[0]) == 0)
			return actions[i].run(a);
	return command_usage(&command_baseline, "save, list, show or delete?");
}

static void words(struct text *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		text_addf(out, "%s ", actions[i].name);
}

static int baseline_run(int argc, char **argv)
{
	struct baseline_arguments a = { 0 };
	struct options o;
	int code = options_parse(&o, &command_baseline, argc, argv, &a);

	if (code == EXIT_ACCEPTED)
		code = act(&o, &a);
	options_end(&o);
	return code;
}

const struct command command_baseline = {
	.name = "baseline",
	.summary = "keep results to compare later ones with",
	.forms = { "baseline save NAME RESULT...    a set of results (launches of one measurement) "
		   "under a name",
		   "baseline list", "baseline show NAME", "baseline delete NAME" },
	.about = "baseline:NAME then means the set wherever a RESULT is expected:\n"
		 "  gpuproof check run --baseline baseline:NAME\n"
		 "  gpuproof compare baseline:NAME -- run",
	.options = rows,
	.words = words,
	.run = baseline_run,
};
