/*
 * A mode: one strategy to divide a training step among ranks.
 *
 * Adding a mode: define `const struct mode mode_<name>` in mode_<name>.c, or in the file of its
 * family, and add a line to modes.c. A mode defines which part of the step each rank computes
 * (partition), allocates its own buffers in addition to the network (open), and enqueues a step
 * from the operations in network.h and the team's communicators.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_MODE_H
#define GPUPROOF_SUITES_TRAINING_MODELS_MODE_H

#include "suites/training/models/model.h"

/* Parts of a step to enqueue: each is also timed alone for the breakdown of the step. */
enum step_part {
	STEP_COMPUTE = 1 << 0,     /* forward and backward */
	STEP_COMMUNICATE = 1 << 1, /* all sends, receives and reductions */
	STEP_UPDATE = 1 << 2,      /* the optimizer */
	STEP_GATHER = 1 << 3, /* sends updated parameters to the ranks that did not update them */
	STEP_ALL = STEP_COMPUTE | STEP_COMMUNICATE | STEP_UPDATE | STEP_GATHER
};

/*
 * Passes in which collectives overlap with GEMMs, which then leave multiprocessors free for them.
 */
enum overlap { OVERLAP_NONE = 0, OVERLAP_FORWARD = 1 << 0, OVERLAP_BACKWARD = 1 << 1 };

struct trainer;

struct mode {
	const char *name;
	const char *summary; /* one line for help and the report */
	bool gridded;        /* uses the axis `hybrid` */
	bool microbatched;   /* uses the axis `microbatches` */
	bool bucketed;       /* uses the axis `bucket` */
	bool accumulates;    /* knows setup->accumulate */
	bool recomputes;     /* knows setup->segments */
	bool recordable;     /* a step can be launched as a graph: setup->graph */
	unsigned overlap;    /* enum overlap */
	/* a stage sends dgrad before it computes wgrad: network.h */
	bool dgrad_first;
	bool aliases_buffers; /* one backward pass per layer: buffer_alias.h */
	/*
	 * Bytes of the mode's buffers that may share the memory of a transformer's logits because
	 * only steps after backward of the last layer use them, and the lowest layer whose backward
	 * uses them; NULL: none.
	 */
	uint64_t (*in_logits)(const struct setup *setup, size_t *lowest);
	bool runs_on;      /* the end of a step overlaps with the beginning of the next */
	bool overlaps;     /* knows setup->no_overlap */
	bool transformers; /* supports transformers: layers of any kind, rows in whole sequences */
	/* all ranks, or those along the grid's tensor axis, divide each layer */
	bool shares_layers;
	bool sequence;   /* the same, and rows are divided between products */
	bool images;     /* supports convolutional layers */
	bool replicated; /* after a step every rank has the same parameters, bit for bit */
	int zero_stage;  /* ZeRO 1 and 2; otherwise 0 */
	/*
	 * Pipelines: number of forwards of stage `stage` of `stages` before its first backward,
	 * with `micro` micro-batches.
	 */
	uint64_t (*warmup)(int stages, int stage, uint64_t micro);

	/*
	 * NULL, or the reason why this setup cannot be divided this way (a text for the report's
	 * reader).
	 */
	const char *(*refusal)(const struct setup *setup);
	/* Sets the members of the setup that the mode determines; NULL: none. */
	void (*fit)(struct setup *setup);
	void (*partition)(const struct setup *setup, int rank, struct rank_partition *partition);
	/* Parameters that rank `rank` keeps and updates; NULL: all of its partition. */
	void (*shard)(const struct setup *setup, int rank, struct parameter_shard *shard);
	/* Bytes of the buffers that open() allocates; NULL: negligible. */
	uint64_t (*buffers)(const struct setup *setup, int rank);
	/*
	 * Opens the mode's own buffers, events and communicators; collective. The network is
	 * already open. NULL: nothing to open.
	 */
	enum status (*open)(struct trainer *trainer, struct error *err);
	void (*close)(struct trainer *trainer);
	/*
	 * Called after the first step, when every layer is tuned: buffers may move. NULL: nothing
	 * to do.
	 */
	void (*tuned)(struct trainer *trainer);
	/*
	 * Tunes parameters that need whole steps of all ranks; collective, after all other tuning.
	 * The data are reset afterwards. NULL: nothing to tune.
	 */
	enum status (*tune_collective)(struct trainer *trainer, struct error *err);
	/* Fills the mode's own buffers with fresh data on the compute stream; NULL: it has none. */
	enum status (*reset)(struct trainer *trainer, struct error *err);
	/*
	 * Enqueues one step on the team's streams, asynchronously: see trainer_enqueue(). Steps may
	 * follow each other without a wait.
	 */
	enum status (*enqueue)(struct trainer *trainer, struct error *err);
	/*
	 * Approximate number of commands of a step on the busiest stream: keeps batches of steps
	 * within the device's queue.
	 */
	unsigned (*commands)(const struct trainer *trainer);
	/*
	 * By formula: bytes that the busiest rank sends per step, and the minimum idle share of a
	 * step.
	 */
	double (*wire_bytes)(const struct setup *setup);
	double (*bubble)(const struct setup *setup);
};

#endif
