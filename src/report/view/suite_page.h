/*
 * Sections specific to a suite's pages, beyond the charts and tables of its rows
 * (result/presentation.h): struct suite's member `page`. A library's suite has none.
 */
#ifndef GPUPROOF_REPORT_VIEW_SUITE_PAGE_H
#define GPUPROOF_REPORT_VIEW_SUITE_PAGE_H

#include "base/text.h"
#include "report/view/view.h"

/* `view` has cases of the suite. Any function may be NULL. */
struct suite_page {
	/* appends the answer in a few words, for a page's title; nothing: there is none */
	void (*title)(const struct view *view, const char *suite, struct text *out);
	/* charts that are drawn first, each with a sentence */
	void (*maps)(const struct view *view, const char *suite, struct tree *charts,
		     struct tree *answers);
	/* the answer in sentences; tables of it, and `terms` that explain their words */
	void (*answer)(const struct view *view, const char *suite, struct tree *answers,
		       struct tree *tables, struct text *terms);
	/* metrics that these tables show, which no chart repeats; NULL: none */
	const char *const *tabled;
	/* charts follow the tables at once: they show more than the tables do */
	bool charts_lead;
	/* before the charts of the suite's rows */
	void (*figures)(const struct view *view, const char *suite, struct tree *charts);
	/* for each memory limit of the view */
	void (*limits)(const struct view *view, const char *suite, struct tree *tables);
};

/* Sections of the built-in suite of that name (presented.c); NULL: none. */
struct suite_page presented_suite_page_of(const char *suite);

#endif
