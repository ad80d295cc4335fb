/*
 * How the trend errs and how fast history is, printed; tests/unit/history/test_change_points.c
 * checks the same in reduced size.
 * usage: bench_history [SERIES [SEED [TABLE [FILE]]]]
 *	SERIES	simulated series per row (default 2000)
 *	SEED	the first seed (default 0); below 1,000,000 for tuning, above for the rates
 *	TABLE	seams, falls, states, pools, speed, methods or sizes (default: all)
 *	FILE	keeps the history of 1,000 nights
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

static uint64_t first_seed;

static const double rhos[] = { 0, 0.3, 0.5, 0.8 };

/* One line: how often `rounds` histories of plan->series series err, and find a step. */
static void errors(struct night_plan plan, size_t rounds)
{
	double changes = 0, warnings = 0, within_6 = 0, within_10 = 0;

	for (size_t i = 0; i < rounds; i++) {
		struct quiet_outcome quiet;
		struct step_outcome step;

		plan.seed = first_seed + 2 * i + 1;
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
							       .seed = first_seed + i + 1 })
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

#define SESSION_SERIES 41 /* of one GPU's night */
#define SESSION_DEVICE 19 /* of them those that the GPU decides */

/* How often equal levels at a seam raise an alarm within 20 nights, and 3 and 10 % are found. */
static void seams(struct night_plan plan, const char *what, size_t rounds)
{
	static const double steps[] = { 0, 0.03, 0.1 };
	double alarms = 0, improved = 0, first[3] = { 0 }, all[3] = { 0 };

	plan.series = SESSION_SERIES;
	plan.seam = true;
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < rounds; i++) {
			struct seam_outcome o;

			plan.step = steps[k];
			plan.nights = k ? 10 : 20;
			plan.seed = first_seed + 1000 * k + i + 1;
			o = simulate_seam(&plan);
			alarms += !k && o.alarm;
			improved += !k && o.improved;
			first[k] += 100 * o.first / SESSION_DEVICE / (double)rounds;
			all[k] += 100 * o.all / SESSION_DEVICE / (double)rounds;
		}
	printf("seam, %-30s %2zu nights before: of equal seams %5.2f %% alarm, %5.2f %% claim "
	       "better; 3 %% found next morning / in 9 nights %3.0f / %3.0f %%, 10 %% %3.0f / "
	       "%3.0f %%\n",
	       what, plan.past, 100 * alarms / (double)rounds, 100 * improved / (double)rounds,
	       first[1], all[1], first[2], all[2]);
	fflush(stdout);
}

static void errors_of_seams(size_t rounds)
{
	static const size_t pasts[] = { 3, 10, 40 };
	static const struct {
		const char *what;
		double width, rho;
		bool heavy;
	} rows[] = {
		{ "as wide as assumed,", 1, 0, false },
		{ "the same, Student t3,", 1, 0, true },
		{ "three times as wide,", 3, 0, false },
		{ "rho 0.5,", 1, 0.5, false },
		{ "three times as wide, rho 0.8,", 3, 0.8, false },
	};

	for (size_t k = 0; k < ARRAY_SIZE(pasts); k++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			seams((struct night_plan){ .past = pasts[k],
						   .width = rows[i].width,
						   .rho = rows[i].rho,
						   .shape = rows[i].heavy ? NOISE_STUDENT3
									  : NOISE_NORMAL },
			      rows[i].what, rounds);
}

/* A fall of 40 % in nights 2 to 10, and false ones of quiet nights. */
static void errors_of_falls(size_t rounds)
{
	static const struct {
		const char *kind;
		double noise, rare, stay;
	} rows[] = {
		{ "bandwidth", 0.002, 0, 0 },  { "matrix product at the power limit", 0.01, 0, 0 },
		{ "step", 0.01, 0, 0 },        { NULL, 0.01, 0, 0 },
		{ "host call", 0.05, 0.3, 0 }, { "host call", 0.05, 0.1, 0.8 },
	};
	static const size_t pasts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 25 };

	for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
		printf("fall of 40 %%, %-34s noise %.1f %%, rare state %2.0f %%: told next morning "
		       "in night",
		       rows[k].kind ? rows[k].kind : "unknown kind", 100 * rows[k].noise,
		       100 * rows[k].rare);
		for (size_t j = 0; j < ARRAY_SIZE(pasts); j++) {
			struct fall_outcome o, sum = { 0 };
			size_t past = pasts[j];

			for (size_t i = 0; i < rounds; i++) {
				struct night_plan plan = { .series = SESSION_SERIES,
							   .past = past,
							   .noise = rows[k].noise,
							   .kind = rows[k].kind,
							   .shape = rows[k].rare > 0 ? NOISE_STATES
										     : NOISE_NORMAL,
							   .rare = rows[k].rare,
							   .apart = 0.29,
							   .stay = rows[k].stay,
							   .step = 0.4,
							   .seed = first_seed + i + 1 };

				o = simulate_fall(&plan);
				sum.told += o.told / (double)rounds;
				sum.alarms += o.alarms / (double)rounds;
			}
			printf(" %zu: %.0f%s", past + 1, 100 * sum.told, past < 9 ? "" : " %");
			if (past >= 9)
				printf(" (%.2f %% false before)", 100 * sum.alarms);
		}
		putchar('\n');
		fflush(stdout);
	}
}

/* Nights of two states: how many series show a change that is none. */
static void errors_of_states(size_t rounds)
{
	static const double rares[] = { 0.1, 0.3, 0.45 }, stays[] = { 0, 0.5, 0.8 };

	for (size_t r = 0; r < ARRAY_SIZE(rares); r++)
		for (size_t s = 0; s < ARRAY_SIZE(stays); s++) {
			struct night_plan plan = { .series = TREND_ODDS_SERIES,
						   .past = 60,
						   .nights = 25,
						   .noise = 0.01,
						   .shape = NOISE_STATES,
						   .kind = "host call",
						   .rare = rares[r],
						   .apart = 0.29,
						   .stay = stays[s] };
			double changes = 0, warnings = 0;

			for (size_t i = 0; i < rounds; i++) {
				struct quiet_outcome q;

				plan.seed = first_seed + i + 1;
				q = simulate_quiet(&plan);
				changes += q.changes / (double)rounds;
				warnings += q.warnings / (double)rounds;
			}
			printf("two states, rarer %2.0f %% of nights, %3.0f %% stay: %5.2f %% "
			       "change in 25 nights, %5.2f %% warn\n",
			       100 * rares[r], 100 * stays[s], 100 * changes, 100 * warnings);
			fflush(stdout);
		}
}

/*
 * A job on one of six runners each night, one replaced a week: false alarms of 60 nights, and a 3 %
 * step after them.
 */
static void errors_of_pools(size_t rounds)
{
	static const struct {
		const char *what;
		struct pool_plan plan;
	} rows[] = {
		{ "noise 0.5 %", { .noise = 0.005, .apart = 0.02, .replaced = 7 } },
		{ "noise 1 %", { .noise = 0.01, .apart = 0.02, .replaced = 7 } },
		{ "noise 1 %, rho 0.5",
		  { .noise = 0.01, .apart = 0.02, .rho = 0.5, .replaced = 7 } },
		{ "noise 1 %, none replaced", { .noise = 0.01, .apart = 0.02 } },
		{ "noise 1 %, GPUs alike", { .noise = 0.01, .replaced = 7 } },
		{ "noise 1 %, GPUs 5 % apart", { .noise = 0.01, .apart = 0.05, .replaced = 7 } },
		{ "noise 1 %, one GPU 4 % slower",
		  { .noise = 0.01, .apart = 0.02, .broken = 0.04 } },
		{ "noise 1 %, one GPU 20 % slower",
		  { .noise = 0.01, .apart = 0.02, .broken = 0.2 } },
	};

	for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
		double alarms = 0, common = 0, found = 0;

		for (size_t i = 0; i < rounds; i++) {
			struct pool_plan plan = rows[k].plan;
			struct pool_outcome o;

			plan.figures = 1;
			plan.runners = 6;
			plan.past = 60;
			plan.nights = 10;
			plan.step = 0.03;
			plan.seed = first_seed + i + 1;
			o = simulate_pool(&plan);
			alarms += o.alarms / (double)rounds;
			common += o.common / (double)rounds;
			found += o.found / (double)rounds;
		}
		printf("pool of 6, %-30s %5.2f %% of figures raise an alarm in 60 nights, %5.2f "
		       "%% one of the pool; step of 3 %% found in 10 nights %5.1f %%\n",
		       rows[k].what, 100 * alarms, 100 * common, 100 * found);
		fflush(stdout);
	}
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

	if (sqlite_store_open(&h, path, STORE_READ, err) == STATUS_OK)
		trend_page_write(h, &filter, &options, &summary, err);
	sqlite_store_close(h);
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
		if (sqlite_store_open(&h, path, STORE_CREATE, &err) == STATUS_OK)
			history_add(h, &r, &added, &err);
		sqlite_store_close(h);
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
	const char *table = argc > 3 ? argv[3] : "";

	first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	if (!*table || strcmp(table, "seams") == 0)
		errors_of_seams(series / 20);
	if (!*table || strcmp(table, "falls") == 0)
		errors_of_falls(series / 100);
	if (!*table || strcmp(table, "states") == 0)
		errors_of_states(series / TREND_ODDS_SERIES);
	if (!*table || strcmp(table, "pools") == 0)
		errors_of_pools(series / 5);
	if (!*table || strcmp(table, "speed") == 0)
		speed(1000, 500, argc > 4 ? argv[4] : NULL);
	if (!*table || strcmp(table, "methods") == 0)
		errors_of_methods(series);
	if (!*table || strcmp(table, "sizes") == 0)
		errors_of_sizes(series);
	return 0;
}
