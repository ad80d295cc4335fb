#include "result/presentation.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "result/result.h"
#include "result/result_fields.h"

static const char *const role_words[] = { [ROLE_NONE] = "",
					  [ROLE_ARROW] = "arrow",
					  [ROLE_PRECISION] = "precision",
					  [ROLE_BANDWIDTH] = "bandwidth",
					  [ROLE_RATE] = "rate",
					  [ROLE_INTENSITY] = "intensity",
					  [ROLE_WORK_TIME] = "work_time",
					  [ROLE_WORK_BYTES] = "work_bytes",
					  [ROLE_NODES] = "nodes",
					  [ROLE_ROUND] = "round",
					  [ROLE_RAIL] = "rail",
					  NULL };
_Static_assert(ARRAY_SIZE(role_words) == ROLE_COUNT + 1, "a role has no name");

#define WORD(type, member) FIELD(type, member, word, .omitted = true)
#define MARK(type, member) FIELD(type, member, bool, .omitted = true)
#define NAMES(type, member) FIELD(type, member, names, .omitted = true)
#define ROWS(member, fields_)                                                                 \
	FIELD(presentation, member, rows,                                                     \
	      .element_size = sizeof(*((struct presentation *)0)->member), .fields = fields_, \
	      .omitted = true)

static const struct field metric_rows[] = {
	FIELD(metric, name, word),
	FIELD(metric, unit, word),
	FIELD(metric, better, enum, .words = better_words),
	WORD(metric, title),
	MARK(metric, percent),
	WORD(metric, help),
	{ 0 },
};

static const struct field figure_rows[] = {
	FIELD(figure_row, metric, word),
	FIELD(figure_row, kind, word),
	MARK(figure_row, logarithmic),
	FIELD(figure_row, reference, real, .unknown = UNKNOWN_ZERO, .optional = true),
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

static const struct field table_rows[] = { FIELD(table_row, title, word),
					   FIELD(table_row, columns, names),
					   NAMES(table_row, without),
					   WORD(table_row, note),
					   { 0 } };

static const struct field word_rows[] = { FIELD(word_row, parameter, word),
					  FIELD(word_row, value, word),
					  FIELD(word_row, words, word),
					  { 0 } };

static const struct field role_rows[] = {
	FIELD(role_row, name, word),
	FIELD(role_row, role, enum, .words = role_words, .lenient = true),
	WORD(role_row, value),
	{ 0 },
};

static const struct field sheet_rows[] = {
	FIELD(sheet_row, metric, word),
	NAMES(sheet_row, only),
	FIELD(sheet_row, capability_from, int, .optional = true),
	FIELD(sheet_row, capability_to, int, .optional = true),
	WORD(sheet_row, key),
	WORD(sheet_row, quantity),
	WORD(sheet_row, workload),
	FIELD(sheet_row, factor, real, .unknown = UNKNOWN_ZERO, .optional = true),
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
	line = json_fields_line(presentation_fields, p);
	if (json_fields_parse(line, strlen(line), presentation_fields, &copy, &err) == STATUS_OK) {
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
	json_fields_release(presentation_fields, p);
	free((void *)(uintptr_t)p->suite);
	*p = (struct presentation){ 0 };
}
