/* `run --check`: limits before the run, verdicts after it. */
#ifndef GPUPROOF_CLI_RUN_RUN_CHECK_H
#define GPUPROOF_CLI_RUN_RUN_CHECK_H

#include "cli/input/result_list.h"
#include "judge/judge.h"
#include "run/conductor.h"

struct run_check {
	bool wanted, strict;
	const char *limits_source; /* NULL: the config's own, else those of the GPU model */
	struct result_list baseline;
	/* Filled by run_check_prepare(). */
	struct limits limits;
	struct population population;
};

/*
 * Finds the limits, and refuses those that make no sense for the plan's cases. Messages go to
 * stderr; STATUS_USAGE: the run must not begin.
 */
enum status run_check_prepare(struct run_check *check, const struct plan *plan);

/*
 * Judges `result`; what one launch doesn't decide is measured in further launches, pooled and
 * judged again. `result` and DIR/result.json are then about all of them, and hold the judgement.
 */
enum status run_check_judge(const struct run_check *check, const struct plan *plan,
			    const struct probe *probe, const struct conduct_options *options,
			    struct result *result, struct error *err);

/*
 * The same for the result of several nodes, in DIR/result.json: finds the limits only now, since
 * the conductor has no devices of its own; a second call applies the same. What one launch doesn't
 * decide stays INCONCLUSIVE until run_fleet() measures it again.
 */
enum status run_check_nodes(struct run_check *check, const struct config *config,
			    const char *directory, struct result *result, struct error *err);

void run_check_release(struct run_check *check);

#endif
