#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/options.h"
#include "device/modules.h"
#include "history/store.h"
#include "result/host/build.h"
#include "result/json/json_writer.h"
#include "result/result.h"

extern const struct command command_version;

struct version_arguments {
	bool json;
};

static const struct option_row rows[] = {
	{ .name = "json",
	  FLAG_AT(version_arguments, json),
	  .help = "print version, compiler, oldest glibc, installed backends and file formats as "
		  "JSON" },
	{ 0 },
};

static void version_print_json(void)
{
	struct json_writer w = { .expand = 1 };
	struct backend_modules modules;
	char name[64], *text;

	writer_open(&w, '{');
	writer_text_member(&w, "gpuproof", build_version());
	writer_text_member(&w, "compiler", build_compiler());
	writer_text_member(&w, "glibc_floor", build_glibc_floor());
	writer_key(&w, "backends");
	writer_open_inline(&w, '[');
	writer_text(&w, "host");
	backend_modules_find(&modules);
	for (size_t i = 0; i < modules.count; i++) {
		backend_module_name(modules.paths[i], name, sizeof(name));
		writer_text(&w, name);
	}
	backend_modules_release(&modules);
	writer_close(&w, ']');
	writer_count_member(&w, "result_version", RESULT_VERSION);
	writer_count_member(&w, "history_version", store_version());
	writer_close(&w, '}');
	text = writer_finish(&w);
	fputs(text, stdout);
	free(text);
}

/* argv[0] is how the command was called: "version", "--version" or "-V". */
static int version_run(int argc, char **argv)
{
	struct version_arguments a = { 0 };
	struct options o;
	int code = options_parse(&o, &command_version, argc, argv, &a);

	if (code == EXIT_ACCEPTED && o.operand_count)
		code = command_usage(&command_version, "unexpected argument '%s'", o.operands[0]);
	else if (code == EXIT_ACCEPTED)
		a.json ? version_print_json() : (void)printf("gpuproof %s\n", build_version());
	options_end(&o);
	return code;
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.forms = { "version [--json]" },
	.options = rows,
	.run = version_run,
};
