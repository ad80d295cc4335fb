/* The figures that a run's page begins with, and its title. */
#ifndef GPUPROOF_REPORT_RUN_RUN_FIGURES_H
#define GPUPROOF_REPORT_RUN_RUN_FIGURES_H

#include "report/run/headline.h"
#include "report/template/tree.h"
#include "base/text.h"
#include "result/result.h"

#define DOTS_WIDTH 200.0 /* px from the one end of a row of dots to the other */
#define DOTS_EDGE 5.0    /* px left and right of it */

/* "figures" of the page: a row for each quantity of a data sheet, with a dot for each device. */
void run_figures(const struct view *view, const struct headline_shares *shares, struct tree *page);
/*
 * "plain": a table for each headline metric that "figures" lacks. `without`: by suite, shown
 * elsewhere.
 */
void run_plain_figures(const struct view *view, const bool *without, struct tree *page);
/*
 * The finding of the run in one line: the wrong results, the device that stands out, or how much of
 * the data sheet was reached. malloc'ed.
 */
char *run_figures_title(const struct view *view, const struct headline_shares *shares);

/*
 * A run's main figures as 8 to 15 lines of text, for a terminal: the headline table (headline.h) in
 * brief. A line has one or two devices with the wider half of their intervals, of more the middle
 * and the worst one; and the share of the data sheet where that is known. The best row of each
 * metric first, then those with a share, in the order of the run.
 */
#define HEADLINE_LINES 15

/*
 * Appends the lines, at most 80 characters wide except for long device names; nothing if nothing
 * was measured. Sentences of any length go to `answers`: on how many lines devices are not
 * distinguishable, and the short answers of the page.
 */
void headline_lines(const struct result *result, struct text *out, struct text *answers);

#endif
