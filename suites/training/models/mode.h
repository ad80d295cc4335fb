/*
 * A mode: one strategy to split a training step over ranks.
 *
 * Adding a mode: `const struct mode mode_<name>` in a file mode_<name>.c, or in that of its family,
 * and a line in modes.c. It says which part of the step each rank computes (partition), what it
 * keeps in addition to the network (open), and enqueues a step from the operations in network.h and
 * the team's communicators.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_MODE_H
#define GPUPROOF_SUITES_TRAINING_MODELS_MODE_H

#include "suites/training/models/parameter_shard.h"

/* Parts of a step to enqueue: timing each alone shows the breakdown of the whole. */
enum step_part {
	STEP_COMPUTE = 1 << 0,     /* forward and backward */
	STEP_COMMUNICATE = 1 << 1, /* all sends, receives and reductions */
	STEP_UPDATE = 1 << 2,      /* the optimizer */
	STEP_GATHER = 1 << 3, /* updated parameters back to the ranks that did not update them */
	STEP_ALL = STEP_COMPUTE | STEP_COMMUNICATE | STEP_UPDATE | STEP_GATHER
};

/* Passes in which collectives overlap with GEMMs; the GEMMs then leave multiprocessors to them. */
enum overlap { OVERLAP_NONE = 0, OVERLAP_FORWARD = 1 << 0, OVERLAP_BACKWARD = 1 << 1 };

struct trainer;

struct mode {
	const char *name;
	const char *summary; /* one line for help and the report */
	bool gridded;        /* the axis `hybrid` means something */
	bool microbatched;   /* the axis `microbatches` means something */
	bool bucketed;       /* the axis `bucket` means something */
	bool accumulates;    /* knows setup->accumulate */
	bool recomputes;     /* knows setup->segments */
	bool recordable;     /* a step can be launched as a graph: setup->graph */
	unsigned overlap;    /* enum overlap */
	/* a stage sends its dgrad before it computes wgrad: backward_schedule.h */
	bool dgrad_first;
	bool aliases_buffers; /* one backward pass per layer: buffer_alias.h */
	/*
	 * Bytes of buffers that the mode needs only after backward of the last layer and that may
	 * lie in a transformer's logits, and the lowest layer whose backward uses them; NULL: none.
	 */
	uint64_t (*in_logits)(const struct setup *setup, size_t *lowest);
	bool runs_on;      /* the end of a step overlaps with the beginning of the next */
	bool overlaps;     /* knows setup->no_overlap */
	bool transformers; /* its layers may be of any kind, and its rows whole sequences */
	/* ranks, or those of the grid's tensor part, have parts of the same layers */
	bool shares_layers;
	bool sequence;   /* the same, and between products shares of the rows */
	bool images;     /* its layers may be convolutional */
	bool replicated; /* every rank ends a step with the same parameters, bit for bit */

	/* NULL, or why this setup cannot be split so (words for the reader of the report). */
	const char *(*refusal)(const struct setup *setup);
	/* Sets the members of the setup that the mode decides; NULL: none. */
	void (*fit)(struct setup *setup);
	/* The partition of rank `rank`, and the maximum rows of one backward call. */
	void (*partition)(const struct setup *setup, int rank, struct rank_partition *partition,
			  uint64_t *step_rows);
	/* Parameters that rank `rank` keeps and updates; NULL: all of its partition. */
	void (*shard)(const struct setup *setup, int rank, struct parameter_shard *shard);
	/* Bytes of the buffers that open() takes; NULL: none worth counting. */
	uint64_t (*buffers)(const struct setup *setup, int rank);
	/*
	 * Its own buffers, events and communicators; collective. The network is open. NULL:
	 * nothing.
	 */
	enum status (*open)(struct trainer *trainer, struct error *err);
	void (*close)(struct trainer *trainer);
	/*
	 * Called after the first step, when every layer is tuned: buffers may move. NULL: nothing.
	 */
	void (*tuned)(struct trainer *trainer);
	/*
	 * Tunes what needs whole steps of all ranks; collective, after everything else is tuned.
	 * The data are reset afterwards. NULL: nothing.
	 */
	enum status (*tune_collective)(struct trainer *trainer, struct error *err);
	/* Fills its own buffers with fresh data on the compute stream; NULL: there are none. */
	enum status (*reset)(struct trainer *trainer, struct error *err);
	/*
	 * One step's `parts` on the team's streams, asynchronous. Steps may follow each other at
	 * once.
	 */
	enum status (*enqueue)(struct trainer *trainer, unsigned parts, struct error *err);
	/*
	 * Commands of a step on the busiest stream, about: keeps batches of steps within the
	 * device's queue.
	 */
	unsigned (*commands)(const struct trainer *trainer);
	/*
	 * By formula: bytes that the busiest rank sends per step, and the share of a step that
	 * ranks must idle.
	 */
	double (*wire_bytes)(const struct setup *setup);
	double (*bubble)(const struct setup *setup);
};

#endif
