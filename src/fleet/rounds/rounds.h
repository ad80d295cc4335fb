/*
 * Multi-node cases, after each node has run its own: rounds of disjoint groups of nodes that work
 * at the same time. First groups of the sizes that suites request, which tile the nodes. Then, if a
 * case hangs or is slow only over many nodes, smaller groups until the fewest nodes that show it
 * are known. Then pairs (random, or all pairs), and finally pairs of each suspect with good nodes.
 *
 * A group that fails costs its case in flight, with the rank or node at fault as the reason. Later
 * rounds leave lost nodes out.
 */
#ifndef GPUPROOF_FLEET_ROUNDS_ROUNDS_H
#define GPUPROOF_FLEET_ROUNDS_ROUNDS_H

#include "fleet/wire/message.h"
#include "plan/config.h"
#include "result/result.h"

/* Callbacks that send orders to the agents; `node` is the caller's number. */
struct rounds_callbacks {
	void *context;
	void (*send)(void *context, size_t node, const struct fleet_message *message);
	void (*say)(void *context, const char *text);
};

struct rounds;

/*
 * Opens the rounds for the nodes `names` whose own cases are finished, with results in `directory`.
 * Keeps cases that groups of an earlier conductor have finished. `seed` selects the pairs.
 */
enum status rounds_open(struct rounds **out, const struct config *config, const char *directory,
			const char *const *names, const size_t *nodes, size_t count, uint64_t seed,
			const struct rounds_callbacks *callbacks, struct error *err);
/* Adds the number of planned cases in the rounds so far, and of settled ones. */
void rounds_count(const struct rounds *rounds, size_t *planned, size_t *settled);
/* Calls `visit` for the cases of finished rounds from *from on, and advances it. */
void rounds_each_found(const struct rounds *rounds, size_t *from,
		       void (*visit)(void *context, const struct case_result *c), void *context);
/* Starts groups that can start, and ends those that exceed their limit. False: finished. */
bool rounds_step(struct rounds *rounds);
/* Handles "listens" and "ended" from a node. */
void rounds_message(struct rounds *rounds, size_t node, const struct fleet_message *message);
void rounds_lost(struct rounds *rounds, size_t node, const char *reason);
/* Ends the active groups and starts no others. */
void rounds_stop(struct rounds *rounds);
/* Moves the cases into the result, with findings about suspects (nodes and links). */
void rounds_collect(struct rounds *rounds, struct result *result);
void rounds_close(struct rounds *rounds); /* accepts NULL */

#endif
