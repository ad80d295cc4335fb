/*
 * Sections of pages. Each function fills members of `page` or `map` for the templates.
 *
 * Adding a section: a function here that fills a member of the page, section_<name>.mustache, and a
 * line in run.mustache or compare.mustache.
 */
#ifndef GPUPROOF_REPORT_PAGE_VIEW_SECTIONS_H
#define GPUPROOF_REPORT_PAGE_VIEW_SECTIONS_H

#include "report/view/view.h"

struct claim_set;        /* report/claims/claims.h */
struct report_reference; /* report/reference/reference.h */

/* The look of a judgement: its class in report.css, and its symbol. */
const char *view_verdict_kind_of(const struct verdicts *verdicts);
const char *view_verdict_symbol(const struct verdicts *verdicts);
void view_verdict(const struct view *view, struct tree *page);
void view_verdict_suite_counts(const struct view *view, const char *suite, struct tree *map);
/* "ok", "failed", "errors", "not_run" of one run. */
void view_verdict_run_counts(const struct view *view, size_t run, struct tree *map);
void view_warnings(const struct view *view, struct tree *page);
/* The smallest number of launches over the results. */
void view_warnings_launches(const struct view *view, struct tree *page);
void view_problems(const struct view *view, struct tree *page);
/* Time curves of a suite's cases that have them. */
void view_watches(const struct view *view, const char *suite, struct tree *charts);
/* Tables of metrics that belong together, as the suite declares them. */
void view_cases_tables(const struct view *view, const char *suite, struct tree *map);
void view_cases(const struct view *view, const char *suite, struct tree *map);
void view_problems_skipped(const struct view *view, struct tree *page);
/* How each node ended, of a run on several. */
void view_devices_nodes(const struct view *view, struct tree *page);
void view_devices_table(const struct view *view, struct tree *page);
void view_environment(const struct view *view, struct tree *page);
/*
 * How to cite a run in a line: version, id, time, configuration with the FNV-1a hash of its
 * effective INI text. malloc'ed.
 */
char *view_environment_citation(const struct result *result);
void view_environment_runs(const struct view *view, struct tree *page);
void view_environment_differences(const struct view *view, struct tree *page);
/*
 * For several results: the outcome of compare (compare/compare.h) with the first. Returns that of
 * two results in a few words, malloc'ed; NULL: of more.
 */
char *view_changes(const struct view *view, struct tree *page);
/*
 * The claims of the set, each with its verdict; an empty set: no such section. Returns the page's
 * title, malloc'ed; NULL: no claim could be tested.
 */
char *view_claims(const struct view *view, const struct claim_set *set, struct tree *page);
/* Fills everything that architectures.mustache shows of the cards. */
void view_reference(const struct report_reference *r, struct tree *page);

/*
 * The whole page, for claims.mustache where there are claims, run.mustache for one result, else
 * compare.mustache. `title` NULL: from the results, or from the claims.
 */
struct tree *view_page(const struct view *view, const struct claim_set *claims, const char *title);

#endif
