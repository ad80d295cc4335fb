#include "stats/pool.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "stats/repeat.h"

#define LAMBDAS 11      /* 0, then 1/16 to 2^14 by factors of 4 */
#define CAREFUL 1.0     /* standard errors */
#define RESOLUTION 1e-6 /* resolution of values */

/* Sums over one GPU: its nights, those after the step, and their logarithms. */
struct pool_sums {
	double nights, after, sum, sum_after;
};

/* Generalised least squares for one lambda. */
struct pool_fit {
	double lambda, level, step, rest; /* rest: residual sum of squares / sigma^2 */
	double worth;                     /* variance of the step / sigma^2 */
	double likelihood, freedom;
};

struct pool_work {
	struct pool_sums *gpus;
	size_t gpu_count, used, days;
	double centre, squares, count;
};

static void stats_pool_work_fill(struct pool_work *w, const struct pool_input *in)
{
	int64_t day = INT64_MIN;

	for (size_t i = 0; i < in->count; i++)
		if (in->nights[i].gpu != in->without) {
			w->centre += in->nights[i].log;
			w->count++;
			w->days += in->nights[i].day != day;
			day = in->nights[i].day;
		}
	w->centre /= w->count;
	for (size_t i = 0; i < in->count; i++) {
		double y = in->nights[i].log - w->centre;
		struct pool_sums *g = &w->gpus[in->nights[i].gpu];

		if (in->nights[i].gpu == in->without)
			continue;
		w->used += !(g->nights > 0);
		g->nights++;
		g->sum += y;
		g->after += i >= in->at;
		g->sum_after += i >= in->at ? y : 0;
		w->squares += y * y;
	}
}

/* False: the nights cannot separate step and level. */
static bool stats_pool_fit_lambda(const struct pool_work *w, double lambda, struct pool_fit *out)
{
	double a11 = 0, a12 = 0, a22 = 0, b1 = 0, b2 = 0, q = w->squares, logs = 0, shrunk = 0;
	double determinant;

	for (size_t i = 0; i < w->gpu_count; i++) {
		const struct pool_sums *g = &w->gpus[i];
		double d = 1 + lambda * g->nights;

		a11 += g->nights / d;
		a12 += g->after / d;
		a22 += g->after - lambda * g->after * g->after / d;
		b1 += g->sum / d;
		b2 += g->sum_after - lambda * g->after * g->sum / d;
		q -= lambda * g->sum * g->sum / d;
		logs += log(d);
		shrunk += lambda * g->nights / d;
	}
	determinant = a11 * a22 - a12 * a12;
	if (!(determinant > 1e-9 * a11 * fmax(a22, 1e-9)))
		return false;
	*out = (struct pool_fit){ .lambda = lambda,
				  .level = (a22 * b1 - a12 * b2) / determinant,
				  .step = (a11 * b2 - a12 * b1) / determinant,
				  .worth = a11 / determinant,
				  .freedom = w->count - 2 - shrunk };
	out->rest =
		fmax(q - out->level * b1 - out->step * b2, 0) + w->count * RESOLUTION * RESOLUTION;
	out->likelihood = -((w->count - 2) * log(out->rest) + log(determinant) + logs) / 2;
	return out->freedom >= 1;
}

/*
 * Variance inflation: means of nights vary more than nights of single GPUs explain, or are
 * autocorrelated; 1: neither.
 */
static double stats_pool_inflation(const struct pool_work *w, const struct pool_input *in,
				   const struct pool_fit *fit, double variance)
{
	double last = NAN, squares = 0, weights = 0, products = 0, r, design;

	for (size_t i = 0; i < in->count;) {
		double sum = 0, n = 0, mean;
		size_t first = i;

		for (; i < in->count && in->nights[i].day == in->nights[first].day; i++) {
			const struct pool_night *p = &in->nights[i];
			const struct pool_sums *g = &w->gpus[p->gpu];
			double own = g->sum - g->nights * fit->level - g->after * fit->step;

			if (p->gpu == in->without)
				continue;
			sum += p->log - w->centre - fit->level - (i >= in->at ? fit->step : 0) -
			       own * fit->lambda / (1 + fit->lambda * g->nights);
			n++;
		}
		if (!(n > 0))
			continue;
		mean = sum / n;
		squares += n * mean * mean;
		weights++;
		products += isnan(last) ? 0 : n * mean * last;
		last = mean;
	}
	r = products / fmax(squares, RESOLUTION * RESOLUTION);
	/*
	 * Corrects the bias (Marriott & Pope 1954) and adds its standard error, to be conservative.
	 */
	r = (weights * r + 1) / fmax(weights - 4, 1) + CAREFUL / sqrt(weights);
	r = fmax(0, fmin(0.9, r));
	design = squares / (weights * variance);
	return fmax(1, design) * (1 + r) / (1 - r);
}

static void stats_pool_take_fit(const struct pool_work *w, const struct pool_input *in,
				const struct pool_fit *fit, struct pool_step *out)
{
	double variance = fit->rest / (w->count - 2), inflation;
	double freedom = fmin(fit->freedom, (double)w->days - 2);

	out->level = w->centre + fit->level;
	out->apart = sqrt(fit->lambda * variance);
	out->shift.value = fit->step;
	if (freedom < 1 || !out->both)
		return;
	inflation = stats_pool_inflation(w, in, fit, variance);
	if (!isnan(in->typical)) {
		variance = (REPEAT_WEIGHT * in->typical * in->typical + freedom * variance) /
			   (REPEAT_WEIGHT + freedom);
		freedom += REPEAT_WEIGHT;
	}
	out->shift.freedom = freedom;
	out->shift.error = sqrt(variance * fit->worth * inflation);
}

struct pool_step stats_pool_step_at(const struct pool_input *in)
{
	struct pool_work w = { .gpus = xcalloc(in->gpus + 1, sizeof(*w.gpus)),
			       .gpu_count = in->gpus };
	struct pool_step out = { .shift = { .error = NAN }, .level = NAN, .apart = NAN };
	struct pool_fit best = { .likelihood = -INFINITY }, fit;

	stats_pool_work_fill(&w, in);
	for (size_t i = 0; i < w.gpu_count; i++)
		out.both += w.gpus[i].after > 0 && w.gpus[i].after < w.gpus[i].nights;
	for (int i = 0; i < LAMBDAS; i++)
		if (stats_pool_fit_lambda(&w, i ? ldexp(1, 2 * i - 6) : 0, &fit) &&
		    fit.likelihood > best.likelihood)
			best = fit;
	if (isfinite(best.likelihood))
		stats_pool_take_fit(&w, in, &best, &out);
	free(w.gpus);
	return out;
}
