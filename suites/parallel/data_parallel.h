/* What the modes have in common in which every rank has the whole model and a part of the batch. */
#ifndef GPUPROOF_PARALLEL_DATA_PARALLEL_H
#define GPUPROOF_PARALLEL_DATA_PARALLEL_H

#include "suites/parallel/trainer.h"

/* Members of struct mode. */
const char *data_parallel_refusal(const struct setup *setup);
void data_parallel_share(const struct setup *setup, int rank, struct share *share,
			 uint64_t *step_rows);
/* 0: no bytes, no idle time. */
double mode_nothing(const struct setup *setup);

/* NULL, or why `rows` of a rank cannot be cut into the parts that accumulate. */
const char *accumulation_refusal(const struct setup *setup, uint64_t rows);
/* Part `part` of the rank's rows: forward and loss; backward, added to the parts before. */
enum status forward_part(struct trainer *trainer, uint64_t part, struct error *err);
enum status backward_part(struct trainer *trainer, uint64_t part, struct error *err);

/* Gradients that are reduced together: those of neighbouring layers, one range of the flat order. */
struct bucket {
	size_t layer;          /* the layer whose backward completes it: its lowest */
	uint64_t first, count; /* elements in the flat order */
};

/*
 * In the order in which backward completes them; a bucket closes with the first layer that makes it
 * at least bucket_bytes large. Returns their number, at most one per layer.
 */
size_t buckets_make(const struct setup *setup, const struct model *model, struct bucket *out);

#endif
