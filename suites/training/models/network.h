/*
 * One rank's part of the model in device memory: layers [partition.first, partition.last) for the
 * rows [partition.row, partition.row + partition.rows) of the batch. Every operation is
 * asynchronous on the stream it is given; rows count from the partition's first.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_NETWORK_H
#define GPUPROOF_SUITES_TRAINING_MODELS_NETWORK_H

#include "suites/training/models/arena.h"
#include "suites/training/models/image_model.h"
#include "suites/training/models/parameter_shard.h"
#include "suites/training/models/segments.h"

/* A GEMM problem of this network and the algorithm that the search chose. */
struct tuned_gemm {
	struct gemm gemm;          /* the first one of its kind */
	bool searched;             /* false: the library's default algorithm */
	struct gemm_choice choice; /* result of the search */
};

#define NETWORK_MAX_GEMMS 64
/* Buffers for gradients between layers, and between groups of layers: backward_schedule.h. */
#define NETWORK_MAX_TRANSIENT (SETUP_MAX_LAYERS + 1)

/*
 * Results of GEMM searches on a stream, for all networks that use it; what does not fit is searched
 * again.
 */
#define GEMM_CACHE_ENTRIES 128
struct gemm_cache {
	struct {
		struct tuned_gemm tuned;
		double seconds; /* time limit of its search */
	} entries[GEMM_CACHE_ENTRIES];
	size_t count;
};

/*
 * Collectives of the ranks that have the parts of the same layers, from the mode. `count` elements
 * at `whole` on every rank; each rank's share is as long as the others'. Started after what the
 * compute stream has computed; one at a time.
 */
enum part_collective {
	PARTS_SUM,    /* sums over the ranks replace `whole` */
	PARTS_GATHER, /* the ranks' shares at `share` become `whole` */
	PARTS_SCATTER /* this rank's share of the sums of `whole` becomes `share` */
};
struct part_links {
	void *state;
	enum status (*start)(void *state, enum part_collective collective, void *whole, void *share,
			     uint64_t count, struct error *err);
	/* The compute stream continues after what was started. */
	enum status (*wait)(void *state, struct error *err);
};

/*
 * Tensors that layers of a transformer keep for backward: of the rows that the partition keeps, or
 * of one backward call if blocks recompute.
 */
struct kept_norm {
	float *mean, *rstd;
	void *y;
};
struct kept_block {
	struct kept_norm norm[2]; /* before attention, before the MLP */
	void *qkv, *o;            /* attention's inputs and output */
	float *lse;               /* kernels/attention/attention.h */
	void *middle;             /* the sum after attention */
	void *before, *after;     /* of GELU */
};
struct block_scratch {
	struct kept_block kept[SETUP_MAX_LAYERS];
	uint64_t kept_bytes; /* of `kept` */
	/* Outputs of a norm and of GELU that all blocks recompute in turn; NULL: kept. */
	void *norm_output, *gelu_output;
	struct kept_norm head;
	int32_t *positions; /* of the rows of a backward call */
	/* Gradients of a block's branch and of the head's input: of the last backward call. */
	void *narrow, *below_head;
	/* Gradient inside a block's branches; NULL: in what the block kept. */
	void *inner;
	void *gathered; /* whole rows of what ranks share: see network_sequence_parallel_size() */
	void *norm_gradients; /* of all norms in turn, to be added up; the same */
	float *delta, *norm_sums;
	/* This rank's rows, and those of all ranks that have parts of the vocabulary. */
	void *statistics, *all_statistics;
	void *bias_sums, *counts; /* scratch of output_gradient and of embedding_scatter_add */
};

/* Tensors that convolutional layers keep for backward (blocks/images.h). */
struct kept_unit {
	void *z, *y; /* output of the convolution under a batch norm; what the next unit reads */
	void *statistics; /* of each group of rows: means, then 1 / deviation */
};
struct kept_image {
	struct kept_unit unit[IMAGE_MAX_UNITS], projection;
	void *out; /* what pooling reads */
};
struct images {
	struct kept_image kept[SETUP_MAX_LAYERS];
	uint64_t norm_groups; /* see struct setup; 1 while one device is timed, not compared */
	/* Gradients inside a layer, in turn, and of what pooling read. */
	void *gradient[2], *pooled;
	/* Left by backward of a layer for the gradient of its input. */
	const void *first, *shortcut;
	float *norm_sums, *weight_sums;
	void *bias_sums;
	/*
	 * Outputs of ReLUs (image_decisions()) for all rows: those that decide in backward instead
	 * of this run's, and where this run's are copied; NULL: none.
	 */
	const void *decisions[IMAGE_MAX_DECISIONS];
	void *record[IMAGE_MAX_DECISIONS];
};

/*
 * Memory of a transformer's logits, in bytes, for what is written when backward of the head has
 * read their gradient. 0 where nothing shares it.
 */
struct logits_overlap {
	/* whose logits are there at a time, also where nothing shares: network_loss_in_chunks() */
	uint64_t rows;
	uint64_t logits;
	/* blocks->narrow, and from which byte of the logits on; 0 bytes: not there */
	uint64_t narrow, narrow_at;
	uint64_t mode, mode_at; /* mode->in_logits(); 0 bytes: not there */
	/*
	 * One block of `bytes` for all gradients of parameters, the head's first, and for the
	 * logits, from byte `at` on, after the head's; 0: each has its own.
	 */
	uint64_t bytes, at;
};

struct network {
	const struct setup *setup;
	struct model model; /* the whole model */
	struct model local; /* this rank's part of it: sizes and places in the arrays below */
	struct rank_partition partition;
	struct parameter_shard shard;
	struct segments segments;
	struct device *device;
	struct arena *arena;
	uint64_t step_rows; /* most rows of one backward call: sizes the transient buffers */
	/* Flat arrays with the sizes of the shard. */
	void *weights;   /* in `precision` */
	void *master;    /* what the optimizer writes; == weights unless setup_has_master() */
	void *gradients; /* in `precision` */
	void *moments[2];
	/* Buffers of the products of each layer, in its own order: usually in the arrays. */
	void *layer_weights[SETUP_MAX_LAYERS], *layer_gradients[SETUP_MAX_LAYERS];
	/*
	 * activations[l] is the input of layer l; activations[layers] the logits, later their
	 * gradient. kept[l] rows of them at a time: row r is at r % kept[l].
	 */
	void *activations[SETUP_MAX_LAYERS + 1];
	uint64_t kept[SETUP_MAX_LAYERS + 1];
	bool overwritten_in_backward[SETUP_MAX_LAYERS + 1]; /* see buffer_alias.h */
	/*
	 * All rows of activations[l] are also copied here as they are computed; NULL: they are not.
	 */
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
	 * or more of them (backward_schedule.h) unless `alternate_transient`; one for both with
	 * `room`, since blocks compute in place, and of whole blocks that is blocks.head.y. With
	 * aliased buffers, [layers % 2] is also activations[layers]: the loss writes the first
	 * gradient, that of the logits, in place.
	 */
	void *transient[NETWORK_MAX_TRANSIENT];
	bool alternate_transient;
	/*
	 * Layout of each layer's wgrad GEMM, and the transposed output gradients (out x step_rows)
	 * that it reads: one buffer for all layers; one each for even and odd layers of a
	 * tensor-parallel pair, or if `alternate_transposed`; one per layer of a group with dgrad
	 * first (backward_schedule.h). NULL: unused.
	 */
	enum wgrad_layout wgrad_layouts[SETUP_MAX_LAYERS];
	void *transposed[SETUP_MAX_LAYERS];
	bool alternate_transposed;
	/*
	 * Temporary buffer of the layer's bias gradient; NULL: computed in its final place. For
	 * modes that still need the activations that alias it: they copy it after the last use of
	 * these.
	 */
	void *bias_sums[SETUP_MAX_LAYERS];
	enum fusion fusions[SETUP_MAX_LAYERS]; /* of each layer's forward product */
	struct block_scratch blocks;           /* of a transformer; others: empty */
	const struct part_links *links;        /* of the parts of its blocks; NULL: whole blocks */
	bool idle; /* operations of blocks start their collectives and compute nothing */
	struct logits_overlap room;
	double gradient_scale; /* of network_loss(), for chunks of the rows */
	struct images images;  /* of convolutional layers; others: empty */
	/*
	 * Set during the tuning step: searches GEMM algorithms, and times wgrad layouts and fused
	 * epilogues.
	 */
	bool tuning;
	int multiprocessors; /* for GEMMs that overlap with collectives; 0: all */
	struct tuned_gemm gemms[NETWORK_MAX_GEMMS];
	size_t gemm_count;
	struct gemm_cache *gemm_cache; /* of the stream that tunes it; NULL: none */
	void *scratch;
	/* of the optimizer's kernels: see kernels/training/training.h; 0: no limit */
	unsigned update_blocks;
	/* the mode limits those that overlap with reductions, because that is faster */
	bool narrow_updates;
	uint64_t updates;              /* optimizer steps so far, with those that were skipped */
	struct loss_scale *loss_scale; /* device memory; NULL unless setup->dynamic_scale */
	/*
	 * Counts the updates on the device, in steps that are launched again as they were recorded,
	 * and the corrections of every one of them; device memory, NULL where updates do not depend
	 * on their number or the host counts them.
	 */
	struct optimizer_clock *clock;
	double *corrections;
	uint64_t correction_count; /* pairs */
	bool by_host;              /* the host's count is used, though there is a clock */
};

/*
 * Allocates from `arena`, which owns the memory, also after a failure. `step_rows`: see struct
 * network.
 */
enum status network_open(struct network *network, const struct setup *setup, struct device *device,
			 struct arena *arena, int rank, struct error *err);

/*
 * The same of one device and without what only lives within a step: activations[1 ..] with their
 * masks, transient buffers, and what layers keep inside (blocks_kept()). The
 * caller puts these in place as the operations need them.
 */
enum status network_open_state(struct network *network, const struct setup *setup,
			       struct device *device, struct arena *arena, struct error *err);

/* Fills parameters, moments, input and labels from the setup's seed; returns when done. */
enum status network_reset(struct network *network, struct stream *stream, struct error *err);

/* Rows [row, row + rows) of the whole batch into `memory`. */
enum status network_fill_input(const struct network *network, struct stream *stream, void *memory,
			       uint64_t row, uint64_t rows, struct error *err);

bool network_has_loss(const struct network *network);
/*
 * Sequence parallelism: between a transformer's embedding and head each of `result` ranks has its
 * share of the rows of activations[l], in the order of the ranks (Korthikanti et al. 2022,
 * arXiv:2205.05198); 1: all rows.
 */
uint64_t network_sequence_parallel_size(const struct network *network, size_t l);
/* Columns of the widest activations between the partition's layers. */
uint64_t network_max_hidden_width(const struct network *network);

/*
 * True if logits of all rows that are kept are never there: forward of the head ends with its norm,
 * network_loss() only takes the scale, and backward of the head computes logits, losses and
 * gradients of room.rows rows at a time.
 */
static inline bool network_loss_in_chunks(const struct network *network)
{
	return network->room.rows > 0 && network->room.rows < network->partition.kept;
}

/* The sum of the row losses of the last step, 0 without the last layer. Waits for the stream. */
enum status network_loss_sum(struct network *network, struct stream *stream, double *sum,
			     struct error *err);

/* Address of row `row` of activations[l]. */
void *network_activation(const struct network *network, size_t l, uint64_t row);
/* Address of row `row` of a gradient of activations[l] that begins at `gradient`. */
void *network_row(const struct network *network, size_t l, void *gradient, uint64_t row);
/* The layer's bias in an array whose part for the layer begins at `layer_array`. */
void *network_bias(const struct network *network, size_t layer, void *layer_array);
/* Address of the transposed output gradients of row `row` of layer `layer`. */
void *network_transposed(const struct network *network, size_t layer, uint64_t row);
/* Element `element` of an array in `precision` (weights, gradients). */
void *network_element(const struct network *network, void *array, uint64_t element);

#endif
