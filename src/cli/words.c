#include "cli/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "export/export.h"
#include "import/import.h"
#include "plan/sampling_rules.h"
#include "plan/schema.h"
#include "plan/suite.h"
#include "reference/gpu.h"

static void cli_words_add_stems(const struct embedded_file *files, struct text *out)
{
	for (; files->name; files++)
		text_addf(out, "%.*s ", (int)strcspn(files->name, "."), files->name);
}

void cli_words_backends(struct text *out)
{
	text_add(out, "auto cuda host ");
}

void cli_words_configs(struct text *out)
{
	cli_words_add_stems(embedded_configs, out);
}

void cli_words_export_formats(struct text *out)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		text_addf(out, "%s ", f->name);
}

void cli_words_gpus(struct text *out)
{
	size_t count;
	const struct gpu *gpus = gpus_all(&count);

	text_add(out, "all ");
	for (size_t i = 0; i < count; i++)
		text_addf(out, "%s ", gpus[i].id);
}

void cli_words_import_formats(struct text *out)
{
	for (size_t i = 0; import_formats[i]; i++)
		text_addf(out, "%s ", import_formats[i]->name);
}

static void cli_words_add_settings(const char *section, const struct key *keys, struct text *out)
{
	for (; keys->name; keys++)
		text_addf(out, "%s.%s= ", section, keys->name);
}

void cli_words_settings(struct text *out)
{
	cli_words_add_settings("run", run_keys, out);
	cli_words_add_settings("defaults", sampling_keys, out);
	cli_words_add_settings("report", report_keys, out);
}

void cli_words_suites(struct text *out)
{
	for (const struct suite *const *suite = suites; *suite; suite++)
		text_addf(out, "%s ", (*suite)->name);
}

void cli_words_limits(struct text *out)
{
	cli_words_add_stems(embedded_limits, out);
}

void cli_words_subjects(struct text *out)
{
	for (const struct command *const *c = commands; *c; c++)
		text_addf(out, "%s ", (*c)->name);
	cli_words_add_stems(embedded_topics, out);
}

void cli_words_embedded(struct text *out)
{
	cli_words_configs(out);
	cli_words_limits(out);
	cli_words_add_stems(embedded_claims, out);
}

void cli_words_sections(struct text *out)
{
	text_add(out, "run limit fleet report ");
	cli_words_suites(out);
}

char *cli_words_instead(const char *word, void (*list)(struct text *out))
{
	struct text words = TEXT_EMPTY;
	char *rest, *name, *instead;
	const char **names;
	size_t count = 0;

	list(&words);
	names = xcalloc(words.length + 1, sizeof(*names));
	for (rest = words.data; (name = strtok_r(rest, " ", &rest));)
		names[count++] = name;
	instead = text_instead(word, names);
	free(names);
	text_release(&words);
	return instead;
}
