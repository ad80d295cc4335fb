/* Steps timed one by one, with the memory that each allocates: costs of the first use. */
#ifndef GPUPROOF_MEASURE_STEPS_H
#define GPUPROOF_MEASURE_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define STEPS_MOST 8

struct steps_work {
	enum status (*steps[STEPS_MOST])(void *state, struct error *err); /* terminated by NULL */
	/*
	 * Bytes of device memory used by all processes; -1: unknown. Called before the first step
	 * and after each.
	 */
	int64_t (*device_bytes)(void *state);
};

struct steps_taken {
	size_t done; /* number of completed steps */
	struct {
		double seconds;
		int64_t device_bytes;   /* increase during the step; -1: unknown */
		int64_t resident_bytes; /* increase of the process's resident memory */
	} steps[STEPS_MOST];
};

/*
 * Runs the steps up to the first that fails, and returns its status and message. `out` is zero at
 * the start.
 */
enum status steps_take(const struct steps_work *work, void *state, struct steps_taken *out,
		       struct error *err);

#endif
