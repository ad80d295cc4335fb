/* Runs the cases of one node in DIR/nodes/NAME for an agent. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_NODE_H
#define GPUPROOF_CLI_RUN_NODES_RUN_NODE_H

#include "fleet/agent/agent.h"

agent_work_fn run_node;
/* Runs this node's part of multi-node cases. */
agent_group_fn run_group;

#endif
