/* Activations that blocks of a transformer keep for backward: measured, and as published. */
#ifndef GPUPROOF_PARALLEL_BLOCK_MEMORY_H
#define GPUPROOF_PARALLEL_BLOCK_MEMORY_H

#include "suites/training/models/network.h"

/* Bytes of one rank. */
struct block_memory {
	double kept;      /* inputs of blocks, and tensors inside */
	double published; /* by formula, attention fused */
	double unfused;   /* with the scores of attention that is not */
};

/*
 * Korthikanti et al. 2022, arXiv:2205.05198, section 4, in 16 bits and per block: 34 s b h, of
 * tensor parallel ranks s b h (10 + 24 / t), with sequence parallelism 34 s b h / t; 5 a s^2 b / t
 * more if attention is not fused; 2 s b h where the block is recomputed, and one of these whole.
 * Outputs of norms and GELU that are recomputed are 12 of the 34, and kept once for all blocks.
 * In other precisions what are not masks of dropout, of a byte each, takes more. s b: the tokens
 * that the rank keeps at a time. All zero of a rank without blocks.
 */
struct block_memory block_memory_of(const struct network *network);

#endif
