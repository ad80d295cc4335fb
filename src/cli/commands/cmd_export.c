/* gpuproof export: converts a result to formats of other programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "cli/command.h"
#include "cli/input/result_limits.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "export/export.h"

struct export_arguments {
	/* output NULL: standard output; limits NULL: those of the result */
	const char *output, *limits;
	bool strict;
	struct anonymise_option anonymise;
	struct result_list baseline;
};

static const struct option_row rows[] = {
	TEXT_ROW('o', "output", "FILE", export_arguments, output, .file = OPTION_FILE_WRITTEN),
	LIMITS_ROW(export_arguments, limits),
	CALL_ROW("baseline", "RESULT", result_list_take, export_arguments, baseline),
	FLAG_ROW(0, "strict", export_arguments, strict),
	ANONYMISE_ROWS(export_arguments),
	{ 0 },
};

/* Judges the result, then writes it to the file or to standard output. */
static void cmd_export_write(struct call *call, const struct exporter *exporter)
{
	const struct export_arguments *a = call->arguments;
	const struct result *result = call->results.items;
	struct text out = TEXT_EMPTY;

	if (exporter->refuse && exporter->refuse(result)) {
		error_set(&call->err, STATUS_UNSUPPORTED, "%s: %s", call->results.paths[0],
			  exporter->refuse(result));
		return;
	}
	exporter->write(result, &out);
	text_add(&out, "");
	if (a->output && strcmp(a->output, "-") != 0)
		file_publish(a->output, out.data, out.length, &call->err);
	else if (fwrite(out.data, 1, out.length, stdout) != out.length || fflush(stdout) != 0)
		error_errno(&call->err, "standard output");
	text_release(&out);
}

static int cmd_export_run(struct call *call)
{
	struct export_arguments *a = call->arguments;
	const struct export_format *format = call->count ? export_find(call->operands[0]) : NULL;
	char *instead;
	/* An export must not judge by shipped limits a result that was not judged before. */
	const struct result_judging judging = {
		.limits = a->limits, .strict = a->strict, .only_own = true, .baseline = &a->baseline
	};

	if (!call->count)
		return cli_command_usage(call->command, "no FORMAT given");
	if (!format) {
		instead = cli_words_instead(call->operands[0], cli_words_export_formats);
		cli_command_usage(call->command, "unknown format '%s'%s", call->operands[0],
				  instead);
		free(instead);
		return EXIT_USAGE;
	}
	if (call->count != 2)
		return cli_command_usage(call->command, "no RESULT given");
	if (cli_command_read_results(call, 1) != STATUS_OK ||
	    input_refuse_output(a->output, &call->err) != STATUS_OK)
		return EXIT_USAGE;
	if (result_limits_judging_apply(&judging, call->results.items) != STATUS_OK)
		return EXIT_USAGE;
	/* The judgement quotes names of limits and cases, so it is anonymised with its result. */
	if (result_list_anonymise(&call->results, &a->anonymise, &call->err) == STATUS_OK)
		cmd_export_write(call, format->exporter);
	return EXIT_ACCEPTED;
}

static int cmd_export_end(struct call *call, int code)
{
	result_list_release(&((struct export_arguments *)call->arguments)->baseline);
	return code;
}

const struct command command_export = {
	.name = "export",
	.options = rows,
	.arguments = sizeof(struct export_arguments),
	.most = ANY_NUMBER,
	.words = cli_words_export_formats,
	.run = cmd_export_run,
	.end = cmd_export_end,
};
