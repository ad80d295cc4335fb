/*
 * How the trend errs and how fast history is, printed; tests/test_change_points.c checks the same in reduced size.
 * usage: bench_history [SERIES [FILE]]      simulated series per row (default 2000); the history of 1,000 nights stays in FILE
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "judge/trend.h"
#include "report/trend_page.h"
#include "sample_nights.h"

static void quiet(size_t series, double noise, size_t past)
{
	struct quiet_outcome out = simulate_quiet(series, noise, past, 25, 1);

	printf("quiet, %2zu nights before, noise %.1f %%: %5.2f %% of series with a change in 25 "
	       "nights, "
	       "%5.2f %% with a warning\n",
	       past, 100 * noise, 100 * out.changes, 100 * out.warnings);
}

static void wandering(size_t series, double noise, double memory, size_t past)
{
	struct quiet_outcome out = simulate_wandering(series, noise, memory, past, 25, 1);

	printf("quiet, %2zu nights before, noise %.1f %%, correlation with the night before %.1f: "
	       "%5.2f %% of series with a change in 25 nights, %5.2f %% with a warning\n",
	       past, 100 * noise, memory, 100 * out.changes, 100 * out.warnings);
}

static void step(size_t series, double noise, double size, size_t past)
{
	struct step_outcome out = simulate_step(series, noise, size, past, 1);

	printf("step of %.0f %%, %2zu nights before, noise %.1f %%: found within 6 nights %6.2f "
	       "%% (dated to 2 nights %6.2f %%), within 10 %6.2f %%; "
	       "mean %.1f nights; warned within 3 nights %5.1f %%\n",
	       100 * size, past, 100 * noise, 100 * out.within_6, 100 * out.dated,
	       100 * out.within_10, out.mean, 100 * out.warned);
}

static void make_night(struct result *r, size_t night, size_t metrics, uint64_t *seed)
{
	memset(r, 0, sizeof(*r));
	r->version = RESULT_VERSION;
	r->run_id = xasprintf("night%zu", night);
	r->started = xasprintf("20%02zu-%02zu-%02zuT01:00:00Z", 20 + night / 336,
			       1 + night / 28 % 12, 1 + night % 28);
	for (size_t i = 0; i < metrics; i++) {
		struct case_result *c = result_add_case(r);
		double value = 5e10 * exp(0.005 * sample_normal(seed));

		c->suite = xstrdup("transfer");
		c->id = xasprintf("transfer/h2d/pinned/%zuKiB@cuda:0", i);
		c->metrics = xcalloc(1, sizeof(*c->metrics));
		c->metric_count = c->metric_capacity = 1;
		c->metrics[0] = (struct metric_value){ .name = xstrdup("transfer.bandwidth"),
						       .unit = xstrdup("B/s"),
						       .headline = true,
						       .value = value,
						       .low = value * 0.999,
						       .high = value * 1.001,
						       .n = 30,
						       .series = xstrdup("") };
	}
}

/* The page as `history report` makes it, its seconds; `bytes`: its size. */
static double page_seconds(const char *path, off_t *bytes, struct error *err)
{
	const struct history_filter filter = { 0 };
	char *page = xasprintf("%s.html", path);
	const struct report_options options = { .output = page };
	struct trend_summary summary = { 0 };
	double start = clock_seconds();
	struct history *h;
	struct stat about = { 0 };

	if (history_open(&h, path, DB_READ, err) == STATUS_OK)
		report_trend_write(h, &filter, &options, &summary, err);
	history_close(h);
	start = clock_seconds() - start;
	stat(page, &about);
	*bytes = about.st_size;
	unlink(page);
	free(page);
	return start;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#define LAST 21 /* nights whose additions are told */

static void speed(size_t nights, size_t metrics, const char *kept)
{
	char temporary[] = "/tmp/bench_history.XXXXXX";
	const char *path = kept ? kept : temporary;
	struct error err = ERROR_NONE;
	double last[LAST], start, page = 0;
	struct history *h;
	struct stat about;
	uint64_t seed = 1;
	off_t page_bytes = 0;
	bool added;

	if (!kept)
		close(mkstemp(temporary));
	for (size_t i = 0; i < nights && err.status == STATUS_OK; i++) {
		struct result r;

		make_night(&r, i, metrics, &seed);
		start = clock_seconds();
		/* As the command does: open, check, add, close. */
		if (history_open(&h, path, DB_CREATE, &err) == STATUS_OK)
			history_add(h, &r, &added, &err);
		history_close(h);
		last[i % LAST] = clock_seconds() - start;
		result_release(&r);
	}
	if (err.status == STATUS_OK)
		page = page_seconds(path, &page_bytes, &err);
	if (err.status != STATUS_OK)
		printf("%s\n", err.message);
	qsort(last, LAST, sizeof(last[0]), by_size);
	stat(path, &about);
	printf("%zu nights x %zu metrics: the last %d additions took %.0f ms (median, slowest %.0f ms); the page of "
	       "all series %.2f s (%.1f MB); %.1f MB of history\n",
	       nights, metrics, LAST, 1e3 * last[LAST / 2], 1e3 * last[LAST - 1], page,
	       (double)page_bytes / 1e6, (double)about.st_size / 1e6);
	if (!kept)
		unlink(path);
}

int main(int argc, char **argv)
{
	size_t series = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
	static const double noises[] = { 0.002, 0.005, 0.01 };

	speed(1000, 500, argc > 2 ? argv[2] : NULL);
	for (size_t i = 0; i < 3; i++)
		for (size_t past = 30; past <= 90; past += 60)
			quiet(series, noises[i], past);
	for (size_t i = 0; i < 3; i++)
		for (int memory = 3; memory <= 7; memory += 2)
			wandering(series, noises[i], memory / 10.0, 60);
	for (size_t i = 0; i < 3; i++)
		for (size_t past = 10; past <= 90; past += 40)
			step(series, noises[i], 0.03, past);
	return 0;
}
