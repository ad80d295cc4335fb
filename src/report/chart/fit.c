#include "report/chart/fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"

/* Deviations beyond this many robust standard deviations count linearly (95 % efficiency). */
#define HUBER 1.345
#define ROUNDS 20

struct points {
	const double *x, *y;
	double *weight; /* of the relative error, 0 to 1 */
	size_t n;
};

/* Sums over the points of w, w x, w x^2, w y, w x y, where w = weight / y^2. */
struct fit_sums {
	double w, x, xx, y, xy;
};

static struct fit_sums fit_add_up(const struct points *p)
{
	struct fit_sums s = { 0, 0, 0, 0, 0 };

	for (size_t i = 0; i < p->n; i++) {
		double w = p->weight[i] / (p->y[i] * p->y[i]);

		s.w += w;
		s.x += w * p->x[i];
		s.xx += w * p->x[i] * p->x[i];
		s.y += w * p->y[i];
		s.xy += w * p->x[i] * p->y[i];
	}
	return s;
}

static double chart_fit_relative_residual(const struct points *p, size_t i, double alpha,
					  double slope)
{
	return (p->y[i] - alpha - slope * p->x[i]) / p->y[i];
}

static double chart_fit_median_magnitude(const struct points *p, double alpha, double slope)
{
	double *r = xcalloc(p->n, sizeof(*r)), middle;

	for (size_t i = 0; i < p->n; i++)
		r[i] = fabs(chart_fit_relative_residual(p, i, alpha, slope));
	middle = median_of(r, p->n);
	free(r);
	return middle;
}

/* From the weighted sum of squares, with n - 2 degrees of freedom. */
static void fit_find_errors(const struct points *p, const struct fit_sums *s, double slope,
			    struct fit *out)
{
	double determinant = s->w * s->xx - s->x * s->x, sum = 0, variance;

	out->alpha_error = NAN;
	for (size_t i = 0; i < p->n; i++) {
		double r = chart_fit_relative_residual(p, i, out->alpha, slope);

		sum += p->weight[i] * r * r;
	}
	variance = sum / (double)(p->n - 2);
	if (out->alpha > 0)
		out->alpha_error = sqrt(variance * s->xx / determinant);
	/* beta = 1 / slope: the relative errors are the same. */
	out->beta_error = out->beta * sqrt(variance * s->w / determinant) / slope;
}

static void fit_find_worst(const struct points *p, double slope, struct fit *out)
{
	double *deviations = xcalloc(p->n, sizeof(*deviations));

	out->worst = -1;
	for (size_t i = 0; i < p->n; i++) {
		double model = out->alpha + slope * p->x[i];

		deviations[i] = fabs(p->y[i] / model - 1);
		if (deviations[i] <= out->worst)
			continue;
		out->worst = deviations[i];
		out->worst_size = p->x[i];
	}
	out->deviation = median_of(deviations, p->n);
	free(deviations);
}

static bool fit_points(struct points *p, struct fit *out)
{
	struct fit_sums s;
	double slope;

	for (size_t i = 0; i < p->n; i++)
		p->weight[i] = 1;
	for (int round = 0; round < ROUNDS; round++) {
		double determinant;

		s = fit_add_up(p);
		if (!(s.w * s.xx - s.x * s.x > 1e-12 * s.w * s.xx))
			return false; /* all of one size */
		/* alpha and the slope; a line that would start below zero starts at zero. */
		determinant = s.w * s.xx - s.x * s.x;
		out->alpha = (s.xx * s.y - s.x * s.xy) / determinant;
		slope = (s.w * s.xy - s.x * s.y) / determinant;
		if (out->alpha < 0) {
			out->alpha = 0;
			slope = s.xy / s.xx;
		}
		if (!(slope > 0) || !isfinite(slope))
			return false;
		if (round < ROUNDS - 1) {
			double limit =
				HUBER * 1.4826 * chart_fit_median_magnitude(p, out->alpha, slope);

			for (size_t i = 0; i < p->n; i++) {
				double r =
					fabs(chart_fit_relative_residual(p, i, out->alpha, slope));

				p->weight[i] = r > limit && limit > 0 ? limit / r : 1;
			}
		}
	}
	out->beta = 1 / slope;
	out->n = p->n;
	fit_find_errors(p, &s, slope, out);
	fit_find_worst(p, slope, out);
	return true;
}

bool fit_transfer(const double *sizes, const double *seconds, size_t n, struct fit *out)
{
	double *x = xcalloc(n + 1, sizeof(*x)), *y = xcalloc(n + 1, sizeof(*y));
	struct points p = { x, y, xcalloc(n + 1, sizeof(double)), 0 };
	bool fitted;

	for (size_t i = 0; i < n; i++) {
		if (!(sizes[i] > 0) || !(seconds[i] > 0) || !isfinite(sizes[i]) ||
		    !isfinite(seconds[i]))
			continue;
		x[p.n] = sizes[i];
		y[p.n++] = seconds[i];
	}
	*out = (struct fit){ 0 };
	fitted = p.n >= 3 && fit_points(&p, out);
	free(x);
	free(y);
	free(p.weight);
	return fitted;
}
