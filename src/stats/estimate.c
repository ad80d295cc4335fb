#include "stats/estimate.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"
#include "stats/student.h"

#define Z_95 1.6448536269514722
#define Z_975 1.959963984540054

double stats_estimate_log_deviation(const double *values, size_t n)
{
	double mean = 0, sum = 0;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		mean += log(values[i]) / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (log(values[i]) - mean) * (log(values[i]) - mean);
	return sqrt(sum / (double)(n - 1));
}

static double stats_estimate_longer_side(const struct repeat_interval *interval)
{
	return fmax(interval->center - interval->low, interval->high - interval->center);
}

struct estimate stats_estimate_launches(const double *values, size_t n, double sample_half,
					const struct repeat *repeat)
{
	double *logs = xmalloc(n * sizeof(*logs)), samples = sample_half > 0 ? sample_half : 0;
	struct repeat_interval both, each;
	struct estimate e = { .launches = n };

	for (size_t i = 0; i < n; i++)
		logs[i] = log(values[i]);
	both = repeat_interval(logs, n, repeat, 0.975, samples);
	each = repeat_interval(logs, n, repeat, 0.95, samples * Z_95 / Z_975);
	free(logs);
	e.value = n > 1 ? exp(both.center) : values[0];
	e.low = exp(both.low);
	e.high = exp(both.high);
	e.half = stats_estimate_longer_side(&each);
	e.half_both = stats_estimate_longer_side(&both);
	return e;
}

/* Half-width on the log scale: log((value + half) / value). */
static double stats_estimate_as_ratio(double value, double half)
{
	return half > 0 ? log1p(half / value) : 0;
}

struct estimate stats_estimate_with_zeros(const double *values, size_t n)
{
	double mean, squares = squares_about_mean(values, n, &mean), error;
	struct estimate e = { .value = stats_repeat_hodges_lehmann(values, n),
			      .low = NAN,
			      .high = NAN,
			      .launches = n };

	if (!(e.value > 0))
		e.value = mean;
	if (n < 2 || !(e.value > 0))
		return e;
	error = sqrt(squares / (double)(n - 1) / (double)n);
	e.half = stats_estimate_as_ratio(e.value, student_quantile(0.95, (double)n - 1) * error);
	e.half_both =
		stats_estimate_as_ratio(e.value, student_quantile(0.975, (double)n - 1) * error);
	e.low = e.value * exp(-e.half_both);
	e.high = e.value * exp(e.half_both);
	return e;
}
