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
#include "report/report.h"
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
	  .help = "the page (default: report.html); -: standard output" },
	{ .name = "reference",
	  TEXT_AT(report_arguments, options.reference),
	  .value = "GPU,...",
	  .fallback = "all",
	  .words = words_gpus,
	  .help = "adds published figures and data sheets of these GPUs (gpuproof list gpus), or "
		  "all" },
	{ .name = "baseline",
	  TEXT_AT(report_arguments, options.baseline),
	  .value = "GPU",
	  .words = words_gpus,
	  .help = "the one that ratios are to (default: the oldest)" },
	{ .name = "memory-limits",
	  TEXT_AT(report_arguments, options.memory_limits),
	  .value = "LIMIT,...",
	  .words = words_gpus,
	  .help = "names the fastest split of each model for devices of so much memory: sizes "
		  "(8GiB), or GPUs (gpuproof list gpus)" },
	{ .name = "claims",
	  TEXT_AT(report_arguments, options.claims),
	  .value = "FILE",
	  .file = OPTION_FILE_READ,
	  .fallback = "",
	  .help = "holds what guides claim about memory and several GPUs, or the claims of a FILE "
		  "(gpuproof help claims), against the RESULTs; some claims need several: other "
		  "GPU models, versions or machines" },
	{ .name = "fleet",
	  FLAG_AT(report_arguments, fleet),
	  .help = "the page of a run on several nodes: the nodes to look at first, each figure "
		  "over "
		  "all devices" },
	PAGE_OPTIONS(report_arguments, options),
	{ .name = "dump-templates",
	  TEXT_AT(report_arguments, dump),
	  .value = "DIR",
	  .help = "write the built-in ones into DIR, to be edited" },
	{ .name = "force",
	  FLAG_AT(report_arguments, force),
	  .help = "also over those in DIR that were edited" },
	ANONYMISE_OPTIONS(report_arguments),
	{ 0 },
};

/* One page of all results, or the one of a run's nodes. */
static enum status write_page(const struct report_arguments *a, const struct result_list *results,
			      struct error *err)
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
	/* The folders' names are the user's own words. */
	if (status == STATUS_OK && results.count > 1 && !a->anonymise.anonymiser)
		a->options.names = result_list_names(&results);
	if (status == STATUS_OK)
		status = write_page(a, &results, &err);
	result_list_release(&results);
	if (status != STATUS_OK)
		return command_fail(&err);
	if (!report_on_stdout(&a->options))
		printf("%s\n", a->options.output);
	return EXIT_ACCEPTED;
}

static int act(const struct options *o, struct report_arguments *a)
{
	struct error err = ERROR_NONE;

	if (a->force && !a->dump)
		return command_usage(&command_report,
				     "what is --force for? It goes with --dump-templates");
	if (a->dump && report_dump_templates(a->dump, a->force, &err) != STATUS_OK)
		return command_fail(&err);
	if (a->dump)
		printf("%s\n", a->dump);
	if (o->operand_count)
		return write_report(o, a);
	return a->dump ? EXIT_ACCEPTED : command_usage(&command_report, "which RESULT?");
}

static int report_run(int argc, char **argv)
{
	struct report_arguments a = { .options = { .output = "report.html" } };
	struct options o;
	int code = options_parse(&o, &command_report, argc, argv, &a);

	page_options_layout(&a.options, a.layout);
	a.options.chart_files = a.options.separate_css;
	if (code == EXIT_ACCEPTED)
		code = act(&o, &a);
	anonymise_option_release(&a.anonymise);
	options_end(&o);
	return code;
}

const struct command command_report = {
	.name = "report",
	.summary = "publish results as one HTML page",
	.forms = { "report RESULT... [OPTIONS]       RESULT: a result.json, or the directory of a "
		   "run",
		   "report --dump-templates DIR [--force]" },
	.about = "One RESULT gives a page about that run, several a comparison with the first as "
		 "the baseline.\n"
		 "With --layout dir each chart is also an SVG and a CSV file, in a folder next to "
		 "the page.",
	.options = rows,
	.run = report_run,
};
