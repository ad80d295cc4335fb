#include "cli/usage.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "export/export.h"
#include "import/import.h"

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

void usage_options(const struct command *command, struct text *out)
{
	struct text found = TEXT_EMPTY;

	for (const char *at = strstr(command->usage, "--"); at; at = strstr(at, "--")) {
		size_t length = 2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");

		if (length > 2 && (at == command->usage || strchr(" [,\n", at[-1])))
			add_once(&found, at, length);
		at += length;
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
