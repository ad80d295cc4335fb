/* gpuproof report: writes results as one HTML page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input/page_options.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/words.h"
#include "report/fleet/fleet_page.h"
#include "report/page/report.h"
#include "report/template/template.h"

struct report_arguments {
	struct report_options options;
	const char *dump;
	bool force; /* --dump-templates */
	int layout; /* enum layout */
	bool fleet;
	struct anonymise_option anonymise;
};

static const struct option_row rows[] = {
	TEXT_ROW('o', "output", "FILE", report_arguments, options.output,
		 .file = OPTION_FILE_WRITTEN),
	TEXT_ROW(0, "reference", "GPU,...", report_arguments, options.reference, .fallback = "all",
		 .words = cli_words_gpus),
	TEXT_ROW(0, "baseline", "GPU", report_arguments, options.baseline, .words = cli_words_gpus),
	TEXT_ROW(0, "memory-limits", "LIMIT,...", report_arguments, options.memory_limits,
		 .words = cli_words_gpus),
	TEXT_ROW(0, "claims", "FILE", report_arguments, options.claims, .file = OPTION_FILE_READ,
		 .fallback = ""),
	FLAG_ROW(0, "fleet", report_arguments, fleet),
	TEXT_ROW(0, "chart", "NAME", report_arguments, options.chart),
	PAGE_ROWS(report_arguments, options),
	TEXT_ROW(0, "dump-templates", "DIR", report_arguments, dump),
	FLAG_ROW(0, "force", report_arguments, force),
	ANONYMISE_ROWS(report_arguments),
	{ 0 },
};

/* Writes one page of all results, or the page of a multi-node run. */
static void cmd_report_write_page(struct call *call)
{
	struct report_arguments *a = call->arguments;
	struct result_list *results = &call->results;
	struct fleet_page fleet = { 0 };
	struct error *err = &call->err;

	for (int i = 0; err->status == STATUS_OK && i < call->count; i++)
		result_list_add(results, call->operands[i], err);
	input_refuse_output(a->options.output, err);
	if (err->status == STATUS_OK)
		result_list_anonymise(results, &a->anonymise, err);
	if (err->status != STATUS_OK)
		return;
	/* Folder names are user data. */
	if (results->count > 1 && !a->anonymise.wanted && !a->anonymise.key_file)
		a->options.names = result_list_names(results);
	fleet.result = results->items;
	if (!a->fleet)
		html_write_report(results->items, results->count, &a->options, err);
	else if (results->count == 1)
		fleet_page_write(&fleet, &a->options, err);
	else
		error_set(err, STATUS_USAGE, "--fleet takes one RESULT, not %zu", results->count);
	if (err->status == STATUS_OK && !html_report_on_stdout(&a->options))
		printf("%s\n", a->options.output);
}

static int cmd_report_run(struct call *call)
{
	struct report_arguments *a = call->arguments;
	char *output;

	a->options.separate_css = a->options.chart_files = a->layout == LAYOUT_DIRECTORY;
	if (a->options.chart && (a->fleet || a->options.separate_css))
		return cli_command_usage(call->command, "--chart writes one chart of a run's page; "
							"omit --fleet and --layout dir");
	if (a->force && !a->dump)
		return cli_command_usage(call->command, "--force needs --dump-templates");
	if (a->dump && html_dump_templates(a->dump, a->force, &call->err) != STATUS_OK)
		return EXIT_ENVIRONMENT;
	if (a->dump)
		printf("%s\n", a->dump);
	if (!call->count)
		return a->dump ? EXIT_ACCEPTED
			       : cli_command_usage(call->command, "no RESULT given");
	output = a->options.chart ? xasprintf("%s.svg", a->options.chart) : xstrdup("report.html");
	if (!a->options.output)
		a->options.output = output;
	cmd_report_write_page(call);
	free(output);
	return EXIT_ACCEPTED;
}

const struct command command_report = {
	.name = "report",
	.options = rows,
	.arguments = sizeof(struct report_arguments),
	.most = ANY_NUMBER,
	.run = cmd_report_run,
};
