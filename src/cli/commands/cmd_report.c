#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input/anonymise_option.h"
#include "cli/input/page_options.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/words.h"
#include "report/fleet/fleet_page.h"
#include "report/page/report.h"
#include "report/template/template.h"

extern const struct command command_report;

struct report_arguments {
	struct report_options options;
	const char *dump;
	bool force; /* --dump-templates */
	int layout; /* enum layout */
	bool fleet;
	struct anonymise_option anonymise;
};

static const struct option_row rows[] = {
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(report_arguments, options.output),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "file to write (default: report.html); -: standard output" },
	{ .name = "reference",
	  TEXT_AT(report_arguments, options.reference),
	  .value = "GPU,...",
	  .fallback = "all",
	  .words = words_gpus,
	  .help = "add published figures and data sheets of these GPUs (gpuproof list gpus), or of "
		  "all" },
	{ .name = "baseline",
	  TEXT_AT(report_arguments, options.baseline),
	  .value = "GPU",
	  .words = words_gpus,
	  .help = "GPU that ratios refer to (default: the one that has most of the measured "
		  "GPU's figures)" },
	{ .name = "memory-limits",
	  TEXT_AT(report_arguments, options.memory_limits),
	  .value = "LIMIT,...",
	  .words = words_gpus,
	  .help = "show the fastest strategy of each model that fits this memory: sizes (8GiB) or "
		  "GPUs (gpuproof list gpus)" },
	{ .name = "claims",
	  TEXT_AT(report_arguments, options.claims),
	  .value = "FILE",
	  .file = OPTION_FILE_READ,
	  .fallback = "",
	  .help = "test the shipped claims, or those of a FILE, against the RESULTs; some claims "
		  "need results of other GPU models, versions or machines (gpuproof help claims)" },
	{ .name = "fleet",
	  FLAG_AT(report_arguments, fleet),
	  .help = "write the page of a multi-node run: suspects first, and each figure over "
		  "all devices" },
	{ .name = "chart",
	  TEXT_AT(report_arguments, options.chart),
	  .value = "NAME",
	  .help = "write one chart as SVG (default: NAME.svg) with its title, source and licence; "
		  "the link # next to a chart has its name" },
	PAGE_OPTIONS(report_arguments, options),
	{ .name = "dump-templates",
	  TEXT_AT(report_arguments, dump),
	  .value = "DIR",
	  .help = "write the built-in templates to DIR for editing" },
	{ .name = "force",
	  FLAG_AT(report_arguments, force),
	  .help = "with --dump-templates: overwrite edited files" },
	ANONYMISE_OPTIONS(report_arguments),
	{ 0 },
};

/* Writes one page of all results, or the page of a multi-node run. */
static enum status report_write_page(const struct report_arguments *a,
				     const struct result_list *results, struct error *err)
{
	const struct fleet_page fleet = { .result = results->items };

	if (!a->fleet)
		return report_write(results->items, results->count, &a->options, err);
	if (results->count != 1)
		return error_set(err, STATUS_USAGE, "--fleet takes one RESULT, not %zu",
				 results->count);
	return fleet_page_write(&fleet, &a->options, err);
}

static int write_report(const struct options *o, struct report_arguments *a)
{
	struct result_list results = { 0 };
	struct error err = ERROR_NONE;
	enum status status = STATUS_OK;

	for (int i = 0; status == STATUS_OK && i < o->operand_count; i++)
		status = result_list_add(&results, o->operands[i], &err);
	if (status == STATUS_OK)
		status = input_refuse_output(a->options.output, &err);
	if (status == STATUS_OK)
		status = anonymise_list(&a->anonymise, &results, &err);
	/* Folder names are user data. */
	if (status == STATUS_OK && results.count > 1 && !anonymise_wanted(&a->anonymise))
		a->options.names = result_list_names(&results);
	if (status == STATUS_OK)
		status = report_write_page(a, &results, &err);
	result_list_release(&results);
	if (status != STATUS_OK)
		return command_fail(&err);
	if (!report_on_stdout(&a->options))
		printf("%s\n", a->options.output);
	return EXIT_ACCEPTED;
}

static int report_act(const struct options *o, struct report_arguments *a)
{
	struct error err = ERROR_NONE;

	if (a->options.chart && (a->fleet || a->options.separate_css))
		return command_usage(&command_report, "--chart writes one SVG of the page of "
						      "RESULT: omit --fleet and --layout dir");
	if (a->force && !a->dump)
		return command_usage(&command_report, "--force needs --dump-templates");
	if (a->dump && report_dump_templates(a->dump, a->force, &err) != STATUS_OK)
		return command_fail(&err);
	if (a->dump)
		printf("%s\n", a->dump);
	if (o->operand_count)
		return write_report(o, a);
	return a->dump ? EXIT_ACCEPTED : command_usage(&command_report, "no RESULT given");
}

static int report_run(int argc, char **argv)
{
	struct report_arguments a = { 0 };
	struct options o;
	int code = options_parse(&o, &command_report, argc, argv, &a);
	char *output =
		a.options.chart ? xasprintf("%s.svg", a.options.chart) : xstrdup("report.html");

	a.options.output = a.options.output ? a.options.output : output;

	page_options_layout(&a.options, a.layout);
	a.options.chart_files = a.options.separate_css;
	if (code == EXIT_ACCEPTED)
		code = report_act(&o, &a);
	options_end(&o);
	free(output);
	return code;
}

const struct command command_report = {
	.name = "report",
	.summary = "write results as one HTML page",
	.forms = { "report RESULT... [OPTIONS]       RESULT: a result.json or a run directory",
		   "report RESULT --chart NAME [-o FILE]",
		   "report --dump-templates DIR [--force]" },
	.about = "One RESULT gives the page of that run, several give a comparison with the first "
		 "as the baseline. With --layout dir, each chart is also written as SVG and CSV to "
		 "a directory next to the page.",
	.options = rows,
	.run = report_run,
};
