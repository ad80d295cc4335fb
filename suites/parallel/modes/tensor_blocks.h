/*
 * Tensor parallelism of a transformer (Shoeybi et al. 2019, arXiv:1909.08053): every rank has some
 * heads of each block's attention and some columns inside its MLP; the sums after both products,
 * and of their inputs' gradients going back, are over all ranks. Each has some tokens of the
 * vocabulary: rows of the embedding's table and outputs of the head, whose loss joins the ranks'
 * maxima and sums of each row. With sequence parallelism (Korthikanti et al. 2022,
 * arXiv:2205.05198) what is between the products is not computed and kept by every rank but shared
 * by rows.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_MODES_TENSOR_BLOCKS_H
#define GPUPROOF_SUITES_PARALLEL_MODES_TENSOR_BLOCKS_H

#include "suites/parallel/trainer/trainer.h"

/* Members of struct mode, for a transformer. */
const char *tensor_blocks_refusal(const struct setup *setup);
void tensor_blocks_partition(const struct setup *setup, int rank, struct rank_partition *partition,
			     uint64_t *step_rows);
enum status tensor_blocks_open(struct trainer *trainer, struct error *err);
enum status tensor_blocks_enqueue(struct trainer *trainer, unsigned parts, struct error *err);
unsigned tensor_blocks_commands(const struct trainer *trainer);
double tensor_blocks_wire_bytes(const struct setup *setup);

#endif
