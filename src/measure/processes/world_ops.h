/*
 * Operations that implement a world; only world.c calls them, for at least two ranks. And the wire
 * format between the ranks and the hub of a TCP world (world_tcp.h), with helpers of both sides.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_WORLD_OPS_H
#define GPUPROOF_MEASURE_PROCESSES_WORLD_OPS_H

#include "measure/processes/world.h"
#include "measure/processes/world_tcp.h"

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

enum frame_kind {
	/* rank to hub: token; `operation` and `root` are its rank and the size */
	FRAME_HELLO = 1,
	/* rank to hub: its part of an exchange; hub to rank: one per rank, in order */
	FRAME_SLOT,
	/* rank to hub: publish_failure(); `operation` is the status, data the message */
	FRAME_FAILURE,
	FRAME_CLEAR, /* rank to hub: clear_failure() */
	FRAME_LEAVE, /* rank to hub: leave() */
	FRAME_ENDED  /* hub to rank: the world has ended; same payload as FRAME_FAILURE */
};

/* Little-endian on the wire, followed by `bytes` of data, at most WORLD_MAX_BYTES. */
struct frame {
	uint32_t kind;
	int32_t operation, root;
	uint32_t bytes;
};

struct hub {
	int listener, size;
	unsigned char token[WORLD_TOKEN_BYTES];
	double join_seconds, silent_seconds;
	struct world_notice *notice;
	_Atomic bool quit; /* set by the process that runs the hub: close everything */
	_Atomic bool done; /* set by the hub as its last action */
};

/* Thread function of the hub; `context` is a struct hub that outlives the thread. */
void *world_hub_run(void *context);

/*
 * Socket options of every connection: no delay, and keep-alive that detects a dead machine within
 * 30 seconds.
 */
void world_hub_wire_prepare(int fd);
/* As net_send(). */
bool world_hub_wire_send_frame(int fd, const struct frame *frame, const void *data, double seconds);
/* Converts to or from the wire's byte order. */
struct frame world_hub_wire_order(struct frame frame);
/* A frame that contains an error, with its rank in `root`. `data` points into *said. */
struct frame world_hub_wire_error(enum frame_kind kind, const struct error *said);

#endif
