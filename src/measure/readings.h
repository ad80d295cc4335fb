/*
 * Samples durations that another process measures, several per call, which run_sample() cannot do.
 */
#ifndef GPUPROOF_MEASURE_READINGS_H
#define GPUPROOF_MEASURE_READINGS_H

#include "measure/run.h"

/* Fills `seconds`, one per name; NaN for missing values. */
typedef enum status readings_fn(void *state, double *seconds, struct error *err);

struct readings {
	readings_fn *take;
	void *state;
	const char *const *names; /* names of the series; the first decides when to stop */
	size_t count;             /* number of names, at most READINGS_MOST */
	int64_t least;            /* sufficient number of samples, whatever the rules require */
};
#define READINGS_MOST 16

/*
 * Samples into one series per name. The first sample is stored separately. Continues for at least
 * `least` samples (or the rules' minimum, if smaller) until the first series' interval is as narrow
 * as the rules require, or their time or number is reached. *out: the series in the order of the
 * names; owned by the result, valid until the next one is added.
 */
enum status run_readings(struct run *run, const struct readings *readings,
			 const struct series **out, struct error *err);

#endif
