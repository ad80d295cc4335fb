/*
 * Steps that are timed one by one, with what each takes of memory: what only the first use shows.
 */
#ifndef GPUPROOF_MEASURE_STEPS_H
#define GPUPROOF_MEASURE_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define STEPS_MOST 8

struct steps_work {
	enum status (*steps[STEPS_MOST])(void *state, struct error *err); /* up to the first NULL */
	/*
	 * Bytes of device memory in use by any process; -1: unknown. Asked before the first step
	 * and after each.
	 */
	int64_t (*device_bytes)(void *state);
};

struct steps_taken {
	size_t done; /* steps that were carried out */
	struct {
		double seconds;
		int64_t device_bytes;   /* more than before the step; -1: unknown */
		int64_t resident_bytes; /* the process's own memory, more than before */
	} steps[STEPS_MOST];
};

/*
 * Up to the first step that fails, whose status and message it returns. `out` is zero when it
 * begins.
 */
enum status steps_take(const struct steps_work *work, void *state, struct steps_taken *out,
		       struct error *err);

#endif
