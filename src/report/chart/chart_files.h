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

/*
 * Writes the two files of every chart below `page` into `directory`, which is made. `origin`: what
 * each SVG says of its source, in its metadata. `template_dir` as for template_render().
 */
enum status chart_files_write(const struct tree *page, const char *directory, const char *origin,
			      const char *template_dir, struct error *err);

#endif
