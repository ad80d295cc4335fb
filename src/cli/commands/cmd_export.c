/* gpuproof export: converts a result to formats of other programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "cli/command.h"
#include "cli/input/anonymise_option.h"
#include "cli/input/population_file.h"
#include "cli/input/result_limits.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "export/export.h"
#include "judge/judge.h"

extern const struct command command_export;

struct export_arguments {
	const struct export_format *format;
	/* output NULL: standard output; limits NULL: those of the result */
	const char *output, *limits;
	bool strict;
	struct anonymise_option anonymise;
	struct result_list results, baseline;
};

static const struct option_row rows[] = {
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(export_arguments, output),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "file to write (default: standard output)" },
	LIMITS_OPTION(export_arguments, limits),
	{ .name = "baseline",
	  .type = OPTION_CALL,
	  OPTION_AT(export_arguments, baseline),
	  .take = result_list_take,
	  .value = "RESULT",
	  .help = "result that `baseline` in limits refers to; repeatable" },
	{ .name = "strict",
	  FLAG_AT(export_arguments, strict),
	  .help = "do not accept warnings or allowed skips" },
	ANONYMISE_OPTIONS(export_arguments),
	{ 0 },
};

/* Rejects an output that is also the input. */
static int export_take_operands(struct export_arguments *a, const struct options *o,
				struct error *err)
{
	if (!o->operand_count)
		return command_usage(&command_export, "no FORMAT given");
	a->format = export_find(o->operands[0]);
	if (!a->format) {
		const char *names[32];
		char *instead;
		size_t n = 0;
		int code;

		for (; export_formats[n].name && n + 1 < sizeof(names) / sizeof(*names); n++)
			names[n] = export_formats[n].name;
		names[n] = NULL;
		instead = text_instead(o->operands[0], names);
		code = command_usage(&command_export, "unknown format '%s'%s", o->operands[0],
				     instead);
		free(instead);
		return code;
	}
	if (o->operand_count != 2)
		return command_usage(&command_export, "no RESULT given");
	if (result_list_add_launch(&a->results, o->operands[1], err) != STATUS_OK ||
	    input_refuse_output(a->output, err) != STATUS_OK)
		return command_fail(err);
	return EXIT_ACCEPTED;
}

static int export_parse_arguments(struct export_arguments *a, int argc, char **argv)
{
	struct error err = ERROR_NONE;
	struct options o;
	int code = options_parse(&o, &command_export, argc, argv, a);

	if (a->output && strcmp(a->output, "-") == 0)
		a->output = NULL;
	if (code == EXIT_ACCEPTED)
		code = export_take_operands(a, &o, &err);
	options_end(&o);
	return code;
}

/*
 * Uses the given limits, or those of the config: an export must not judge by shipped limits what
 * was not judged before.
 */
static enum status judge_anew(const struct export_arguments *a, struct result *result)
{
	struct verdicts verdicts = { .strict = a->strict };
	struct limits limits;
	struct judge_input input = { .results = result,
				     .count = 1,
				     .baseline = a->baseline.items,
				     .baseline_count = a->baseline.count,
				     .limits = &limits };
	struct population population;
	enum status status = result_limits(a->limits, result, false, &limits);

	if (status != STATUS_OK)
		return status;
	if (population_open(&population, NULL) != STATUS_OK) {
		limits_release(&limits);
		return STATUS_USAGE;
	}
	input.population = &population;
	if (limits.count) {
		judge_results(&input, &verdicts);
		verdicts_finish(&verdicts);
		result_judge(result, &verdicts);
	}
	population_release(&population);
	limits_release(&limits);
	return STATUS_OK;
}

static enum status export_judge_result(const struct export_arguments *a)
{
	struct result *result = a->results.items;

	return result_keeps_judgement(result, a->limits, a->baseline.count, a->strict)
		       ? STATUS_OK
		       : judge_anew(a, result);
}

static int export_publish(const struct export_arguments *a, const struct text *out)
{
	struct error err = ERROR_NONE;

	if (a->output) {
		if (file_publish(a->output, out->data ? out->data : "", out->length, &err) !=
		    STATUS_OK)
			return command_fail(&err);
		return EXIT_ACCEPTED;
	}
	if (fwrite(out->data ? out->data : "", 1, out->length, stdout) != out->length ||
	    fflush(stdout) != 0) {
		error_errno(&err, "standard output");
		return command_fail(&err);
	}
	return EXIT_ACCEPTED;
}

static int export_result(struct export_arguments *a)
{
	struct error err = ERROR_NONE;
	const struct export_input input = { .result = a->results.items };
	struct text out = TEXT_EMPTY;
	int code = EXIT_USAGE;

	/* The judgement quotes names of limits and cases, so it is anonymised with its result. */
	if (export_judge_result(a) != STATUS_OK) {
		;
	} else if (anonymise_list(&a->anonymise, &a->results, &err) != STATUS_OK) {
		code = command_fail(&err);
	} else if (a->format->exporter->refuse && a->format->exporter->refuse(&input)) {
		error_set(&err, STATUS_UNSUPPORTED, "%s: %s", a->results.paths[0],
			  a->format->exporter->refuse(&input));
		code = command_fail(&err);
	} else {
		a->format->exporter->write(&input, &out);
		code = export_publish(a, &out);
	}
	text_release(&out);
	return code;
}

static int export_run(int argc, char **argv)
{
	struct export_arguments arguments = { 0 };
	int code = export_parse_arguments(&arguments, argc, argv);

	if (code == EXIT_ACCEPTED)
		code = export_result(&arguments);
	result_list_release(&arguments.results);
	result_list_release(&arguments.baseline);
	return code;
}

const struct command command_export = {
	.name = "export",
	.summary = "convert a result to JUnit, CSV, Prometheus, ...",
	.forms = { "export FORMAT RESULT [OPTIONS]   RESULT: a result.json or a run directory" },
	.about =
#define EXPORT(symbol, name, help) "  " name "\n        " help "\n"
#include "export/formats.def"
#undef EXPORT
		"\nThe export contains the verdict that run --check or check -o stored in the "
		"result. With --limits, or if there is none, export judges again. The exit code "
		"does not depend on the verdict: use `check`.",
	.options = rows,
	.words = words_export_formats,
	.run = export_run,
};
