/*
 * Facts by which a node differs from most others: drivers, kernel, libraries, environment, memory,
 * clocks, links and ECC of its devices. The cheapest finder of nodes that are set up otherwise.
 */
#ifndef GPUPROOF_FLEET_DRIFT_H
#define GPUPROOF_FLEET_DRIFT_H

#include "result/result.h"

struct drift_fact {
	char *name, *value;
	size_t node; /* index in result->nodes */
};

struct drift {
	struct drift_fact *facts;
	size_t count, capacity;
	size_t *nodes; /* that were taken */
	size_t node_count, node_capacity;
};

/* Takes the facts of `own`, the result of node `index`. */
void drift_take(struct drift *drift, size_t index, const struct result *own);
/*
 * Adds a warning "drift of NAME NODE" to result->preflight for each fact that more than half of at
 * least three nodes have in common and NODE has not. Releases what was taken.
 */
void drift_tell(struct drift *drift, struct result *result);

#endif
