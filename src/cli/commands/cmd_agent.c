/* gpuproof agent: one node of a multi-node run. */
#include "cli/command.h"
#include "cli/run/nodes/run_node.h"

static int agent_run(struct call *call)
{
	fleet_agent(run_node, run_group, &call->err);
	return EXIT_ACCEPTED;
}

const struct command command_agent = { .name = "agent", .run = agent_run };
