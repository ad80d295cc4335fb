/* Keys shared by the suites that train a model: rows of their key tables. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_MODEL_KEYS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_MODEL_KEYS_H

#include "plan/key.h"
#include "suites/training/models/setup.h"

/* "on", "off", NULL */
extern const char *const aliasing_names[];
/* "plain", "depthwise", NULL: of the key `convolution`. */
extern const char *const convolution_names[];

/*
 * Keys of the model. `models`: help of the key model, which lists the models of the suite;
 * `sweeps`: hidden and sequence are axes.
 */
#define MODEL_KEYS(models, sweeps)                                                               \
	{ .name = "model",                                                                       \
	  .type = KEY_CHOICE,                                                                    \
	  .list = true,                                                                          \
	  .fallback = "mlp",                                                                     \
	  .choices = model_kind_names,                                                           \
	  .help = models },                                                                      \
		{ .name = "hidden",                                                              \
		  .type = KEY_INTEGER,                                                           \
		  .list = sweeps,                                                                \
		  .fallback = "1024",                                                            \
		  .min = 8,                                                                      \
		  .max = 1e6,                                                                    \
		  .help = "transformer: hidden size; the MLP of each block is four times as "    \
			  "wide" },                                                              \
		{ .name = "heads",                                                               \
		  .type = KEY_INTEGER,                                                           \
		  .fallback = "16",                                                              \
		  .min = 0,                                                                      \
		  .max = 1e4,                                                                    \
		  .help = "transformer: number of attention heads; hidden / heads must be a "    \
			  "multiple of 8 and at most 128; 0: head size 64 up to hidden = 1024, " \
			  "128 above" },                                                         \
		{ .name = "sequence",                                                            \
		  .type = KEY_INTEGER,                                                           \
		  .list = sweeps,                                                                \
		  .fallback = "1024",                                                            \
		  .min = 1,                                                                      \
		  .max = 1 << 24,                                                                \
		  .help = "transformer: sequence length in tokens" },                            \
		{ .name = "vocabulary",                                                          \
		  .type = KEY_INTEGER,                                                           \
		  .fallback = "50257",                                                           \
		  .min = 2,                                                                      \
		  .max = 1e7,                                                                    \
		  .help = "transformer: number of tokens in the vocabulary" },                   \
		{ .name = "blocks",                                                              \
		  .type = KEY_INTEGER,                                                           \
		  .fallback = "0",                                                               \
		  .min = 0,                                                                      \
		  .max = 152,                                                                    \
		  .help = "number of layers: transformer: blocks (0: 2); convnet: convolutions " \
			  "(0: 3); resnet: 18 (0), 34, 50, 101 or 152" },                        \
		{ .name = "image",                                                               \
		  .type = KEY_INTEGER,                                                           \
		  .fallback = "0",                                                               \
		  .min = 0,                                                                      \
		  .max = 4096,                                                                   \
		  .help = "convnet, resnet: image height and width in pixels; 0: 32 for "        \
			  "convnet, 224 for resnet" },                                           \
		{ .name = "channels",                                                            \
		  .type = KEY_INTEGER,                                                           \
		  .fallback = "0",                                                               \
		  .min = 0,                                                                      \
		  .max = 4096,                                                                   \
		  .help = "convnet, resnet: number of filters of the first convolution; 0: 32 "  \
			  "for convnet, 64 for resnet" },                                        \
		{ .name = "classes",                                                             \
		  .type = KEY_INTEGER,                                                           \
		  .fallback = "0",                                                               \
		  .min = 0,                                                                      \
		  .max = 1e6,                                                                    \
		  .help = "convnet, resnet: number of image classes, at least 2; 0: 10 for "     \
			  "convnet, 1000 for resnet" },                                          \
		{ .name = "convolution",                                                         \
		  .type = KEY_CHOICE,                                                            \
		  .list = true,                                                                  \
		  .fallback = "plain",                                                           \
		  .choices = convolution_names,                                                  \
		  .help = "convnet, resnet: plain: 3 x 3 convolutions; depthwise: a depthwise "  \
			  "and a 1 x 1 convolution instead of each" },                           \
		LAYERS_KEY

#define LAYERS_KEY                                                                       \
	{                                                                                \
		.name = "layers", .type = KEY_INTEGER, .list = true,                     \
		.fallback = "1000,2000,1000,10", .min = 1, .max = 1e6,                   \
		.help = "mlp: widths of the layers: input first, number of classes last" \
	}

#define PRECISION_KEY                                                                              \
	{                                                                                          \
		.name = "precision", .type = KEY_CHOICE, .list = true, .fallback = "fp32",         \
		.choices = training_names,                                                         \
		.help = "mixed: 16-bit weights with FP32 master weights; storage: 16-bit weights " \
			"only"                                                                     \
	}

#define BATCH_KEY(samples)                                                                        \
	{                                                                                         \
		.name = "batch", .type = KEY_INTEGER, .list = true, .fallback = "1024", .min = 1, \
		.max = 1e9, .help = samples                                                       \
	}

#define OPTIMIZER_KEY(lists)                                                                \
	{                                                                                   \
		.name = "optimizer", .type = KEY_CHOICE, .list = lists, .fallback = "adam", \
		.choices = optimizer_names, .help = "optimizer: sgd, momentum or adam"      \
	}

extern const char *const batch_modes[]; /* "strong", "weak", NULL */
#define BATCH_MODE_KEY                                                                           \
	{                                                                                        \
		.name = "batch_mode", .type = KEY_CHOICE, .list = true, .fallback = "strong",    \
		.choices = batch_modes,                                                          \
		.help = "strong: the devices split the batch; weak: each device has a batch of " \
			"this size"                                                              \
	}

#define ALIASING_KEY                                                                               \
	{                                                                                          \
		.name = "aliasing", .type = KEY_CHOICE, .list = true, .fallback = "on",            \
		.choices = aliasing_names,                                                         \
		.help = "on: buffers with disjoint lifetimes share memory; off: every buffer has " \
			"its own memory, so that each memory class can be compared with that of "  \
			"frameworks"                                                               \
	}

/* Keys of searches for the largest step that fits into memory. */
#define SEARCH_KEYS                                                                                \
	{ .name = "memory_limit",                                                                  \
	  .type = KEY_TEXT,                                                                        \
	  .list = true,                                                                            \
	  .fallback = "none",                                                                      \
	  .help = "searches: memory of the GPU to emulate, such as 11441MiB; none: the memory of " \
		  "this GPU" },                                                                    \
		{ .name = "memory_reserve",                                                        \
		  .type = KEY_SIZE,                                                                \
		  .fallback = "128MiB",                                                            \
		  .max = 0x1p44,                                                                   \
		  .help = "searches: memory that stays free on each GPU" },                        \
	{                                                                                          \
		.name = "max_batch", .type = KEY_INTEGER, .fallback = "16777216", .min = 8,        \
		.max = 1e9, .help = "upper end of the search for the largest batch"                \
	}

#define VERIFY_KEY(flops)                                                                      \
	{                                                                                      \
		.name = "verify_flops", .type = KEY_REAL, .fallback = flops, .min = 1,         \
		.max = 1e15,                                                                   \
		.help = "largest number of operations of a step that is verified against the " \
			"double-precision reference; for a larger step, a smaller model is "   \
			"verified instead"                                                     \
	}

#endif
