/* Carries out, for an agent, the run of one node, in DIR/nodes/NAME. */
#ifndef GPUPROOF_CLI_RUN_NODES_RUN_NODE_H
#define GPUPROOF_CLI_RUN_NODES_RUN_NODE_H

#include "fleet/agent/agent.h"

agent_work_fn run_node;
/* This node's part of cases of several nodes together. */
agent_group_fn run_group;

#endif
