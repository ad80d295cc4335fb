#include "judge/compare/shift.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"
#include "judge/estimate/difference.h"
#include "judge/estimate/estimate.h"
#include "judge/estimate/launch_spread.h"
#include "judge/estimate/rank.h"

#define Z_90 1.2815515655446004
#define Z_95 1.6448536269514722
#define Z_975 1.959963984540054
#define HODGES_LEHMANN_VARIANCE (M_PI / 3) /* over the mean's, normal data */
#define MOST_LAUNCHES 1000

static double squares_of(const double *values, size_t n)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return squares;
}

/*
 * A few launches may agree by luck, or all be in one of two states: a variance below what is taken
 * for granted is weighed with it, one above counts as it is.
 */
static double cautious_variance(double squares, double *freedom, double assumed)
{
	double seen = squares / *freedom;
	double weighed = (squares + SPREAD_WEIGHT * assumed * assumed) / (*freedom + SPREAD_WEIGHT);

	if (seen >= weighed)
		return seen;
	*freedom += SPREAD_WEIGHT;
	return weighed;
}

static void of_pairs(const struct shift_input *in, struct shift *out)
{
	size_t n = in->a_count;
	double *differences = xmalloc(n * sizeof(*differences)), squares, half, ignored;

	for (size_t i = 0; i < n; i++)
		differences[i] = in->b[i] - in->a[i];
	squares = squares_of(differences, n);
	half = sqrt(squares / (double)(n - 1) / (double)n);
	if (shift_of_pairs(differences, n, 0.025, &out->value, &out->low, &out->high)) {
		shift_of_pairs(differences, n, 0.05, &ignored, &out->low_each, &out->high_each);
	} else {
		/* Too few for signed ranks. */
		out->low = out->value - student_quantile(0.975, (double)n - 1) * half;
		out->high = out->value + student_quantile(0.975, (double)n - 1) * half;
		out->low_each = out->value - student_quantile(0.95, (double)n - 1) * half;
		out->high_each = out->value + student_quantile(0.95, (double)n - 1) * half;
	}
	out->spread = sqrt(squares / (double)(n - 1) / 2);
	out->freedom = (double)n - 1;
	out->error = sqrt(cautious_variance(squares, &out->freedom, M_SQRT2 * in->launch_spread) *
			  HODGES_LEHMANN_VARIANCE / (double)n);
	free(differences);
}

static void of_ranks(const struct shift_input *in, struct shift *out)
{
	double m = (double)in->a_count, n = (double)in->b_count, ignored;
	double squares = squares_of(in->a, in->a_count) + squares_of(in->b, in->b_count);

	shift_between(in->a, in->a_count, in->b, in->b_count, 0.025, &out->value, &out->low,
		      &out->high);
	shift_between(in->a, in->a_count, in->b, in->b_count, 0.05, &ignored, &out->low_each,
		      &out->high_each);
	out->freedom = m + n - 2;
	out->spread = sqrt(squares / out->freedom);
	out->error = sqrt(cautious_variance(squares, &out->freedom, in->launch_spread) *
			  HODGES_LEHMANN_VARIANCE * (1 / m + 1 / n));
}

/* The distance of the medians, without an interval. */
static void of_few(const struct shift_input *in, struct shift *out)
{
	double ignored;

	shift_between(in->a, in->a_count, in->b, in->b_count, 0.025, &out->value, &ignored,
		      &ignored);
	out->low = out->value - in->few_half;
	out->high = out->value + in->few_half;
	out->low_each = out->low;
	out->high_each = out->high;
	out->spread = NAN;
	out->error = in->few_half / Z_975;
	out->freedom = INFINITY;
}

static double quantile_of(double probability, double freedom)
{
	if (isfinite(freedom))
		return student_quantile(probability, fmax(freedom, 1));
	return probability > 0.96 ? Z_975 : Z_95;
}

static void widen(double value, double *low, double *high, double factor, double visits)
{
	*low = value - root_sum_square((value - *low) * factor, visits);
	*high = value + root_sum_square((*high - value) * factor, visits);
}

/* Welch 1947, Satterthwaite 1946: degrees of freedom of a sum of two variances. */
static double joint_freedom(double a, double freedom_a, double b, double freedom_b)
{
	double terms = (isfinite(freedom_a) ? a * a / freedom_a : 0) +
		       (isfinite(freedom_b) ? b * b / freedom_b : 0);

	return terms > 0 ? (a + b) * (a + b) / terms : INFINITY;
}

struct shift shift_measure(const struct shift_input *in)
{
	bool enough = in->a_count >= FEWEST_LAUNCHES && in->b_count >= FEWEST_LAUNCHES;
	bool pairs = in->turns && in->a_count == in->b_count && enough;
	double factor = in->resemblance;
	double visits = in->turns ? 0 : M_SQRT2 * in->visit_spread;
	struct shift out = { .shown = enough };
	double launches;

	(pairs ? of_pairs : enough ? of_ranks : of_few)(in, &out);
	widen(out.value, &out.low, &out.high, factor,
	      quantile_of(0.975, in->visit_freedom) * visits);
	widen(out.value, &out.low_each, &out.high_each, factor,
	      quantile_of(0.95, in->visit_freedom) * visits);
	launches = out.error * factor;
	out.error = root_sum_square(launches, visits);
	out.freedom =
		joint_freedom(launches * launches, out.freedom, visits * visits, in->visit_freedom);
	return out;
}

double shift_probability_above(const struct shift *s, double limit)
{
	double t, beyond;

	if (!s->shown)
		return 1;
	if (!(s->error > 0))
		return s->value > limit ? 0 : 1;
	t = (s->value - limit) / s->error;
	/* From a thousand degrees of freedom on it is normal. */
	beyond = s->freedom < 1000 ? student_probability(t, (size_t)fmax(s->freedom, 1)) / 2
				   : erfc(fabs(t) / M_SQRT2) / 2;
	return t > 0 ? beyond : 1 - beyond;
}

size_t shift_launches_needed(double spread, double resemblance, double visit_spread, double margin)
{
	for (size_t n = FEWEST_LAUNCHES; n <= MOST_LAUNCHES; n++) {
		double launches =
			spread * resemblance * sqrt(2 * HODGES_LEHMANN_VARIANCE / (double)n);
		double visits = M_SQRT2 * visit_spread;
		double half = root_sum_square(student_quantile(0.95, 2 * (double)n - 2) * launches,
					      Z_95 * visits);

		/*
		 * Both ends are within the margin in 80 %: the estimate leaves it at either of them
		 * in 10 %.
		 */
		if (half + Z_90 * root_sum_square(launches, visits) <= margin)
			return n;
	}
	return 0;
}
