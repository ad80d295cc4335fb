/*
 * Layer splits: each rank has a stage of neighbouring layers; activations go down the stages,
 * gradients back up, in micro-batches. The modes differ in the order in which a stage takes
 * forwards and backwards, and so in how many micro-batches it must keep:
 *
 *     warm-up forwards, then one forward and one backward in turn, then the rest of the backwards.
 *
 * A stage computes and sends dgrad before it computes wgrad (backward_schedule.h), except in
 * layer_split.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_PIPELINE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_PIPELINE_H

#include "suites/training/parallel/trainer/trainer.h"

/* Forwards of stage `stage` of `stages` before its first backward, of `micro` micro-batches. */
typedef uint64_t pipeline_warmup(int stages, int stage, uint64_t micro);
pipeline_warmup pipeline_warmup_all, pipeline_warmup_plain, pipeline_warmup_eager;

/* Micro-batches whose activations a stage keeps at a time. */
uint64_t pipeline_in_flight(pipeline_warmup *warmup, int stages, int stage, uint64_t micro);

/*
 * Backward passes whose gradients of weights are one product that follows pass `turn`; 0: none
 * does (setup_wgrad_microbatches()). Before the last stage the step's last pass has a product of
 * its own: the others are computed while its gradient is waited for.
 */
uint64_t pipeline_product(const struct setup *setup, bool last_stage, uint64_t turn);

/* The members of struct mode. */
const char *pipeline_refusal(const struct setup *setup);
void pipeline_partition(const struct setup *setup, int rank, pipeline_warmup *warmup,
			struct rank_partition *partition, uint64_t *step_rows);
uint64_t pipeline_buffers(const struct setup *setup, int rank);
enum status pipeline_open(struct trainer *trainer, pipeline_warmup *warmup, struct error *err);
void pipeline_close(struct trainer *trainer);
void pipeline_tuned(struct trainer *trainer);
enum status pipeline_enqueue(struct trainer *trainer, unsigned parts, struct error *err);
unsigned pipeline_commands(const struct trainer *trainer);
double pipeline_wire_bytes(const struct setup *setup);
/*
 * (p - 1) / (m + p - 1), whatever the order of forwards and backwards: of backwards that are sent
 * whole. Where gradients of inputs go first, stages idle less: with equal products 2 (p - 1) / (3 m
 * + 2 (p - 1)). Where micro-batches share products, by the schedule of equal stages.
 */
double pipeline_bubble(const struct setup *setup);

#endif
