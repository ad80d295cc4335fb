/* The figures that a run's page begins with, and its title. */
#ifndef GPUPROOF_REPORT_RUN_RUN_FIGURES_H
#define GPUPROOF_REPORT_RUN_RUN_FIGURES_H

#include "report/run/headline.h"
#include "report/template/tree.h"

#define DOTS_WIDTH 200.0 /* px from the one end of a row of dots to the other */
#define DOTS_EDGE 5.0    /* px left and right of it */

/* "figures" of the page: a row for each quantity of a data sheet, with a dot for each device. */
void run_figures(const struct view *view, const struct headline_shares *shares, struct tree *page);
/* "plain": a table for each headline metric that no data sheet covers. */
void run_plain_figures(const struct view *view, struct tree *page);
/*
 * The finding of the run in one line: the wrong results, the device that stands out, or how much of
 * the data sheet was reached. malloc'ed.
 */
char *run_title(const struct view *view, const struct headline_shares *shares);

/* "8 × NVIDIA H200"; the name alone of a CPU, whose shares are no CPUs. */
void run_title_add_machine(struct text *out, const struct result *result);

#endif
