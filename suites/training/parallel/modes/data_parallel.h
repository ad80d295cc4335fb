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

/* NULL, or the reason why `rows` of a rank cannot be divided into the accumulated parts. */
const char *data_parallel_accumulation_refusal(const struct setup *setup, uint64_t rows);
/* Part `part` of the rank's rows: forward and loss; backward, added to the earlier parts. */
enum status data_parallel_forward(struct trainer *trainer, uint64_t part, struct error *err);
enum status backward_part(struct trainer *trainer, uint64_t part, struct error *err);

/* Gradients that are reduced together, of neighbouring layers: one range of the flat order. */
struct bucket {
	size_t layer; /* the lowest layer, whose backward completes it */
	/* number of that layer's first outputs that complete it: all, unless it was cut */
	uint64_t outputs;
	uint64_t first, count; /* elements in the flat order */
};

/*
 * Buckets in the order in which backward completes them; a bucket ends with the first layer that
 * makes it at least bucket_bytes large. Returns their number, at most one per layer.
 */
size_t buckets_make(const struct setup *setup, const struct model *model, struct bucket *out);

/* Pieces at each end. */
#define BUCKET_PIECES 4
#define BUCKETS_SPLIT_MAX (SETUP_MAX_LAYERS + 2 * (BUCKET_PIECES - 1))

/*
 * Cuts the first and the last of `count` buckets, in place: communication starts after a piece of
 * the first, and after the last arrives only one piece remains to be updated. The weights of the
 * layer that completes such a bucket are cut by rows into at most BUCKET_PIECES pieces of at least
 * bucket_bytes, minus alignment; the first piece also contains the bucket's other layers, the last
 * piece the biases. `buckets` has room for BUCKETS_SPLIT_MAX. Returns their number.
 */
size_t buckets_cut(const struct setup *setup, const struct model *model, struct bucket *buckets,
		   size_t count);

/* Functions that backward of a rank's rows calls for its buckets. */
struct backward {
	uint64_t row, rows;
	const struct bucket *buckets;
	/*
	 * Called before the gradients of bucket number `bucket` are written, starting with its
	 * first layer; NULL: nothing.
	 */
	enum status (*before)(struct trainer *trainer, size_t bucket, struct error *err);
	/*
	 * Called when all gradients of the bucket are complete, if `parts` has STEP_COMMUNICATE.
	 * NULL: nothing.
	 */
	enum status (*complete)(struct trainer *trainer, size_t bucket, struct error *err);
};
/*
 * Backward from the loss to the first layer. A bucket is complete before the gradient of the
 * layer's input is computed, which runs concurrently with the work that complete() enqueues.
 */
enum status backward_buckets(struct trainer *trainer, const struct backward *backward,
			     unsigned parts, struct error *err);

/* ZeRO: every layer is divided into one part per rank. */
void data_parallel_zero_fit(struct setup *setup);
/*
 * True if stage 3 gathers a layer's weights again for backward: those of the last two layers are
 * still in memory, and if the gradient of a layer's input is not needed, only a convolutional layer
 * reads its weights.
 */
bool zero3_gathers_again(const struct setup *setup, size_t layer);

#endif
