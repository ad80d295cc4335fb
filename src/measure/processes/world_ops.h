/* Operations that implement a world; only world.c calls them, for at least two ranks. */
#ifndef GPUPROOF_MEASURE_PROCESSES_WORLD_OPS_H
#define GPUPROOF_MEASURE_PROCESSES_WORLD_OPS_H

#include "measure/processes/world.h"

/* Current operation of a rank, to detect ranks that are out of step. */
struct world_call {
	int32_t operation, root;
	uint64_t bytes;
};

/* A rank's part of one exchange, in separate cache lines. */
struct world_slot {
	struct world_call call;
	unsigned char data[WORLD_MAX_BYTES];
} __attribute__((aligned(64)));

struct world_ops {
	/*
	 * Collective. Sends every rank's slot to every rank: *all has world->size slots, valid
	 * until the next exchange but one. Fails with the reason if the world has ended.
	 */
	enum status (*exchange)(struct world *world, const struct world_call *call,
				const void *data, const struct world_slot **all, struct error *err);
	/*
	 * Makes the failure, with its message, pending; false: another rank's is pending already.
	 */
	bool (*publish_failure)(struct world *world, const struct error *said);
	void (*clear_failure)(struct world *world); /* called by the rank that published */
	bool (*pending_failure)(const struct world *world, struct error *said);
	void (*leave)(struct world *world);
	void (*release)(struct world *world);
};

/* Failure of a world, in memory shared by its processes. */
struct world_notice {
	_Atomic int pending; /* 1: a failure is pending; -1: it is being written */
	struct error said;
};

/* Makes the failure pending; false: one is already. */
bool world_notice_set(struct world_notice *notice, const struct error *said);
/* True if a failure is pending, which is copied to *said. */
bool world_notice_read(const struct world_notice *notice, struct error *said);

/* Creates a random id of a world, not 0. */
enum status world_new_id(uint64_t *out, struct error *err);

#endif
