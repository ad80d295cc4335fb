/*
 * The training that one case of the suite `parallel` runs: the model's widths, the batch, the
 * arithmetic, the optimizer and the split. Every rank has the same setup, and all data are a pure
 * function of it.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_SETUP_H
#define GPUPROOF_SUITES_TRAINING_MODELS_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/backend.h"

struct section;
struct mode;

#define SETUP_MAX_LAYERS 64

/* The value is the number of moments: FP32 values (FP64 with fp64) that it keeps per parameter. */
enum optimizer { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM, OPTIMIZER_COUNT };
/* "sgd", "momentum", "adam", NULL: in the order of the enum. */
extern const char *const optimizer_names[];

/* How ranks split a step along three axes at once: data x tensor x pipeline = ranks. */
struct grid {
	int data, tensor, pipeline;
};

/* Bias and ReLU in the GEMM epilogue: see suites/training/models/gemm/layer.c. */
enum fusion { FUSION_AUTO, FUSION_OFF, FUSION_ON, FUSION_COUNT };

/* Operand layout of the wgrad GEMM: see suites/training/models/gemm/layer.h. */
enum wgrad_layout { WGRAD_AUTO, WGRAD_DIRECT, WGRAD_TRANSPOSED, WGRAD_LAYOUT_COUNT };

enum model_kind { MODEL_MLP, MODEL_TRANSFORMER, MODEL_CONVNET, MODEL_RESNET, MODEL_KIND_COUNT };
/* "mlp", "transformer", "convnet", "resnet", NULL: in the order of the enum. */
extern const char *const model_kind_names[];

/* A decoder: embedding, blocks with causal attention, head. */
struct transformer_shape {
	uint64_t hidden, heads, sequence, vocabulary;
};

/* Convolutional models: see image_model.h. */
struct image_shape {
	uint64_t image;    /* pixels along each side */
	uint64_t channels; /* filters of the first convolution */
	uint64_t blocks;   /* convnet: convolutions; resnet: its name, 18 to 152 */
	uint64_t classes;
	uint64_t depthwise; /* 1: depthwise and 1 x 1 convolutions replace 3 x 3 ones */
};

struct setup {
	const struct mode *mode;
	int ranks;
	enum model_kind kind;
	struct transformer_shape transformer;  /* of MODEL_TRANSFORMER; otherwise zero */
	struct image_shape images;             /* of MODEL_CONVNET and MODEL_RESNET */
	struct grid grid;                      /* hybrid; otherwise zero */
	size_t layers;                         /* linear layers, or embedding, blocks and head */
	uint64_t widths[SETUP_MAX_LAYERS + 1]; /* input first, classes last */
	uint64_t batch; /* rows (transformer: tokens) of the whole step, over all ranks */
	/* scaling: the batch grows with the number of ranks, and one device computes one part */
	bool weak;
	uint64_t microbatches; /* 1 unless the mode divides the batch */
	/*
	 * Micro-batches of a pipeline that share one wgrad product, a divisor of microbatches; 0:
	 * as 1 (network.h).
	 */
	uint64_t wgrad_microbatches;
	/* parts of a rank's rows, computed in turn and accumulated into the same gradients */
	uint64_t accumulate;
	/*
	 * Parts of a forward's rows with separate batch norm statistics, like the ranks of a split;
	 * 0: one part.
	 */
	uint64_t norm_groups;
	/* segments of layers whose activations are recomputed; 0: all are kept */
	uint64_t segments;
	/*
	 * chunks of a rank's rows whose logits and losses are computed in turn; 0: chosen by memory
	 */
	uint64_t loss_chunks;
	bool pointwise;        /* a transformer's blocks recompute the outputs of norms and GELU */
	uint64_t bucket_bytes; /* bytes of gradients per all-reduce */
	/* number of equal parts into which every layer must be divisible; 0: not required */
	uint64_t shards;
	/* tensor: parts of the batch; one is computed while another is summed over ranks */
	uint64_t chunks;
	bool no_aliasing;    /* classes of memory share no buffer: buffer_alias.h */
	bool no_overlap;     /* ddp, tensor: no GEMM runs while ranks communicate */
	bool loss_on_server; /* dp_naive: the first device computes the loss of all rows */
	enum precision precision;
	bool storage_only; /* FP16 weights without FP32 masters: the optimizer rounds them */
	enum wgrad_layout weight_gradient; /* for every layer; auto: the faster layout */
	enum fusion fusion;                /* for every layer; auto: the faster epilogue */
	/* search time for the fastest algorithm of each product; 0: no search */
	double search_seconds;
	/* Maximum multiprocessors of collectives; 0: no limit; negative: chosen by the mode. */
	int64_t collective_multiprocessors;
	enum transport transport; /* between ranks */
	bool graph;               /* the whole step is recorded and launched as one graph */
	enum optimizer optimizer;
	double rate, momentum, beta1, beta2, epsilon;
	bool rate_chosen;   /* chosen by gpuproof, not by the user: then the loss must fall */
	double loss_scale;  /* 1 except in fp16; with a dynamic scale, that of the first step */
	bool dynamic_scale; /* the device doubles and halves it: loss_scale.h */
	uint64_t seed;
};

/*
 * Layers and widths from the key `layers`, a list of widths; an error names the line that set it.
 */
enum status setup_widths(struct setup *setup, const struct section *section, struct error *err);
/* A key of the model's size; 0 in the config: the usual one. */
uint64_t setup_size_or(const struct section *section, const char *name, uint64_t usual);

/*
 * Layers and widths of a transformer of `blocks` blocks; the precision must be set. A row is a
 * token: widths[0] is one int32_t id in elements of the precision.
 */
void setup_transformer(struct setup *setup, uint64_t blocks, const struct transformer_shape *shape);
/* NULL, or the reason why this transformer cannot be computed; `text` stores it. */
const char *setup_transformer_refusal(const struct setup *setup, char *text, size_t size);
/*
 * True for the ResNet-50 of published training rates: ImageNet's image size and classes, 64
 * channels.
 */
bool setup_is_published_resnet50(const struct setup *setup);
static inline bool setup_has_images(const struct setup *setup)
{
	return setup->kind == MODEL_CONVNET || setup->kind == MODEL_RESNET;
}
/*
 * True if activations[l] are outputs of a linear layer's ReLU, whose masks a comparison imposes.
 * For ReLUs inside convolutional layers: image_model_decisions().
 */
bool setup_is_masked(const struct setup *setup, size_t l);
/* At least 1. */
static inline uint64_t setup_norm_groups(const struct setup *setup)
{
	return setup->norm_groups > 1 ? setup->norm_groups : 1;
}
/* Rows of one sample: the sequence, or 1. */
static inline uint64_t setup_sample_rows(const struct setup *setup)
{
	return setup->kind == MODEL_TRANSFORMER ? setup->transformer.sequence : 1;
}
/* The token of row `row`, below the vocabulary. */
int32_t setup_token(const struct setup *setup, uint64_t row);
/* Recomputes the inner tensors of a layer: backward repeats each layer's forward. */
static inline bool setup_recomputes_blocks(const struct setup *setup)
{
	return setup->kind != MODEL_MLP && setup->segments > 0;
}

/* At least 1. */
static inline uint64_t setup_accumulate(const struct setup *setup)
{
	return setup->accumulate > 1 ? setup->accumulate : 1;
}

/* FP16 and BF16 are storage formats: the optimizer also keeps FP32 master weights. */
static inline bool setup_has_master(const struct setup *setup)
{
	return !setup->storage_only &&
	       (setup->precision == PRECISION_FP16 || setup->precision == PRECISION_BF16);
}

/* The loss scale as known to the host: a dynamic factor is applied on the device. */
static inline double setup_fixed_scale(const struct setup *setup)
{
	return setup->dynamic_scale ? 1 : setup->loss_scale;
}

/*
 * Names of training precisions for the INI file: "fp32", "tf32", "fp16_storage" (everything in
 * FP16, products and sums in FP32), "fp16_mixed" and "bf16_mixed" (the same with FP32 master
 * weights), "fp64".
 */
extern const char *const training_names[];
void setup_set_training(struct setup *setup, const char *name);
const char *setup_training_name(const struct setup *setup);

/* Storage precision of tensors: TF32 is FP32 in memory. */
static inline enum precision setup_storage(const struct setup *setup)
{
	return setup->precision == PRECISION_TF32 ? PRECISION_FP32 : setup->precision;
}

/* Storage precision of the optimizer's moments. */
static inline enum precision setup_moment(const struct setup *setup)
{
	return setup->precision == PRECISION_FP64 ? PRECISION_FP64 : PRECISION_FP32;
}

/* Storage precision of the weights that the optimizer updates. */
static inline enum precision setup_master(const struct setup *setup)
{
	return setup->storage_only ? setup->precision : setup_moment(setup);
}

/*
 * A pipeline stage sends the gradient of its input before it computes those of its weights: only
 * for linear layers, in modes that do so.
 */
bool setup_dgrad_first(const struct setup *setup);
/* At least 1; 1 if wgrad products are not shared. */
uint64_t setup_wgrad_microbatches(const struct setup *setup);
/*
 * Default number of micro-batches per wgrad product: a product that adds to gradients reads and
 * writes them, and a product of WGRAD_ROWS rows hides these accesses. A step has at least
 * WGRAD_PRODUCTS_LEAST products, so that 1F1B keeps only a part of the micro-batches.
 */
#define WGRAD_ROWS 2048
#define WGRAD_PRODUCTS_LEAST 4
#define WGRAD_MICROBATCHES_MOST 4
uint64_t setup_usual_wgrad_microbatches(const struct setup *setup);

/* Sets the values that the mode determines: shards, chunks. Call once, before the setup shrinks. */
void setup_fit_mode(struct setup *setup);

/* The limit for a device with `multiprocessors` multiprocessors; 0: none. */
int setup_collective_multiprocessors(const struct setup *setup, int multiprocessors);

/* The widest layer; with convolutions the longest sum of one. */
uint64_t setup_widest(const struct setup *setup);
/*
 * A learning rate at which the loss falls from the first step, for any widths: small relative to
 * the curvature of a network of this width (sgd, momentum), or a small relative change of every
 * weight per step (adam).
 */
double setup_safe_rate(const struct setup *setup);

/*
 * Makes `small` the same structure (depth, split, precision, optimizer) with a training step of at
 * most `flops` floating-point operations, so that a reference can compute it: first the batch
 * shrinks to a few rows per rank and micro-batch, then the widths. Returns true if nothing had to
 * shrink.
 */
bool setup_shrink(const struct setup *setup, double flops, struct setup *small);

/*
 * Seed of a model and its batch: depends only on `run_seed`, the widths and the rows of the whole
 * step. So every split, precision and optimizer starts with the same weights and rows, rank r has
 * its rows of the one-device batch, and first losses can be compared. Call before the setup
 * shrinks; suite trainmem uses the same seed.
 */
uint64_t setup_data_seed(uint64_t run_seed, const struct setup *setup);

/* Tensors with separate seeds. */
enum setup_tensor { TENSOR_INPUT, TENSOR_LABELS, TENSOR_WEIGHTS, TENSOR_BIASES, TENSOR_COUNT };
uint64_t setup_seed(const struct setup *setup, enum setup_tensor tensor, size_t layer);
/*
 * Weights of a layer are uniform in +-scale: He's variance, so that activations neither vanish nor
 * explode.
 */
double setup_scale(const struct setup *setup, enum setup_tensor tensor, size_t layer);
int32_t setup_label(const struct setup *setup, uint64_t row);

/*
 * Position of a rank in the grid of data, tensor and pipeline parallelism. The parts of a layer are
 * adjacent, because they communicate most; then the stages of a pipeline; then whole pipelines,
 * each with its part of the batch.
 */

struct grid_place {
	int data, stage, part;
};

/* The setup's grid; for a pipeline mode without a grid: one pipeline of all ranks. */
struct grid model_setup_grid_of(const struct setup *setup);
struct grid_place model_setup_grid_place(const struct setup *setup, int rank);
int model_setup_grid_rank(const struct setup *setup, struct grid_place place);

/* "2x2x2": data x tensor x pipeline. False: the text has another form. */
bool model_setup_grid_parse(const char *text, struct grid *out);

#endif
