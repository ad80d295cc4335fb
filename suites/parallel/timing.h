/* Sampling steps, or parts of steps, of a trainer. */
#ifndef GPUPROOF_PARALLEL_TIMING_H
#define GPUPROOF_PARALLEL_TIMING_H

#include "measure/run.h"
#include "suites/parallel/trainer/trainer.h"

/*
 * Samples `parts` of steps as series `name`, in step with the other ranks of run->sampler.world.
 * *out is a copy. STEP_UPDATE alone: of modes whose ranks update all that they hold in one go
 * (trainer_update()).
 */
enum status timing_sample(struct run *run, struct trainer *trainer, unsigned parts,
			  const char *name, struct series *out, struct error *err);
/* The same on this rank alone, whatever the others do. */
enum status timing_sample_alone(struct run *run, struct trainer *trainer, unsigned parts,
				const char *name, struct series *out, struct error *err);

#endif
