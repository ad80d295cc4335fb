/*
 * Cost of the harness itself: an empty operation on the host's clock, so that everything measured
 * is ours. Prints the cost inside the timed window (it is in every number) and around it (it is in
 * every run's duration).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "measure/sampling/sampling.h"
#include "result/statistics.h"

static enum status nothing(void *state, unsigned batch, struct error *err)
{
	(void)state;
	(void)batch;
	(void)err;
	return STATUS_OK;
}

int main(void)
{
	static const struct backend none = { .abi = BACKEND_ABI,
					     .name = "none",
					     .module = "bench" };
	static const int64_t counts[] = { 10, 100, 1000, 10000 };
	struct device device = { .backend = &none };

	printf("%8s %22s %22s\n", "samples", "in the window, median", "around it, per sample");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const struct sampling rules = { .min_samples = counts[i],
						.max_samples = counts[i],
						.target = 1e-9,
						.max_seconds = 60,
						.sample_seconds = 1e-9 };
		struct sampler sampler = { .rules = &rules, .device = &device };
		struct workload w = { .launch = nothing, .clock = CLOCK_HOST, .max_batch = 1 };
		struct series series = { 0 };
		struct error err = ERROR_NONE;
		double start = clock_seconds(), seconds;

		if (sample(&sampler, &w, &series, &err) != STATUS_OK) {
			fprintf(stderr, "%s\n", err.message);
			return 1;
		}
		seconds = clock_seconds() - start;
		printf("%8zu %19.0f ns %19.0f ns\n", series.count, 1e9 * series.statistics.median,
		       1e9 * seconds / (double)series.count);
		free(series.samples);
	}
	return 0;
}
