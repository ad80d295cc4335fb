/*
 * Reductions (and gathers) that run one after another while a device computes, as a prediction sees
 * them: each begins when its gradients are there and the one before is done. For predict.c.
 */
#ifndef GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_REDUCTIONS_H
#define GPUPROOF_SUITES_PARALLEL_PREDICT_PREDICT_REDUCTIONS_H

#include "suites/parallel/modes/data_parallel.h"

/*
 * Share of its speed that each keeps while both run, since they share multiprocessors and memory.
 * The only figures of a prediction that its run has not measured: predict_contention_share() says
 * what depends on them. Timelines of ddp on eight H200s over NCCL: 256 MiB take 1.36 ms alone, 1.7
 * during products and 2.1 during the optimizer, which wants all of the memory for three quarters of
 * that time; backward takes 8.3 ms instead of 6.5, an update 0.53 instead of 0.44.
 */
#define COMPUTE_DURING_REDUCTION 0.8
#define REDUCTION_DURING_GEMM 0.8
#define REDUCTION_DURING_OPTIMIZER 0.5

/*
 * Largest number in a step: the buckets of ddp, two chunks or two sums of each layer of tensor
 * parallelism going forward and back, or all that zero3 moves.
 */
#define REDUCTIONS_MOST (4 * SETUP_MAX_LAYERS)

struct reductions {
	double now; /* when what was computed so far is done; seconds */
	/*
	 * Cost of recording an event, and latency until another stream that waits for it continues.
	 */
	double event_record, stream_wait;
	bool no_contention; /* neither slows the other down */
	size_t count, done;
	double seconds[REDUCTIONS_MOST]; /* of each */
	double left;                     /* of the one that runs, at full speed */
};

/*
 * Gradients that are there now; their reduction alone takes `seconds`. It is handed over to its
 * stream.
 */
void reductions_add(struct reductions *reductions, double seconds);
/*
 * Computes for `seconds` (without contention) from now on; a concurrent reduction keeps `speed` of
 * its own. Returns when it is done.
 */
double reductions_compute(struct reductions *reductions, double seconds, double speed);
/*
 * Waits for number `i`, which hands over if it is not done yet. Returns when both it and what was
 * computed are done.
 */
double reductions_wait(struct reductions *reductions, size_t i);

#endif
