/* Prints a node or a device night by night next to the others, as text and as JSON. */
#ifndef GPUPROOF_CLI_OUTPUT_PRINT_NODE_H
#define GPUPROOF_CLI_OUTPUT_PRINT_NODE_H

#include "history/fleet/fleet.h"

void print_node(const struct fleet *fleet, const struct fleet_subject *subject, bool json);

#endif
