/*
 * Configuration drift: facts in which a node differs from the majority, such as drivers, kernel,
 * libraries, environment, memory, clocks, links and ECC of its devices. The cheapest check for
 * misconfigured nodes.
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
	size_t *nodes; /* nodes whose facts were added */
	size_t node_count, node_capacity;
};

/* Adds the facts of `own`, the result of node `index`. */
void drift_take(struct drift *drift, size_t index, const struct result *own);
/*
 * Adds a warning "drift of NAME NODE" to result->preflight for each fact that more than half of at
 * least three nodes share and NODE lacks. Releases the facts.
 */
void drift_tell(struct drift *drift, struct result *result);

#endif
