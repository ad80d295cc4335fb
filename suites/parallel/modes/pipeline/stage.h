/*
 * Forward and backward of one micro-batch in a pipeline stage, on the compute stream. The layers
 * may be whole or tensor-parallel; replicas of the stage (data parallelism) reduce their gradients.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_MODES_PIPELINE_STAGE_H
#define GPUPROOF_SUITES_PARALLEL_MODES_PIPELINE_STAGE_H

#include "suites/parallel/trainer/trainer.h"

/* One backward pass, or several that share wgrad products: rows [row, row + rows) of this rank. */
struct micro {
	/* numbers of the first and the last backward pass in the step */
	uint64_t since, turn;
	uint64_t index;
	uint64_t row, rows;
	/*
	 * Gradients of the stage's output (NULL: written by the loss) and input (NULL: not needed).
	 */
	void *dy, *dx;
	unsigned parts; /* enum step_part */
};

enum status stage_forward(struct trainer *trainer, uint64_t row, uint64_t rows, unsigned parts,
			  struct error *err);

/*
 * The two halves of backward of layers [first, last); `last` is the `first` of the previous call
 * (backward_schedule.h). First dgrad, with recomputation of activations that were not kept; then
 * wgrad, followed in the step's last backward pass by the reduction over all replicas.
 */
enum status stage_input_gradients(struct trainer *trainer, const struct micro *micro, size_t first,
				  size_t last, struct error *err);
enum status stage_weight_gradients(struct trainer *trainer, const struct micro *micro, size_t first,
				   size_t last, struct error *err);

/* Call after the last backward pass: the update may begin. */
enum status stage_finish(struct trainer *trainer, unsigned parts, struct error *err);

#endif
