/* gpuproof import: other tools' output as a result document. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/words.h"
#include "import/import.h"

extern const struct command command_import;

struct import_arguments {
	const char *format, *file, *output; /* format: NULL: what the file is */
	struct import_options options;
	bool list;
};

static const struct option_row rows[] = {
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(import_arguments, output),
	  .value = "RESULT",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "the result document (default: result.json)" },
	{ .name = "device",
	  TEXT_AT(import_arguments, options.device),
	  .value = "NAME",
	  .help = "the GPU, as its driver names it, where the file does not say it" },
	{ .name = "collective",
	  TEXT_AT(import_arguments, options.collective),
	  .value = "NAME",
	  .help = "what nccl-tests measured (all_reduce), where the file does not say it" },
	{ .name = "list-formats", FLAG_AT(import_arguments, list), .help = "what FORMAT may be" },
	{ 0 },
};

static int parse_arguments(struct import_arguments *a, int argc, char **argv)
{
	struct options o;
	int code = options_parse(&o, &command_import, argc, argv, a);

	if (code == EXIT_ACCEPTED && !a->list && o.operand_count != 1 && o.operand_count != 2)
		code = command_usage(&command_import, "which FILE?");
	if (code == EXIT_ACCEPTED && !a->list) {
		a->format = o.operand_count == 2 ? o.operands[0] : NULL;
		a->file = o.operands[o.operand_count - 1];
	}
	options_end(&o);
	return code;
}

static int list_formats(void)
{
	for (size_t i = 0; import_formats[i]; i++)
		printf("%-18s %s\n", import_formats[i]->name, import_formats[i]->summary);
	return EXIT_ACCEPTED;
}

static void print_outcome(const char *output, const struct result *result)
{
	printf("%s: %zu case%s on %zu device%s\n", output, result->case_count,
	       plural(result->case_count), result->device_count, plural(result->device_count));
	for (size_t i = 0; i < result->environment_count; i++)
		if (strcmp(result->environment[i].name, IMPORT_LEFT_OUT) == 0)
			printf("%s: not imported, for there is nothing like it here: %s\n", output,
			       result->environment[i].value);
}

static int import_run(int argc, char **argv)
{
	struct import_arguments a = { .output = "result.json" };
	struct error err = ERROR_NONE;
	struct result result;
	int code = parse_arguments(&a, argc, argv);
	enum status status;

	if (code != EXIT_ACCEPTED)
		return code;
	if (a.list)
		return list_formats();
	input_note(a.file);
	if (input_refuse_output(a.output, &err) != STATUS_OK ||
	    import_file(&result, a.format, a.file, &a.options, &err) != STATUS_OK)
		return command_fail(&err);
	status = result_write(&result, a.output, &err);
	if (status == STATUS_OK)
		print_outcome(a.output, &result);
	result_release(&result);
	return status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

const struct command command_import = {
	.name = "import",
	.summary = "make a result of what another tool wrote",
	.forms = { "import [FORMAT] FILE [-o RESULT] [--device NAME] [--collective NAME]",
		   "import --list-formats" },
	.about = "FORMAT is nvbandwidth, nccl-json, nccl-text, babelstream, deepbench or "
		 "google-benchmark; without\n"
		 "it the file tells which. The result has gpuproof's metrics and parameters, so "
		 "that it compares with what gpuproof "
		 "measured; pages say where it is from.",
	.options = rows,
	.words = words_import_formats,
	.run = import_run,
};
