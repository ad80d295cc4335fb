/* Config, devices and plan of a run, before it starts. */
#ifndef GPUPROOF_CLI_RUN_RUN_SETUP_H
#define GPUPROOF_CLI_RUN_RUN_SETUP_H

#include "cli/input/overrides.h"
#include "run/conductor.h"

struct run_setup {
	struct config config;
	struct probe probe;
	struct plan plan;
};

/*
 * Reads the config `source`, or the one stored with the run in the directory `resume` (else NULL).
 * Prints its errors to stderr and returns STATUS_USAGE with an empty `err`. The caller always
 * releases it.
 */
enum status run_setup_config(struct run_setup *setup, const char *source,
			     const struct overrides *overrides, const char *resume,
			     struct error *err);
/* Then finds the devices and expands the plan. */
enum status run_setup_plan(struct run_setup *setup, struct error *err);
/*
 * Both for one node of the multi-node run `run`, whose header is in `directory`: if nodes are
 * simulated on one machine, uses only every `shares`th GPU from `share` on. STATUS_USAGE if the
 * folder belongs to another run.
 */
enum status run_setup_node(struct run_setup *setup, const char *directory, const char *run,
			   int share, int shares, struct error *err);

/* Config and plan of multi-node cases of `group`, whose nodes `names` are in `directory`. */
enum status run_setup_group(struct run_setup *setup, const char *directory,
			    const char *const *names, const struct plan_group *group,
			    struct error *err);

/*
 * STATUS_UNSUPPORTED with doctor's reasons if the config promises a judgement of GPUs and none is
 * visible: the CPU is judged instead only with --backend host.
 */
enum status run_setup_refuse_cpu(const struct run_setup *setup, struct error *err);

void run_setup_release(struct run_setup *setup);

#endif
