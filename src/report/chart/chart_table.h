/* A chart as a table: for those who cannot see it, and for those who want the numbers. */
#ifndef GPUPROOF_REPORT_CHART_CHART_TABLE_H
#define GPUPROOF_REPORT_CHART_CHART_TABLE_H

#include "report/chart/chart.h"

/*
 * The chart's numbers for chart_table.mustache: "head" (list of texts) and "rows" (lists of cells).
 */
void chart_table(const struct chart *chart, struct tree *map);

/*
 * The rows of a line chart's table: every x of any line, in order. free() the array; texts are
 * borrowed.
 */
struct chart_column {
	const char *text;
	double x;
};
struct chart_column *chart_columns(const struct chart *chart, size_t *count);

#endif
