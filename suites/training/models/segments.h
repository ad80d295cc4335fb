/*
 * Activation recomputation (checkpointing): the layers are divided into segments of about equal
 * work. Only the activations between segments are kept; activations inside a segment are recomputed
 * when backward reaches the segment, in buffers that all segments share. The last segment usually
 * needs no recomputation, and no segment recomputes its own output.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_SEGMENTS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_SEGMENTS_H

#include "suites/training/models/model.h"
#include "suites/training/models/setup.h"

struct segments {
	size_t count; /* 0: all activations are kept */
	bool recompute_last;
	size_t bounds[SETUP_MAX_LAYERS + 1];
};

/*
 * Divides the layers of the partition into segments of at least one layer. setup->segments is the
 * number of segments of the whole model; the partition gets its share by number of layers.
 * Without a pipeline, count = 0 if nothing would be recomputed: a segment of a single layer keeps
 * its input in any case, and the activations of a segment of all layers still exist when its
 * backward pass begins. If more rows than step_rows are kept, the forward passes of other rows
 * overwrite the shared buffers before the backward pass of these rows. The last segment is then
 * recomputed as well.
 */
void segments_make(struct segments *segments, const struct setup *setup,
		   const struct rank_partition *partition);

/* Index of the segment that contains `layer`, from 0, and its first layer. Requires count > 0. */
size_t segments_index(const struct segments *segments, size_t layer);
size_t segments_first(const struct segments *segments, size_t layer);

/* Index of the shared buffer of activations[l], from 1; 0: the activations are kept. */
size_t segments_buffer(const struct segments *segments, size_t l);
/* Columns of the widest activations in shared buffer `buffer`; 0 past the last. */
uint64_t segments_width(const struct segments *segments, const struct setup *setup,
			const struct rank_partition *partition, size_t buffer);

/*
 * Layers [result, layer) must be recomputed before the backward of `layer`; if the result is
 * `layer`, none.
 */
size_t segments_recompute_from(const struct segments *segments, size_t layer);

/* Floating-point operations that one step recomputes, over all ranks. */
double segments_recompute_flops(const struct setup *setup);

/* Divides a model into stages of neighbouring layers with equal work. */

/*
 * Divides layers [first, last): sets those of stage s to bounds[s] .. bounds[s + 1], at least one
 * each; minimises the floating-point operations of the largest stage. `stages` <= last - first;
 * bounds has stages + 1 elements.
 */
void segments_balance(const struct setup *setup, size_t first, size_t last, size_t stages,
		      size_t *bounds);

#endif
