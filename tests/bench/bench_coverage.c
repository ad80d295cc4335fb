/*
 * usage: bench_coverage [SERIES]   (500)
 *
 * How often the interval of a series that ends by the stop rule holds the true median, how
 * many samples that costs, and how many steady series lose samples as warm-up: by shape of noise
 * and by its standard deviation over the target. It asks the program's own functions; only the
 * samples are simulated. tests/unit/measure/test_stop_rule.c checks the same in reduced size.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "sample_noise.h"

static const double deviations[] = { 0.5, 1, 1.5, 2, 3, 5, 8 };

static void table(const char *title, const struct sampling *rules, int series)
{
	printf("\n%s: coverage %% / samples, by deviation over target; dropped %%; without "
	       "interval %%\n",
	       title);
	for (size_t i = 0; i < ARRAY_SIZE(noise_shapes); i++) {
		struct noise_tally sum = { 0 };

		printf("%-11s", noise_shapes[i].name);
		for (size_t d = 0; d < ARRAY_SIZE(deviations); d++) {
			struct noise_tally t = { 0 };

			for (int k = 0; k < series; k++)
				noise_take_series(rules, &noise_shapes[i],
						  deviations[d] * rules->target,
						  generator_bits(i * 16 + d + 1, (uint64_t)k), &t);
			printf(" | %.1f / %.0f", 100 * t.covered / t.intervals,
			       t.samples / t.series);
			sum.covered += t.covered / t.intervals / ARRAY_SIZE(deviations);
			sum.samples += t.samples / t.series / ARRAY_SIZE(deviations);
			sum.dropped += t.dropped / t.series / ARRAY_SIZE(deviations);
			sum.intervals += t.intervals / t.series / ARRAY_SIZE(deviations);
		}
		printf(" | mean %.1f / %.1f; %.2f; %.1f\n", 100 * sum.covered, sum.samples,
		       100 * sum.dropped, 100 * (1 - sum.intervals));
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const struct sampling standard = { .min_samples = 10,
					   .max_samples = 200,
					   .target = 0.005,
					   .max_seconds = 0.5,
					   .settle_seconds = 0.5 };
	const struct sampling quick = { .min_samples = 10,
					.max_samples = 30,
					.target = 0.01,
					.max_seconds = 0.02,
					.settle_seconds = 0.2 };
	int series = argc > 1 ? atoi(argv[1]) : 500;

	printf("deviations over target:");
	for (size_t d = 0; d < ARRAY_SIZE(deviations); d++)
		printf(" %g", deviations[d]);
	table("\ndefaults (10 to 200 samples, target 0.5 %)", &standard, series);
	table("quick (10 to 30 samples in 20 ms, target 1 %)", &quick, series);
	return 0;
}
