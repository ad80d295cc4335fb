#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/input/anonymise_option.h"
#include "cli/command.h"
#include "cli/input/layout_option.h"
#include "cli/options.h"
#include "cli/input/result_list.h"
#include "report/report.h"
#include "report/template/template.h"

extern const struct command command_report;

struct report_arguments {
	struct report_options options;
	const char *dump;
	bool force; /* --dump-templates */
	struct anonymise_option anonymise;
};

static const struct option_row rows[] = {
	{ 'o', "output", true },
	{ 0, "template-dir", true },
	{ 0, "dump-templates", true },
	{ 0, "force", false },
	{ 0, "title", true },
	{ 0, "layout", true },
	{ 0, "reference", OPTION_MAY_HAVE_VALUE },
	{ 0, "baseline", true },
	{ 0, "memory-limits", true },
	{ 0, "claims", false },
	ANONYMISE_OPTIONS,
	{ 0 },
};

static enum status take_option(void *arguments, const char *name, const char *value,
			       struct error *err)
{
	struct report_arguments *a = arguments;
	const struct {
		const char *name, **text;
	} texts[] = {
		{ "output", &a->options.output },
		{ "template-dir", &a->options.template_dir },
		{ "dump-templates", &a->dump },
		{ "title", &a->options.title },
		{ "baseline", &a->options.baseline },
		{ "memory-limits", &a->options.memory_limits },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(name, texts[i].name) == 0)
			*texts[i].text = value;
	if (strcmp(name, "force") == 0)
		a->force = true;
	if (strcmp(name, "reference") == 0)
		a->options.reference = value ? value : "all";
	if (strcmp(name, "claims") == 0)
		a->options.claims = true;
	if (strcmp(name, "layout") == 0)
		return layout_take_option(value, &a->options.separate_css, err);
	anonymise_take_option(&a->anonymise, name, value);
	return STATUS_OK;
}

/* The page must not be written over what it is made of. */
static enum status refuse_inputs(const struct report_arguments *a, const struct result_list *results,
				 struct error *err)
{
	if (file_refuse_input(a->options.output, a->anonymise.key_file, err) != STATUS_OK ||
	    template_refuse_output(a->options.template_dir, a->options.output, err) != STATUS_OK)
		return err->status;
	return result_list_refuse_output(results, a->options.output, err);
}

static int write_report(const struct options *o, struct report_arguments *a)
{
	struct result_list results = { 0 };
	struct error err = ERROR_NONE;
	enum status status = STATUS_OK;

	for (int i = 0; status == STATUS_OK && i < o->operand_count; i++)
		status = result_list_add(&results, o->operands[i], &err);
	if (status == STATUS_OK)
		status = refuse_inputs(a, &results, &err);
	if (status == STATUS_OK)
		status = anonymise_lists(&a->anonymise, &results, NULL, &err);
	if (status == STATUS_OK)
		status = report_write(results.items, results.count, &a->options, &err);
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
		return command_usage(&command_report, "what is --force for? It goes with --dump-templates");
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
	struct options o = options_begin(&command_report, rows, argc, argv);
	int code = options_take(&o, take_option, &a);

	if (code == EXIT_ACCEPTED)
		code = act(&o, &a);
	anonymise_option_release(&a.anonymise);
	options_end(&o);
	return code;
}

const struct command command_report = {
	.name = "report",
	.summary = "publish results as one HTML page",
	.usage = "report RESULT... [OPTIONS]       RESULT: a result.json, or the directory of a "
		 "run\n"
		 "       gpuproof report --dump-templates DIR [--force]\n"
		 "\n"
		 "One RESULT gives a page about that run, several a comparison with the first as "
		 "the baseline.\n"
		 "  -o, --output FILE      the page (default: report.html); -: standard output\n"
		 "  --title TITLE          its title\n"
		 "  --reference[=GPU,...]  beside it published figures and data sheets of these "
		 "GPUs (gpuproof "
		 "list gpus), or all\n"
		 "  --baseline GPU         the one that ratios are to (default: the oldest)\n"
		 "  --memory-limits LIMIT,...  names the fastest split of each model for devices "
		 "of so much "
		 "memory: sizes\n"
		 "                         (8GiB), or GPUs (gpuproof list gpus)\n"
		 "  --claims               holds what guides claim about memory and several GPUs "
		 "against the RESULTs; some\n"
		 "                         claims need several: other GPU models, versions or "
		 "machines\n"
		 "  --layout single|dir    dir: also write report.css beside the page and link it, "
		 "for servers that block\n"
		 "                         inline style (Jenkins)\n"
		 "  --template-dir DIR     Mustache templates and report.css that replace the "
		 "built-in ones of the same name\n"
		 "  --dump-templates DIR   write the built-in ones into DIR, to be "
		 "edited\n"
		 "  --force                also over those in DIR that were edited\n" ANONYMISE_USAGE,
	.run = report_run,
};
