/* gpuproof agent: one node of a run on several. */
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
		code = command_usage(&command_agent, "'%s' is too much", o.operands[0]);
	if (code == EXIT_ACCEPTED && fleet_agent(run_node, run_group, &err) != STATUS_OK)
		code = command_fail(&err);
	options_end(&o);
	return code;
}

const struct command command_agent = {
	.name = "agent",
	.summary = "one node of a run on several; started by gpuproof run",
	.forms = { "agent" },
	.about = "gpuproof run CONFIG on several nodes starts one agent on each, through srun, "
		 "mpirun or the\ncommand of --launch. The agent calls the conductor back, at the "
		 "address in GPUPROOF_AGENT_ADDRESS,\nwith the token in GPUPROOF_AGENT_TOKEN, and "
		 "carries out the run of its node. GPUPROOF_AGENT_NODE\nnames the node where that "
		 "is not the host's name. It ends with the conductor.",
	.run = agent_run,
};
