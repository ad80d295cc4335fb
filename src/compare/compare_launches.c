/*
 * Tests consecutive launches for autocorrelation. A single series of four or five launches has
 * almost no power; all metrics of a comparison together do. The mean of their von Neumann ratios is
 * compared with its expectation for this length, so that short series are not biased.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "compare/comparing.h"
#include "stats/shift.h"
#include "stats/neumann.h"

#define FEWEST_SERIES 10 /* fewer series: no statement */
#define Z_95 1.6448536269514722

/*
 * Half of what correlation adds to the variance of a mean of n: sum of (1 - i/n) rho^i for i =
 * 1..n-1.
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

struct neumann {
	double ratios, lengths;
	size_t series;
};

static void neumann_add_series(struct neumann *sum, const double *logs, size_t count)
{
	double ratio = neumann_ratio(logs, count);

	if (count < FEWEST_LAUNCHES || isnan(ratio))
		return;
	sum->ratios += ratio;
	sum->lengths += (double)count;
	sum->series++;
}

/*
 * Adds the launches of either side, or, interleaved, the differences of their pairs, because these
 * are averaged.
 */
static void neumann_add_pair(struct neumann *sum, const struct compared_pair *p, bool turns)
{
	double *before = compared_logs(&p->before, p->lower_is_better);
	double *after = compared_logs(&p->after, p->lower_is_better);

	if (turns && p->before.count == p->after.count) {
		for (size_t i = 0; i < p->after.count; i++)
			after[i] -= before[i];
		neumann_add_series(sum, after, p->after.count);
	} else {
		neumann_add_series(sum, before, p->before.count);
		neumann_add_series(sum, after, p->after.count);
	}
	free(before);
	free(after);
}

void compare_resemblance(struct comparing *k)
{
	struct neumann sum = { 0 };

	for (size_t i = 0; i < k->pair_count; i++) {
		const struct compared_pair *p = &k->pairs[i];

		if (k->out->rows[p->row].kind == FIGURE_EXACT)
			continue;
		neumann_add_pair(&sum, p, k->input->turns);
	}
	k->out->resemblance_series = sum.series;
	if (sum.series < FEWEST_SERIES)
		return;
	k->out->resemblance = neumann_correlation(sum.ratios / (double)sum.series,
						  (size_t)(sum.lengths / (double)sum.series + 0.5));
}

double comparison_resemblance_factor(const struct comparison *out, size_t n)
{
	double rho = out->resemblance;
	/* Metrics of one launch share its host, so two of them count as one. */
	double error = 1 / sqrt((double)out->resemblance_series / 2 * fmax(1, (double)n - 1));
	/*
	 * Interleaving leaves little correlation. The estimate is used as it is, since it would
	 * never be significant.
	 */
	double doubt = out->turns ? 0 : Z_95 * error;

	if (isnan(rho) || rho <= doubt || n < FEWEST_LAUNCHES)
		return 1;
	/* Expected squared deviation of n values of variance 1 from their own mean, over n - 1. */
	return sqrt((1 + 2 * correlated(rho, n)) / (1 - 2 * correlated(rho, n) / ((double)n - 1)));
}
