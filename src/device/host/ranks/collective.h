/*
 * The host's collectives: steps of at most one slot, through which every rank goes. A rank may be
 * SLOTS - 1 steps ahead of the slowest.
 *
 * The relay (device/ranks/relay.h), which serves every backend, could do the same over the channels
 * of messages, as transport host_copy does. But a rank of the host has several cores, and here all
 * of them copy and add; the relay's pieces have one, and go around a ring of n - 1 hand-overs.
 * tests/bench/bench_collectives on 16 quiet cores: relay / this, an all-reduce of 4 KiB 1.4 (2
 * ranks) and 2.8 (4 ranks), of 16 MiB 1.6; a broadcast of 16 MiB 2.9. The relay's CPU time is 1.6
 * to 3.4 times as much for 4 KiB, and 0.3 to 0.8 times for 16 MiB. So both are here.
 */
#ifndef GPUPROOF_DEVICE_HOST_RANKS_COLLECTIVE_H
#define GPUPROOF_DEVICE_HOST_RANKS_COLLECTIVE_H

#include "device/host/ranks/communicator.h"

/* Arguments of a queued operation; each uses those it needs. */
struct collective_arguments {
	struct host_communicator *c;
	uint32_t turn;
	void *to;
	const void *from;
	/* of elements; of bytes in a broadcast; of a rank's part where there are parts */
	size_t count;
	enum precision precision;
	enum reduction reduction;
	int root;
};

/* Progress of a rank in a step. Every step reaches FINISHED on every rank. */
enum phase { STAGED, REDUCED, FINISHED };

/* Begins the next step; its slots are free once all ranks have read their contents. */
enum status collective_step(struct host_communicator *c, uint32_t *step, struct error *err);
void collective_reach(struct host_communicator *c, enum phase phase, uint32_t step);
/* Waits until every rank has reached it. */
enum status collective_wait(struct host_communicator *c, enum phase phase, uint32_t step,
			    struct error *err);

/* With the threads of the stream; both have ended when these return. */
void collective_copy(struct stream *stream, void *to, const void *from, size_t bytes);
/*
 * Reduces elements [first, first + count) of all ranks' slots, which begin `offset` bytes into
 * each, to the same place of `to`.
 */
void collective_reduce(struct stream *stream, const struct collective_arguments *a, uint32_t step,
		       size_t offset, void *to, size_t first, size_t count);

/* One step for elements [done, done + count). */
typedef enum status collective_step_fn(struct stream *stream, const struct collective_arguments *a,
				       size_t done, size_t count, struct error *err);
/* Waits for the operation's turn, then carries out one step for every `most` elements. */
enum status collective_steps(struct stream *stream, const struct collective_arguments *a,
			     size_t most, collective_step_fn *step, struct error *err);

/*
 * Takes the operation's turn and puts it into the stream's queue. STATUS_INTERNAL if there is no
 * rank a.root.
 */
enum status collective_enqueue(struct stream *stream, struct collective_arguments a, kernel_fn *run,
			       struct error *err);

#endif
