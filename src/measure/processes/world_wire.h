/*
 * Wire format between the ranks and the hub of a TCP world (world_tcp.h), with helpers of both
 * sides.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_WORLD_WIRE_H
#define GPUPROOF_MEASURE_PROCESSES_WORLD_WIRE_H

#include "measure/processes/world_ops.h"
#include "measure/processes/world_tcp.h"

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
