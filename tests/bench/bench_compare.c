/*
 * How often compare is right: launches of known truth through the program's own intervals, words
 * and probabilities. bench_compare [TRIALS]: (default 4000) a row. Prints coverage of the 95 %
 * interval, changes called where there is none, REGRESSED where the truth is exactly the margin of
 * 1 % (to be at most 2.5 %), power at 2 % and 3 %, UNCHANGED where nothing changed; then whole
 * comparisons of 41 figures with a margin of 1 %, and pairs of sessions of GPU figures with the
 * margin of each. Seeded: the same figures every time.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "compare/comparing.h"
#include "random.h"

#define MARGIN 0.01
#define MOST 10
#define ROWS 41

enum noise { NORMAL, LOGNORMAL, BIMODAL, STUDENT3, AR1, NOISES };
static const char *const names[NOISES] = { "normal", "lognormal", "bimodal", "Student t3",
					   "AR(1) 0.5" };

/* `n` launches in a row, mean 0 and deviation 1. */
static void launches(enum noise noise, double *out, size_t n)
{
	/* exp(0.7862 z): skewness 3.7 */
	static const double sigma = 0.7862, slow = 0.25;
	double last = normal();

	for (size_t i = 0; i < n; i++) {
		double z = normal(), chi = 0;

		for (int k = 0; k < 3 && noise == STUDENT3; k++)
			chi += pow(normal(), 2);
		last = i ? 0.5 * last + sqrt(0.75) * z : last;
		out[i] = noise == LOGNORMAL
				 ? (exp(sigma * z) - exp(sigma * sigma / 2)) /
					   sqrt(expm1(sigma * sigma) * exp(sigma * sigma))
			 : noise == BIMODAL
				 ? ((uniform() < slow) - slow) / sqrt(slow * (1 - slow)) + 0.05 * z
			 : noise == STUDENT3 ? z / sqrt(chi / 3) / sqrt(3)
			 : noise == AR1      ? last
					     : z;
	}
}

struct setting {
	enum noise noise;
	double spread; /* between launches */
	double visits; /* between visits, true and assumed */
	bool turns;
	double correlation; /* known of all figures of the comparison; NaN: unknown */
};

/* Both sides of one figure; in turns A B B A A B ... of one series. */
static void sides(const struct setting *s, size_t n, double shift, double *a, double *b)
{
	double row[2 * MOST], visit_a = s->visits * normal(), visit_b = s->visits * normal();

	if (s->turns) {
		launches(s->noise, row, 2 * n);
		visit_b = visit_a;
	} else {
		launches(s->noise, row, n);
		launches(s->noise, row + n, n);
	}
	for (size_t i = 0; i < n; i++) {
		size_t at_a = s->turns ? 2 * i + i % 2 : i,
		       at_b = s->turns ? 2 * i + 1 - i % 2 : n + i;

		a[i] = visit_a + s->spread * row[at_a];
		b[i] = visit_b + shift + s->spread * row[at_b];
	}
}

static struct shift measure(const struct setting *s, size_t n, double shift)
{
	const struct comparison whole = { .turns = s->turns,
					  .resemblance = s->correlation,
					  .resemblance_series = 2 * ROWS };
	double a[MOST], b[MOST];
	const struct shift_input in = { .a = a,
					.b = b,
					.a_count = n,
					.b_count = n,
					.turns = s->turns,
					.launch_spread = 0.005,
					.resemblance = compare_pair_resemblance_factor(&whole, n),
					.visit_spread = s->visits,
					.visit_freedom = INFINITY };

	sides(s, n, shift, a, b);
	return shift_measure(&in);
}

/* Share of `trials` in which the word is `change` (or, at `other`, that one). */
static double share(const struct setting *s, size_t n, double ratio, enum change change,
		    enum change other, size_t trials)
{
	size_t hits = 0;

	for (size_t t = 0; t < trials; t++) {
		struct shift shift = measure(s, n, log(ratio));
		const struct band band = compare_pair_band_of_margin(MARGIN);
		enum change word = compare_pair_change_of_shift(&shift, &band);

		hits += word == change || word == other;
	}
	return 100 * (double)hits / (double)trials;
}

static double coverage(const struct setting *s, size_t n, size_t trials)
{
	size_t held = 0;

	for (size_t t = 0; t < trials; t++) {
		struct shift shift = measure(s, n, 0.01);

		held += shift.low <= 0.01 && 0.01 <= shift.high;
	}
	return 100 * (double)held / (double)trials;
}

static void print_row(const struct setting *s, size_t trials)
{
	static const size_t counts[] = { 4, 5, 10 };

	printf("%-11s %.1f %%%s", names[s->noise], 100 * s->spread, s->turns ? " in turns" : "");
	if (s->visits > 0)
		printf(", visits %.2f %%", 100 * s->visits);
	if (s->correlation > 0)
		printf(", known");
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		printf(" | %.1f / %.2f / %.1f / %.0f / %.0f / %.0f", coverage(s, counts[i], trials),
		       share(s, counts[i], 1, CHANGE_REGRESSED, CHANGE_IMPROVED, trials),
		       share(s, counts[i], 1 + MARGIN, CHANGE_REGRESSED, CHANGE_REGRESSED, trials),
		       share(s, counts[i], 1.02, CHANGE_REGRESSED, CHANGE_REGRESSED, trials),
		       share(s, counts[i], 1.03, CHANGE_REGRESSED, CHANGE_REGRESSED, trials),
		       share(s, counts[i], 1, CHANGE_UNCHANGED, CHANGE_UNCHANGED, trials));
	printf("\n");
	fflush(stdout);
}

static void print_figures(size_t trials)
{
	static const struct setting settings[] = {
		{ NORMAL, 0.003, 0, false, NAN },       { NORMAL, 0.005, 0, false, NAN },
		{ NORMAL, 0.01, 0, false, NAN },        { LOGNORMAL, 0.005, 0, false, NAN },
		{ LOGNORMAL, 0.01, 0, false, NAN },     { BIMODAL, 0.005, 0, false, NAN },
		{ BIMODAL, 0.01, 0, false, NAN },       { STUDENT3, 0.01, 0, false, NAN },
		{ AR1, 0.005, 0, false, NAN },          { AR1, 0.01, 0, false, NAN },
		{ AR1, 0.005, 0, false, 0.5 },          { AR1, 0.01, 0, false, 0.5 },
		{ AR1, 0.005, 0, true, 0.125 },         { AR1, 0.01, 0, true, 0.125 },
		{ NORMAL, 0.005, 0, true, NAN },        { NORMAL, 0.002, 0.0015, false, NAN },
		{ NORMAL, 0.005, 0.0015, false, NAN },  { LOGNORMAL, 0.005, 0.0015, false, NAN },
		{ BIMODAL, 0.005, 0.0015, false, NAN }, { AR1, 0.005, 0.0015, false, 0.5 },
	};

	printf("coverage / called changed / REGRESSED at +1 %% / power at +2 %% / +3 %% / "
	       "UNCHANGED; "
	       "launches: 4 | 5 | 10\n");
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		print_row(&settings[i], trials);
}

/*
 * As on an H100: host-bound figures that scatter and differ by 20 % from visit to visit, all others
 * quiet.
 */
static struct setting figure_of(size_t row, enum noise noise, bool turns,
				struct comparison_row *out)
{
	bool host = row < 24;
	struct setting s = { noise,
			     host      ? 0.2
			     : row % 3 ? 0.003
				       : 0.01,
			     host ? 0.2 : 0.0015, turns, NAN };

	out->kind = host ? FIGURE_HOST : FIGURE_PRODUCT;
	return s;
}

/*
 * One comparison of two visits, figure `slow` 3 % slower (ROWS: none is); how many changes for the
 * worse are certain elsewhere.
 */
static size_t false_ones(enum noise noise, bool turns, size_t slow, bool *found, bool *named)
{
	struct comparison c = { .margin = MARGIN, .count = ROWS };
	const struct band band = compare_pair_band_of_margin(MARGIN);
	size_t wrong = 0;

	c.rows = xcalloc(ROWS, sizeof(*c.rows));
	c.name_a = xstrdup("A");
	c.name_b = xstrdup("B");
	for (size_t i = 0; i < ROWS; i++) {
		struct comparison_row *row = &c.rows[i];
		struct setting s = figure_of(i, noise, turns, row);
		struct shift shift = measure(&s, 5, i == slow ? log(1.03) : 0);

		row->case_id = xasprintf("%zu", i);
		row->reason = xstrdup("");
		row->change = compare_pair_change_of_shift(&shift, &band);
		row->ratio = exp(shift.value);
		row->probability = compare_pair_change_probability(&shift, &band, row->change);
		*named = *named || (i == slow && row->change == CHANGE_REGRESSED);
	}
	compare_whole(&c);
	for (size_t i = 0; i < ROWS; i++) {
		bool certain = c.rows[i].change == CHANGE_REGRESSED && !c.rows[i].possible;

		if ((size_t)atoi(c.rows[i].case_id) == slow)
			*found = certain;
		else
			wrong += certain;
	}
	c.host_finding = NULL;
	compare_json_comparison_release(&c);
	return wrong;
}

static void print_wholes(bool turns, size_t trials)
{
	printf("whole comparisons of %d figures, 5 launches%s: with a false certain REGRESSED | a "
	       "quiet figure (0.3 %%) 3 %% slower: certain, at least possible | a noisy one (1 "
	       "%%)\n",
	       ROWS, turns ? " in turns" : "");
	for (int noise = 0; noise < NOISES; noise++) {
		size_t alarms = 0, counts[2][2] = { { 0 } };

		for (size_t t = 0; t < trials; t++) {
			bool found = false, named = false;

			alarms += false_ones((enum noise)noise, turns, ROWS, &found, &named) > 0;
			for (size_t kind = 0; kind < 2; kind++) {
				found = named = false;
				false_ones((enum noise)noise, turns, kind ? 30 : 31, &found,
					   &named);
				counts[kind][0] += found;
				counts[kind][1] += named;
			}
		}
		printf("%-11s %.2f %% | %.1f, %.1f | %.1f, %.1f\n", names[noise],
		       100 * (double)alarms / (double)trials,
		       100 * (double)counts[0][0] / (double)trials,
		       100 * (double)counts[0][1] / (double)trials,
		       100 * (double)counts[1][0] / (double)trials,
		       100 * (double)counts[1][1] / (double)trials);
		fflush(stdout);
	}
}

/* The figures that the GPU decides in `nightly`, by kind. */
static const struct {
	enum figure_kind kind;
	size_t count;
} gpu[] = {
	{ FIGURE_BANDWIDTH, 4 },  { FIGURE_PRODUCT, 5 },     { FIGURE_LINK, 3 },
	{ FIGURE_PEAK, 1 },       { FIGURE_POWER_LIMIT, 3 }, { FIGURE_STEP, 1 },
	{ FIGURE_SMALL_COPY, 2 },
};

#define GPU_FIGURES 19

struct session_case {
	size_t launches;
	double wider;  /* spread of sessions over the one that is assumed */
	double common; /* shift of all figures of the second session */
};

/*
 * One figure of two sessions, `slow` times as slow in the second. Its spread between launches is
 * drawn as the kind's differ from figure to figure: s0 sqrt(3 / chi2_3).
 */
static struct shift session_shift(enum figure_kind kind, const struct session_case *sc, double slow)
{
	double typical = figure_kind_repeat(kind).spread, visits = figure_kind_visit_spread(kind),
	       chi = 0;
	double a[MOST], b[MOST], visit_a, visit_b;
	struct shift_input in = { .a = a,
				  .b = b,
				  .a_count = sc->launches,
				  .b_count = sc->launches,
				  .launch_spread = typical,
				  .resemblance = 1,
				  .visit_spread = visits,
				  .visit_freedom = ASSUMED_FREEDOM };

	for (int i = 0; i < 3; i++)
		chi += pow(normal(), 2);
	visit_a = sc->wider * visits * normal();
	visit_b = sc->wider * visits * normal() + log(slow) + sc->common;
	for (size_t i = 0; i < sc->launches; i++) {
		a[i] = visit_a + typical * sqrt(3 / chi) * normal();
		b[i] = visit_b + typical * sqrt(3 / chi) * normal();
	}
	return shift_measure(&in);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * A whole comparison of two sessions; figure `slow` is 3 % slower in the second (GPU_FIGURES: none
 * is). Counts certain REGRESSED of others; whether the slow one is, and UNCHANGED ones.
 */
static size_t compare_sessions(const struct session_case *sc, size_t slow, bool *found,
			       size_t *unchanged)
{
	struct comparison c = { .margin = MARGIN, .automatic = true, .count = GPU_FIGURES };
	struct shift shifts[GPU_FIGURES];
	double values[GPU_FIGURES];
	size_t wrong = 0, n = 0;

	c.rows = xcalloc(GPU_FIGURES, sizeof(*c.rows));
	c.name_a = xstrdup("A");
	c.name_b = xstrdup("B");
	for (size_t k = 0; k < ARRAY_SIZE(gpu); k++)
		for (size_t i = 0; i < gpu[k].count; i++, n++) {
			c.rows[n].kind = gpu[k].kind;
			shifts[n] = session_shift(gpu[k].kind, sc, n == slow ? 1.03 : 1);
			values[n] = shifts[n].value;
		}
	qsort(values, n, sizeof(*values), by_value);
	for (size_t i = 0; i < n; i++) {
		struct comparison_row *row = &c.rows[i];
		struct band band =
			compare_pair_band_of_shift(&shifts[i], figure_kind_visit_spread(row->kind),
						   values[GPU_FIGURES / 2]);

		row->case_id = xasprintf("%zu", i);
		row->reason = xstrdup("");
		row->change = compare_pair_change_of_shift(&shifts[i], &band);
		row->ratio = exp(shifts[i].value);
		row->low = exp(shifts[i].low);
		row->high = exp(shifts[i].high);
		row->probability = compare_pair_change_probability(&shifts[i], &band, row->change);
		row->possible = !shifts[i].shown;
	}
	compare_whole(&c);
	*unchanged += c.counts[CHANGE_UNCHANGED];
	for (size_t i = 0; i < n; i++) {
		bool certain = c.rows[i].change == CHANGE_REGRESSED && !c.rows[i].possible;

		if ((size_t)atoi(c.rows[i].case_id) == slow)
			*found = certain;
		else
			wrong += certain;
	}
	compare_json_comparison_release(&c);
	return wrong;
}

static void print_sessions(size_t trials)
{
	static const struct session_case cases[] = {
		{ 3, 1, 0 },  { 5, 1, 0 },      { 5, 3, 0 },     { 5, 1, 0.01 },  { 10, 1, 0 },
		{ 10, 3, 0 }, { 10, 1, 0.005 }, { 10, 1, 0.01 }, { 10, 3, 0.01 },
	};

	printf("two sessions of %d figures that the GPU decides, automatic margin: launches, "
	       "sessions wider, common shift | UNCHANGED | comparisons with a false certain "
	       "REGRESSED | 3 %% slower called REGRESSED, by kind\n",
	       GPU_FIGURES);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t unchanged = 0, ignored = 0, alarms = 0, slow = 0;
		bool found = false;

		for (size_t t = 0; t < trials; t++)
			alarms += compare_sessions(&cases[i], GPU_FIGURES, &found, &unchanged) > 0;
		printf("%2zu, %.0f x, %.1f %% | %.1f %% | %.2f %% (%zu of %zu) |",
		       cases[i].launches, cases[i].wider, 100 * cases[i].common,
		       100 * (double)unchanged / (double)(trials * GPU_FIGURES),
		       100 * (double)alarms / (double)trials, alarms, trials);
		for (size_t k = 0; k < ARRAY_SIZE(gpu); slow += gpu[k].count, k++) {
			size_t hits = 0;

			for (size_t t = 0; t < trials / 4; t++) {
				compare_sessions(&cases[i], slow, &found, &ignored);
				hits += found;
			}
			printf("%s %s %.0f", k ? "," : "", figure_kind_name(gpu[k].kind),
			       100 * (double)hits / (double)(trials / 4));
		}
		printf("\n");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	size_t trials = argc > 1 ? strtoul(argv[1], NULL, 10) : 4000;

	seed = 20261122;
	print_sessions(trials);
	print_figures(trials);
	print_wholes(false, trials / 4);
	print_wholes(true, trials / 4);
	return 0;
}
