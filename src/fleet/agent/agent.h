/*
 * The agent of one node in a run on several: calls the conductor, carries the run of its node out
 * in a child process, and says every second that it is alive and which case is in flight. The
 * child's journal is DIR/nodes/NAME/run.jsonl. A conductor that is gone, or silent for three times
 * silent_after, ends the child and the agent; the journal stays for run --resume.
 */
#ifndef GPUPROOF_FLEET_AGENT_AGENT_H
#define GPUPROOF_FLEET_AGENT_AGENT_H

#include "fleet/wire/message.h"

/* Progress of the child, in memory that it shares with the agent. */
struct agent_report;

void agent_report_plan(struct agent_report *report, size_t planned, size_t finished);
/* A case begins, or (`settled`) is finished. `report` as a context of conduct_options.watch. */
void agent_report_case(void *report, const char *id, bool settled);

/*
 * Carries out the run of node `order->node` for the message "start". `state` becomes that of its
 * result; STATUS_OK whenever the node's result was written.
 */
typedef enum status agent_work_fn(const struct fleet_message *order, struct agent_report *report,
				  char *state, size_t size, struct error *err);

/*
 * Carries out this node's part of a group of nodes for the messages "lead" and "join"; `start` was
 * the node's order, `host` is the numeric address at which the others reach it. STATUS_OK when its
 * ranks ended as they should.
 */
typedef enum status agent_group_fn(const struct fleet_message *start,
				   const struct fleet_message *order, const char *host,
				   struct agent_report *report, struct error *err);
/* The leader's ranks listen at `address` (fleet_message.address). */
void agent_report_listening(struct agent_report *report, const char *address);

/*
 * Address, token and name are taken from the environment. STATUS_USAGE without them;
 * STATUS_IO where no process listens, the conductor refuses or is gone.
 */
enum status fleet_agent(agent_work_fn *work, agent_group_fn *group, struct error *err);

#endif
