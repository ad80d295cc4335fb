/* Remaining work of a run, printed before it begins or continues. */
#ifndef GPUPROOF_CLI_RUN_RUN_LEFT_H
#define GPUPROOF_CLI_RUN_RUN_LEFT_H

#include "plan/plan.h"
#include "result/result.h"

struct run_left {
	size_t launches;       /* in all */
	size_t planned, cases; /* of all launches: in all, and those left */
	double seconds;        /* that those left take by the plan's estimates */
};

/* For a run that begins. STATUS_USAGE when there is one in `directory` already. */
enum status run_left_new(struct run_left *left, const struct plan *plan, const char *directory,
			 struct error *err);
/* For the run in `directory`. STATUS_USAGE when it has another plan. */
enum status run_left_of(struct run_left *left, const struct plan *plan, const char *directory,
			struct error *err);

/*
 * True when nothing is left and the directory's result.json is that of all launches: `result` is it
 * then, which the caller releases.
 */
bool run_left_nothing(const struct run_left *left, const char *directory, struct result *result);

/* True if the directory's report.html exists and is not older than its result.json. */
bool run_left_reported(const char *directory);

/* One line on standard error. */
void run_left_announce(const struct run_left *left, const struct plan *plan, const char *directory);

#endif
