/*
 * Data parallel with a divided optimizer (ZeRO, Rajbhandari et al., SC 2020): every layer's
 * parameters are cut into one slice per rank, and a rank updates only its own. Stage 1 keeps all
 * gradients, stage 2 only the sums of its slices.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_MODES_ZERO_H
#define GPUPROOF_SUITES_PARALLEL_MODES_ZERO_H

#include "suites/parallel/modes/data_parallel.h"

/* Members of struct mode. */
void zero_fit(struct setup *setup);
void zero_hold(const struct setup *setup, int rank, int stage, struct parameter_shard *shard);
uint64_t zero_buffers(const struct setup *setup, int stage);
enum status zero_open(struct trainer *trainer, int stage, struct error *err);
void zero_close(struct trainer *trainer);
enum status zero_enqueue(struct trainer *trainer, unsigned parts, struct error *err);
unsigned zero_commands(const struct trainer *trainer);
double zero_wire_bytes(const struct setup *setup);

#define ZERO_MODE(stage_, summary_)                                                                \
	static void shard_of_rank(const struct setup *setup, int rank,                             \
				  struct parameter_shard *shard)                                   \
	{                                                                                          \
		zero_hold(setup, rank, stage_, shard);                                             \
	}                                                                                          \
	static uint64_t buffers(const struct setup *setup, int rank)                               \
	{                                                                                          \
		(void)rank;                                                                        \
		return zero_buffers(setup, stage_);                                                \
	}                                                                                          \
	static enum status open_mode(struct trainer *trainer, struct error *err)                   \
	{                                                                                          \
		return zero_open(trainer, stage_, err);                                            \
	}                                                                                          \
	const struct mode mode_zero##stage_ = {                                                    \
		.name = "zero" #stage_,                                                            \
		.summary = summary_,                                                               \
		.bucketed = true,                                                                  \
		.overlap = OVERLAP_FORWARD | OVERLAP_BACKWARD,                                     \
		.aliases_buffers = true,                                                           \
		.runs_on = true,                                                                   \
		.replicated = true,                                                                \
		.accumulates = (stage_) == 1,                                                      \
		.recomputes = true,                                                                \
		.refusal = data_parallel_refusal,                                                  \
		.fit = zero_fit,                                                                   \
		.share = data_parallel_share,                                                      \
		.shard = shard_of_rank,                                                            \
		.buffers = buffers,                                                                \
		.open = open_mode,                                                                 \
		.close = zero_close,                                                               \
		.enqueue = zero_enqueue,                                                           \
		.commands = zero_commands,                                                         \
		.wire_bytes = zero_wire_bytes,                                                     \
		.bubble = mode_nothing,                                                            \
	}

#endif
