/* The series of a history as rows of the trend page, in the order in which they matter. */
#ifndef GPUPROOF_REPORT_TREND_TREND_ROWS_H
#define GPUPROOF_REPORT_TREND_TREND_ROWS_H

#include "history/fleet/trend_pool.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "report/template/tree.h"

#define TREND_NIGHTS 90 /* days that charts and sparklines show */

enum trend_class {
	TREND_WORSE, /* a new change for the worse */
	TREND_WARNS,
	TREND_BETTER,
	TREND_KNOWN, /* only acknowledged changes */
	TREND_ANEW,  /* hardware, driver or config changed lately */
	TREND_BACK,  /* only changes that recovered */
	TREND_QUIET
};

/* The begin of an epoch of a row. */
struct trend_row_seam {
	int64_t day, night, night_before;
	double time; /* of the run: days since 1970-01-01 */
	char *what;  /* "driver 590.10" */
	char *words; /* of the levels on both sides; NULL: old, or there is a change at it */
};

struct trend_row {
	int64_t id;
	unsigned turn; /* which row of its series, from 0: there are more where epochs take turns */
	char *metric, *case_id, *model, *machine, *unit;
	char *host; /* of its last run; "": unknown */
	enum better better;
	enum trend_class news;
	struct trend_night *nights; /* of the last TREND_NIGHTS days */
	size_t count, measured;     /* measured: in the whole epoch */
	struct trend_change *changes;
	size_t change_count;
	double median, low, high, last; /* last: of the last night */
	double noise; /* robust standard deviation by median; NaN: too few nights */
	size_t missed;
	bool warning, young; /* young: too few nights to tell, and nothing found */
	size_t beyond;       /* as in struct trend, for the words of a warning */
	double beyond_by, band;
	struct trend_row_seam *seams;
	size_t seam_count;
};

struct trend_rows {
	struct trend_row *items;
	size_t count, capacity;
	int64_t first, last; /* days that are shown */
	double begin, end;   /* of the runs that are shown, in days since 1970-01-01 */
	struct trend_summary summary;
	size_t silent; /* neither young nor with news, and without a figure in the last night */
	struct seam_groups seams;
	struct trend_pools pools;
	size_t looked_at;  /* series, by which the limit of the odds grows */
	double odds_limit; /* log odds */
};

enum status trend_rows_collect(struct store *history, const struct history_filter *filter,
			       const struct history_nights *nights,
			       const struct history_notes *notes, struct trend_rows *out,
			       struct error *err);
void trend_rows_release(struct trend_rows *rows);

/* Characters of the suite in row->case_id. */
int trend_row_suite_length(const struct trend_row *row);
bool trend_rows_one_suite(const struct trend_row *a, const struct trend_row *b);
/* True if both changed in one direction, in one suite, on one day: the same cause. */
bool trend_rows_one_incident(const struct trend_row *a, const struct trend_row *b);

/* The row's newest change of its class; NULL for other classes. */
const struct trend_change *trend_row_change(const struct trend_row *row);

/*
 * The runs of one series as geometry for chart_nights.mustache: a dot per run, a step per segment
 * between changes, the band of the last segment, a mark at each change; a line is broken where a
 * day has no run. The y axis is the deviation from one level of the series, in percent.
 */
struct trend_night {
	int64_t day;  /* since 1970-01-01 */
	int minute;   /* of the day */
	double time;  /* of the run: days since 1970-01-01 */
	double value; /* in the series' unit */
	double level; /* the median of its segment */
	bool change;  /* the first night after a change */
};

struct trend_mark {
	double time; /* days since 1970-01-01 */
	const char *label;
};

struct trend_drawing {
	const struct trend_night *nights;
	size_t count;
	double first, last;    /* times at the ends of the x axis */
	double zero;           /* the level that is 0 % on the y axis */
	const char *zero_name; /* "the median" */
	enum better better;
	double low, high;               /* the band of the last segment; NaN: none */
	const struct trend_mark *seams; /* vertical lines */
	size_t seam_count;
	/* the other series: grey lines under this one, each in percent of its own `zero` */
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

/* The page while it is filled. */
struct trend_page {
	struct store *history;
	struct history_nights nights;
	struct history_notes notes;
	struct trend_rows rows;
	struct tree *tree;
	struct error *err;
};

/* Rows that changed together: of one suite, in one run, in one direction; the greatest first. */
struct incident {
	const struct trend_row **rows;
	size_t count;
};

/* The rows with news by incidents, in the order of the rows. Returns their number. */
size_t incidents_collect(const struct trend_rows *rows, struct incident **out);
void incidents_release(struct incident *incidents, size_t count);
/*
 * "matmul: 8 figures 9.8 to 10.2 % worse since 2026-10-27, with driver 590.10", with its host if
 * the page has several devices; malloc'ed.
 */
char *incident_words(const struct trend_page *p, const struct incident *x);
void trend_add_incident(const struct trend_page *p, const struct incident *x, struct tree *list);

/* "NEW: 6.0 % worse since 2026-10-30"; malloc'ed. */
char *trend_incidents_state_words(const struct trend_row *row);
/* True if all series are of one device, which the page then names once. */
bool trend_incidents_has_one_device(const struct trend_rows *rows);
/* `named`: its device is named elsewhere. */
void trend_incidents_row_names(const struct trend_row *row, bool named, struct tree *map);
/* The device of a row; NULL: none is named. */
void trend_incidents_set_device(const struct trend_row *row, struct tree *map);
/* The row's runs, over the lines of `others`, each as a share of its own level. */
void trend_incidents_draw_row(const struct trend_page *p, const struct trend_row *row,
			      const struct trend_row *const *others, size_t count, bool axes,
			      struct tree *map);
/* Notes about a series; 0: about whole nights. */
void trend_incidents_notes_of(const struct trend_page *p, int64_t series, struct tree *map);

#endif
