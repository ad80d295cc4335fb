/* The rows of all suites' metric tables, by name. */
#ifndef GPUPROOF_PLAN_METRICS_H
#define GPUPROOF_PLAN_METRICS_H

#include "result/metric.h"
#include "result/presentation.h"

/* NULL: no suite has such a metric (an imported one). */
const struct metric *metric_find(const char *name);
/* Data-sheet rows of the suite of that metric; NULL: there are none. */
const struct sheet_row *metric_sheet(const char *name);

#endif
