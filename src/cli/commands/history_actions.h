/* Actions of `gpuproof history` that modify it, and declarations shared by all of its actions. */
#ifndef GPUPROOF_CLI_COMMANDS_HISTORY_ACTIONS_H
#define GPUPROOF_CLI_COMMANDS_HISTORY_ACTIONS_H

#include "cli/actions.h"
#include "cli/input/result_list.h"
#include "cli/output/print_trend.h"
#include "report/page/report.h"

struct history_arguments {
	const char *db;
	struct trend_options trend;
	struct report_options page;
	int fail_on, layout; /* enum fail_on; enum layout */
	bool acknowledge;
	int64_t before, keep; /* prune; -1: not given */
	int64_t nights;
	struct result_paths paths; /* results to add */
	/* of a decision; state: enum triage, 0: not given; until: 0: not given */
	const char *node, *device, *by, *ticket;
	int state;
	int64_t until;
};

/* Completes path and filter of the history. */
struct history_arguments *history_arguments_of(const struct action_call *call);
/* Prints the error; returns the exit code of an action without a gate. */
int history_finish(const struct error *err);

/* history_nights.c: adds nights of results and of other histories */
int history_add_results(const struct action_call *call);
int history_merge_nights(const struct action_call *call);

/* history_upkeep.c: decisions, notes, and removal of old nights */
int history_acknowledge(const struct action_call *call);
int history_annotate_day(const struct action_call *call);
int history_prune_nights(const struct action_call *call);

#endif
