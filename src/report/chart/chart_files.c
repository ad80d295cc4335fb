#include "report/chart/chart.h"

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

#define SVG_LINE 16.0 /* px from line to line of the words around a drawing */

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

static void chart_files_csv_add_number(struct text *out, double value)
{
	char text[64];

	text_addf(out, ",%s", isfinite(value) ? decimal_text(value, 0, text, sizeof(text)) : "");
}

static void chart_files_csv_add_axis(struct text *out, const char *name, const char *unit,
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

void chart_files_csv(const struct chart *chart, struct tree *map)
{
	struct text csv = TEXT_EMPTY;

	text_add(&csv, "\"series\",\"point\"");
	chart_files_csv_add_axis(&csv, chart->x_name, chart->x_unit, "x");
	chart_files_csv_add_axis(&csv, chart->y_name, chart->y_unit, "y");
	text_add(&csv, ",\"low\",\"high\",\"n\"\r\n");
	for (size_t s = 0; s < chart->count; s++)
		for (size_t p = 0; p < chart->series[s].count; p++) {
			const struct chart_point *point = &chart->series[s].points[p];

			chart_files_add_field(&csv, chart->series[s].name);
			text_add_char(&csv, ',');
			chart_files_add_field(&csv, point->text);
			chart_files_csv_add_number(&csv, point->x);
			chart_files_csv_add_number(&csv, point->y);
			chart_files_csv_add_number(&csv, point->low);
			chart_files_csv_add_number(&csv, point->high);
			text_addf(&csv, ",%zu\r\n", point->n);
		}
	map->attached = text_detach(&csv);
}

struct writer {
	const char *directory, *template_dir;
	const struct chart_source *source;
	struct error *err;
};

static void chart_files_write_one(const struct writer *w, const char *id, const char *ending,
				  const struct text *content)
{
	char *path = xasprintf("%s/%s.%s", w->directory, id, ending);

	file_publish(path, content->data ? content->data : "", content->length, w->err);
	free(path);
}

/* Bytes of the first line of `words`: whole words, at most `longest` bytes. */
static size_t chart_files_svg_line_length(const char *words, size_t longest)
{
	size_t n = strlen(words);

	if (n <= longest)
		return n;
	for (n = longest; n && words[n] != ' ';)
		n--;
	if (n)
		return n;
	/* One long word: cut it, but no character. */
	for (n = longest; n && ((unsigned char)words[n] & 0xc0) == 0x80;)
		n--;
	return n;
}

/* Lines of text of at most `longest` bytes from `y` on; returns the y of the next one. */
static double chart_files_svg_add_lines(struct text *svg, const char *words, size_t longest,
					double y, const char *look)
{
	while (*words) {
		size_t n = chart_files_svg_line_length(words, longest);

		text_addf(svg, "<text x=\"4\" y=\"%.0f\" %s>", y, look);
		template_escape(svg, words, n);
		text_add(svg, "</text>\n");
		words += n + strspn(words + n, " ");
		y += SVG_LINE;
	}
	return y;
}

/* The number after `key` of the drawing's first element, which chart templates write. */
static double chart_files_svg_length(const char *svg, const char *key)
{
	const char *at = strstr(svg, key);

	return at ? strtod(at + strlen(key), NULL) : 0;
}

/* `drawn`: the drawing without "<svg " and "</svg>", whose ground and namespace are a page's. */
static void chart_files_svg_with_words(const struct tree *chart, const char *drawn, size_t length,
				       const struct chart_source *source, struct text *svg)
{
	double width = chart_files_svg_length(drawn, " width=\""), y, bottom;
	size_t longest = (size_t)(width / CHART_CHARACTER);
	struct text head = TEXT_EMPTY, foot = TEXT_EMPTY;

	y = chart_files_svg_add_lines(&head, tree_member_text(chart, "title"), longest * 9 / 11, 16,
				      "font-size=\"13\" font-weight=\"600\"");
	y = chart_files_svg_add_lines(&head, tree_member_text(chart, "shows"), longest, y,
				      "fill=\"#595959\"");
	bottom = y + chart_files_svg_length(drawn, " height=\"");
	bottom = chart_files_svg_add_lines(&foot, source->shown, longest, bottom + 4,
					   "fill=\"#595959\"");
	text_addf(svg,
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" style=\"background:#ffffff\" "
		  "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
		  "font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#1a1a1a\">\n",
		  width, bottom, width, bottom);
	text_add(svg, head.data ? head.data : "");
	text_addf(svg, "<svg y=\"%.0f\" ", y - SVG_LINE + 6);
	text_add_bytes(svg, drawn, length);
	text_add(svg, "</svg>\n");
	text_add(svg, foot.data ? foot.data : "");
	text_add(svg, "<metadata>");
	template_escape(svg, source->origin, strlen(source->origin));
	text_add(svg, "</metadata>\n</svg>\n");
	text_release(&head);
	text_release(&foot);
}

static enum status chart_files_svg_render(const struct tree *chart,
					  const struct chart_source *source,
					  const char *template_dir, struct text *svg,
					  struct error *err)
{
	static const char start[] = "<svg ", end[] = "</svg>";
	struct text drawn = TEXT_EMPTY;
	char *first, *last;

	if (template_render("chart_file", template_dir, chart, &drawn, err) == STATUS_OK &&
	    drawn.length && (first = strstr(drawn.data, start)) && (last = strstr(first, end))) {
		first += strlen(start);
		chart_files_svg_with_words(chart, first, (size_t)(last - first), source, svg);
	}
	text_release(&drawn);
	return err->status;
}

/* The id of a chart that can be exported; NULL if the tree is not such a chart. */
static const char *chart_file_id(const struct tree *tree)
{
	const char *id =
		tree->kind == TREE_MAP && tree->attached ? tree_member_text(tree, "id") : "";

	return *id && !strchr(id, '/') ? id : NULL;
}

static void chart_files_write_below(const struct writer *w, const struct tree *tree)
{
	const char *id = chart_file_id(tree);

	if (id) {
		struct text csv = TEXT_EMPTY, svg = TEXT_EMPTY;

		text_add(&csv, tree->attached);
		chart_files_write_one(w, id, "csv", &csv);
		if (w->err->status == STATUS_OK &&
		    chart_files_svg_render(tree, w->source, w->template_dir, &svg, w->err) ==
			    STATUS_OK &&
		    svg.length)
			chart_files_write_one(w, id, "svg", &svg);
		text_release(&csv);
		text_release(&svg);
		return;
	}
	for (size_t i = 0; i < tree->count && w->err->status == STATUS_OK; i++)
		chart_files_write_below(w, tree->children[i]);
}

enum status chart_files_write(const struct tree *page, const char *directory,
			      const struct chart_source *source, const char *template_dir,
			      struct error *err)
{
	const struct writer w = { directory, template_dir, source, err };

	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return error_errno(err, "%s", directory);
	chart_files_write_below(&w, page);
	return err->status;
}

/* Looks for the chart `id`, and appends the ids of those before it to `ids`. */
static const struct tree *chart_file_find(const struct tree *tree, const char *id, struct text *ids)
{
	const char *own = chart_file_id(tree);
	const struct tree *found = NULL;

	if (own && !strcmp(own, id))
		return tree;
	if (own)
		format_list(ids, "%s", own);
	for (size_t i = 0; !own && i < tree->count && !found; i++)
		found = chart_file_find(tree->children[i], id, ids);
	return found;
}

enum status chart_file_render(const struct tree *page, const char *id,
			      const struct chart_source *source, const char *template_dir,
			      struct text *svg, struct error *err)
{
	struct text ids = TEXT_EMPTY;
	const struct tree *chart = chart_file_find(page, id, &ids);

	if (!chart)
		error_set(err, STATUS_USAGE,
			  "--chart %s: the page has no such chart; its charts are %s", id,
			  ids.length ? ids.data : "none");
	else
		chart_files_svg_render(chart, source, template_dir, svg, err);
	text_release(&ids);
	return err->status;
}
