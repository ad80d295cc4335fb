#include "stats/shift.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"
#include "stats/rank.h"
#include "stats/repeat.h"
#include "stats/student.h"

#define Z_90 1.2815515655446004
#define Z_95 1.6448536269514722
#define Z_975 1.959963984540054
#define MOST_LAUNCHES 1000
#define REFUTED 2

/* Few launches may agree by chance: the typical variance moderates theirs (stats/repeat.h). */
static double stats_shift_moderated_variance(double squares, double *freedom, double typical)
{
	*freedom += REPEAT_WEIGHT;
	return (squares + REPEAT_WEIGHT * typical * typical) / *freedom;
}

/*
 * Variance of a Hodges-Lehmann estimate of n launches, relative to one launch. For two it is the
 * mean.
 */
static double stats_shift_estimate_variance(size_t n)
{
	return (n < 3 ? 1 : HODGES_LEHMANN_VARIANCE) / (double)n;
}

static void stats_shift_of_pairs(const struct shift_input *in, struct shift *out)
{
	size_t n = in->a_count;
	double *differences = xmalloc(n * sizeof(*differences)), squares, half, variance, mean;

	for (size_t i = 0; i < n; i++)
		differences[i] = in->b[i] - in->a[i];
	squares = squares_about_mean(differences, n, &mean);
	if (!stats_rank_shift_of_pairs(differences, n, 0.025, &out->value, &out->low, &out->high)) {
		/* Too few launches for signed ranks. */
		half = student_quantile(0.975, (double)n - 1) *
		       sqrt(squares / (double)(n - 1) / (double)n);
		out->low = out->value - half;
		out->high = out->value + half;
	}
	free(differences);
	out->freedom = (double)n - 1;
	variance = squares / out->freedom;
	out->spread = sqrt(variance / 2);
	/* Pairs that differ by far more than assumed keep their own variance. */
	if (out->spread <= REFUTED * in->launch_spread)
		variance = stats_shift_moderated_variance(squares, &out->freedom,
							  M_SQRT2 * in->launch_spread);
	out->error = sqrt(variance * stats_shift_estimate_variance(n));
}

static void shift_of_sides(const struct shift_input *in, struct shift *out)
{
	double mean, few,
		squares = squares_about_mean(in->a, in->a_count, &mean) +
			  squares_about_mean(in->b, in->b_count, &mean);

	stats_rank_shift_between(in->a, in->a_count, in->b, in->b_count, 0.025, &out->value,
				 &out->low, &out->high);
	out->freedom = (double)(in->a_count + in->b_count) - 2;
	out->spread = out->shown ? sqrt(squares / out->freedom) : (double)NAN;
	out->error =
		sqrt(stats_shift_moderated_variance(squares, &out->freedom, in->launch_spread) *
		     (stats_shift_estimate_variance(in->a_count) +
		      stats_shift_estimate_variance(in->b_count)));
	few = in->few_half / student_quantile(0.975, out->freedom);
	if (in->a_count < 2 || in->b_count < 2)
		out->error = fmax(out->error, few);
}

static double shift_quantile_of(double probability, double freedom)
{
	if (isfinite(freedom))
		return student_quantile(probability, fmax(freedom, 1));
	return probability > 0.96 ? Z_975 : Z_95;
}

struct shift shift_measure(const struct shift_input *in)
{
	bool enough = in->a_count >= FEWEST_LAUNCHES && in->b_count >= FEWEST_LAUNCHES;
	bool pairs = in->turns && in->a_count == in->b_count && enough;
	double visits = in->turns ? 0 : M_SQRT2 * in->visit_spread;
	struct shift out = { .shown = enough };
	double launches, half, a, b, terms;

	(pairs ? stats_shift_of_pairs : shift_of_sides)(in, &out);
	launches = out.error * in->resemblance;
	out.error = root_sum_square(launches, visits);
	/* Degrees of freedom of a sum of two variances (Welch 1947, Satterthwaite 1946). */
	a = launches * launches;
	b = visits * visits;
	terms = (isfinite(out.freedom) ? a * a / out.freedom : 0) +
		(isfinite(in->visit_freedom) ? b * b / in->visit_freedom : 0);
	out.freedom = terms > 0 ? (a + b) * (a + b) / terms : INFINITY;
	half = shift_quantile_of(0.975, out.freedom) * out.error;
	if (enough) {
		visits *= shift_quantile_of(0.975, in->visit_freedom);
		out.low = out.value -
			  root_sum_square((out.value - out.low) * in->resemblance, visits);
		out.high = out.value +
			   root_sum_square((out.high - out.value) * in->resemblance, visits);
	} else {
		out.low = out.value - half;
		out.high = out.value + half;
	}
	half = shift_quantile_of(0.95, out.freedom) * out.error;
	out.low_each = fmax(out.low, out.value - half);
	out.high_each = fmin(out.high, out.value + half);
	return out;
}

double shift_margin(const struct shift *s)
{
	return (shift_quantile_of(0.95, s->freedom) + Z_95) * s->error;
}

double shift_probability_above(const struct shift *s, double limit)
{
	double t, beyond;

	if (!s->shown)
		return 1;
	if (!(s->error > 0))
		return s->value > limit ? 0 : 1;
	t = (s->value - limit) / s->error;
	beyond = isfinite(s->freedom) ? student_probability(t, fmax(s->freedom, 1)) / 2
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
		 * Both ends are within the margin in 80 % of comparisons: the estimate leaves it at
		 * each end in 10 %.
		 */
		if (half + Z_90 * root_sum_square(launches, visits) <= margin)
			return n;
	}
	return 0;
}
