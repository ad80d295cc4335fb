/*
 * A training step on one device whose tensors come and go as a step needs them: a layer's output is
 * taken before its product and given back once backward has used it. The arithmetic is that of
 * suites/training/parallel (network.h).
 *
 * Three methods of saving memory: `segments` of layers whose inner outputs are recomputed,
 * `offload` of outputs to the host's memory until backward needs them, `accumulate` parts of the
 * batch (both from struct setup).
 */
#ifndef GPUPROOF_TRAINMEM_TRAINING_H
#define GPUPROOF_TRAINMEM_TRAINING_H

#include "suites/training/models/network.h"
#include "suites/training/parallel/block_memory.h"
#include "suites/training/parallel/ranks/team.h"
#include "suites/training/trainmem/heap.h"

struct training_options {
	enum policy policy;
	bool offload;       /* outputs of hidden layers wait for backward in pinned host memory */
	size_t swapped;     /* with offload: only those of this many first layers; 0: all */
	bool sums;          /* parts that accumulate are not divided by their number */
	bool out_of_place;  /* the ReLU writes to memory of its own */
	bool reports;       /* the host fetches every step's losses, and waits for them */
	uint64_t limit;     /* of what is taken from the device; 0: what it has */
	uint64_t reserve;   /* see heap_open() */
	uint64_t workspace; /* of the GEMM library, for the memory account */
};

struct training {
	struct setup setup; /* of one device, mode `single` */
	struct training_options options;
	struct segments segments;
	struct rank_team team; /* the streams; no device: nothing is carried out */
	struct world alone;
	struct heap heap;
	struct arena_source source;
	struct arena arena;
	struct network network;
	uint64_t rows; /* computed at a time */
	/*
	 * Source of the ReLU masks for activations[l] in backward, all rows of the batch: rounding
	 * flips a few of them, and each flip is an error far larger than that of the arithmetic.
	 * NULL: its own.
	 */
	const void *imposed[SETUP_MAX_LAYERS + 1];
	/*
	 * Offloading: host copies of activations[l], and when they are made, there again, usable.
	 */
	void *host[SETUP_MAX_LAYERS + 1];
	struct event *ready[SETUP_MAX_LAYERS + 1], *moved[SETUP_MAX_LAYERS + 1];
	uint64_t host_bytes, moved_bytes; /* memory of the host; moved per step, both directions */
};

/*
 * `device` NULL: a plan, of which only the heap's numbers mean something. The setup is copied; its
 * mode and ranks do not matter. Whatever the outcome, training_close() releases it.
 */
enum status training_open(struct training *training, const struct setup *setup,
			  const struct training_options *options, struct device *device,
			  struct error *err);
void training_close(struct training *training);
/*
 * Gives back all tensors; streams, and what libraries keep for them, stay until training_close().
 */
void training_let_go(struct training *training);

/*
 * From here on steps have `batch` rows, at most as many as it was opened with and a multiple of the
 * parts that accumulate.
 */
void training_set_batch(struct training *training, uint64_t batch);

/* Fresh parameters and data, as the setup's seed gives them. */
enum status training_reset(struct training *training, struct error *err);

/*
 * One step, asynchronous. On failure heap.phase says where; what was taken is with the heap until
 * it is closed.
 */
enum status training_step(struct training *training, struct error *err);
/* Only forward, nothing kept for backward: inference. */
enum status training_inference(struct training *training, struct error *err);
enum status training_wait(struct training *training, struct error *err);
/* The mean loss of the last step. */
enum status training_loss(struct training *training, double *loss, struct error *err);

/* Called between phases of a step when they are not asynchronous: see training_watched_step(). */
typedef enum status training_watch(void *context, struct training *training, enum phase phase,
				   struct error *err);
/* A step that waits after each phase and calls `watch`; what the phase used is still there. */
enum status training_watched_step(struct training *training, training_watch *watch, void *context,
				  struct error *err);

/* Memory that a transformer's blocks keep for backward of one part of the batch. */
struct block_memory training_block_memory(const struct setup *setup);

/*
 * Memory of two steps, without a device: *need is the heap of such a plan, closed, of which only
 * the numbers mean something. POLICY_ARENA, POLICY_BFC: need->reserved_peak is what to reserve.
 */
void training_plan(const struct setup *setup, const struct training_options *options,
		   struct heap *need);
/* True if two steps fit into `limit` bytes of the device; also by a plan. */
bool training_fits(const struct setup *setup, const struct training_options *options,
		   uint64_t limit);
/* The phase in which a plan of two steps is refused under the limit; PHASE_COUNT: it fits. */
enum phase training_refused_in(const struct setup *setup, const struct training_options *options,
			       uint64_t limit);
/*
 * Sets offload and swapped: as few outputs as possible are swapped to the host for two steps to fit
 * into `limit` bytes. False: they do not fit with all of them.
 */
bool training_swap_to_fit(const struct setup *setup, struct training_options *options,
			  uint64_t limit);

#endif
