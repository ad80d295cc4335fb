/*
 * How dW = dY^T X is computed. The product may read dY as it lies or a transposed copy, which the
 * pass that masks dY writes as well: some devices multiply far slower when both operands lie
 * across the sum (TF32 on Hopper: 250 against 400 TFLOP/s).
 */
#ifndef GPUPROOF_SUITES_MLP_GEMM_ROUTES_H
#define GPUPROOF_SUITES_MLP_GEMM_ROUTES_H

#include "suites/mlp/setup.h"

struct network;
struct world;

/*
 * Settles network->routes[layer] and what it needs, once per layer: as the setup says; if it
 * leaves the choice, by timing both on `dy` and `y` (as for network_output_gradient()), all rows of
 * a backward call. Only while the network is settling: it allocates and waits.
 */
enum status route_settle(struct network *network, struct stream *stream, size_t layer, void *dy,
			 const void *y, struct error *err);

/*
 * Collective, when all routes are settled. The parts of a layer that is cut along its rows each add up its whole bias'
 * gradient, and the order of that sum may depend on the route: where one of them has taken the direct one, all do.
 */
void routes_agree(struct network *network, struct world *world);

#endif
