/*
 * Starts one `gpuproof agent` on each node: by srun inside an allocation of Slurm, by mpirun with a
 * file of hosts, by a command of the user, or as processes of this machine. The launcher's exit
 * code says nothing about nodes; agents that call do.
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
	char **names; /* nodes whose names are known beforehand */
	size_t name_count;
	size_t expected;  /* nodes in all; 0: unknown */
	const char *file; /* of hosts; borrowed from the config */
	const char *command;
	/* Processes that were started: one, or one a simulated node; 0: ended. */
	pid_t *processes;
	size_t process_count;
	char ending[160]; /* how the latest one ended; "" */
};

/*
 * Reads what [fleet] of `config` asks for. `command`: of --launch, or NULL. STATUS_USAGE names the
 * key and what is allowed.
 */
enum status launcher_choose(struct launcher *launcher, const struct config *config,
			    const char *command, struct error *err);
/* The command by which agents are started, for people; malloc'ed. */
char *launcher_describe(const struct launcher *launcher);
/*
 * Starts the agents; of simulated nodes those for which wanted[i] is true. Their output goes to the
 * file `log`.
 */
enum status launcher_start(struct launcher *launcher, const bool *wanted, const char *addresses,
			   const char *token, int log, struct error *err);
/* Notes processes that have ended. True while one is there. */
bool launcher_attend(struct launcher *launcher);
/* Ends the processes of simulated node `index` at once. */
void launcher_kill_node(struct launcher *launcher, size_t index);
/* Waits for the rest, then ends it. */
void launcher_end(struct launcher *launcher, double seconds);
void launcher_release(struct launcher *launcher);

#endif
