/*
 * Builds one chart; shared by figures.c (which charts, by the suite's rows: result/presentation.h),
 * figure_fill.c (their values) and figure_thin_ratio.c (their sentences).
 */
#ifndef GPUPROOF_REPORT_FIGURE_FIGURE_H
#define GPUPROOF_REPORT_FIGURE_FIGURE_H

#include "report/chart/chart.h"
#include "report/view/case_selection.h"
#include "result/presentation.h"

#define FIGURE_NAMES 16 /* parameters of a case, at most; longer lists are cut */
#define FIGURE_LINES 8  /* per chart, to distinguish the charts */
#define FIGURE_BARS 48
#define FIGURE_ROWS 24

struct figure {
	const struct view *view;
	const struct figure_row *rule; /* the suite's, or an empty one */
	const char *suite, *metric;
	enum chart_kind kind;
	const char *axis;                  /* parameter along x; NULL: none */
	const char *facets[FIGURE_NAMES];  /* NULL-terminated */
	const char *without[FIGURE_NAMES]; /* facets and axis, which labels leave out */
	/* parameter whose values have the page's colours; NULL: devices have, or nothing */
	const char *colour;
	size_t merged; /* devices of a bar or line, at most; 0: each has its own */
	bool pooled;   /* a value is that of several launches */
	bool joined;   /* several facets in one chart of bars, which the first of them heads */
	struct tree *charts;
};

/*
 * Keeps, of cases that differ by their device alone, the middle one for all, if the devices are
 * identical. Returns the most devices of one; 0: nothing was put together.
 */
size_t figure_thin_merge_devices(struct case_selection *selection);
/* The values of all devices of the case, sorted; the caller frees. */
double *figure_thin_device_values(const struct case_selection *selection,
				  const struct selected_case *selected, size_t *count);
/* Appends names, as in struct figure, that the NULL-terminated list lacks. */
void figure_fill_name_list_add(const char **names, const char *name);

/*
 * Sets facets and without: the rule's facets, then one parameter after another until no chart has
 * more than `most` lines, bars or rows.
 */
void figure_fill_choose_facets(struct figure *f, const struct case_selection *selection,
			       size_t most);

/* Fill the chart with the selected cases. If some do not fit, chart->note says so. */
void figure_fill_lines(const struct figure *f, const struct case_selection *selection,
		       struct chart *chart);
void figure_fill_bars(const struct figure *f, const struct case_selection *selection,
		      struct chart *chart);
/* Pairs of devices; `size`: the only value on the axis to show. */
void figure_fill_heatmap(const struct figure *f, const struct case_selection *selection,
			 struct chart *chart, double size);
void figure_fill_strip(const struct figure *f, const struct case_selection *selection,
		       struct chart *chart, double size);
void figure_fill_stacked(const struct figure *f, const struct case_selection *selection,
			 struct chart *chart);
/*
 * Sets `colour` to the parameter that colours lines or bars: the first one in the row that varies,
 * else one with a role (mode, precision), else any word.
 */
void figure_fill_choose_colour(struct figure *f, const struct case_selection *selection);
/* The text of a pick's parameter; "" if it is absent or `name` is NULL. */
const char *figure_fill_value(const struct selected_case *selected, const char *name);
/*
 * "Throughput of FP16 is 14.2× to 14.9× that of FP32 (4 pairs)." malloc'ed; NULL when the rule
 * compares nothing.
 */
char *figure_thin_ratio(const struct figure *f, const struct case_selection *selection);

/* figures.c: the charts of a suite. */
void view_figures(const struct view *view, const char *suite, struct tree *charts);
/* The roofline of the first device of one result whose cases have its roles; else nothing. */
void view_roofline(const struct view *view, struct tree *charts);
/* True if the suite has maps of pairs of devices. */
bool figures_view_has_map(const struct view *view, const char *suite);

#endif
