#include "cli/usage.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "export/export.h"
#include "import/import.h"
#include "reference/gpu.h"
#include "src/plan/suite.h"

/* `words` is a list with a space behind each word. */
static void add_once(struct text *words, const char *word, size_t length)
{
	char *wanted = xasprintf(" %.*s ", (int)length, word);
	char *all = xasprintf(" %s", words->data ? words->data : "");

	if (length && !strstr(all, wanted))
		text_add(words, wanted + 1);
	free(all);
	free(wanted);
}

/* Long and short options in `length` characters: what stands after a blank, a bracket or a comma. */
static void add_options(const char *text, size_t length, struct text *out)
{
	for (size_t at = 0; at < length; at++) {
		size_t dashes = strspn(text + at, "-"), word;

		if (dashes == 0 || (at > 0 && !strchr(" [,", text[at - 1])))
			continue;
		word = dashes + strspn(text + at + dashes, "abcdefghijklmnopqrstuvwxyz0123456789-");
		if ((dashes == 2 && word > 2) || (dashes == 1 && word == 2))
			add_once(out, text + at, word);
		at += word > 0 ? word - 1 : 0;
	}
}

/* Of a line below the forms only what stands before its explanation is an option of the command. */
void usage_options(const struct command *command, struct text *out)
{
	struct text found = TEXT_EMPTY;
	bool forms = true;

	for (const char *line = command->usage; *line;) {
		size_t length = strcspn(line, "\n"), indent = strspn(line, " ");
		const char *gap = strstr(line + indent, "  ");

		forms = forms && length > 0;
		if (forms || line[indent] == '-')
			add_options(line,
				    gap && (size_t)(gap - line) < length && !forms
					    ? (size_t)(gap - line)
					    : length,
				    &found);
		line += length + (line[length] == '\n');
	}
	text_add(out, found.data ? found.data : "");
	text_release(&found);
}

static void add_stems(const struct embedded_file *files, struct text *out)
{
	for (; files->name; files++)
		add_once(out, files->name, strcspn(files->name, "."));
}

static void add_formats(const char *command, struct text *out)
{
	if (strcmp(command, "export") == 0)
		for (const struct export_format *f = export_formats; f->name; f++)
			add_once(out, f->name, strlen(f->name));
	if (strcmp(command, "import") == 0)
		for (size_t i = 0; import_formats[i]; i++)
			add_once(out, import_formats[i]->name, strlen(import_formats[i]->name));
}

static void add_commands(struct text *out)
{
	for (const struct command *const *c = commands; *c; c++)
		add_once(out, (*c)->name, strlen((*c)->name));
}

static void add_gpus(struct text *out)
{
	size_t count;
	const struct gpu *gpus = gpus_all(&count);

	add_once(out, "all", 3);
	for (size_t i = 0; i < count; i++)
		add_once(out, gpus[i].id, strlen(gpus[i].id));
}

static void add_limits(struct text *out)
{
	add_stems(embedded_limits, out);
}

static void add_backends(struct text *out)
{
	text_add(out, "auto cuda host ");
}

static void add_layouts(struct text *out)
{
	text_add(out, "single dir ");
}

const struct usage_value usage_values[] = {
	{ "--backend", add_backends, false },
	{ "--limits", add_limits, true },
	{ "--layout", add_layouts, false },
	{ "--memory-limits", add_gpus, false },
	{ NULL, NULL, false },
};

void usage_value_words(const struct usage_value *value, struct text *out)
{
	struct text found = TEXT_EMPTY;

	value->add(&found);
	text_add(out, found.data);
	text_release(&found);
}

void usage_config_names(const char *action, struct text *out)
{
	struct text found = TEXT_EMPTY;
	bool keys = strcmp(action, "keys") == 0;

	if (keys)
		text_add(&found, "run limit report ");
	for (const struct suite *const *suite = suites; keys && *suite; suite++)
		add_once(&found, (*suite)->name, strlen((*suite)->name));
	if (!keys)
		add_stems(embedded_configs, &found);
	if (strcmp(action, "write") == 0)
		add_stems(embedded_limits, &found);
	text_add(out, found.data);
	text_release(&found);
}

/* `word` is what stands behind the command's name in one form of the usage. */
static void add_operand(const struct command *command, const char *word, struct text *out)
{
	size_t length = strcspn(word, " .\n]");

	if (strncmp(word, "CONFIG", length) == 0)
		add_stems(embedded_configs, out);
	else if (strncmp(word, "FORMAT", length) == 0)
		add_formats(command->name, out);
	else if (strncmp(word, "COMMAND", length) == 0)
		add_commands(out);
	else if (strncmp(word, "TOPIC", length) == 0)
		add_stems(embedded_topics, out);
	else if (islower((unsigned char)*word))
		for (size_t at = 0; at < length; at += strcspn(word + at, "| .\n]") + 1)
			add_once(out, word + at, strcspn(word + at, "| .\n]"));
}

void usage_words(const struct command *command, struct text *out)
{
	struct text found = TEXT_EMPTY;
	char *start = xasprintf("gpuproof %s ", command->name);
	const char *form = command->usage + strlen(command->name);

	if (*form == ' ')
		add_operand(command, form + 1 + (form[1] == '['), &found);
	for (form = command->usage; (form = strstr(form, start)); form += strlen(start)) {
		const char *word = form + strlen(start);

		add_operand(command, word + (*word == '['), &found);
	}
	text_add(out, found.data ? found.data : "");
	text_release(&found);
	free(start);
}
