/*
 * The leaf switch of each node, from a file as Slurm's topology.conf:
 *
 *	SwitchName=leaf1 Nodes=n[1-16,20]
 *	SwitchName=spine Switches=leaf[1-2]
 *
 * or, a switch a line, "leaf1: n1 n2 n[3-16]". Switches of switches are skipped.
 */
#ifndef GPUPROOF_FLEET_ROUNDS_TOPOLOGY_H
#define GPUPROOF_FLEET_ROUNDS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * `setting` of [fleet]: a path; none; auto: topology.conf next to Slurm's own configuration, if
 * this is an allocation of Slurm and the file is there. leaves[i], of the node names[i], is
 * malloc'ed, or NULL where its switch is not known. Errors name the line.
 */
enum status topology_read(const char *setting, const char *const *names, size_t count,
			  char **leaves, struct error *err);

/* True if `name` is one of a list of hosts, as in "n1,gpu[01-16,20]-ib". */
bool topology_lists(const char *list, const char *name);

#endif
