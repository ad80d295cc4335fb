/* Finds rows of all suites' metric tables by name. */
#ifndef GPUPROOF_PLAN_METRICS_H
#define GPUPROOF_PLAN_METRICS_H

#include "result/metric.h"
#include "result/presentation.h"

/* NULL: no suite has this metric (it was imported). */
const struct metric *schema_metric_find(const char *name);
/* Data-sheet rows of the metric's suite; NULL: none. */
const struct sheet_row *schema_metric_sheet(const char *name);

#endif
