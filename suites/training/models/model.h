/*
 * The models to train, each a sequence of layers with softmax cross entropy at the end:
 * - multilayer perceptron: Y = relu(X W^T + b) per layer (no relu after the last);
 * - transformer (pre-norm decoder, Radford et al. 2019): an embedding of tokens and positions;
 *   blocks x1 = x + attention(norm(x)), y = x1 + W2 gelu(W1 norm(x1)), with biases; a head W
 *   norm(x);
 * - convolutional networks: image_model.h.
 *
 * Parameters, gradients and optimizer state are flat arrays of `elements` values in the same order:
 * the last layer first, because backward reaches it first, so that a bucket of gradients that are
 * complete at the same time is one range; within each layer W (out x in, row-major), then b, or the
 * tensors of the block. Every tensor starts at a multiple of MODEL_ALIGN elements; the gaps are
 * zero.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_MODEL_H
#define GPUPROOF_SUITES_TRAINING_MODELS_MODEL_H

#include "suites/training/models/setup.h"

/* In elements: 128 bytes in 16-bit storage, sufficient for tensor cores and vectorised kernels. */
#define MODEL_ALIGN 64

enum layer_kind { LAYER_LINEAR, LAYER_EMBEDDING, LAYER_BLOCK, LAYER_HEAD, LAYER_CONVOLUTION };

/*
 * Tensors of each kind of layer, in the flat order. A weight has out x in elements, and its bias
 * follows.
 */
enum linear_tensor { LINEAR_WEIGHT, LINEAR_BIAS };
enum embedding_tensor { EMBEDDING_TABLE, EMBEDDING_POSITION };
enum head_tensor { HEAD_GAMMA, HEAD_BETA, HEAD_WEIGHT };
enum block_tensor {
	BLOCK_GAMMA1,
	BLOCK_BETA1,
	BLOCK_QKV, /* rows: queries, keys, values, each head by head */
	BLOCK_QKV_BIAS,
	BLOCK_OUT,
	BLOCK_OUT_BIAS,
	BLOCK_GAMMA2,
	BLOCK_BETA2,
	BLOCK_UP, /* to four times the width */
	BLOCK_UP_BIAS,
	BLOCK_DOWN,
	BLOCK_DOWN_BIAS
};
/* A residual block: four convolutions and a projection, each with scale and shift. */
#define LAYER_MAX_TENSORS 15

/*
 * This rank's part of a divided tensor: in each group of whole_rows x whole_columns of the whole
 * tensor, `rows` x `columns` starting at (first_row, first_column). whole_rows 0: the rank has the
 * whole tensor.
 */
struct tensor_part {
	uint64_t rows, columns, whole_rows, whole_columns, first_row, first_column;
};

struct model_tensor {
	const char *name;
	uint64_t first, count; /* in the flat order */
	double scale, offset;  /* initialised as offset + scale * uniform in +-1 */
	struct tensor_part part;
};

/*
 * Index in the whole tensor of element `element` of this part; `run`: number of elements from there
 * that are contiguous in both.
 */
uint64_t model_tensor_place(const struct model_tensor *tensor, uint64_t element, uint64_t *run);

struct model_layer {
	enum layer_kind kind;
	uint64_t in, out;
	uint64_t weight, end; /* in the flat order: first element, one past the end */
	struct model_tensor tensor[LAYER_MAX_TENSORS];
	size_t tensors;
};

struct model {
	size_t layers;
	struct model_layer layer[SETUP_MAX_LAYERS];
	uint64_t parameters; /* without the gaps */
	uint64_t elements;   /* with them */
};

/* The part of a training step that one rank computes. */
struct rank_partition {
	size_t first, last; /* layers [first, last) */
	uint64_t row, rows; /* of the global batch */
	/*
	 * Tensor parallelism: this rank is `part` of `parts` in every layer that
	 * model_layer_split() divides, in the heads and inner columns of every block, and in the
	 * vocabulary of embedding and head; 0 of 1: not divided.
	 */
	int part, parts;
	/* Rows are divided between products: network_row_shares(). */
	bool sequence;
	/*
	 * Rows of activations kept at a time; `kept_input`: of the first layer's input if it is
	 * received.
	 */
	uint64_t kept, kept_input;
	uint64_t step_rows; /* maximum rows of one backward call; 0: `kept` */
	uint64_t loss_rows; /* rows whose loss this rank computes, from `row` on */
	bool no_loss;       /* another rank computes the loss of these rows */
};

/* How tensor-parallel ranks divide a layer Y = X W^T, where W is out x in. */
enum layer_split {
	SPLIT_NONE,      /* replicated: every rank computes all of it */
	COLUMN_PARALLEL, /* each rank has some outputs (rows of W) */
	ROW_PARALLEL     /* each rank has some inputs and computes partial sums of all outputs */
};
/*
 * Linear layers form pairs: column-parallel, then row-parallel; a layer without a partner stays
 * whole. Blocks of a transformer are divided inside, but their inputs and outputs are whole:
 * SPLIT_NONE.
 */
enum layer_split model_layer_split(const struct setup *setup, size_t layer, int parts);

/* Every layer's range is a multiple of MODEL_ALIGN * setup->shards elements. */
void model_init(struct model *model, const struct setup *setup);
/*
 * The part of the model in `partition`, in its own flat order; other layers are empty. With parts
 * == 1 the order is that of the whole model, starting at model_first(partition->last).
 */
void model_init_partition(struct model *model, const struct setup *setup,
			  const struct rank_partition *partition);
/* Columns of activations[l] that `partition` keeps. */
uint64_t model_partition_width(const struct setup *setup, const struct rank_partition *partition,
			       size_t l);

/*
 * Number of tokens of a transformer's vocabulary in `partition`, starting at `*first`, for the
 * embedding table and the outputs of the head. Each partition has whole vectors; the last one also
 * has the remainder (Shoeybi et al. 2019).
 */
uint64_t model_partition_vocabulary(const struct setup *setup,
				    const struct rank_partition *partition, uint64_t *first);

/* Start of layers [first, last), which are contiguous in the flat order. */
uint64_t model_first(const struct model *model, size_t last);
uint64_t model_elements(const struct model *model, size_t first, size_t last);

enum layer_kind model_layer_kind(const struct setup *setup, size_t layer);
/* Seed of a tensor's initial values. */
uint64_t model_tensor_seed(const struct setup *setup, size_t layer, size_t tensor);

/*
 * Floating-point operations of the matrix products of one step (MLPerf's count): 6 B sum(in out),
 * minus the input gradient of the first layer, which is not needed. Transformer: 6 per weight of a
 * product and token, and for causal attention 6 * sequence * hidden per block and token (half of
 * the count of Chowdhery et al. 2022, appendix B, because half of the scores are masked).
 * Convolutions: three passes with two operations per weight and output pixel, including taps that
 * read the padding.
 */
double model_flops(const struct setup *setup);
/* The same for one layer and `rows` rows. */
double model_layer_flops(const struct setup *setup, size_t layer, uint64_t rows);
/*
 * Floating-point operations of a layer's forward that backward repeats if layers recompute their
 * inner tensors.
 */
double model_block_recompute_flops(const struct setup *setup, size_t layer, uint64_t rows);

/*
 * Parameter shard of a rank: the parameters of its share that it keeps between steps, and those
 * that its optimizer updates: all, or with a sharded optimizer (ZeRO) a slice of every layer.
 */

/* A range of parameters that this rank's optimizer updates, as offsets in each array. */
struct shard_range {
	uint64_t flat, count; /* in the partition's flat order */
	uint64_t weights, gradients;
	uint64_t master; /* and moments */
};

struct parameter_shard {
	uint64_t elements; /* of the partition */
	/*
	 * Elements of each array, `master` also of the moments; moments or masters that this setup
	 * does not use are not allocated. weights 0: the mode rounds the masters when it needs
	 * weights.
	 */
	uint64_t weights, gradients, master;
	struct shard_range ranges[SETUP_MAX_LAYERS];
	size_t count;
	/* Another rank sends the weights in every step. */
	bool receives_weights;
};

/* The share and shard of rank `rank`. */
void model_parameter_shard_of(const struct setup *setup, int rank, struct rank_partition *partition,
			      struct parameter_shard *shard);

/*
 * False if its ranges contain only alignment gaps, which is possible for a tiny layer. `local`: the
 * partition's model.
 */
bool model_parameter_shard_has_parameters(const struct parameter_shard *shard,
					  const struct model *local);

/* True if one range contains all elements: the optimizer is not sharded. */
bool model_parameter_shard_is_whole(const struct parameter_shard *shard);

#endif
