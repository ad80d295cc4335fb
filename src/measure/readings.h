/*
 * Durations that come several at a time and that another process has timed: what run_sample()
 * cannot take itself.
 */
#ifndef GPUPROOF_MEASURE_READINGS_H
#define GPUPROOF_MEASURE_READINGS_H

#include "measure/run.h"

/* Fills `seconds`, one for each name; NaN for what there is not. */
typedef enum status readings_fn(void *state, double *seconds, struct error *err);

struct readings {
	readings_fn *take;
	void *state;
	const char *const *names; /* of the series, the one that decides when to stop first */
	size_t count;             /* of names; at most READINGS_MOST */
	int64_t least; /* samples; more than that are not waited for, whatever the rules ask */
};
#define READINGS_MOST 16

/*
 * Samples into one series a name: the first apart, then at least `least` (or what the rules ask
 * for, the smaller), until the first series' interval is as narrow as the rules want, or their time
 * or number is reached. *out: the series, in the order of the names; owned by the result, valid
 * until the next.
 */
enum status run_readings(struct run *run, const struct readings *readings,
			 const struct series **out, struct error *err);

#endif
