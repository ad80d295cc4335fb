/* Config, devices and plan of a run, before it begins. */
#ifndef GPUPROOF_CLI_RUN_RUN_SETUP_H
#define GPUPROOF_CLI_RUN_RUN_SETUP_H

#include "run/conductor.h"

struct run_setup {
	struct config config;
	struct probe probe;
	struct plan plan;
};

/*
 * Reads the config, looks for devices and expands the plan. The config's errors go to stderr, with
 * STATUS_USAGE and an empty `err`. Released by the caller in any case.
 */
enum status run_setup_load(struct run_setup *setup, const char *source,
			   const struct override *overrides, size_t override_count,
			   struct error *err);
/* The same for the run in `directory`, to be continued. */
enum status run_setup_resume(struct run_setup *setup, const char *directory, struct error *err);
/*
 * As run_setup_resume() for one node of a run on several, whose header is in `directory`: of GPUs
 * only each `shares`th from `share` on, where nodes are simulated on one machine. STATUS_USAGE
 * where the folder is of another run than `run`.
 */
enum status run_setup_node(struct run_setup *setup, const char *directory, const char *run,
			   int share, int shares, struct error *err);

/*
 * Config and plan of cases of several nodes together, `group`, whose nodes `names` are in
 * `directory`.
 */
enum status run_setup_group(struct run_setup *setup, const char *directory,
			    const char *const *names, const struct plan_group *group,
			    struct error *err);

void run_setup_release(struct run_setup *setup);

#endif
