/*
 * Suites' cases in the words that their results carry (result/presentation.h). The only place where
 * src/report meets the built-in suites: results of an earlier program, imported ones and histories
 * carry nothing, and get the rows of the suite of that name in this one. `view` may be NULL: no
 * result, the built-in rows alone.
 */
#ifndef GPUPROOF_REPORT_VIEW_PRESENTED_H
#define GPUPROOF_REPORT_VIEW_PRESENTED_H

#include "report/view/view.h"
#include "result/presentation.h"

/*
 * As the first result that carries it, else as the suite of that name; empty lists for others.
 * Borrowed.
 */
struct presentation view_presentation(const struct view *view, const char *suite);
/* The row of a metric, "suite.metric"; NULL: none. */
const struct metric *presented_metric(const struct view *view, const char *name);

/* "bus bandwidth" of "collective.busbw". */
struct formatted presented_metric_title(const struct view *view, const char *name);
/*
 * The unit in which the page shows a metric, "suite.metric", that has `unit`. Bytes are
 * UNITS_BINARY if the suite's sizes are powers of two. Borrowed.
 */
const char *presented_unit(const struct view *view, const char *metric, const char *unit);
/* The unit of a case's metric: "ops/s" instead of "FLOP/s" for integers. */
const char *presented_case_unit(const struct view *view, const struct case_result *c,
				const struct metric_value *m);
/* The interval of a case's metric, in the unit of presented_value(); "" without one. */
struct formatted presented_interval(const struct view *view, const struct case_result *c,
				    const struct metric_value *m);
/*
 * "95 % interval between runs, typical of this kind of metric": of the main figures' intervals the
 * one that covers least; or that none has one, as in most imports. Borrowed.
 */
const char *presented_interval_words(const struct view *view);
/*
 * The value of a case's metric: counts in whole numbers, parts of one in percent, all else as a
 * quantity. NULL: "–".
 */
struct formatted presented_value(const struct view *view, const struct case_result *c,
				 const struct metric_value *m);
/*
 * A parameter's value in its suite's words ("host to device" of "h2d"), else as format_parameter()
 * has it.
 */
struct formatted presented_parameter(const struct view *view, const char *suite,
				     const struct case_parameter *p);

/* The case's metric or parameter with that role in its suite; NULL or NaN: none. */
const struct metric_value *presented_role_metric(const struct view *view,
						 const struct case_result *c, enum role role);
double presented_role_value(const struct view *view, const struct case_result *c, enum role role);
const struct case_parameter *presented_role_parameter(const struct view *view,
						      const struct case_result *c, enum role role);
/* True if the case's parameter of that role has the row's value. */
bool presented_role_holds(const struct view *view, const struct case_result *c, enum role role);

#endif
