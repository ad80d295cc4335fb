/* Keys that the suites which train a model share: rows of their key tables. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_MODEL_KEYS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_MODEL_KEYS_H

#include "plan/key.h"
#include "suites/training/models/setup.h"

/* "on", "off", NULL */
extern const char *const aliasing_names[];
/* "plain", "depthwise", NULL: of the key `convolution`. */
extern const char *const convolution_names[];

/*
 * Keys of the model. `models`: help of the key model, which ones a suite takes; `sweeps`: hidden
 * and sequence are axes.
 */
#define MODEL_KEYS(models, sweeps)                                                                 \
	{ .name = "model",                                                                         \
	  .type = KEY_CHOICE,                                                                      \
	  .list = true,                                                                            \
	  .fallback = "mlp",                                                                       \
	  .choices = model_kind_names,                                                             \
	  .help = models },                                                                        \
		{ .name = "hidden",                                                                \
		  .type = KEY_INTEGER,                                                             \
		  .list = sweeps,                                                                  \
		  .fallback = "1024",                                                              \
		  .min = 8,                                                                        \
		  .max = 1e6,                                                                      \
		  .help = "transformer: width of a token; the MLP's is four times that" },         \
		{ .name = "heads",                                                                 \
		  .type = KEY_INTEGER,                                                             \
		  .fallback = "16",                                                                \
		  .min = 0,                                                                        \
		  .max = 1e4,                                                                      \
		  .help = "transformer: of attention; hidden / heads is a multiple of 8, at most " \
			  "128; 0: heads of 64 up to hidden = 1024, of 128 above" },               \
		{ .name = "sequence",                                                              \
		  .type = KEY_INTEGER,                                                             \
		  .list = sweeps,                                                                  \
		  .fallback = "1024",                                                              \
		  .min = 1,                                                                        \
		  .max = 1 << 24,                                                                  \
		  .help = "transformer: tokens of a sample, all different positions" },            \
		{ .name = "vocabulary",                                                            \
		  .type = KEY_INTEGER,                                                             \
		  .fallback = "50257",                                                             \
		  .min = 2,                                                                        \
		  .max = 1e7,                                                                      \
		  .help = "transformer: different tokens" },                                       \
		{ .name = "blocks",                                                                \
		  .type = KEY_INTEGER,                                                             \
		  .fallback = "0",                                                                 \
		  .min = 0,                                                                        \
		  .max = 152,                                                                      \
		  .help = "transformer: of attention and MLP, 0: 2; convnet: convolutions, 0: 3; " \
			  "resnet: 18 (0), 34, 50, 101 or 152" },                                  \
		{ .name = "image",                                                                 \
		  .type = KEY_INTEGER,                                                             \
		  .fallback = "0",                                                                 \
		  .min = 0,                                                                        \
		  .max = 4096,                                                                     \
		  .help = "convnet, resnet: pixels along each side; 0: convnet 32, resnet 224" },  \
		{ .name = "channels",                                                              \
		  .type = KEY_INTEGER,                                                             \
		  .fallback = "0",                                                                 \
		  .min = 0,                                                                        \
		  .max = 4096,                                                                     \
		  .help = "convnet, resnet: filters of the first convolution; 0: convnet 32, "     \
			  "resnet 64" },                                                           \
		{ .name = "classes",                                                               \
		  .type = KEY_INTEGER,                                                             \
		  .fallback = "0",                                                                 \
		  .min = 0,                                                                        \
		  .max = 1e6,                                                                      \
		  .help = "convnet, resnet: of images, at least 2; 0: convnet 10, resnet 1000" },  \
		{ .name = "convolution",                                                           \
		  .type = KEY_CHOICE,                                                              \
		  .list = true,                                                                    \
		  .fallback = "plain",                                                             \
		  .choices = convolution_names,                                                    \
		  .help = "convnet, resnet: depthwise: one filter per channel and then 1 x 1, "    \
			  "instead of 3 x 3" },                                                    \
	{                                                                                          \
		.name = "layers", .type = KEY_INTEGER, .list = true,                               \
		.fallback = "1000,2000,1000,10", .min = 1, .max = 1e6,                             \
		.help = "mlp: widths of the model, input first, classes last"                      \
	}

#define PRECISION_KEY                                                                            \
	{                                                                                        \
		.name = "precision", .type = KEY_CHOICE, .list = true, .fallback = "fp32",       \
		.choices = training_names,                                                       \
		.help = "mixed: FP32 master weights and 16-bit ones; storage: 16-bit ones alone" \
	}

#define BATCH_KEY(samples)                                                                        \
	{                                                                                         \
		.name = "batch", .type = KEY_INTEGER, .list = true, .fallback = "1024", .min = 1, \
		.max = 1e9, .help = samples                                                       \
	}

#define ALIASING_KEY                                                                             \
	{                                                                                        \
		.name = "aliasing", .type = KEY_CHOICE, .list = true, .fallback = "on",          \
		.choices = aliasing_names,                                                       \
		.help = "on: buffers whose lifetimes do not overlap share memory; off: classes " \
			"of memory are comparable with those of frameworks"                      \
	}

/* Keys of searches for the largest step that fits. */
#define SEARCH_KEYS                                                                         \
	{ .name = "memory_limit",                                                           \
	  .type = KEY_TEXT,                                                                 \
	  .list = true,                                                                     \
	  .fallback = "none",                                                               \
	  .help = "searches: memory of the GPUs to emulate, such as 11441MiB, or none" },   \
		{ .name = "memory_reserve",                                                 \
		  .type = KEY_SIZE,                                                         \
		  .fallback = "128MiB",                                                     \
		  .max = 0x1p44,                                                            \
		  .help = "searches: memory that each GPU keeps free" },                    \
	{                                                                                   \
		.name = "max_batch", .type = KEY_INTEGER, .fallback = "16777216", .min = 8, \
		.max = 1e9, .help = "where the search for the largest batch ends"           \
	}

#define VERIFY_KEY(flops)                                                                       \
	{                                                                                       \
		.name = "verify_flops", .type = KEY_REAL, .fallback = flops, .min = 1,          \
		.max = 1e15,                                                                    \
		.help = "largest step that the reference follows; above it a smaller model is " \
			"verified"                                                              \
	}

#endif
