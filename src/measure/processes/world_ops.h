/*
 * Operations of an implementation of a world; called by world.c alone, for worlds of two ranks and
 * more.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_WORLD_OPS_H
#define GPUPROOF_MEASURE_PROCESSES_WORLD_OPS_H

#include "measure/processes/world.h"

/* The operation that a rank is in: ranks out of step are detected by it. */
struct world_call {
	int32_t operation, root;
	uint64_t bytes;
};

/* A rank's part of one exchange, in cache lines of its own. */
struct world_slot {
	struct world_call call;
	unsigned char data[WORLD_MAX_BYTES];
} __attribute__((aligned(64)));

struct world_ops {
	/*
	 * Collective. Every rank's slot to every rank: *all has world->size of them, valid until
	 * the next exchange but one. Fails when the world has ended, with the reason.
	 */
	enum status (*exchange)(struct world *world, const struct world_call *call,
				const void *data, const struct world_slot **all, struct error *err);
	/* The failure, its message complete, becomes pending; false: another rank's is. */
	bool (*publish_failure)(struct world *world, const struct error *said);
	void (*clear_failure)(struct world *world); /* by the rank that published */
	bool (*pending_failure)(const struct world *world, struct error *said);
	void (*stop)(struct world *world, const struct error *reason);
	void (*leave)(struct world *world);
	void (*release)(struct world *world);
};

/* A random id of a world, not 0. */
enum status world_new_id(uint64_t *out, struct error *err);

#endif
