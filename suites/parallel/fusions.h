/*
 * Whether the forward product of a layer adds the bias and applies the ReLU itself, or leaves both
 * to a pass of their own: with some algorithms that is slower than the pass it saves.
 */
#ifndef GPUPROOF_PARALLEL_FUSIONS_H
#define GPUPROOF_PARALLEL_FUSIONS_H

#include "suites/parallel/setup.h"

struct network;

/*
 * Settles network->fusions[layer], once per layer: as the setup says; if it leaves the choice, by
 * timing both on rows [row, row + rows). Only while the network is settling.
 */
enum status fusion_settle(struct network *network, struct stream *stream, size_t layer,
			  uint64_t row, uint64_t rows, struct error *err);

#endif
