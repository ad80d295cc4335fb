/* Activations that a transformer's blocks keep for backward: measured and published values. */
#ifndef GPUPROOF_PARALLEL_BLOCK_MEMORY_H
#define GPUPROOF_PARALLEL_BLOCK_MEMORY_H

#include "suites/training/models/network.h"

/* Bytes of one rank. */
struct block_memory {
	double kept;      /* inputs of blocks and their inner tensors */
	double published; /* by formula, with fused attention */
	double unfused;   /* with the scores of unfused attention */
};

/*
 * Korthikanti et al. 2022, arXiv:2205.05198, section 4, for 16 bits and per block: 34 s b h; with t
 * tensor-parallel ranks s b h (10 + 24 / t), with sequence parallelism 34 s b h / t; plus 5 a s^2 b
 * / t if attention is not fused; with recomputation 2 s b h per block, plus one whole block. If
 * outputs of norms and GELU are recomputed, 12 of the 34 are stored once for all blocks. Other
 * precisions change all sizes except the dropout masks of one byte. s b: tokens that the rank keeps
 * at a time. All zero for a rank without blocks.
 */
struct block_memory block_memory_of(const struct network *network);

#endif
