/*
 * Activation recomputation: the layers are cut into segments of about equal work. Only the
 * activations between segments are kept; those inside are computed again when backward comes to
 * their segment, in memory that all segments share. The last segment's are usually still there, and no
 * segment computes its own output again.
 */
#ifndef GPUPROOF_SUITES_MLP_SEGMENTS_H
#define GPUPROOF_SUITES_MLP_SEGMENTS_H

#include "suites/mlp/model.h"

struct segments {
	size_t count; /* 0: everything is kept */
	bool again_last;
	size_t bounds[SETUP_MAX_LAYERS + 1];
};

/*
 * Of the share's layers, as many as setup->segments says of the whole model, one layer each at most. Without a pipeline
 * none where nothing would be computed again: a layer by itself keeps its input in any case, and all layers at once are
 * still there when backward begins. `step_rows`: where
 * more rows are kept than that, others' forwards come between the forward of some rows and their backward, and nothing
 * inside a segment is still there: the last one is computed again as well.
 */
void segments_make(struct segments *segments, const struct setup *setup, const struct share *share,
		   uint64_t step_rows);

/* The segment that has `layer`, counted from 0, and the first layer of it. There are segments. */
size_t segments_index(const struct segments *segments, size_t layer);
size_t segments_first(const struct segments *segments, size_t layer);

/* 0: activations[l] are kept; else which of its segment's shared buffers they are in, from 1 on. */
size_t segments_buffer(const struct segments *segments, size_t l);
/* The widest activations of shared buffer `buffer`, 0 behind the last. */
uint64_t segments_width(const struct segments *segments, const struct setup *setup,
			const struct share *share, size_t buffer);

/*
 * The first layer that must be computed again, up to `layer` - 1, before backward computes `layer`;
 * `layer` itself when there is none.
 */
size_t segments_again(const struct segments *segments, size_t layer);

/* Floating-point operations of one step, of all ranks together, that are done again. */
double segments_again_flops(const struct setup *setup);

#endif
