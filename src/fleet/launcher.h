/*
 * Starts one `gpuproof agent` on each node: with srun inside a Slurm allocation, with mpirun and a
 * host file, with a user's command, or as processes of this machine. The launcher's exit code does
 * not tell which nodes started; only the agents that connect count.
 */
#ifndef GPUPROOF_FLEET_LAUNCHER_H
#define GPUPROOF_FLEET_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "plan/config.h"

enum launcher_kind { LAUNCH_SRUN, LAUNCH_MPIRUN, LAUNCH_COMMAND, LAUNCH_SIMULATED };

struct launcher {
	enum launcher_kind kind;
	char **names; /* nodes whose names are known in advance */
	size_t name_count;
	size_t expected;  /* total number of nodes; 0: unknown */
	const char *file; /* host file; borrowed from the config */
	const char *command;
	/* Started processes: one, or one per simulated node; 0: exited. */
	pid_t *processes;
	size_t process_count;
	char ending[160]; /* how the latest process ended; "" */
};

/*
 * Reads the launcher from [fleet] of `config`. `command`: of --launch, or NULL. STATUS_USAGE names
 * the key and what is allowed.
 */
enum status launcher_choose(struct launcher *launcher, const struct config *config,
			    const char *command, struct error *err);
/* The command that starts the agents, for messages; the caller frees it. */
char *launcher_describe(const struct launcher *launcher);
/*
 * Starts the agents; simulated nodes only if wanted[i] is true. Their output goes to the file
 * `log`.
 */
enum status launcher_start(struct launcher *launcher, const bool *wanted, const char *addresses,
			   const char *token, int log, struct error *err);
/* Collects exited processes. True while one is running. */
bool launcher_attend(struct launcher *launcher);
/* Kills the processes of simulated node `index` at once. */
void launcher_kill_node(struct launcher *launcher, size_t index);
/* Waits up to `seconds` for the remaining processes, then kills them. */
void launcher_end(struct launcher *launcher, double seconds);
void launcher_release(struct launcher *launcher);

#endif
