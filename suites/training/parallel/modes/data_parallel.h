/* Common parts of the modes in which every rank has the whole model and a part of the batch. */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_DATA_PARALLEL_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_DATA_PARALLEL_H

#include "suites/training/parallel/trainer/trainer.h"

/* Members of struct mode. */
const char *data_parallel_refusal(const struct setup *setup);
void data_parallel_partition(const struct setup *setup, int rank, struct rank_partition *partition,
			     uint64_t *step_rows);
/* 0: no bytes, no idle time. */
double mode_nothing(const struct setup *setup);

/* NULL, or why `rows` of a rank cannot be cut into the parts that accumulate. */
const char *data_parallel_accumulation_refusal(const struct setup *setup, uint64_t rows);
/* Part `part` of the rank's rows: forward and loss; backward, added to the parts before. */
enum status data_parallel_forward(struct trainer *trainer, uint64_t part, struct error *err);
enum status backward_part(struct trainer *trainer, uint64_t part, struct error *err);

/*
 * Gradients that are reduced together: those of neighbouring layers, one range of the flat order.
 */
struct bucket {
	size_t layer; /* the layer whose backward completes it: its lowest */
	/* number of that layer's first outputs that complete it: all, unless it was cut */
	uint64_t outputs;
	uint64_t first, count; /* elements in the flat order */
};

/*
 * In the order in which backward completes them; a bucket closes with the first layer that makes it
 * at least bucket_bytes large. Returns their number, at most one per layer.
 */
size_t buckets_make(const struct setup *setup, const struct model *model, struct bucket *out);

/* Pieces at each end. */
#define BUCKET_PIECES 4
#define BUCKETS_SPLIT_MAX (SETUP_MAX_LAYERS + 2 * (BUCKET_PIECES - 1))

/*
 * Cuts the first and the last of `count` buckets, in place: communication begins with a piece of
 * the first, and when the last arrives only a piece is left to update. The weights of the layer
 * that completes such a bucket are cut by their rows, into at most BUCKET_PIECES pieces of at least
 * bucket_bytes, less what aligns them; what the bucket has of other layers belongs to the first
 * piece, the biases to the last. `buckets` has room for BUCKETS_SPLIT_MAX. Returns their number.
 */
size_t buckets_cut(const struct setup *setup, const struct model *model, struct bucket *buckets,
		   size_t count);

/* Calls that backward of a rank's rows makes for its buckets. */
struct backward {
	uint64_t row, rows;
	const struct bucket *buckets;
	/*
	 * Before the gradients of bucket number `bucket` are written, its first layer's; NULL:
	 * nothing.
	 */
	enum status (*before)(struct trainer *trainer, size_t bucket, struct error *err);
	/* They are all there; called when `parts` has STEP_COMMUNICATE. NULL: nothing. */
	enum status (*complete)(struct trainer *trainer, size_t bucket, struct error *err);
};
/*
 * From the loss to the first layer. A bucket is complete before the gradient of the layer's input
 * is computed, and that runs concurrently with what complete() enqueues.
 */
enum status backward_buckets(struct trainer *trainer, const struct backward *backward,
			     unsigned parts, struct error *err);

/* ZeRO: every layer in one part per rank. */
void data_parallel_zero_fit(struct setup *setup);
/*
 * True if stage 3 gathers a layer's weights for backward: those of the last two are still there,
 * and without a gradient of its input only a convolutional layer reads its own.
 */
bool zero3_gathers_again(const struct setup *setup, size_t layer);

#endif
