/*
 * Time and size of the page of a result: bench_report RESULT.json [REPEATS]; without arguments, of
 * a synthetic one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/stats.h"
#include "base/text.h"
#include "report/page/report.h"
#include "result/statistics.h"
#include "sample_report.h"

int main(int argc, char **argv)
{
	const struct report_options options = { .output = "-" };
	int repeats = argc > 2 ? atoi(argv[2]) : 9;
	struct error err = ERROR_NONE;
	struct result result;
	double seconds[64];
	size_t bytes = 0;

	if (argc > 1 && result_read(&result, argv[1], &err) != STATUS_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	if (argc == 1)
		sample_report(&result, &(struct sample_options){ .model = "NVIDIA H200",
								 .driver = "580",
								 .devices = 2,
								 .speed = 1,
								 .repeat = 5 });
	for (int i = 0; i < repeats && i < 64; i++) {
		struct text page = TEXT_EMPTY;
		double start = clock_seconds();

		if (html_render_report(&result, 1, &options, &page, &err) != STATUS_OK) {
			fprintf(stderr, "%s\n", err.message);
			return 1;
		}
		seconds[i] = clock_seconds() - start;
		bytes = page.length;
		text_release(&page);
	}
	printf("%zu cases: %.0f ms (median of %d), %.2f MB\n", result.case_count,
	       1e3 * median_of(seconds, (size_t)(repeats < 64 ? repeats : 64)), repeats,
	       1e-6 * (double)bytes);
	result_release(&result);
	return 0;
}
