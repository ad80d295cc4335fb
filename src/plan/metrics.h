/* The rows of all suites' metric tables, by name. */
#ifndef GPUPROOF_PLAN_METRICS_H
#define GPUPROOF_PLAN_METRICS_H

#include "result/metric.h"

/* NULL: no suite has such a metric (an imported one). */
const struct metric *metric_find(const char *name);

#endif
