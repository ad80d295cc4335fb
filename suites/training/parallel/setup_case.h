/* Conversion of the keys of suite parallel to a setup. */
#ifndef GPUPROOF_PARALLEL_SETUP_CASE_H
#define GPUPROOF_PARALLEL_SETUP_CASE_H

#include "plan/plan.h"
#include "suites/training/models/setup.h"

/* STATUS_USAGE names the line of the invalid value. The seed stays 0. */
enum status setup_from_case(struct setup *setup, const struct plan_case *c, struct error *err);
/*
 * Sets another batch and its dependent members; the smallest one is divisible by the ranks and
 * their parts, and is used by cases without the axis `batch`.
 */
void setup_case_batch(struct setup *setup, const struct plan_case *c, uint64_t samples);
uint64_t setup_case_least(const struct setup *setup);
/* The axis memory_limit in bytes; 0: the device's memory. */
enum status setup_case_limit(const struct plan_case *c, uint64_t *bytes, struct error *err);
/* Width of each of `depth` layers; 0: the model is described by `layers`. */
int64_t setup_case_width(const struct plan_case *c);

/*
 * Reads the model's keys, each a key or an axis; refuses a key that has no effect on any model of
 * the section. The precision must be set.
 */
enum status setup_case_read_model(struct setup *setup, const struct plan_case *c,
				  struct error *err);

#endif
