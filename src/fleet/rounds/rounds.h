/*
 * Cases of several nodes together, after each has done its own: rounds of groups of nodes that have
 * no node in common and work at the same time. First groups of the sizes that suites ask for, which
 * tile the nodes, then pairs (random ones, or every two nodes), then pairs of each suspect with
 * nodes that are proven.
 *
 * A group that fails costs its case in flight, with the rank or node at fault as the reason; the
 * next rounds are made without nodes that are lost.
 */
#ifndef GPUPROOF_FLEET_ROUNDS_ROUNDS_H
#define GPUPROOF_FLEET_ROUNDS_ROUNDS_H

#include "fleet/wire/message.h"
#include "plan/config.h"
#include "result/result.h"

/* How orders reach the agents; `node` is the caller's number. */
struct rounds_callbacks {
	void *context;
	void (*send)(void *context, size_t node, const struct fleet_message *message);
	void (*say)(void *context, const char *text);
};

struct rounds;

/*
 * For the nodes `names` whose own cases are done, their results in `directory`; cases that an
 * earlier conductor's groups have finished are kept. `seed` makes the pairs.
 */
enum status rounds_open(struct rounds **out, const struct config *config, const char *directory,
			const char *const *names, const size_t *nodes, size_t count, uint64_t seed,
			const struct rounds_callbacks *callbacks, struct error *err);
/* Adds the cases of the rounds so far, and those of them that are settled. */
void rounds_group_count(const struct rounds *rounds, size_t *planned, size_t *settled);
/* Calls `visit` with the cases of ended rounds from *from on, and moves it on. */
void rounds_each_found(const struct rounds *rounds, size_t *from,
		       void (*visit)(void *context, const struct case_result *c), void *context);
/* Begins what can begin, and ends what takes too long. False: nothing is left. */
bool rounds_step(struct rounds *rounds);
/* "listens" and "ended" of a node. */
void rounds_group_message(struct rounds *rounds, size_t node, const struct fleet_message *message);
void rounds_group_node_lost(struct rounds *rounds, size_t node, const char *reason);
/* Ends the groups in progress; no further one begins. */
void rounds_group_stop_all(struct rounds *rounds);
/* Moves the cases into the result, with findings about nodes and links at fault. */
void rounds_collect(struct rounds *rounds, struct result *result);
void rounds_close(struct rounds *rounds); /* NULL is allowed */

#endif
