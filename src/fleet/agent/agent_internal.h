/*
 * Inside of the agent (agent.h): link.c talks with the conductor, child.c starts and watches the
 * process that does the work, agent.c puts it together.
 */
#ifndef GPUPROOF_FLEET_AGENT_AGENT_INTERNAL_H
#define GPUPROOF_FLEET_AGENT_AGENT_INTERNAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/text.h"
#include "fleet/agent/agent.h"

/* In memory that the agent shares with the child. */
struct agent_report {
	_Atomic size_t planned, finished;
	_Atomic unsigned turn; /* current[turn % 2] is valid */
	char current[2][512];
	/* Set before the child ends. */
	char state[32];
	struct error failure;
	_Atomic int ended;
	char address[256]; /* of a group's leader */
	_Atomic int listening;
	int wake; /* eventfd that wakes the agent after a change of the report */
};

struct agent {
	int fd, wake; /* the connection; report->wake */
	char name[64];
	struct text in;
	struct fleet_message order;
	struct agent_report *report;
	pid_t child;
	unsigned turn_said; /* of the report, in the last message */
	double heard, said; /* last message from the conductor; last one to it */
	double stopped;     /* since when the child is stopped by a signal; 0: it was not */
	int stopped_by;
	agent_group_fn *group_work;
	struct fleet_message group; /* the order in progress; kind NULL: none */
	bool listening_said;
	int64_t finished; /* cases of the node itself */
};

/* Connects to one of the addresses "10.0.0.1:4000,...", within half a minute. */
enum status agent_call(struct agent *a, const char *addresses, struct error *err);
/* False: the connection has ended. */
bool agent_say(struct agent *a, const struct fleet_message *message);
/* The first message, after the bytes that show the token. */
bool agent_introduce(struct agent *a, const char *token, const struct fleet_message *hello);
/*
 * Sleeps until the clock says `until` (s), a message or a signal comes, or the report changes, and
 * reads what is there. False: the connection has ended.
 */
bool agent_wait(struct agent *a, double until);
/* Takes the next whole line out of what was read. False: there is none. */
bool agent_next_message(struct agent *a, struct fleet_message *message);
/* Waits for the order to start; a refusal is STATUS_IO. */
enum status agent_take_order(struct agent *a, struct error *err);

/* Forks the process that does the work; `work` NULL: the group's. */
enum status agent_start_child(struct agent *a, agent_work_fn *work, struct error *err);
void agent_kill_child(struct agent *a);
/* True if it has ended; `err` says why where it should not have. */
bool agent_child_ended(struct agent *a, struct error *err);

#endif
