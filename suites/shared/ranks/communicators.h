/*
 * Opens communicators for the ranks of a case, over the requested transport, or the first that all
 * of them can use. The communicator has the choice.
 */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_COMMUNICATORS_H
#define GPUPROOF_SUITES_SHARED_RANKS_COMMUNICATORS_H

#include "device/backend.h"
#include "measure/processes/world.h"
#include "plan/plan.h"

/*
 * One communicator per part: part_of[i] is that of rank i; NULL: all ranks form one part. *out is
 * that of this rank's part; all use the same transport. Collective over the world.
 * STATUS_UNSUPPORTED with the reason if the ranks cannot use the requested transport; AUTO: the
 * first transport that every rank can use.
 */
enum status communicators_join_parts(struct device *device, struct world *world,
				     const struct communicator_options *options, const int *part_of,
				     struct communicator **out, struct error *err);

/* Devices by rank; collective. The caller frees them. */
struct device_address *communicators_join_addresses(struct device *device, struct world *world);

/*
 * STATUS_OK if all ranks of `world` have opened theirs, or had none to open; collective. If one has
 * not, marks those of the others as abandoned, so that closing them does not wait.
 */
enum status communicators_join_agree(struct world *world, enum status mine,
				     struct communicator *opened, struct error *err);

/*
 * Streams and communicators that ranks keep between cases, because opening a communicator takes as
 * long as many cases. One session per world and transport; a rank of many devices also belongs to
 * smaller worlds (run/workers/worker.h).
 */
struct collective_session {
	struct stream *stream;
	struct communicator *communicator;
	uint64_t world;       /* its id */
	enum transport asked; /* requested transport of the communicator */
};

/* The sessions of one rank; part of a suite's state. */
struct sessions;

/* open_state() and close_state() of a suite whose state are the sessions. */
void *communicators_sessions_open(void);
/*
 * Closes all of them; collective among the ranks that have one, because NCCL closes a communicator
 * collectively.
 */
void communicators_sessions_close(void *sessions);

/*
 * The session of this world over the transport, opened by the first call; NULL on failure.
 * Collective over the world; a failure on one rank fails on all. Valid until the next call.
 */
const struct collective_session *
communicators_session_find(struct sessions *sessions, struct device *device, struct world *world,
			   enum transport transport, struct error *err);

/* Cases with and without GPUDirect RDMA, for multi-node suites. */
extern const char *const gpudirect_names[]; /* by enum gpudirect */

/* The axis is the suite's first, because each change of it needs new processes. */
#define GPUDIRECT_KEY                                                                              \
	{                                                                                          \
		.name = "gpudirect", .type = KEY_CHOICE, .list = true, .fallback = "default",      \
		.choices = gpudirect_names,                                                        \
		.help = "several nodes: GPUDirect RDMA. on: at any distance of GPU and adapter; "  \
			"off: never; default: NCCL decides. A case is skipped if NCCL's log does " \
			"not confirm the setting"                                                  \
	}

/* For suite->expand(), for a point with that axis: false if it is already planned. */
bool communicators_gpudirect_plan(const struct plan *plan, struct plan_case *point);

#endif
