#include "result/presentation.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "result/result.h"
#include "result/result_fields.h"

static const char *const role_words[] = {
	[ROLE_ARROW] = "arrow",           [ROLE_PRECISION] = "precision",
	[ROLE_BANDWIDTH] = "bandwidth",   [ROLE_RATE] = "rate",
	[ROLE_INTENSITY] = "intensity",   [ROLE_WORK_TIME] = "work_time",
	[ROLE_WORK_BYTES] = "work_bytes", [ROLE_NODES] = "nodes",
	[ROLE_ROUND] = "round",           [ROLE_RAIL] = "rail",
};
_Static_assert(ARRAY_SIZE(role_words) == ROLE_COUNT, "a role without a name");

static enum role *role_at(const struct field *f, const void *base)
{
	return (enum role *)(void *)((char *)(uintptr_t)base + f->offset);
}

static void role_write(struct json_writer *w, const struct field *f, const void *base)
{
	writer_text(w, role_words[*role_at(f, base)]);
}

/* Leaves out the row of an unknown role: another program may have more roles. */
static enum status role_read(const json_t *json, const struct field *f, void *base,
			     const struct json_path *path, struct error *err)
{
	const char *word = json_string_value(json);
	int role = 0;

	if (!word)
		return json_path_error(path, err, "expected a string");
	while (role < ROLE_COUNT && strcmp(role_words[role], word) != 0)
		role++;
	if (role == ROLE_COUNT) {
		struct role_row *row = base;

		free((void *)(uintptr_t)row->name);
		row->name = NULL;
	}
	*role_at(f, base) = (enum role)role;
	return STATUS_OK;
}

static const struct codec codec_role = { role_write, role_read, NULL, NULL };

#define NEEDED(type, member)                                                  \
	{                                                                     \
		.name = #member, .codec = &codec_word, FIELD_AT(type, member) \
	}
/* A name that may be a metric's; replaces former names. */
#define NAMED(type, member)                                                    \
	{                                                                      \
		.name = #member, .codec = &codec_word, FIELD_AT(type, member), \
	}
#define WORD(type, member)                                                                      \
	{                                                                                       \
		.name = #member, .codec = &codec_word, FIELD_AT(type, member), .optional = true \
	}
#define MARK(type, member)                                                                      \
	{                                                                                       \
		.name = #member, .codec = &codec_mark, FIELD_AT(type, member), .optional = true \
	}
#define NAMES(type, member)                                                                      \
	{                                                                                        \
		.name = #member, .codec = &codec_names, FIELD_AT(type, member), .optional = true \
	}
#define ROWS(member, fields_)                                                            \
	{                                                                                \
		.name = #member, .codec = &codec_rows, FIELD_ROWS(presentation, member), \
		.optional = true, .fields = fields_                                      \
	}

static const struct field metric_rows[] = {
	NAMED(metric, name),
	NEEDED(metric, unit),
	{ .name = "better", .codec = &codec_enum, FIELD_AT(metric, better), .words = better_words },
	WORD(metric, title),
	MARK(metric, percent),
	WORD(metric, help),
	{ 0 },
};

static const struct field figure_rows[] = {
	NAMED(figure_row, metric),
	NEEDED(figure_row, kind),
	MARK(figure_row, logarithmic),
	{ .name = "reference",
	  .codec = &codec_real,
	  FIELD_AT(figure_row, reference),
	  .unknown = UNKNOWN_ZERO,
	  .optional = true },
	WORD(figure_row, axis),
	NAMES(figure_row, facets),
	WORD(figure_row, of),
	NAMES(figure_row, only),
	NAMES(figure_row, bars),
	NAMES(figure_row, compare),
	MARK(figure_row, fitted),
	WORD(figure_row, parts),
	NAMES(figure_row, overlap),
	WORD(figure_row, means),
	WORD(figure_row, ideal),
	NAMES(figure_row, together),
	{ 0 },
};

static const struct field table_rows[] = {
	NEEDED(table_row, title),
	{ .name = "columns", .codec = &codec_names, FIELD_AT(table_row, columns) },
	NAMES(table_row, without),
	WORD(table_row, note),
	{ 0 }
};

static const struct field word_rows[] = {
	NEEDED(word_row, parameter), NEEDED(word_row, value), NEEDED(word_row, words), { 0 }
};

static const struct field role_rows[] = {
	NAMED(role_row, name),
	{ .name = "role", .codec = &codec_role, FIELD_AT(role_row, role) },
	WORD(role_row, value),
	{ 0 },
};

static const struct field sheet_rows[] = {
	NAMED(sheet_row, metric),
	NAMES(sheet_row, only),
	{ .name = "capability_from",
	  .codec = &codec_int,
	  FIELD_AT(sheet_row, capability_from),
	  .optional = true },
	{ .name = "capability_to",
	  .codec = &codec_int,
	  FIELD_AT(sheet_row, capability_to),
	  .optional = true },
	WORD(sheet_row, key),
	WORD(sheet_row, quantity),
	WORD(sheet_row, workload),
	{ .name = "factor",
	  .codec = &codec_real,
	  FIELD_AT(sheet_row, factor),
	  .unknown = UNKNOWN_ZERO,
	  .optional = true },
	{ 0 },
};

const struct field presentation_fields[] = {
	ROWS(metrics, metric_rows),
	ROWS(figures, figure_rows),
	ROWS(tables, table_rows),
	ROWS(words, word_rows),
	ROWS(roles, role_rows),
	ROWS(sheet, sheet_rows),
	{ 0 },
};

const struct metric *presentation_metric(const struct presentation *p, const char *name)
{
	for (const struct metric *m = p->metrics; m && m->name; m++)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}

const struct role_row *presentation_role(const struct presentation *p, enum role role,
					 const struct role_row *after)
{
	for (const struct role_row *r = after ? after + 1 : p->roles; r && r->name; r++)
		if (r->role == role)
			return r;
	return NULL;
}

const struct presentation *result_presentation(const struct result *result, const char *suite)
{
	for (size_t i = 0; i < result->presentation_count; i++)
		if (strcmp(result->presentations[i].suite, suite) == 0)
			return &result->presentations[i];
	return NULL;
}

/* Copies the rows as a file would contain them. */
void result_present(struct result *result, const struct presentation *p)
{
	struct error err = ERROR_NONE;
	struct presentation copy = { 0 };
	char *line;

	if (result_presentation(result, p->suite))
		return;
	line = fields_line(presentation_fields, p);
	if (fields_parse(line, strlen(line), presentation_fields, &copy, &err) == STATUS_OK) {
		copy.suite = xstrdup(p->suite);
		ARRAY_GROW(result->presentations, result->presentation_count,
			   result->presentation_capacity);
		result->presentations[result->presentation_count++] = copy;
	} else {
		presentation_release(&copy);
	}
	free(line);
}

void presentation_release(struct presentation *p)
{
	fields_release(presentation_fields, p);
	free((void *)(uintptr_t)p->suite);
	*p = (struct presentation){ 0 };
}
