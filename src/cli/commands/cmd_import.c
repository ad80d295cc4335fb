/* gpuproof import: converts other tools' output, a file or a folder of files, to results. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/words.h"
#include "import/import.h"

struct import_arguments {
	const char *format, *file, *output; /* format NULL: detected from the file */
	struct import_options options;
	bool list;
};

static const struct option_row rows[] = {
	TEXT_ROW('o', "output", "RESULT", import_arguments, output, .file = OPTION_FILE_WRITTEN),
	TEXT_ROW(0, "device", "NAME", import_arguments, options.device),
	TEXT_ROW(0, "collective", "NAME", import_arguments, options.collective),
	TEXT_ROW(0, "started", "TIME", import_arguments, options.started),
	FLAG_ROW(0, "list-formats", import_arguments, list),
	{ 0 },
};

static enum status cmd_import_one(const struct import_arguments *a, const char *file,
				  const char *output, struct error *err)
{
	struct result result;
	enum status status;

	input_note(file);
	if (input_refuse_output(output, err) != STATUS_OK ||
	    import_file(&result, a->format, file, &a->options, err) != STATUS_OK)
		return err->status;
	status = result_write(&result, output, err);
	if (status == STATUS_OK) {
		printf("%s: %zu case%s on %zu device%s\n", output, result.case_count,
		       text_plural(result.case_count), result.device_count,
		       text_plural(result.device_count));
		if (result_fact(&result, IMPORT_LEFT_OUT))
			printf("%s: left out, because gpuproof has no equivalent: %s\n", output,
			       result_fact(&result, IMPORT_LEFT_OUT));
		if (result_fact(&result, "incomplete"))
			printf("%s: incomplete: %s\n", output, result_fact(&result, "incomplete"));
	}
	result_release(&result);
	return status;
}

/* Counts for a folder of logs and its subfolders: files that were read, and that were not. */
struct folder {
	const struct import_arguments *a;
	const char *top;
	size_t read, refused;
};

static void cmd_import_entry(struct folder *f, const char *path)
{
	const char *name = path + strlen(f->top) + 1;
	char *output = xasprintf("%s/%s.json", f->a->output, name);
	struct error err = ERROR_NONE;

	for (char *p = output + strlen(f->a->output) + 1; *p; p++)
		if (*p == '/')
			*p = '_';
	if (cmd_import_one(f->a, path, output, &err) == STATUS_OK) {
		f->read++;
	} else {
		f->refused++;
		fprintf(stderr, "gpuproof: %s\n", err.message);
	}
	free(output);
}

static int cmd_import_file_is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void cmd_import_tree(struct folder *f, const char *folder, int depth)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, cmd_import_file_is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		char *path = xasprintf("%s/%s", folder, entries[i]->d_name);
		struct stat about;
		bool there = lstat(path, &about) == 0;

		if (there && S_ISREG(about.st_mode))
			cmd_import_entry(f, path);
		else if (there && S_ISDIR(about.st_mode) && depth < 16)
			cmd_import_tree(f, path, depth + 1);
		free(path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static int cmd_import_folder(const struct import_arguments *a, struct error *err)
{
	struct folder f = { a, a->file, 0, 0 };

	if (mkdir(a->output, 0777) != 0 && errno != EEXIST) {
		error_errno(err, "%s", a->output);
		return EXIT_ENVIRONMENT;
	}
	cmd_import_tree(&f, a->file, 0);
	printf("%s: %zu file%s imported, %zu not readable\n", a->output, f.read,
	       text_plural(f.read), f.refused);
	if (!f.read)
		return EXIT_USAGE;
	return f.refused ? EXIT_INCOMPLETE : EXIT_ACCEPTED;
}

static int cmd_import_run(struct call *call)
{
	struct import_arguments *a = call->arguments;
	struct stat about;
	bool folder;

	if (a->list) {
		for (size_t i = 0; import_formats[i]; i++)
			printf("%-18s %s\n", import_formats[i]->name, import_formats[i]->summary);
		return EXIT_ACCEPTED;
	}
	if (call->count != 1 && call->count != 2)
		return cli_command_usage(call->command, "no FILE given");
	a->format = call->count == 2 ? call->operands[0] : NULL;
	a->file = call->operands[call->count - 1];
	folder = stat(a->file, &about) == 0 && S_ISDIR(about.st_mode);
	if (!a->output)
		a->output = folder ? "imported" : "result.json";
	if (folder)
		return cmd_import_folder(a, &call->err);
	cmd_import_one(a, a->file, a->output, &call->err);
	return EXIT_ACCEPTED;
}

const struct command command_import = {
	.name = "import",
	.options = rows,
	.arguments = sizeof(struct import_arguments),
	.most = ANY_NUMBER,
	.words = cli_words_import_formats,
	.run = cmd_import_run,
};
