/*
 * Tests consecutive launches for correlation. A series of four or five has almost no power; all
 * figures of a comparison together do. Measured by von Neumann's ratio (1941): half the mean square
 * of successive differences over the variance, whose expectation follows from the correlation and
 * the length, so that short series are not misleading.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "judge/compare/comparing.h"
#include "judge/compare/shift.h"

#define FEWEST_SERIES 10 /* below, nothing is said of it */
#define HIGHEST 0.95
#define Z_95 1.6448536269514722

/*
 * Sum of (1 - i/n) rho^i for i = 1..n-1: what correlation adds to the variance of a mean of n,
 * halved.
 */
static double correlated(double rho, size_t n)
{
	double sum = 0, power = 1;

	for (size_t i = 1; i < n; i++) {
		power *= rho;
		sum += (1 - (double)i / (double)n) * power;
	}
	return sum;
}

/* Expected squared deviation of n values of variance 1 from their own mean, over n - 1. */
static double expected_variance(double rho, size_t n)
{
	return 1 - 2 * correlated(rho, n) / ((double)n - 1);
}

struct neumann {
	double ratios, lengths;
	size_t series;
};

static void add_series(struct neumann *sum, const double *logs, size_t count)
{
	double mean = 0, squares = 0, steps = 0;

	for (size_t i = 0; i < count; i++)
		mean += logs[i] / (double)count;
	for (size_t i = 0; i < count; i++) {
		squares += (logs[i] - mean) * (logs[i] - mean);
		steps += i ? pow(logs[i] - logs[i - 1], 2) : 0;
	}
	if (count < FEWEST_LAUNCHES || !(squares > 0))
		return;
	sum->ratios += steps / squares / 2;
	sum->lengths += (double)count;
	sum->series++;
}

/*
 * The launches of either side; of turns the differences of their pairs, which is what is averaged
 * then.
 */
static void add_pair(struct neumann *sum, const struct compared_pair *p, bool turns)
{
	double *before = compared_logs(&p->before, p->lower_is_better);
	double *after = compared_logs(&p->after, p->lower_is_better);

	if (turns && p->before.count == p->after.count) {
		for (size_t i = 0; i < p->after.count; i++)
			after[i] -= before[i];
		add_series(sum, after, p->after.count);
	} else {
		add_series(sum, before, p->before.count);
		add_series(sum, after, p->after.count);
	}
	free(before);
	free(after);
}

/*
 * The correlation of which series of n launches have that ratio on average, by bisection: it falls
 * with it.
 */
static double correlation_of(double ratio, size_t n)
{
	double low = -HIGHEST, high = HIGHEST;

	for (int i = 0; i < 60; i++) {
		double rho = (low + high) / 2;

		if ((1 - rho) / expected_variance(rho, n) > ratio)
			low = rho;
		else
			high = rho;
	}
	return (low + high) / 2;
}

void compare_resemblance(struct comparing *k)
{
	struct neumann sum = { 0 };

	for (size_t i = 0; i < k->pair_count; i++) {
		const struct compared_pair *p = &k->pairs[i];

		if (k->out->rows[p->row].kind == FIGURE_EXACT)
			continue;
		add_pair(&sum, p, k->input->turns);
	}
	k->out->resemblance_series = sum.series;
	if (sum.series < FEWEST_SERIES)
		return;
	k->out->resemblance = correlation_of(sum.ratios / (double)sum.series,
					     (size_t)(sum.lengths / (double)sum.series + 0.5));
}

double resemblance_factor(const struct comparison *out, size_t n)
{
	double rho = out->resemblance;
	/* Figures of one launch have its host in common, so that two of them count as one. */
	double error = 1 / sqrt((double)out->resemblance_series / 2 * fmax(1, (double)n - 1));
	/* Turns leave little of it, which is taken as it is: it would never be significant. */
	double doubt = out->turns ? 0 : Z_95 * error;

	if (isnan(rho) || rho <= doubt || n < FEWEST_LAUNCHES)
		return 1;
	return sqrt((1 + 2 * correlated(rho, n)) / expected_variance(rho, n));
}
