/*
 * The headline table before it is drawn: per metric a row for everything that is not a point along
 * an axis, a cell per source. Along an axis, a metric is represented by its best value if higher is
 * better, and by both ends of the axis if lower is better, since the best is just the smallest
 * case. If several sets of devices start at the same device, the worst of them is its cell.
 * Parameters that are equal in all cases are named once; cases that differ only by their section
 * stay separate.
 */
#ifndef GPUPROOF_REPORT_RUN_HEADLINE_H
#define GPUPROOF_REPORT_RUN_HEADLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/view/case_selection.h"

#define HEADLINE_FIGURES 2

/* Selected cases that differ only along the axis, and the one or two that represent them. */
struct headline_group {
	char *key;
	size_t first; /* of its cases in the selection */
	/*
	 * higher is better: the best, NULL; else the first and the last on the axis (may be NULL)
	 */
	const struct selected_case *figures[HEADLINE_FIGURES];
	/* One of its cases failed or ended in an error: the best of the others is not its best. */
	bool failed;
};

struct headline_cell {
	const struct headline_group *group; /* of the worst set of devices; NULL: not measured */
	size_t sets;
	size_t failed; /* cases of the row that failed or ended in an error on these devices */
};

struct headline_row {
	char *label;
	const char *section;         /* its label in the configuration; borrowed */
	struct headline_cell *cells; /* by source */
};

struct headline {
	struct case_selection selection;
	const char *axis;     /* NULL: none */
	char *common;         /* "BLAS, nn": what all cases share, in no row's label; "" */
	const char **without; /* axis and common parameters, NULL-terminated; borrowed names */
	enum better better;
	struct headline_group *groups;
	size_t group_count;
	struct headline_row *rows;
	size_t count, capacity;
	struct text_index places; /* of rows by label and section, while they are filled */
};

/* Collects a suite's cases with the metric. Call headline_release() even if there are none. */
void headline_collect(struct headline *h, const struct view *view, const char *suite,
		      const char *metric);
void headline_release(struct headline *h);

struct sheet_entry;

/* The data sheet's figure for a measured one. */
struct headline_peak {
	double peak, share; /* `share`: the figure over the peak */
	const char *unit;   /* of the peak */
	const char *title;  /* of the quantity: "STREAM triad" */
	bool doubled;       /* each byte counts when it is read and when it is written */
	const struct sheet_entry *entry;
	const struct quantity *quantity; /* NULL: the row names a key of the sheet alone */
};

/* False where the model or what bounds the figure is not known. */
bool headline_peak(const struct headline *h, const struct selected_case *selected,
		   struct headline_peak *peak);

/* The best share of its peak that a source reached of a quantity. */
struct headline_share {
	const char *title, *unit;       /* borrowed from what is shown */
	size_t source, quantity;        /* quantity: its index */
	double share, low, high, value; /* share 0: each group of cases has one that failed */
	const struct case_result *c;    /* of the best; borrowed */
	size_t ways;                    /* groups of cases from which the best was taken */
	double least;                   /* the lowest value of these groups */
};

/* A quantity that some source has a share of. */
struct headline_quantity {
	const char *title;
	const struct quantity *quantity;
	size_t *items;      /* by source: index + 1 of its share; 0: none */
	size_t devices;     /* devices with a share above 0 */
	size_t worst, best; /* of these, the first: its share's index + 1; 0: none */
};

struct headline_shares {
	struct headline_share *items; /* in order of appearance */
	size_t count, capacity;
	struct headline_quantity *quantities;
	size_t quantity_count, quantity_capacity;
};

/* Collects and sums up the shares of all suites. Titles and units last as long as the view. */
void headline_shares_of(const struct view *view, struct headline_shares *shares);

/* Orders pointers to selected cases by their value, for qsort(). */
int headline_by_value(const void *a, const void *b);

typedef void headline_fn(void *user, const char *suite, const struct headline *h);
/* Calls `visit` for each headline metric of a suite, in order of appearance. */
void headline_each(const struct view *view, const char *suite, headline_fn *visit, void *user);
void headline_shares_release(struct headline_shares *shares);

/* An identical device that is far from all others in a quantity. */
struct headline_outlier {
	const struct headline_quantity *quantity;
	size_t source;
	double below; /* fraction of the others' median; of two devices, of the other one */
	size_t others;
};

/* False: no device stands out in the quantity. */
bool headline_shares_outlier(const struct headline_shares *shares, const struct view *view,
			     const struct headline_quantity *quantity,
			     struct headline_outlier *outlier);

#endif
