/*
 * How the trend errs and how fast history is, printed; tests/test_change_points.c checks the same in reduced size.
 * usage: bench_history [SERIES]      simulated series per row (default 2000)
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
#include "sample_nights.h"

static void quiet(size_t series, double noise, size_t past)
{
	struct quiet_outcome out = simulate_quiet(series, noise, past, 25, 1);

	printf("quiet, %2zu nights before, noise %.1f %%: %5.2f %% of series with a change in 25 "
	       "nights, "
	       "%5.2f %% with a warning\n",
	       past, 100 * noise, 100 * out.changes, 100 * out.warnings);
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

static void analyse(void *context, const struct history_series *s)
{
	struct trend *trends;
	size_t *changes = context, count = trend_of_series(s, NULL, &trends);

	*changes += trends[0].change_count;
	trends_release(trends, count);
}

static void speed(size_t nights, size_t metrics)
{
	const struct history_filter filter = { 0 };
	char path[] = "/tmp/bench_history.XXXXXX";
	struct error err = ERROR_NONE;
	double slowest = 0, start, seconds;
	struct history *h;
	struct stat about;
	size_t changes = 0;
	uint64_t seed = 1;
	bool added;

	close(mkstemp(path));
	for (size_t i = 0; i < nights && err.status == STATUS_OK; i++) {
		struct result r;

		make_night(&r, i, metrics, &seed);
		start = clock_seconds();
		/* As the command does: open, check, add, close. */
		if (history_open(&h, path, DB_CREATE, &err) == STATUS_OK)
			history_add(h, &r, &added, &err);
		history_close(h);
		seconds = clock_seconds() - start;
		slowest = i + 20 >= nights ? fmax(slowest, seconds) : slowest;
		result_release(&r);
	}
	start = clock_seconds();
	if (err.status == STATUS_OK && history_open(&h, path, DB_READ, &err) == STATUS_OK) {
		history_each(h, &filter, analyse, &changes, &err);
		history_close(h);
	}
	if (err.status != STATUS_OK)
		printf("%s\n", err.message);
	stat(path, &about);
	printf("%zu nights x %zu metrics: slowest of the last 20 additions %.0f ms, trend %.2f s "
	       "(%zu changes), %.1f MB\n",
	       nights, metrics, 1e3 * slowest, clock_seconds() - start, changes,
	       (double)about.st_size / 1e6);
	unlink(path);
}

int main(int argc, char **argv)
{
	size_t series = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
	static const double noises[] = { 0.002, 0.005, 0.01 };

	speed(1000, 500);
	for (size_t i = 0; i < 3; i++)
		for (size_t past = 30; past <= 90; past += 60)
			quiet(series, noises[i], past);
	for (size_t i = 0; i < 3; i++)
		for (size_t past = 10; past <= 90; past += 40)
			step(series, noises[i], 0.03, past);
	return 0;
}
