#include "stats/level.h"

#include <math.h>
#include <stdbool.h>

#include "stats/difference.h"
#include "stats/repeat.h"
#include "stats/student.h"

#define FEWEST_DRAWN_IN 5 /* nights of one level; the median of fewer cannot identify an outlier */
/* Resolution of values: prevents certainty for series that repeat to the last digit. */
#define RESOLUTION 1e-6

struct level_shift level_shift(const struct level_input *in)
{
	size_t counts[] = { in->before, in->after };
	double distance = 0, squares = 0, worth = 0, freedom = 0, error = 0, rho = in->rho;
	const double *logs = in->logs;
	struct level_shift out = { .error = NAN };

	if (in->before + in->after > 2)
		distance = stats_difference_outlier_distance(in->logs, in->before, in->after);
	for (int side = 0; side < 2; side++, logs += in->before) {
		double n = (double)counts[side], rest = 1 - rho, mean;
		/* Variance of the mean of n nights / variance of one night. */
		double g =
			(1 + rho) / rest / n - 2 * rho * (1 - pow(rho, n)) / (n * rest * n * rest);
		/* If most nights are equal, do not winsorize. */
		bool draws = distance > 0 && counts[side] >= FEWEST_DRAWN_IN;

		squares += stats_difference_winsorized_squares(logs, counts[side],
							       draws ? distance : INFINITY, &mean);
		worth += n * (1 - g);
		freedom += (n - 1) * (1 - rho * rho) / (1 + rho * rho);
		error += g;
		out.value += side ? mean : -mean;
	}
	squares = freedom > 0 ? freedom * squares / worth : 0;
	if (!isnan(in->typical)) {
		squares += REPEAT_WEIGHT * in->typical * in->typical;
		freedom += REPEAT_WEIGHT;
	}
	out.freedom = freedom;
	if (freedom > 0)
		out.error = sqrt(fmax(squares / freedom, RESOLUTION * RESOLUTION) * error);
	return out;
}

double level_probability(const struct level_shift *s, double limit)
{
	double beyond = fabs(s->value) - limit;

	if (!(s->error > 0) || beyond <= 0)
		return 1;
	return student_probability(beyond / s->error, s->freedom) / 2;
}

double level_half(const struct level_shift *s)
{
	return s->error > 0 ? student_quantile(0.975, s->freedom) * s->error : (double)NAN;
}
