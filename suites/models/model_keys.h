/* Keys that describe a model, of all suites that train one: rows of their key tables. */
#ifndef GPUPROOF_SUITES_MODELS_MODEL_KEYS_H
#define GPUPROOF_SUITES_MODELS_MODEL_KEYS_H

#include "plan/key.h"
#include "suites/models/setup.h"

/* "plain", "depthwise", NULL: of the key `convolution`. */
extern const char *const convolution_names[];

#define LAYERS_KEY                                                            \
	{                                                                     \
		.name = "layers", .type = KEY_INTEGER, .list = true,          \
		.fallback = "1000,2000,1000,10", .min = 1, .max = 1e6,        \
		.help = "mlp: widths of the model, input first, classes last" \
	}

/* `sweeps`: hidden and sequence are axes. */
#define TRANSFORMER_KEYS(sweeps)                                                              \
	{ .name = "hidden",                                                                   \
	  .type = KEY_INTEGER,                                                                \
	  .list = sweeps,                                                                     \
	  .fallback = "1024",                                                                 \
	  .min = 8,                                                                           \
	  .max = 1e6,                                                                         \
	  .help = "transformer: width of a token; the MLP's is four times that" },            \
		{ .name = "heads",                                                            \
		  .type = KEY_INTEGER,                                                        \
		  .fallback = "16",                                                           \
		  .min = 0,                                                                   \
		  .max = 1e4,                                                                 \
		  .help = "transformer: of attention; hidden / heads is a multiple of 8, at " \
			  "most 128; 0: heads of 64 up to hidden = 1024, of 128 above" },     \
		{ .name = "sequence",                                                         \
		  .type = KEY_INTEGER,                                                        \
		  .list = sweeps,                                                             \
		  .fallback = "1024",                                                         \
		  .min = 1,                                                                   \
		  .max = 1 << 24,                                                             \
		  .help = "transformer: tokens of a sample, all different positions" },       \
	{                                                                                     \
		.name = "vocabulary", .type = KEY_INTEGER, .fallback = "50257", .min = 2,     \
		.max = 1e7, .help = "transformer: different tokens"                           \
	}

#define BLOCKS_KEY                                                                               \
	{                                                                                        \
		.name = "blocks", .type = KEY_INTEGER, .fallback = "0", .min = 0, .max = 152,    \
		.help = "transformer: of attention and MLP, 0: 2; convnet: convolutions, 0: 3; " \
			"resnet: 18 (0), 34, 50, 101 or 152"                                     \
	}

#define IMAGE_KEYS                                                                                \
	{ .name = "image",                                                                        \
	  .type = KEY_INTEGER,                                                                    \
	  .fallback = "0",                                                                        \
	  .min = 0,                                                                               \
	  .max = 4096,                                                                            \
	  .help = "convnet, resnet: pixels along each side; 0: convnet 32, resnet 224" },         \
		{ .name = "channels",                                                             \
		  .type = KEY_INTEGER,                                                            \
		  .fallback = "0",                                                                \
		  .min = 0,                                                                       \
		  .max = 4096,                                                                    \
		  .help = "convnet, resnet: filters of the first convolution; 0: convnet 32, "    \
			  "resnet 64" },                                                          \
		{ .name = "classes",                                                              \
		  .type = KEY_INTEGER,                                                            \
		  .fallback = "0",                                                                \
		  .min = 0,                                                                       \
		  .max = 1e6,                                                                     \
		  .help = "convnet, resnet: of images, at least 2; 0: convnet 10, resnet 1000" }, \
	{                                                                                         \
		.name = "convolution", .type = KEY_CHOICE, .list = true, .fallback = "plain",     \
		.choices = convolution_names,                                                     \
		.help = "convnet, resnet: depthwise: one filter per channel and then 1 x 1, in "  \
			"place of 3 x 3"                                                          \
	}

#endif
