/*
 * Collectives inside a transformer's blocks, of ranks that have parts of the same layers
 * (struct part_links).
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_PARTS_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_TRAINER_PARTS_H

#include "suites/training/parallel/trainer/trainer.h"

/*
 * Over `communicator`, on `stream`: STREAM_COMPUTE, or one that nothing else uses, so that products
 * which need no sum run meanwhile. Closed by parts_close(), also after a failure.
 */
enum status parts_open(struct trainer *trainer, struct communicator *communicator,
		       enum team_stream stream, struct error *err);
void parts_close(struct trainer *trainer);

/* Call at the begin of a step: blocks then compute, and communicate, as `parts` say. */
void parts_begin(struct trainer *trainer, unsigned parts);

/*
 * By formula (rings): bytes that each token makes a rank of `parts` send in forward and backward of
 * a transformer's layer.
 */
double parts_sent_bytes(const struct setup *setup, size_t layer, int parts);

#endif
