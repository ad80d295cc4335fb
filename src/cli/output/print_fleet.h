/*
 * Prints the fleet comparison, and a node or a device of it night by night next to the others, as
 * text and as JSON.
 */
#ifndef GPUPROOF_CLI_OUTPUT_PRINT_FLEET_H
#define GPUPROOF_CLI_OUTPUT_PRINT_FLEET_H

#include "history/fleet/fleet.h"

void print_fleet(const struct fleet *fleet, bool json);
void print_fleet_node(const struct fleet *fleet, const struct fleet_subject *subject, bool json);

#endif
