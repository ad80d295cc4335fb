/*
 * What a stage of a pipeline does with one micro-batch, on the compute stream. Its layers may be whole, or shared by
 * ranks that have parts of them and add up what they compute; and there may be replicas of the stage, which add
 * up their gradients.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_MODES_PIPELINE_STAGE_H
#define GPUPROOF_SUITES_PARALLEL_MODES_PIPELINE_STAGE_H

#include "suites/parallel/trainer/trainer.h"

/* What goes back: the rows [row, row + rows) of the rank's. */
struct micro {
	uint64_t
		turn; /* of the step's backwards: the first sets the weights' gradients, the others add to them */
	uint64_t index;
	uint64_t row, rows;
	void *dy,
		*dx; /* the gradients of the stage's output (NULL: the loss has left them) and input (NULL: not wanted) */
	unsigned parts; /* enum step_part */
};

enum status stage_forward(struct trainer *trainer, uint64_t row, uint64_t rows, unsigned parts,
			  struct error *err);

/*
 * The halves of the backward of layers [first, last), which end where the half before began: turns.h. First from the
 * gradient of the outputs to that of the inputs, computing again what was not kept; then the gradients of the
 * weights, which in the last turn go on to the sum over all replicas.
 */
enum status stage_input_gradients(struct trainer *trainer, const struct micro *micro, size_t first,
				  size_t last, struct error *err);
enum status stage_weight_gradients(struct trainer *trainer, const struct micro *micro, size_t first,
				   size_t last, struct error *err);

/* Behind the last of them: the update may begin. */
enum status stage_finish(struct trainer *trainer, unsigned parts, struct error *err);

#endif
