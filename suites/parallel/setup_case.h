/* A setup as the keys of suite parallel describe it. */
#ifndef GPUPROOF_PARALLEL_SETUP_CASE_H
#define GPUPROOF_PARALLEL_SETUP_CASE_H

#include "plan/plan.h"
#include "suites/models/setup.h"

/* STATUS_USAGE names the place of the value that does not go. The seed is left at 0. */
enum status setup_from_case(struct setup *setup, const struct plan_case *c, struct error *err);
/* Width of each of `depth` layers; 0: the case has the model that `layers` describes. */
int64_t setup_case_width(const struct plan_case *c);

#endif
