/* The study `step`: one step's gradients checked, its time taken, its books kept. */
#ifndef GPUPROOF_TRAINMEM_MEASURE_H
#define GPUPROOF_TRAINMEM_MEASURE_H

#include "measure/run.h"
#include "suites/trainmem/training.h"

struct trainmem_options {
	struct training_options training;
	double verify_flops;
	double process_seconds; /* most for a process of its own */
};

enum status measure_step(struct run *run, const struct setup *setup,
			 const struct trainmem_options *options, struct error *err);
/* Batches that alternate are so many parts of the setup's, or fewer: its batch divides by them. */
#define ALTERNATION_PARTS 8
/* Steps with batches of changing size: what the policy makes of them, and how long they take. */
enum status measure_alternating(struct run *run, const struct setup *setup,
				const struct trainmem_options *options, struct error *err);

/* The step that keeps everything it computes, in one allocation: what the others are compared with. */
struct training_options plain_options(void);
struct setup plain_setup(const struct setup *setup);

#endif
