/*
 * Private declarations of the agent (agent.h). link.c talks to the conductor, child.c starts and
 * watches the process that does the work, agent.c combines them.
 */
#ifndef GPUPROOF_FLEET_AGENT_AGENT_INTERNAL_H
#define GPUPROOF_FLEET_AGENT_AGENT_INTERNAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/text.h"
#include "fleet/agent/agent.h"

/* Shared memory between the agent and its child. */
struct agent_report {
	_Atomic size_t planned, finished;
	_Atomic unsigned turn; /* current[turn % 2] is valid */
	char current[2][512];
	/* Set before the child exits. */
	char state[32];
	struct error failure;
	_Atomic int ended;
	char address[256]; /* world address of a group's leader */
	_Atomic int listening;
	int wake; /* eventfd that wakes the agent after a change of the report */
};

struct agent {
	int fd, wake; /* the connection, and report->wake */
	char name[64];
	struct text in;
	struct fleet_message order;
	struct agent_report *report;
	pid_t child;
	unsigned turn_said; /* turn of the report in the last message */
	/* time of the last message from the conductor, and of the last one to it */
	double heard, said;
	double stopped; /* time at which a signal stopped the child; 0: running */
	int stopped_by;
	agent_group_fn *group_work;
	struct fleet_message group; /* current order; kind NULL: none */
	bool listening_said;
	int64_t finished; /* finished cases of the node's own run */
};

/* Connects to one of the addresses "10.0.0.1:4000,...", within 30 seconds. */
enum status agent_call(struct agent *a, const char *addresses, struct error *err);
/* False: the connection has ended. */
bool agent_say(struct agent *a, const struct fleet_message *message);
/* Sends the hello, after the bytes that prove the token. */
bool agent_introduce(struct agent *a, const char *token, const struct fleet_message *hello);
/*
 * Sleeps until the time `until` (s), a message, a signal, or a change of the report, and reads
 * pending input. False: the connection has ended.
 */
bool agent_wait(struct agent *a, double until);
/* Extracts the next complete line from the input. False: none. */
bool agent_next_message(struct agent *a, struct fleet_message *message);
/* Waits for the order to start; STATUS_IO if the conductor refuses. */
enum status agent_take_order(struct agent *a, struct error *err);

/* Forks the process that does the work; `work` NULL: a group's part. */
enum status agent_start_child(struct agent *a, agent_work_fn *work, struct error *err);
void agent_kill_child(struct agent *a);
/* True if the child has ended; `err` explains an abnormal end. */
bool agent_child_ended(struct agent *a, struct error *err);

#endif
