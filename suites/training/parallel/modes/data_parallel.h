/* Common parts of the modes in which every rank has the whole model and a part of the batch. */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_DATA_PARALLEL_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_DATA_PARALLEL_H

#include "suites/training/parallel/trainer/trainer.h"

/* Members of struct mode; a single rank has the whole batch. */
const char *data_parallel_refusal(const struct setup *setup);
void data_parallel_partition(const struct setup *setup, int rank, struct rank_partition *partition);
/* 0: no bytes, no idle time. */
double data_parallel_mode_nothing(const struct setup *setup);
/* ZeRO: every layer is divided into one part per rank. */
void data_parallel_zero_fit(struct setup *setup);

/* NULL, or the reason why `rows` of a rank cannot be divided into the accumulated parts. */
const char *data_parallel_accumulation_refusal(const struct setup *setup, uint64_t rows);
/* Part `part` of the rank's rows: forward and loss; backward, added to the earlier parts. */
enum status data_parallel_forward(struct trainer *trainer, uint64_t part, struct error *err);
enum status data_parallel_backward(struct trainer *trainer, uint64_t part, struct error *err);

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
size_t data_parallel_buckets_make(const struct setup *setup, const struct model *model,
				  struct bucket *out);

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
size_t data_parallel_buckets_cut(const struct setup *setup, const struct model *model,
				 struct bucket *buckets, size_t count);

/* A mode's work between the passes of a step, in buckets. */
struct bucket_calls {
	const struct bucket *buckets;
	/* of a part: data_parallel_forward(), or with waits */
	enum status (*forward)(struct trainer *trainer, uint64_t part, struct error *err);
	/*
	 * Called before the gradients of bucket number `bucket` are written, starting with its
	 * first layer; NULL: nothing.
	 */
	enum status (*before)(struct trainer *trainer, size_t bucket, struct error *err);
	/* Called when all gradients of the bucket are complete, to be reduced. NULL: nothing. */
	enum status (*complete)(struct trainer *trainer, size_t bucket, struct error *err);
};
/*
 * Forward and backward of all parts, the last backward bucket by bucket. A bucket is complete
 * before the gradient of the layer's input is computed, which runs concurrently with the work that
 * complete() enqueues.
 */
enum status data_parallel_compute(struct trainer *trainer, const struct bucket_calls *calls,
				  struct error *err);

#endif
