/*
 * One rank's part of the model in device memory: layers [partition.first, partition.last) for rows
 * [partition.row, partition.row + partition.rows) of the batch. Every operation is asynchronous on
 * the network's stream, and does nothing if `err` is already set; row numbers start at the
 * partition's first row.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_NETWORK_H
#define GPUPROOF_SUITES_TRAINING_MODELS_NETWORK_H

#include "kernels/convolution/convolution.h"
#include "suites/training/models/arena.h"
#include "suites/training/models/image_model.h"
#include "suites/training/models/model.h"
#include "suites/training/models/segments.h"

/* A GEMM of this network and the algorithm that the search chose. */
struct tuned_gemm {
	struct gemm gemm;          /* the first GEMM of its kind */
	bool searched;             /* false: the library's default algorithm */
	struct gemm_choice choice; /* result of the search */
};

#define NETWORK_MAX_GEMMS 64
/* Buffers for gradients between layers, and between groups of layers: network.h. */
#define NETWORK_MAX_TRANSIENT (SETUP_MAX_LAYERS + 1)

/*
 * Results of searches on a stream, shared by all networks that use it; searches of GEMMs that do
 * not fit are repeated. Free it with convolve_tuning_cache_free() before the stream is destroyed.
 */
#define GEMM_CACHE_ENTRIES 128
struct tuning_cache {
	struct {
		struct tuned_gemm tuned;
		double seconds; /* time limit of the search */
	} entries[GEMM_CACHE_ENTRIES];
	size_t count;
	struct tuned_convolution *convolutions; /* convolve.c */
};
void convolve_tuning_cache_free(struct tuning_cache *cache);

/*
 * Collectives among the ranks that divide the same layers, provided by the mode. Each has `count`
 * elements at `whole` on every rank, and the ranks' shares are equal. A collective starts after the
 * preceding work on the compute stream; one at a time.
 */
enum part_collective {
	PARTS_SUM,    /* the sums over ranks replace `whole` */
	PARTS_GATHER, /* gathers the ranks' shares at `share` into `whole` */
	PARTS_SCATTER /* writes this rank's share of the sums of `whole` to `share` */
};
struct part_links {
	void *state;
	enum status (*start)(void *state, enum part_collective collective, void *whole, void *share,
			     uint64_t count, struct error *err);
	/* The compute stream waits for the collective. */
	enum status (*wait)(void *state, struct error *err);
};

/*
 * Tensors that layers of a transformer keep for backward: for the rows that the partition keeps, or
 * for one backward call if blocks recompute.
 */
struct kept_norm {
	float *mean, *rstd;
	void *y;
};
struct kept_block {
	struct kept_norm norm[2]; /* before attention, before the MLP */
	void *qkv, *o;            /* attention's inputs and output */
	float *lse;               /* kernels/attention/attention.h */
	void *middle;             /* sum after attention */
	void *before, *after;     /* of GELU */
};
struct block_scratch {
	struct kept_block kept[SETUP_MAX_LAYERS];
	uint64_t kept_bytes; /* of `kept` */
	/* Outputs of a norm and of GELU, shared by all blocks that recompute them; NULL: kept. */
	void *norm_output, *gelu_output;
	struct kept_norm head;
	int32_t *positions; /* for the rows of a backward call */
	/* Gradients of a block's branch and of the head's input, for the last backward call. */
	void *narrow, *below_head;
	/* Gradient inside a block's branches; NULL: stored in the block's kept tensors. */
	void *inner;
	void *gathered;       /* whole rows of divided tensors: see network_row_shares() */
	void *norm_gradients; /* gradients of all norms in order, to be summed over ranks */
	float *delta, *norm_sums;
	/* Statistics of this rank's rows, and of all ranks that divide the vocabulary. */
	void *statistics, *all_statistics;
	void *bias_sums, *counts; /* scratch of output_gradient and of embedding_scatter_add */
};

/* Tensors that convolutional layers keep for backward (blocks/blocks.h). */
struct kept_unit {
	void *z, *y; /* output of the convolution before a batch norm; input of the next unit */
	void *statistics; /* for each group of rows: means, then 1 / deviation */
	/* by pass; NULL: not tuned, so the built-in kernels compute it */
	struct tuned_convolution *tuned[PASS_WEIGHTS_ADD + 1];
};
struct kept_image {
	struct kept_unit unit[IMAGE_MAX_UNITS], projection;
	void *out; /* input of the pool */
	/* Gradients inside the layer, alternating, and of the pool's input. */
	void *gradient[2], *pooled;
};
struct images {
	struct kept_image kept[SETUP_MAX_LAYERS];
	uint64_t norm_groups; /* see struct setup; 1 while one device is timed, not compared */
	bool aliased;         /* each layer has its gradients in the memory of later layers */
	/* Set by backward of a layer for the gradient of its input. */
	const void *first, *shortcut;
	const void *addend; /* of the gradient for the layer below, which adds it; NULL: none */
	float *norm_sums;
	void *bias_sums;
	void *workspace; /* of convolutions: see struct convolution_work */
	uint64_t workspace_bytes;
	/*
	 * Outputs of ReLUs (image_model_decisions()) for all rows: imposed outputs that decide in
	 * backward, and copies of this run's outputs; NULL: none.
	 */
	const void *decisions[IMAGE_MAX_DECISIONS];
	void *record[IMAGE_MAX_DECISIONS];
};

/*
 * Bytes of a transformer's logits that are reused for data written after backward of the head has
 * read their gradient. 0 if nothing shares them.
 */
struct logits_overlap {
	/* rows of logits in memory at a time, also without sharing: network_loss_in_chunks() */
	uint64_t rows;
	uint64_t logits;
	/* size of blocks->narrow, and its first byte in the logits; 0 bytes: not there */
	uint64_t narrow, narrow_at;
	uint64_t mode, mode_at; /* mode->in_logits(); 0 bytes: not there */
	/*
	 * One block of `bytes` for all gradients of parameters, the head's first, and for the
	 * logits, which start at byte `at`, after the head's gradients; 0: separate memory.
	 */
	uint64_t bytes, at;
};

struct network {
	const struct setup *setup;
	struct model model; /* the whole model */
	struct model local; /* this rank's part of it: sizes and offsets in the arrays below */
	struct rank_partition partition;
	struct parameter_shard shard;
	struct segments segments;
	struct stream *stream; /* of all operations; NULL: a dry run, which only allocates */
	struct arena *arena;
	uint64_t step_rows; /* maximum rows of one backward call: size of the transient buffers */
	/* Flat arrays with the sizes of the shard. */
	void *weights; /* in `precision` */
	/* weights that the optimizer writes; == weights unless setup_has_master() */
	void *master;
	void *gradients; /* in `precision` */
	void *moments[2];
	/* Buffers of each layer's products, indexed by layer: usually inside the arrays. */
	void *layer_weights[SETUP_MAX_LAYERS], *layer_gradients[SETUP_MAX_LAYERS];
	/*
	 * activations[l] is the input of layer l; activations[layers] the logits, later their
	 * gradient. kept[l] rows of them at a time: row r is at r % kept[l].
	 */
	void *activations[SETUP_MAX_LAYERS + 1];
	uint64_t kept[SETUP_MAX_LAYERS + 1];
	bool overwritten_in_backward[SETUP_MAX_LAYERS + 1]; /* see buffer_alias.h */
	/* Copies of all rows of activations[l], made as they are computed; NULL: no copies. */
	void *record[SETUP_MAX_LAYERS + 1];
	/*
	 * Source of the ReLU masks of activations[l] in backward: the activations, or those of
	 * another run.
	 */
	const void *masks[SETUP_MAX_LAYERS + 1];
	int32_t *labels;
	double *row_loss;
	/*
	 * Gradients of activations: two alternating buffers of rows x network_max_hidden_width(),
	 * or more of them (network.h) unless `alternate_transient`. Images with aliasing have one
	 * per layer instead. With `room`, both are one buffer, because blocks compute in place; for
	 * whole blocks it is blocks.head.y. With aliased buffers, [layers % 2] is also
	 * activations[layers]: the loss writes the gradient of the logits in place.
	 */
	void *transient[NETWORK_MAX_TRANSIENT];
	bool alternate_transient;
	/*
	 * Layout of each layer's wgrad GEMM, and the transposed output gradients (out x step_rows)
	 * that it reads: one buffer for all layers; two for the even and odd layers of
	 * tensor-parallel pairs or with `alternate_transposed`; one per layer of a group with dgrad
	 * first (network.h). NULL: unused.
	 */
	enum wgrad_layout wgrad_layouts[SETUP_MAX_LAYERS];
	void *transposed[SETUP_MAX_LAYERS];
	bool alternate_transposed;
	/*
	 * Temporary buffer of the layer's bias gradient; NULL: it is computed in its final place.
	 * For modes that still need the activations that share that memory: they copy the gradient
	 * after the last use of the activations.
	 */
	void *bias_sums[SETUP_MAX_LAYERS];
	enum fusion fusions[SETUP_MAX_LAYERS]; /* of each layer's forward product */
	struct block_scratch blocks;           /* of a transformer; otherwise empty */
	/* links among the parts of its blocks; NULL: whole blocks */
	const struct part_links *links;
	bool idle; /* operations start their collectives but compute nothing */
	struct logits_overlap room;
	double gradient_scale; /* of gemm_layer_loss(), for chunks of rows */
	struct images images;  /* of convolutional layers; otherwise empty */
	/*
	 * Set during the tuning step: searches GEMM algorithms, and times wgrad layouts and fused
	 * epilogues.
	 */
	bool tuning;
	int multiprocessors; /* for GEMMs that overlap with collectives; 0: all */
	struct tuned_gemm gemms[NETWORK_MAX_GEMMS];
	size_t gemm_count;
	struct tuning_cache *tuning_cache; /* of the stream that tunes it; NULL: none */
	void *scratch;
	/* limit for the optimizer's kernels: see kernels/training/training.h; 0: no limit */
	unsigned update_blocks;
	/* the mode limits the updates that overlap with reductions, because that is faster */
	bool narrow_updates;
	uint64_t updates;              /* optimizer steps so far, including skipped ones */
	struct loss_scale *loss_scale; /* device memory; NULL unless setup->dynamic_scale */
	/*
	 * Counts updates on the device for steps that are launched as recorded graphs, and computes
	 * the corrections of each; device memory, NULL if updates do not depend on their number or
	 * the host counts them.
	 */
	struct optimizer_clock *clock;
	double *corrections;
	uint64_t correction_count; /* pairs */
	bool by_host;              /* the host counts, although there is a clock */
};

/*
 * Allocates from `arena`, which owns the memory also after a failure. `step_rows`: see struct
 * network.
 */
enum status network_open(struct network *network, const struct setup *setup, struct stream *stream,
			 struct arena *arena, int rank, struct error *err);

/*
 * The same on one device without the memory used only within a step: activations[1 ..] with their
 * masks, transient buffers, and the tensors that layers keep (model_blocks_kept()). The caller
 * provides these as the operations need them.
 */
enum status network_open_state(struct network *network, const struct setup *setup,
			       struct stream *stream, struct arena *arena, struct error *err);

/* Fills parameters, moments, input and labels from the setup's seed; waits for completion. */
enum status network_reset(struct network *network, struct error *err);

/* For operations: a kernel, a copy; nothing if the network is idle or `err` is set. */
enum status network_launch(const struct network *network, const char *kernel, const void *arguments,
			   struct error *err);
enum status network_copy(const struct network *network, void *to, const void *from, uint64_t bytes,
			 struct error *err);

/*
 * One pass of a convolution; `tuned`, the unit's choices by pass, is set in the tuning step, which
 * waits for the stream.
 */
enum status network_convolve(struct network *network, struct tuned_convolution **tuned,
			     const struct convolution_shape *shape, enum convolution_pass pass,
			     const struct convolution_tensors *tensors, struct error *err);
/* Appends how many convolutions a library computes. */
struct text;
void convolutions_describe(const struct network *network, struct text *out);

/* Copies `bytes` from the host, waits, and frees `values`. */
enum status network_upload(const struct network *network, void *memory, void *values,
			   uint64_t bytes, struct error *err);
/* Copies rows [row, row + rows) of the whole batch into `memory`. */
enum status network_fill_input(const struct network *network, void *memory, uint64_t row,
			       uint64_t rows, struct error *err);

bool network_has_loss(const struct network *network);
/*
 * Sequence parallelism: between a transformer's embedding and head, each of `result` ranks has its
 * share of the rows of activations[l], in rank order (Korthikanti et al. 2022, arXiv:2205.05198);
 * 1: every rank has all rows.
 */
uint64_t network_row_shares(const struct network *network, size_t l);
/* Columns of the widest activations between the partition's layers. */
uint64_t network_max_hidden_width(const struct network *network);

/*
 * True if the logits of all kept rows are never in memory together: forward of the head ends with
 * its norm, gemm_layer_loss() only stores the scale, and backward of the head computes logits,
 * losses and gradients for room.rows rows at a time.
 */
static inline bool network_loss_in_chunks(const struct network *network)
{
	return network->room.rows > 0 && network->room.rows < network->partition.kept;
}

/* Sum of the row losses of the last step, 0 without the last layer. Waits for the stream. */
enum status network_loss_sum(struct network *network, double *sum, struct error *err);

/* Address of row `row` of activations[l]. */
void *network_activation(const struct network *network, size_t l, uint64_t row);
/* Address of row `row` of a gradient of activations[l] that begins at `gradient`. */
void *network_row(const struct network *network, size_t l, void *gradient, uint64_t row);
/* Address of a layer's tensor in the buffer that its products use. */
void *network_weights(const struct network *network, size_t layer, size_t tensor);
void *network_gradients(const struct network *network, size_t layer, size_t tensor);
/* Address of the transposed output gradients of row `row` of layer `layer`. */
void *network_transposed(const struct network *network, size_t layer, uint64_t row);
/* Element `element` of an array in `precision` (weights, gradients). */
void *network_element(const struct network *network, void *array, uint64_t element);

/*
 * Order of backward passes and their gradient buffers.
 *
 * Backward of a layer is two GEMMs: dgrad, the gradient of its input, on which the layers before
 * depend, and wgrad, the gradient of its weights, which only the update reads. A pipeline stage
 * (struct mode: `dgrad_first`) computes dgrad of all its layers, sends the result, and then
 * computes wgrad. So each stage waits only for the dgrad half of the stages after it, and the
 * transfer overlaps with the wgrad GEMMs. (The split into B and W of "zero bubble" pipelines: Qi,
 * Wan, Huang, Lin 2023, arXiv:2401.10241. Here W follows immediately.)
 *
 * The cost: the inputs of wgrad are kept for all layers of a group until its wgrad GEMMs. These are
 * the gradients of the outputs or, with the transposed wgrad layout, their transposed copies
 * (layer.h). A group is the whole stage or one recomputed segment, because the next segment
 * overwrites the activations. The first stage sends nothing, and in other modes no rank waits for
 * dgrad: there each layer is a group, and two buffers alternate.
 *
 * Each wgrad product after the first of a step reads the gradients and adds to them. To save these
 * accesses, several micro-batches may share one product (setup_wgrad_microbatches()): in every
 * stage its inputs are stored in neighbouring rows of the buffers until the last of these
 * micro-batches is complete. Before the last stage, the last micro-batch of a step has its own
 * product, so that the product of the others runs while the stage waits for the last gradient.
 */

bool network_dgrad_first(const struct network *network);
/* First layer of the group whose last layer is `last` - 1. */
size_t network_backward_group(const struct network *network, size_t last);

/*
 * Index in network->transient of the gradient of activations[l], for activations between layers of
 * the partition; two alternate unless the mode or images need more.
 */
size_t network_transient_buffer(const struct network *network, size_t l);

/*
 * Index in network->transposed of the transposed output gradients of layer `l`; number of columns
 * of the widest in a buffer.
 */
size_t network_transposed_buffer(const struct network *network, size_t l);
uint64_t network_transposed_columns(const struct network *network, size_t buffer);

/*
 * Call after all wgrad layouts are chosen. If every layer has a transposed copy, a gradient of
 * activations is no longer needed when the second next gradient is written: frees all but two of
 * the buffers.
 */
void network_layouts_tuned(struct network *network);

#endif
