#include "stats/level.h"

#include <math.h>

#include "stats/difference.h"
#include "stats/repeat.h"
#include "stats/student.h"

#define FEWEST_DRAWN_IN 5 /* nights of one level; the median of fewer cannot identify an outlier */
/* Resolution of values: prevents certainty for series that repeat to the last digit. */
#define RESOLUTION 1e-6

/* g(n): variance of the mean of n nights / variance of one night. */
static double stats_level_mean_variance(size_t count, double rho)
{
	double n = (double)count, rest = 1 - rho;

	return (1 + rho) / rest / n - 2 * rho * (1 - pow(rho, n)) / (n * rest * n * rest);
}

static double stats_level_freedom_of(size_t count, double rho)
{
	return (double)(count - 1) * (1 - rho * rho) / (1 + rho * rho);
}

static double level_distance_of(const struct level_input *in)
{
	double distance =
		in->before + in->after > 2
			? stats_difference_outlier_distance(in->logs, in->before, in->after)
			: INFINITY;

	/* If most nights are equal, do not winsorize. */
	return distance > 0 ? distance : INFINITY;
}

struct level_shift level_shift(const struct level_input *in)
{
	size_t counts[] = { in->before, in->after };
	double distance = level_distance_of(in), squares = 0, worth = 0, freedom = 0, error = 0;
	const double *logs = in->logs;
	struct level_shift out = { .error = NAN };

	for (int side = 0; side < 2; side++, logs += in->before) {
		size_t n = counts[side];
		double mean, g = stats_level_mean_variance(n, in->rho);

		squares += stats_difference_winsorized_squares(logs, n,
							       n < FEWEST_DRAWN_IN ? INFINITY
										   : distance,
							       &mean);
		worth += (double)n * (1 - g);
		freedom += stats_level_freedom_of(n, in->rho);
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
