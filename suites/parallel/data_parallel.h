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
