/* Display texts of parameters that several suites share, for their `struct word_row` tables. */
#ifndef GPUPROOF_SUITES_SHARED_WORDS_H
#define GPUPROOF_SUITES_SHARED_WORDS_H

/* Precisions without tensor cores: rows of metric.kinds, for METRIC_TENSOR. */
#define WITHOUT_TENSOR_CORES                                                          \
	{ "precision", "fp64", METRIC_TIMED }, { "precision", "fp32", METRIC_TIMED }, \
	{                                                                             \
		0                                                                     \
	}

#define PRECISION_WORDS                                                                          \
	{ "precision", "fp64", "FP64" }, { "precision", "fp32", "FP32" },                        \
		{ "precision", "tf32", "TF32" }, { "precision", "fp16", "FP16" },                \
		{ "precision", "bf16", "BF16" }, { "precision", "fp16_storage", "FP16 only" },   \
		{ "precision", "fp16_mixed", "FP16 mixed" },                                     \
		{ "precision", "bf16_mixed", "BF16 mixed" },                                     \
		{ "precision", "fp16_acc16", "FP16, FP16 sums" }, { "precision", "fp8", "FP8" }, \
	{                                                                                        \
		"precision", "int8", "INT8"                                                      \
	}

#define TRANSPORT_WORDS                                                        \
	{ "transport", "nccl", "over NCCL" },                                  \
		{ "transport", "shared_memory", "over shared memory" },        \
		{ "transport", "peer_copy", "by copies to the other device" }, \
		{ "transport", "host_copy", "by copies through the host" },    \
	{                                                                      \
		"transport", "tcp", "over TCP"                                 \
	}

#define ALLOCATOR_WORDS                                                  \
	{ "allocator", "pool_release", "pool, threshold 0" },            \
		{ "allocator", "vmm", "virtual memory mapping" },        \
		{ "allocator", "caching", "caching, rules of PyTorch" }, \
		{ "allocator", "bfc", "best fit, one region" },          \
	{                                                                \
		"allocator", "bfc_growth", "best fit, growing regions"   \
	}

#endif
