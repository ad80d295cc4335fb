#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output/print.h"
#include "device/modules.h"
#include "history/store.h"
#include "result/host/build.h"
#include "result/json/json_writer.h"
#include "result/result.h"

struct version_arguments {
	bool json;
};

static const struct option_row rows[] = {
	FLAG_ROW(0, "json", version_arguments, json),
	{ 0 },
};

static int version_run(struct call *call)
{
	const struct version_arguments *a = call->arguments;
	struct json_writer w = { .expand = 1 };
	struct backend_modules modules;
	char name[64];

	if (!a->json) {
		printf("gpuproof %s\n", build_version());
		return EXIT_ACCEPTED;
	}
	writer_open(&w, '{');
	writer_text_member(&w, "gpuproof", build_version());
	writer_text_member(&w, "compiler", build_compiler());
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
	writer_count_member(&w, "history_version", sqlite_store_version());
	writer_close(&w, '}');
	print_json(&w);
	return EXIT_ACCEPTED;
}

const struct command command_version = {
	.name = "version",
	.options = rows,
	.arguments = sizeof(struct version_arguments),
	.run = version_run,
};
