#include "cli/words.h"

#include <string.h>

#include "base/embedded.h"
#include "export/export.h"
#include "import/import.h"
#include "plan/sampling_rules.h"
#include "plan/schema.h"
#include "plan/suite.h"
#include "reference/gpu.h"

static void complete_add_stems(const struct embedded_file *files, struct text *out)
{
	for (; files->name; files++)
		text_addf(out, "%.*s ", (int)strcspn(files->name, "."), files->name);
}

void words_backends(struct text *out)
{
	text_add(out, "auto cuda host ");
}

void words_configs(struct text *out)
{
	complete_add_stems(embedded_configs, out);
}

void words_export_formats(struct text *out)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		text_addf(out, "%s ", f->name);
}

void words_gpus(struct text *out)
{
	size_t count;
	const struct gpu *gpus = gpus_all(&count);

	text_add(out, "all ");
	for (size_t i = 0; i < count; i++)
		text_addf(out, "%s ", gpus[i].id);
}

void words_import_formats(struct text *out)
{
	for (size_t i = 0; import_formats[i]; i++)
		text_addf(out, "%s ", import_formats[i]->name);
}

static void complete_add_settings(const char *section, const struct key *keys, struct text *out)
{
	for (; keys->name; keys++)
		text_addf(out, "%s.%s= ", section, keys->name);
}

void words_settings(struct text *out)
{
	complete_add_settings("run", run_keys, out);
	complete_add_settings("defaults", sampling_keys, out);
	complete_add_settings("report", report_keys, out);
}

void words_suites(struct text *out)
{
	for (const struct suite *const *suite = suites; *suite; suite++)
		text_addf(out, "%s ", (*suite)->name);
}

void words_limits(struct text *out)
{
	complete_add_stems(embedded_limits, out);
}

void words_subjects(struct text *out)
{
	for (const struct command *const *c = commands; *c; c++)
		text_addf(out, "%s ", (*c)->name);
	text_add(out, "all ");
	complete_add_stems(embedded_topics, out);
}

void words_embedded(struct text *out)
{
	words_configs(out);
	words_limits(out);
	complete_add_stems(embedded_claims, out);
}

void words_sections(struct text *out)
{
	text_add(out, "run limit report ");
	words_suites(out);
}
