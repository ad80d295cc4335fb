/*
 * How the trend errs and how fast history is, printed; tests/unit/history/test_change_points.c
 * checks the same in reduced size.
 * usage: bench_history [SERIES [FILE]]      simulated series per row (default 2000); the history of
 *                                           1,000 nights stays in FILE
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "history/trend.h"
#include "report/trend/trend_page.h"
#include "sample_nights.h"

static const char *const methods[] = {
	[NIGHTS_TOGETHER] = "together", [NIGHTS_ALONE] = "alone", [NIGHTS_PROPOSED] = "proposed"
};

static const double rhos[] = { 0, 0.3, 0.5, 0.8 };

/* One line: how often `rounds` histories of plan->series series err, and find a step. */
static void errors(struct night_plan plan, size_t rounds)
{
	double changes = 0, warnings = 0, within_6 = 0, within_10 = 0;

	for (size_t i = 0; i < rounds; i++) {
		struct quiet_outcome quiet;
		struct step_outcome step;

		plan.seed = 2 * i + 1;
		quiet = simulate_quiet(&(struct night_plan){ plan.series, plan.past, plan.nights,
							     plan.noise, plan.rho, 0, plan.method,
							     plan.seed });
		plan.seed++;
		step = simulate_step(&plan);
		changes += quiet.changes / (double)rounds;
		warnings += quiet.warnings / (double)rounds;
		within_6 += step.within_6 / (double)rounds;
		within_10 += step.within_10 / (double)rounds;
	}
	printf("%4zu series, %-8s  noise %.1f %%, rho %.1f, %3zu nights: %5.2f %% change in %zu "
	       "nights, %5.2f %% warn; step of %.0f %% in 6 / 10 nights %5.1f / %5.1f %%\n",
	       plan.series, methods[plan.method], 100 * plan.noise, plan.rho, plan.past,
	       100 * changes, plan.nights, 100 * warnings, 100 * plan.step, 100 * within_6,
	       100 * within_10);
	fflush(stdout);
}

/* How many alarms a quiet history gives in two months. */
static void quiet_months(size_t series, double noise, double rho, size_t rounds)
{
	size_t alarms = 0;

	for (size_t i = 0; i < rounds; i++)
		alarms += simulate_quiet(&(struct night_plan){ .series = series,
							       .past = 60,
							       .nights = 60,
							       .noise = noise,
							       .rho = rho,
							       .seed = i + 1 })
				  .alarms;
	printf("%4zu series, noise %.1f %%, rho %.1f: %.2f alarms in 60 nights (%zu histories)\n",
	       series, 100 * noise, rho, (double)alarms / (double)rounds, rounds);
	fflush(stdout);
}

static void errors_of_methods(size_t series)
{
	static const double noises[] = { 0.01, 0.005 };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < ARRAY_SIZE(rhos); i++)
			for (int method = NIGHTS_PROPOSED; method >= NIGHTS_TOGETHER; method--)
				for (size_t past = 10; past <= 60; past += 50)
					errors((struct night_plan){ .series = TREND_ODDS_SERIES,
								    .past = past,
								    .nights = 25,
								    .noise = noises[k],
								    .rho = rhos[i],
								    .step = k ? 0.02 : 0.03,
								    .method = method },
					       series / TREND_ODDS_SERIES);
}

/* Cost of the limit that grows. */
static void errors_of_sizes(size_t series)
{
	static const size_t sizes[] = { 100, 500 };

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++)
		for (size_t i = 0; i < ARRAY_SIZE(rhos); i++) {
			size_t rounds = series / sizes[k] ? series / sizes[k] : 1;

			errors((struct night_plan){ .series = sizes[k],
						    .past = 60,
						    .nights = 25,
						    .noise = 0.01,
						    .rho = rhos[i],
						    .step = 0.03 },
			       rounds);
		}
	for (size_t i = 0; i < ARRAY_SIZE(rhos); i++)
		quiet_months(500, 0.01, rhos[i], series / 500 ? series / 500 : 1);
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
	struct store *h;
	struct stat about = { 0 };

	if (store_open(&h, path, STORE_READ, err) == STATUS_OK)
		report_trend_write(h, &filter, &options, &summary, err);
	store_close(h);
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
	struct store *h;
	struct stat about;
	uint64_t seed = 1;
	off_t page_bytes = 0;
	enum history_added added;

	if (!kept)
		close(mkstemp(temporary));
	for (size_t i = 0; i < nights && err.status == STATUS_OK; i++) {
		struct result r;

		make_night(&r, i, metrics, &seed);
		start = clock_seconds();
		/* As the command does: open, check, add, close. */
		if (store_open(&h, path, STORE_CREATE, &err) == STATUS_OK)
			history_add(h, &r, &added, &err);
		store_close(h);
		last[i % LAST] = clock_seconds() - start;
		result_release(&r);
	}
	if (err.status == STATUS_OK)
		page = page_seconds(path, &page_bytes, &err);
	if (err.status != STATUS_OK)
		printf("%s\n", err.message);
	qsort(last, LAST, sizeof(last[0]), by_size);
	stat(path, &about);
	printf("%zu nights x %zu metrics: the last %d additions took %.0f ms (median, slowest %.0f "
	       "ms); the page of all series %.2f s (%.1f MB); %.1f MB of history\n",
	       nights, metrics, LAST, 1e3 * last[LAST / 2], 1e3 * last[LAST - 1], page,
	       (double)page_bytes / 1e6, (double)about.st_size / 1e6);
	if (!kept)
		unlink(path);
}

int main(int argc, char **argv)
{
	size_t series = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;

	speed(1000, 500, argc > 2 ? argv[2] : NULL);
	errors_of_methods(series);
	errors_of_sizes(series);
	return 0;
}
