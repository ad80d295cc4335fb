#ifndef GPUPROOF_CLI_RUN_RUN_PLAN_H
#define GPUPROOF_CLI_RUN_RUN_PLAN_H

#include "plan/plan.h"

/* Prints every case with its memory and estimated time, and the totals. */
void run_print_plan(const struct plan *plan);

#endif
