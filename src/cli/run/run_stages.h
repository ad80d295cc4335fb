/*
 * `run --check` of a config with stages: sanity (what doctor finds), rates, together, soak. A stage
 * that rejects the node ends the run; the stages after it are not run.
 */
#ifndef GPUPROOF_CLI_RUN_RUN_STAGES_H
#define GPUPROOF_CLI_RUN_RUN_STAGES_H

#include "cli/run/run_check.h"

/* True if the plan has cases of a stage, each to be carried out once. */
bool stages_apply(const struct plan *plan);

/*
 * Measures stage after stage, and cases that one launch does not decide in further launches before
 * the next stage begins. `launches` then has the run and these, pooled if it ended early. `health`:
 * of the machine before the run. Sets check->extended.
 */
enum status stages_run(struct run_check *check, struct launches *launches,
		       const struct health *health, struct error *err);

#endif
