/* Charts of a page as files: ID.svg to be placed elsewhere, ID.csv to be drawn anew. */
#ifndef GPUPROOF_REPORT_CHART_CHART_FILES_H
#define GPUPROOF_REPORT_CHART_CHART_FILES_H

#include "base/error.h"
#include "report/chart/chart.h"

/*
 * For chart_draw(): attaches the CSV to the chart's map, a row per point in base units (RFC 4180);
 * unknown numbers are empty.
 */
void chart_csv(const struct chart *chart, struct tree *map);

/* The words that a chart carries wherever it is placed. */
struct chart_source {
	const char *shown;  /* below the drawing: machine, run, author, licence */
	const char *origin; /* in the metadata: the command as well */
};

/*
 * Writes the two files of every chart below `page` into `directory`, which is made.
 * `template_dir` as for template_render().
 */
enum status chart_files_write(const struct tree *page, const char *directory,
			      const struct chart_source *source, const char *template_dir,
			      struct error *err);
/*
 * Appends the SVG of the chart `id` below `page`, with its title, meaning and source. STATUS_USAGE
 * if there is no such chart; the error lists the existing ones.
 */
enum status chart_file_render(const struct tree *page, const char *id,
			      const struct chart_source *source, const char *template_dir,
			      struct text *svg, struct error *err);

#endif
