/* gpuproof import: other tools' output as a result document. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "import/import.h"

extern const struct command command_import;

static const struct option_row rows[] = {
	{ 'o', "output", true },      { 0, "device", true }, { 0, "collective", true },
	{ 0, "list-formats", false }, { 0, NULL, false },
};

struct import_arguments {
	const char *format, *file, *output;
	struct import_options options;
	bool list;
};

static int parse_arguments(struct import_arguments *a, int argc, char **argv)
{
	struct options o = options_begin(&command_import, rows, argc, argv);
	const struct option_row *row;
	int code = EXIT_ACCEPTED;

	while ((row = options_next(&o))) {
		if (strcmp(row->name, "output") == 0)
			a->output = o.value;
		else if (strcmp(row->name, "device") == 0)
			a->options.device = o.value;
		else if (strcmp(row->name, "collective") == 0)
			a->options.collective = o.value;
		else
			a->list = true;
	}
	if (o.failed)
		code = EXIT_USAGE;
	else if (!a->list && o.operand_count != 2)
		code = command_usage(&command_import, "say FORMAT and FILE");
	if (code == EXIT_ACCEPTED && !a->list) {
		a->format = o.operands[0];
		a->file = o.operands[1];
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
	       result->case_count == 1 ? "" : "s", result->device_count,
	       result->device_count == 1 ? "" : "s");
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
	if (file_refuse_input(a.output, a.file, &err) != STATUS_OK ||
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
	.usage =
		"import FORMAT FILE [-o RESULT] [--device NAME] [--collective NAME]\n"
		"       gpuproof import --list-formats\n"
		"\n"
		"FORMAT is nvbandwidth, nccl-json, nccl-text, babelstream, deepbench or "
		"google-benchmark. The result has\n"
		"gpuproof's metrics and parameters, so that it compares with what gpuproof "
		"measured; "
		"pages say where it is from.\n"
		"  -o, --output RESULT    the result document (default: result.json)\n"
		"  --device NAME          the GPU, as its driver names it, where the file does not "
		"say it\n"
		"  --collective NAME      what nccl-tests measured (all_reduce), where the file "
		"does "
		"not say it",
	.run = import_run,
};
