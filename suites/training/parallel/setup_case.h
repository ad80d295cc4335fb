/* A setup as the keys of suite parallel describe it. */
#ifndef GPUPROOF_PARALLEL_SETUP_CASE_H
#define GPUPROOF_PARALLEL_SETUP_CASE_H

#include "plan/plan.h"
#include "suites/training/models/setup.h"

/* STATUS_USAGE names the place of the value that does not go. The seed is left at 0. */
enum status setup_from_case(struct setup *setup, const struct plan_case *c, struct error *err);
/*
 * Sets another batch, with what depends on it; the least one that divides by the ranks and their
 * parts, which a case without the axis `batch` has.
 */
void setup_case_batch(struct setup *setup, const struct plan_case *c, uint64_t samples);
uint64_t setup_case_least(const struct setup *setup);
/* The axis memory_limit, in bytes; 0: the device's own. */
enum status setup_case_limit(const struct plan_case *c, uint64_t *bytes, struct error *err);
/* Width of each of `depth` layers; 0: the case has the model that `layers` describes. */
int64_t setup_case_width(const struct plan_case *c);

/* The keys of a transformer alone, each a key or an axis; the precision must be set. */
enum status setup_transformer_read(struct setup *setup, const struct plan_case *c,
				   struct error *err);

/*
 * Refuses a key that only models have that the section does not ask for: it would be without
 * effect. `kinds`: a bit of each enum model_kind that it asks for; `model`: the first of them.
 */
enum status setup_check_keys(const struct section *section, unsigned kinds, const char *model,
			     struct error *err);

#endif
