/*
 * Parameter shard of a rank: the parameters of its share that it keeps between steps, and those
 * that its optimizer updates: all, or with a sharded optimizer (ZeRO) a slice of every layer.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_PARAMETER_SHARD_H
#define GPUPROOF_SUITES_TRAINING_MODELS_PARAMETER_SHARD_H

#include "suites/training/models/model.h"

/* A range of parameters that this rank's optimizer updates, as offsets in each array. */
struct shard_range {
	uint64_t flat, count; /* in the partition's flat order */
	uint64_t weights, gradients, master, moments;
};

struct parameter_shard {
	uint64_t elements; /* of the partition */
	/*
	 * Elements of each array; moments or masters that this setup does not use are not
	 * allocated. weights 0: the mode rounds the masters when it needs weights.
	 */
	uint64_t weights, gradients, master, moments;
	struct shard_range ranges[SETUP_MAX_LAYERS];
	size_t count;
	/* Another rank sends the weights in every step. */
	bool receives_weights;
};

/* The share and shard of rank `rank`. */
void parameter_shard_of(const struct setup *setup, int rank, struct rank_partition *partition,
			struct parameter_shard *shard);

/*
 * False if its ranges contain only alignment gaps, which is possible for a tiny layer. `local`: the
 * partition's model.
 */
bool parameter_shard_has_parameters(const struct parameter_shard *shard, const struct model *local);

/* True if one range contains all elements: the optimizer is not sharded. */
bool parameter_shard_is_whole(const struct parameter_shard *shard);

#endif
