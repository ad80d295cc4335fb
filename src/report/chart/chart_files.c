#include "report/chart/chart_files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/decimal.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/units.h"
#include "report/template/template.h"

/* A field in quotes; what a spreadsheet would take for a formula gets an apostrophe before it. */
static void chart_files_add_field(struct text *out, const char *s)
{
	text_addf(out, "\"%s", s && *s && strchr("=+-@\t\r", *s) ? "'" : "");
	for (; s && *s; s++) {
		if (*s == '"')
			text_add_char(out, '"');
		text_add_char(out, *s);
	}
	text_add_char(out, '"');
}

static void chart_csv_add_number(struct text *out, double value)
{
	char text[64];

	text_addf(out, ",%s", isfinite(value) ? decimal_text(value, 0, text, sizeof(text)) : "");
}

static void chart_csv_add_axis(struct text *out, const char *name, const char *unit,
			       const char *fallback)
{
	/* A program's numbers have one unit, whatever people asked in. */
	const char *shown = unit && strcmp(unit, UNITS_BINARY) == 0 ? "B" : unit;
	char *words = xasprintf("%s%s%s", name && *name ? name : fallback,
				shown && *shown ? " in " : "", shown ? shown : "");

	text_add_char(out, ',');
	chart_files_add_field(out, words);
	free(words);
}

void chart_csv(const struct chart *chart, struct tree *map)
{
	struct text csv = TEXT_EMPTY;

	text_add(&csv, "\"series\",\"point\"");
	chart_csv_add_axis(&csv, chart->x_name, chart->x_unit, "x");
	chart_csv_add_axis(&csv, chart->y_name, chart->y_unit, "y");
	text_add(&csv, ",\"low\",\"high\",\"n\"\r\n");
	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];

			chart_files_add_field(&csv, chart->series[s].name);
			text_add_char(&csv, ',');
			chart_files_add_field(&csv, point->text);
			chart_csv_add_number(&csv, point->x);
			chart_csv_add_number(&csv, point->y);
			chart_csv_add_number(&csv, point->low);
			chart_csv_add_number(&csv, point->high);
			text_addf(&csv, ",%zu\r\n", point->n);
		}
	map->attached = text_detach(&csv);
}

struct writer {
	const char *directory, *origin, *template_dir;
	struct error *err;
};

static void write_file(const struct writer *w, const char *id, const char *ending,
		       const struct text *content)
{
	char *path = xasprintf("%s/%s.%s", w->directory, id, ending);

	file_publish(path, content->data ? content->data : "", content->length, w->err);
	free(path);
}

/* In a page the namespace and the ground are the page's. */
static void write_svg(const struct writer *w, const struct tree *chart, const char *id)
{
	static const char start[] = "<svg ", end[] = "</svg>";
	struct text drawn = TEXT_EMPTY, svg = TEXT_EMPTY;
	char *first, *last;

	if (template_render("chart_file", w->template_dir, chart, &drawn, w->err) != STATUS_OK ||
	    !drawn.length || !(first = strstr(drawn.data, start)) || !(last = strstr(first, end))) {
		text_release(&drawn);
		return;
	}
	text_add(&svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" style=\"background:#ffffff\" ");
	first += strlen(start);
	text_add_bytes(&svg, first, (size_t)(last - first));
	text_add(&svg, "<metadata>");
	template_escape(&svg, w->origin, strlen(w->origin));
	text_add(&svg, "</metadata>\n</svg>\n");
	write_file(w, id, "svg", &svg);
	text_release(&svg);
	text_release(&drawn);
}

static void chart_files_write_below(const struct writer *w, const struct tree *tree)
{
	const char *csv = tree->kind == TREE_MAP ? tree->attached : NULL;
	const struct tree *member = csv ? tree_member(tree, "id") : NULL;
	const char *id = member ? member->text : NULL;

	if (id && *id && !strchr(id, '/')) {
		struct text text = TEXT_EMPTY;

		text_add(&text, csv);
		write_file(w, id, "csv", &text);
		text_release(&text);
		if (w->err->status == STATUS_OK)
			write_svg(w, tree, id);
		return;
	}
	for (size_t i = 0; i < tree->count && w->err->status == STATUS_OK; i++)
		chart_files_write_below(w, tree->children[i]);
}

enum status chart_files_write(const struct tree *page, const char *directory, const char *origin,
			      const char *template_dir, struct error *err)
{
	const struct writer w = { directory, origin, template_dir, err };

	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return error_errno(err, "%s", directory);
	chart_files_write_below(&w, page);
	return err->status;
}
