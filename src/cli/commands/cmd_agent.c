/* gpuproof agent: one node of a multi-node run. */
#include <stddef.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/nodes/run_node.h"

extern const struct command command_agent;

static int agent_run(int argc, char **argv)
{
	struct error err = ERROR_NONE;
	struct options o;
	int code = options_parse(&o, &command_agent, argc, argv, NULL);

	if (code == EXIT_ACCEPTED && o.operand_count)
		code = command_usage(&command_agent, "unexpected argument '%s'", o.operands[0]);
	if (code == EXIT_ACCEPTED && fleet_agent(run_node, run_group, &err) != STATUS_OK)
		code = command_fail(&err);
	options_end(&o);
	return code;
}

const struct command command_agent = {
	.name = "agent",
	.summary = "per-node agent of a multi-node run (internal)",
	.forms = { "agent" },
	.about = "In a multi-node run, gpuproof run starts one agent on each node through "
		 "srun, mpirun or the command of --launch. The agent connects to the conductor "
		 "at GPUPROOF_AGENT_ADDRESS, authenticates with GPUPROOF_AGENT_TOKEN, and runs "
		 "the cases of its node. GPUPROOF_AGENT_NODE names the node if its name is not "
		 "the host name. The agent ends with the conductor.",
	.run = agent_run,
};
