/*
 * Per-node agent of a multi-node run: connects to the conductor, runs the node's cases in a child
 * process, and reports every second that it is alive and which case is in flight. The child's
 * journal is DIR/nodes/NAME/run.jsonl. If the conductor disconnects, or is silent for three times
 * silent_after, child and agent end; the journal remains for run --resume.
 */
#ifndef GPUPROOF_FLEET_AGENT_AGENT_H
#define GPUPROOF_FLEET_AGENT_AGENT_H

#include "fleet/wire/message.h"

/* Progress of the child, in memory shared with the agent. */
struct agent_report;

void agent_report_plan(struct agent_report *report, size_t planned, size_t finished);
/*
 * A case starts, or (`settled`) is finished. Pass `report` as the context of conduct_options.watch.
 */
void agent_report_case(void *report, const char *id, bool settled);

/*
 * Runs the cases of node `order->node` for the message "start". Sets `state` to that of its result.
 * STATUS_OK whenever the node's result was written.
 */
typedef enum status agent_work_fn(const struct fleet_message *order, struct agent_report *report,
				  char *state, size_t size, struct error *err);

/*
 * Runs this node's part of a group of nodes for the messages "lead" and "join". `start` is the
 * node's order; the other nodes reach it at the numeric address `host`. STATUS_OK if its ranks
 * ended normally.
 */
typedef enum status agent_group_fn(const struct fleet_message *start,
				   const struct fleet_message *order, const char *host,
				   struct agent_report *report, struct error *err);
/* Reports that the leader's ranks listen at `address` (fleet_message.address). */
void agent_report_listening(struct agent_report *report, const char *address);

/*
 * Takes address, token and name from the environment. STATUS_USAGE without them; STATUS_IO if
 * nothing listens, the conductor refuses, or it disconnects.
 */
enum status fleet_agent(agent_work_fn *work, agent_group_fn *group, struct error *err);

#endif
