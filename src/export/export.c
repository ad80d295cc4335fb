#include "export/export.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(symbol, name, help) extern const struct exporter export_##symbol;
#include "export/formats.def"
#undef EXPORT

const struct export_format export_formats[] = {
#define EXPORT(symbol, name, help) { name, help, &export_##symbol },
#include "export/formats.def"
#undef EXPORT
	{ NULL, NULL, NULL }
};

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

const char *export_string(const char *s)
{
	return s ? s : "";
}

const char *export_fact(const struct result *result, const char *name)
{
	return export_string(result_fact(result, name));
}

void export_json(struct json_writer *w, struct text *out)
{
	char *json = writer_finish(w);

	text_add(out, json);
	free(json);
}

/* The document unchanged, or as --anonymise left it. */
static void export_result_json(const struct result *r, struct text *out)
{
	char *json = result_to_json(r);

	text_add(out, json);
	free(json);
}

const struct exporter export_result = { export_result_json, NULL };
