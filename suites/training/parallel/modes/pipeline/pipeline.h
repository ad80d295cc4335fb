/*
 * Pipelines: each rank has a stage of neighbouring layers; activations are sent to later stages and
 * gradients to earlier ones, in micro-batches. The modes differ in the order of a stage's forwards
 * and backwards, and so in the number of micro-batches that it must keep:
 *
 *     warm-up forwards, then one forward and one backward in turn, then the rest of the backwards.
 *
 * A stage computes and sends dgrad before it computes wgrad (backward_schedule.h), except in
 * layer_split.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_PIPELINE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_MODES_PIPELINE_PIPELINE_H

#include "suites/training/parallel/trainer/trainer.h"

/*
 * Number of forwards of stage `stage` of `stages` before its first backward, with `micro`
 * micro-batches.
 */
typedef uint64_t pipeline_warmup(int stages, int stage, uint64_t micro);
pipeline_warmup pipeline_warmup_all, pipeline_warmup_plain, pipeline_warmup_eager;

/* Number of micro-batches whose activations a stage keeps at a time. */
uint64_t pipeline_in_flight(pipeline_warmup *warmup, int stages, int stage, uint64_t micro);

/*
 * Number of backward passes that share the wgrad product after pass `turn`; 0: no product follows
 * (setup_wgrad_microbatches()). Before the last stage, the step's last pass has its own product:
 * the others are computed while the stage waits for its gradient.
 */
uint64_t pipeline_product(const struct setup *setup, bool last_stage, uint64_t turn);

/* Members of struct mode. */
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
 * Idle share of a step: (p - 1) / (m + p - 1) for any order of forwards and backwards, if backwards
 * are sent whole. With gradients of inputs first, stages idle less: for equal products 2 (p - 1) /
 * (3 m + 2 (p - 1)). With shared wgrad products: from the schedule of equal stages.
 */
double pipeline_bubble(const struct setup *setup);

#endif
