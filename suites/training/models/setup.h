/*
 * The training that one case of the suite `parallel` does: the model's widths, the batch, the
 * arithmetic, the optimizer and the split. Every rank has the same setup, and every piece of data
 * is a pure function of it.
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

enum optimizer { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM, OPTIMIZER_COUNT };
/* "sgd", "momentum", "adam", NULL: in the order of the enum. */
extern const char *const optimizer_names[];
/* FP32 values (FP64 in fp64) that the optimizer keeps per parameter: 0, 1, 2. */
size_t optimizer_moments(enum optimizer optimizer);

/* How ranks split a step along three axes at once: data x tensor x pipeline = ranks. */
struct grid {
	int data, tensor, pipeline;
};

/* Bias and ReLU in the GEMM epilogue: see suites/training/models/gemm/layer.c. */
enum fusion { FUSION_AUTO, FUSION_OFF, FUSION_ON, FUSION_COUNT };
/* "auto", "off", "on", NULL: in the order of the enum. */
extern const char *const fusion_names[];

/* Operand layout of the wgrad GEMM: see suites/training/models/gemm/wgrad_layout.h. */
enum wgrad_layout { WGRAD_AUTO, WGRAD_DIRECT, WGRAD_TRANSPOSED, WGRAD_LAYOUT_COUNT };
/* "auto", "direct", "transposed", NULL: in the order of the enum. */
extern const char *const wgrad_layout_names[];

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
	uint64_t depthwise; /* 1: depthwise and 1 x 1 convolutions in place of 3 x 3 ones */
};

struct setup {
	const struct mode *mode;
	int ranks;
	enum model_kind kind;
	struct transformer_shape transformer;  /* of MODEL_TRANSFORMER; others: zero */
	struct image_shape images;             /* of MODEL_CONVNET and MODEL_RESNET */
	struct grid grid;                      /* hybrid; others: zero */
	size_t layers;                         /* linear ones, or embedding, blocks and head */
	uint64_t widths[SETUP_MAX_LAYERS + 1]; /* input first, classes last */
	uint64_t batch; /* rows (transformer: tokens) of the whole step, over all ranks */
	bool weak; /* scaling: the batch grows with the ranks, and one device's is a part of it */
	uint64_t microbatches; /* 1 unless the mode cuts the batch */
	/*
	 * Micro-batches of a pipeline whose weights' gradients are one product, a divisor of
	 * microbatches; 0: as 1 (backward_schedule.h).
	 */
	uint64_t wgrad_microbatches;
	uint64_t accumulate; /* parts of a rank's rows, computed in turn into the same gradients */
	/*
	 * Parts of a forward's rows that have a batch norm's statistics of their own, as ranks of a
	 * split have; 0: one.
	 */
	uint64_t norm_groups;
	uint64_t segments; /* of layers whose activations are recomputed; 0: all are kept */
	/* of a rank's rows, whose logits and losses are computed in turn; 0: chosen by memory */
	uint64_t loss_chunks;
	bool pointwise; /* outputs of norms and GELU in a transformer's blocks are recomputed */
	uint64_t bucket_bytes; /* of gradients per all-reduce */
	uint64_t shards;       /* equal parts that every layer can be cut into; 0: no need */
	uint64_t chunks;  /* tensor: parts of the batch, one computed while another is summed up */
	bool no_aliasing; /* no two classes of memory share a buffer: buffer_alias.h */
	bool no_overlap;  /* ddp, tensor: no product runs while ranks communicate */
	bool loss_on_server; /* dp_naive: the first device computes the loss of all rows */
	enum precision precision;
	bool storage_only; /* FP16 weights without FP32 masters: the optimizer rounds them */
	enum wgrad_layout weight_gradient; /* of every layer; auto: the faster one */
	enum fusion fusion;                /* of every layer; auto: the faster one */
	double search_seconds; /* for the fastest algorithm of each product; 0: no search */
	/*
	 * Multiprocessors that collectives hold at most; 0: no limit; negative: chosen by the mode.
	 */
	int64_t collective_multiprocessors;
	enum transport transport; /* between ranks */
	bool graph;               /* the whole step is recorded, and launched as one */
	enum optimizer optimizer;
	double rate, momentum, beta1, beta2, epsilon;
	bool rate_chosen;   /* by us, not by the user: then the loss must fall */
	double loss_scale;  /* 1 except in fp16; of the first step when it is dynamic */
	bool dynamic_scale; /* the device doubles and halves it: loss_scale.h */
	uint64_t seed;
};

/*
 * Layers and widths from the key `layers`, a list of widths; an error names the place that set it.
 */
enum status setup_widths(struct setup *setup, const struct section *section, struct error *err);

/*
 * Layers and widths of a transformer of `blocks` blocks; the precision must be set. A row is a
 * token: widths[0] is one int32_t id in elements of the precision.
 */
void setup_transformer(struct setup *setup, uint64_t blocks, const struct transformer_shape *shape);
/* NULL, or why this transformer cannot be computed so; `text` holds the words. */
const char *setup_transformer_refusal(const struct setup *setup, char *text, size_t size);
/* True for the ResNet-50 of published training rates: ImageNet's size and classes, 64 channels. */
bool setup_is_published_resnet50(const struct setup *setup);
static inline bool setup_has_images(const struct setup *setup)
{
	return setup->kind == MODEL_CONVNET || setup->kind == MODEL_RESNET;
}
/*
 * True if activations[l] are outputs of a linear layer's ReLU, whose masks a comparison imposes.
 * Those inside of convolutional layers: image_decisions().
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
/* Recomputes what a layer keeps inside: backward runs each layer's forward again. */
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

/* The loss scale as far as the host knows it: a dynamic one is multiplied on the device. */
static inline double setup_fixed_scale(const struct setup *setup)
{
	return setup->dynamic_scale ? 1 : setup->loss_scale;
}

/*
 * Names of how a model is trained, for the INI file: "fp32", "tf32", "fp16_storage" (everything in
 * FP16, products and sums in FP32), "fp16_mixed" and "bf16_mixed" (the same with FP32 master
 * weights), "fp64".
 */
extern const char *const training_names[];
void setup_set_training(struct setup *setup, const char *name);
const char *setup_training_name(const struct setup *setup);

/* How tensors are stored: TF32 is FP32 in memory. */
static inline enum precision setup_storage(const struct setup *setup)
{
	return setup->precision == PRECISION_TF32 ? PRECISION_FP32 : setup->precision;
}

/* How the optimizer stores moments. */
static inline enum precision setup_moment(const struct setup *setup)
{
	return setup->precision == PRECISION_FP64 ? PRECISION_FP64 : PRECISION_FP32;
}

/* How the optimizer stores the weights that it updates. */
static inline enum precision setup_master(const struct setup *setup)
{
	return setup->storage_only ? setup->precision : setup_moment(setup);
}

/*
 * A stage of a pipeline sends the gradient of its input before it computes those of its weights:
 * linear layers only, in modes that do so.
 */
bool setup_dgrad_first(const struct setup *setup);
/* Rows of a micro-batch on a rank. */
uint64_t setup_microbatch_rows(const struct setup *setup);
/* At least 1; 1 where gradients of weights do not wait. */
uint64_t setup_wgrad_microbatches(const struct setup *setup);
/*
 * The number that is chosen where the user chooses none: a product that adds to gradients reads and
 * writes them, which is hidden in a product of WGRAD_ROWS rows. A step has WGRAD_PRODUCTS_LEAST of
 * them at least, so that 1F1B keeps a part of the micro-batches only.
 */
#define WGRAD_ROWS 2048
#define WGRAD_PRODUCTS_LEAST 4
#define WGRAD_MICROBATCHES_MOST 4
uint64_t setup_usual_wgrad_microbatches(const struct setup *setup);

/* Fills in what the mode itself decides: shards, chunks. Once, before the setup shrinks. */
void setup_fit_mode(struct setup *setup);

/* The limit for a device with `multiprocessors` multiprocessors; 0: none. */
int setup_collective_multiprocessors(const struct setup *setup, int multiprocessors);

/*
 * A learning rate with which the loss falls from the first step on, for any widths: small against
 * the curvature of a network of this width (sgd, momentum), or a small relative change of every
 * weight per step (adam).
 */
double setup_safe_rate(const struct setup *setup);

/*
 * The same structure (depth, split, precision, optimizer) with a training step of at most `flops`
 * floating-point operations, so that a reference can follow: first the batch shrinks, down to a few
 * rows per rank and micro-batch, then the widths. Returns true when nothing had to shrink.
 */
bool setup_shrink(const struct setup *setup, double flops, struct setup *small);

/*
 * The seed of a model and its batch: of `run_seed`, the widths and the rows of the whole step, and
 * of nothing else. So every split, precision and optimizer begins with the same weights and the
 * same rows, rank r has its rows of the batch that one device has, and first losses can be
 * compared. Before the setup shrinks; suite trainmem has the same.
 */
uint64_t setup_data_seed(uint64_t run_seed, const struct setup *setup);

/* Seeds of the tensors. */
enum setup_tensor { TENSOR_INPUT, TENSOR_LABELS, TENSOR_WEIGHTS, TENSOR_BIASES, TENSOR_COUNT };
uint64_t setup_seed(const struct setup *setup, enum setup_tensor tensor, size_t layer);
/*
 * Weights of a layer are uniform in +-scale: He's variance, so that activations neither vanish nor
 * explode.
 */
double setup_scale(const struct setup *setup, enum setup_tensor tensor, size_t layer);
int32_t setup_label(const struct setup *setup, uint64_t row);

#endif
