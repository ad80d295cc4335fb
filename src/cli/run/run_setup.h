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
 * Reads the config `source`, or the one stored with the run in the directory `resume` (else NULL).
 * Its errors go to stderr, with STATUS_USAGE and an empty `err`. The caller always releases it.
 */
enum status run_setup_config(struct run_setup *setup, const char *source,
			     const struct override *overrides, size_t override_count,
			     const char *resume, struct error *err);
/* Then looks for devices and expands the plan. */
enum status run_setup_plan(struct run_setup *setup, struct error *err);
/*
 * Both for one node of the run `run` on several, whose header is in `directory`: of GPUs only each
 * `shares`th from `share` on, where nodes are simulated on one machine. STATUS_USAGE where the
 * folder is of another run.
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

/*
 * STATUS_UNSUPPORTED with doctor's reasons where the config promises a judgement of GPUs and none
 * is visible: the CPU is not judged in their place, unless --backend host asks for it.
 */
enum status run_setup_refuse_cpu(const struct run_setup *setup, struct error *err);

void run_setup_release(struct run_setup *setup);

#endif
