/*
 * A training step on one device whose tensors are allocated and freed as the step needs them: a
 * layer's output is allocated before its product and freed after backward has used it. The
 * arithmetic is that of suites/training/parallel (network.h).
 *
 * Three methods save memory: `segments` of layers whose inner outputs are recomputed, `offload` of
 * outputs to host memory until backward needs them, `accumulate` parts of the batch (both from
 * struct setup).
 */
#ifndef GPUPROOF_TRAINMEM_TRAINING_H
#define GPUPROOF_TRAINMEM_TRAINING_H

#include "suites/training/models/network.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/ranks/team.h"
#include "suites/training/trainmem/heap.h"

struct training_options {
	enum policy policy;
	bool offload;       /* outputs of hidden layers wait for backward in pinned host memory */
	size_t swapped;     /* with offload: only those of the first `swapped` layers; 0: all */
	bool sums;          /* accumulated parts are not divided by their number */
	bool out_of_place;  /* the ReLU writes to separate memory */
	bool reports;       /* the host fetches every step's losses, and waits for them */
	uint64_t limit;     /* on memory from the device; 0: all device memory */
	uint64_t reserve;   /* see heap_open(); 0: as planned */
	uint64_t workspace; /* of the GEMM library, for the memory account */
};

struct training {
	struct setup setup; /* for one device, mode `single` */
	struct training_options options;
	struct segments segments;
	struct rank_team team; /* the streams; without a device nothing runs */
	struct world alone;
	struct heap heap;
	struct arena_source source;
	struct arena arena;
	struct network network;
	uint64_t rows; /* computed at a time */
	/*
	 * Source of the ReLU masks for activations[l] in backward, all rows of the batch: rounding
	 * flips a few of them, and each flip causes an error far larger than that of the
	 * arithmetic. NULL: this step's own.
	 */
	const void *imposed[SETUP_MAX_LAYERS + 1];
	/*
	 * Offloading: host copies of activations[l]; when the copy is complete, back on the device,
	 * and usable.
	 */
	void *host[SETUP_MAX_LAYERS + 1];
	struct event *ready[SETUP_MAX_LAYERS + 1], *moved[SETUP_MAX_LAYERS + 1];
	uint64_t host_bytes, moved_bytes; /* host memory; bytes moved per step in both directions */
};

/*
 * `device` NULL: a plan, of which only the heap's numbers are meaningful. The setup is copied; its
 * mode and ranks are ignored. trainmem_training_close() must follow in any case.
 */
enum status trainmem_training_open(struct training *training, const struct setup *setup,
				   const struct training_options *options, struct device *device,
				   struct error *err);
void trainmem_training_close(struct training *training);
/* Frees all tensors; streams, and library memory for them, stay until trainmem_training_close(). */
void trainmem_training_let_go(struct training *training);

/*
 * Sets the number of rows of later steps: at most the number at opening, and a multiple of the
 * number of accumulated parts.
 */
void trainmem_training_set_batch(struct training *training, uint64_t batch);

/* These do nothing after an error. Sets fresh parameters and data from the setup's seed. */
enum status trainmem_training_reset(struct training *training, struct error *err);

/*
 * Runs one step, asynchronously. After a failure, heap.phase is the phase of the failure; the heap
 * owns the allocated memory until it is closed.
 */
enum status trainmem_training_step(struct training *training, struct error *err);
/* Fresh data, one step, and its loss. Waits. */
enum status trainmem_training_first_step(struct training *training, double *loss,
					 struct error *err);
/* Forward only, without tensors for backward: inference. Waits. */
enum status trainmem_training_inference(struct training *training, struct error *err);
enum status trainmem_training_wait(struct training *training, struct error *err);
/* The mean loss of the last step. */
enum status trainmem_training_loss(struct training *training, double *loss, struct error *err);

/*
 * Runs one step and calls `watch` (NULL: none) at the end of each forward pass, before memory is
 * freed. The device may still be working: `watch` must call trainmem_training_wait() if that
 * matters.
 */
typedef enum status training_watch(void *context, struct training *training, struct error *err);
enum status trainmem_training_watched_step(struct training *training, training_watch *watch,
					   void *context, struct error *err);

/*
 * Memory of two steps, without a device: *need is the closed heap of such a plan, of which only the
 * numbers are meaningful. POLICY_ARENA, POLICY_BFC: need->reserved_peak is the size to reserve.
 */
void trainmem_training_plan(const struct setup *setup, const struct training_options *options,
			    struct heap *need);
/* True if two steps fit into `limit` bytes of the device, by a plan. */
bool trainmem_training_fits(const struct setup *setup, const struct training_options *options,
			    uint64_t limit);
/* The phase in which a plan of two steps fails under the limit; PHASE_COUNT: it fits. */
enum phase trainmem_training_refused_in(const struct setup *setup,
					const struct training_options *options, uint64_t limit);
/*
 * Sets offload and swapped: swaps as few outputs as possible to the host so that two steps fit into
 * `limit` bytes. False: they do not fit even with all of them.
 */
bool trainmem_training_swap_to_fit(const struct setup *setup, struct training_options *options,
				   uint64_t limit);

#endif
