/*
 * Collectives inside a transformer's blocks, among the ranks that divide the layers (struct
 * part_links).
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_PARTS_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_PARTS_H

#include "suites/training/parallel/trainer/trainer.h"

/*
 * Opens collectives over `communicator` on `stream`: STREAM_COMPUTE, or a stream that nothing else
 * uses, so that products that need no sum run at the same time. Close with parts_close(), also
 * after a failure.
 */
enum status parts_open(struct trainer *trainer, struct communicator *communicator,
		       enum team_stream stream, struct error *err);
void parts_close(struct trainer *trainer);

/*
 * By formula (rings): bytes that a rank of `parts` sends per token in forward and backward of a
 * transformer's layer.
 */
double parts_sent_bytes(const struct setup *setup, size_t layer, int parts);

#endif
