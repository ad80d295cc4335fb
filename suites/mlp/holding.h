/*
 * Which of its share's parameters a rank keeps from step to step, and which of them its optimizer
 * updates: all, or a slice of every layer when the ranks divide the optimizer's work (ZeRO).
 */
#ifndef GPUPROOF_SUITES_MLP_HOLDING_H
#define GPUPROOF_SUITES_MLP_HOLDING_H

#include "suites/mlp/model.h"

/* A range of parameters that this rank's optimizer updates: where it is in each array. */
struct span {
	uint64_t flat, count; /* in the share's flat order */
	uint64_t weights, gradients, master, moments;
};

struct holding {
	uint64_t elements; /* of the share */
	/* Elements of each array; without moments or masters in this setup nothing is allocated. */
	uint64_t weights, gradients, master, moments;
	struct span spans[SETUP_MAX_LAYERS];
	size_t count;
	/* The weights come from another rank in every step. */
	bool receives_weights;
};

/* All `elements`, updated here. */
void holding_all(struct holding *holding, uint64_t elements);

struct setup;
/* What rank `rank` holds, and its share. */
void holding_of(const struct setup *setup, int rank, struct share *share, uint64_t *step_rows,
		struct holding *holding);

/* Whether any of its spans has parameters: of a tiny layer a slice may be nothing but the gap behind it. `local`: the share's. */
bool holding_has_parameters(const struct holding *holding, const struct model *local);

/* One span has everything: the ranks do not divide the optimizer's work. */
bool holding_is_whole(const struct holding *holding);

#endif
