/* Prints the fleet comparison as text and as JSON. */
#ifndef GPUPROOF_CLI_OUTPUT_PRINT_FLEET_H
#define GPUPROOF_CLI_OUTPUT_PRINT_FLEET_H

#include "history/fleet/fleet.h"

void print_fleet(const struct fleet *fleet, bool json);

#endif
