/*
 * The nights of one series as geometry for chart_nights.mustache: a dot per night, a step per
 * segment between changes, the band of the last segment, a mark at each change; a line is broken
 * where a night was missed. The y axis is the deviation from one level of the series, in percent.
 */
#ifndef GPUPROOF_REPORT_TREND_TREND_CHART_H
#define GPUPROOF_REPORT_TREND_TREND_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/template/tree.h"

struct trend_night {
	int64_t day;  /* since 1970-01-01 */
	double value; /* in the series' unit */
	double level; /* the median of its segment */
	bool change;  /* the first night after a change */
};

struct trend_mark {
	int64_t day;
	const char *label;
};

struct trend_drawing {
	const struct trend_night *nights;
	size_t count;
	int64_t first, last;            /* days at the ends of the x axis */
	double zero;                    /* the level that is 0 % on the y axis */
	const char *zero_name;          /* "the median" */
	double low, high;               /* the band of the last segment; NaN: none */
	const struct trend_mark *seams; /* vertical lines */
	size_t seam_count;
	/* grey lines below this one, each in percent of its own `zero` */
	const struct trend_drawing *others;
	size_t other_count;
	bool axes; /* false: a sparkline, as wide as a cell */
};

/*
 * Appends one chart to `list`: "svg_title" and "svg_finding" are the words for those who do not see
 * it.
 */
void trend_chart(const struct trend_drawing *drawing, const char *id, const char *title,
		 const char *finding, struct tree *list);

/*
 * Calendar for chart_missed.mustache: one cell per day from `first` to `last`, marked if it had a
 * night.
 */
void trend_missed_strip(const int64_t *missed, size_t missed_count, const int64_t *days,
			size_t day_count, int64_t first, int64_t last, struct tree *map);

#endif
