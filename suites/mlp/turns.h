/*
 * Which layers of a rank go back together, and in which buffers their gradients are meanwhile.
 *
 * Backward has two halves: the gradient of a layer's input, which the layers before wait for, and that of its weights,
 * which nobody needs before the update. A stage of a pipeline (struct mode: `inputs_first`) carries out the first half
 * of all its layers, sends what comes out, and only then does the second half: the stages before wait for a half of
 * each stage behind them rather than for the whole, and the sending lies beside products. (The split into B and W of
 * "zero bubble" pipelines: Qi, Wan, Huang, Lin 2023, arXiv:2401.10241. Here the second half follows at once.)
 *
 * The price: what the second half needs of every layer that goes back together, a group, is kept until it comes. That is
 * the gradient of the outputs or, where the route of the weights' gradient has one, its transposed copy (routes.h). A
 * group is the whole stage, or one segment of layers that are computed again, whose activations the next segment
 * overwrites. The first stage sends nothing, and in other modes nobody waits: there each layer is a group, and two
 * buffers are used in turn.
 */
#ifndef GPUPROOF_SUITES_MLP_TURNS_H
#define GPUPROOF_SUITES_MLP_TURNS_H

#include "suites/mlp/network.h"

bool turns_inputs_first(const struct network *network);
/* The first layer of the group whose last layer is `last` - 1. */
size_t turns_group(const struct network *network, size_t last);

/* Which of network->transient has the gradient of activations[l], between the share's layers. */
size_t turns_transient(const struct network *network, size_t l);
/* Columns of the widest gradient in one of them; 0: nobody uses it. */
uint64_t turns_transient_columns(const struct network *network, size_t buffer);

/* Which of network->transposed has the transposed gradients of the outputs of layer `l`; their widest. */
size_t turns_transposed(const struct network *network, size_t l);
uint64_t turns_transposed_columns(const struct network *network, size_t buffer);

/*
 * When all routes are settled: where every layer has a transposed copy, gradients of activations have been used when
 * the next but one is written. Gives up all but two of their buffers.
 */
void turns_settled(struct network *network);

#endif
