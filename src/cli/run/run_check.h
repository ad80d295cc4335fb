/* run --check: limits before the run, verdicts after it. */
#ifndef GPUPROOF_CLI_RUN_RUN_CHECK_H
#define GPUPROOF_CLI_RUN_RUN_CHECK_H

#include "cli/input/result_list.h"
#include "cli/run/run_launches.h"
#include "judge/judge.h"

struct run_check {
	bool wanted, strict;
	const char *limits_source; /* NULL: those of the config, else of the GPU model */
	struct result_list baseline;
	/* Filled by run_check_prepare(). */
	struct limits limits;
	struct population population;
	/* Cases up to this stage have had their further launches (run_check_stages()). */
	enum run_stage extended;
};

/*
 * Finds the limits, and rejects those that contradict the plan's cases. Prints messages to stderr;
 * STATUS_USAGE: the run must not start.
 */
enum status run_check_prepare(struct run_check *check, const struct plan *plan);

/*
 * Judges `result`. Cases that one launch does not decide are measured in more launches, pooled and
 * judged again. `result` and DIR/result.json then cover all launches, with the judgement.
 */
enum status run_check_judge(const struct run_check *check, const struct run_setup *setup,
			    const struct conduct_options *options, struct result *result,
			    struct error *err);

/*
 * As run_check_judge(), for a multi-node result in DIR/result.json. Finds the limits only now,
 * because the conductor has no devices of its own; a second call uses the same ones. Cases that one
 * launch does not decide stay INCONCLUSIVE until run_fleet() measures them again.
 */
enum status run_check_nodes(struct run_check *check, const struct config *config,
			    const char *directory, struct result *result, struct error *err);

/*
 * A config with stages: sanity (findings of doctor), rates, together, soak. A stage that rejects
 * the node ends the run; the stages after it are not run. True if the plan has cases of a stage,
 * each to be carried out once.
 */
bool run_check_has_stages(const struct plan *plan);
/*
 * Measures stage after stage, and cases that one launch does not decide in further launches before
 * the next stage begins. `launches` then has the run and these, pooled if it ended early. `health`:
 * of the machine before the run. Sets check->extended.
 */
enum status run_check_stages(struct run_check *check, struct launches *launches,
			     const struct health *health, struct error *err);

void run_check_release(struct run_check *check);

#endif
