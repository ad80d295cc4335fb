#include "history/change_odds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "history/change_points.h"

#define AROUND 5 /* nights whose median says whether one of them is wild */
#define SIGMAS_PER_MAD 1.4826
/*
 * If most nights are equal, their deviation is 0; a night is wild only if it is off by at least
 * this share of a change.
 */
#define LEAST_WILD (0.1 * CHANGE_MAGNITUDE)
/*
 * Figures are not known better than this: keeps the logarithm of a series without any noise finite.
 */
#define RESOLUTION 1e-5

const struct rho_weights rho_weights_flat = { { 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05,
						0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05,
						0.05, 0.05, 0.05, 0.05, 0.05, 0.05 } };

double change_rho(size_t i)
{
	return (double)i / CHANGE_RHOS;
}

/* A series, centred and without wild nights, and what all models need of it. */
struct nights {
	size_t n;
	double *x, *rest; /* rest[i]: sum of x from i on */
	/* x(t)^2, x(t-1)^2 and x(t) x(t-1), summed over t >= 1 */
	double squares, earlier, products;
};

static void draw_in(const double *values, size_t n, double *x)
{
	double *around = xmalloc(n * sizeof(*around)), *off = xmalloc(n * sizeof(*off)), most;

	for (size_t i = 0; i < n; i++) {
		size_t first = i < AROUND / 2 ? 0 : i - AROUND / 2;

		if (first + AROUND > n)
			first = n < AROUND ? 0 : n - AROUND;
		around[i] = median_of(values + first, n < AROUND ? n : AROUND);
		off[i] = fabs(values[i] - around[i]);
	}
	most = fmax(CHANGE_WILD * SIGMAS_PER_MAD * median_of(off, n), LEAST_WILD);
	for (size_t i = 0; i < n; i++)
		x[i] = fmax(around[i] - most, fmin(around[i] + most, values[i]));
	free(around);
	free(off);
}

static void nights_init(struct nights *s, const double *values, size_t n)
{
	double centre = median_of(values, n);

	*s = (struct nights){ .n = n,
			      .x = xmalloc(n * sizeof(*s->x)),
			      .rest = xcalloc(n + 1, sizeof(*s->rest)) };
	draw_in(values, n, s->x);
	for (size_t i = n; i-- > 0;) {
		s->x[i] -= centre;
		s->rest[i] = s->rest[i + 1] + s->x[i];
	}
	for (size_t i = 1; i < n; i++) {
		s->squares += s->x[i] * s->x[i];
		s->earlier += s->x[i - 1] * s->x[i - 1];
		s->products += s->x[i] * s->x[i - 1];
	}
}

static void nights_release(struct nights *s)
{
	free(s->x);
	free(s->rest);
}

/*
 * The regression for one rho: column 0 is the level, column i the step at points[i - 1], the last
 * one the series. Swept (Goodnight 1979) over all but the last it holds M^-1, the sizes and RSS.
 */
struct model {
	size_t columns; /* of the level and the steps */
	double *cells;  /* (columns + 1) squared */
	double log_determinant, log_ridge;
};

static double *cell(const struct model *m, size_t row, size_t column)
{
	return &m->cells[row * (m->columns + 1) + column];
}

static void set_both(const struct model *m, size_t row, size_t column, double value)
{
	*cell(m, row, column) = *cell(m, column, row) = value;
}

/*
 * Sums over the prewhitened series: of its squares, and of its product with a step at `night`, or
 * with the level.
 */
static double squares(const struct nights *s, double rho)
{
	return (1 - rho * rho) * s->x[0] * s->x[0] + s->squares - 2 * rho * s->products +
	       rho * rho * s->earlier;
}

static double rest_after(const struct nights *s, size_t night, double rho)
{
	return (1 - rho) * (s->rest[night + 1] - rho * (s->rest[night] - s->x[s->n - 1]));
}

static double step_sum(const struct nights *s, size_t night, double rho)
{
	return s->x[night] - rho * s->x[night - 1] + rest_after(s, night, rho);
}

/* A prewhitened step is 1 at its night and 1 - rho from the next on. */
static void fill_step(const struct model *m, const struct nights *s, double rho,
		      const size_t *points, size_t i)
{
	size_t night = points[i - 1];
	double after = (double)(s->n - night - 1) * (1 - rho) * (1 - rho);

	for (size_t j = 0; j < i; j++)
		set_both(m, i, j, 1 - rho + after);
	set_both(m, i, i, 1 + after + exp(m->log_ridge));
	set_both(m, i, m->columns, step_sum(s, night, rho));
}

static void model_fill(struct model *m, const struct nights *s, double rho, const size_t *points)
{
	double first = 1 - rho * rho;

	m->log_ridge = log(first / (CHANGE_SIZE * CHANGE_SIZE));
	set_both(m, 0, 0, first + (double)(s->n - 1) * (1 - rho) * (1 - rho));
	set_both(m, 0, m->columns, first * s->x[0] + rest_after(s, 0, rho));
	for (size_t i = 1; i < m->columns; i++)
		fill_step(m, s, rho, points, i);
	*cell(m, m->columns, m->columns) = squares(s, rho) + (double)s->n * RESOLUTION * RESOLUTION;
}

static void sweep(const struct model *m, size_t k)
{
	double pivot = *cell(m, k, k);

	for (size_t j = 0; j <= m->columns; j++)
		*cell(m, k, j) /= pivot;
	for (size_t i = 0; i <= m->columns; i++) {
		double factor = *cell(m, i, k);

		if (i == k)
			continue;
		for (size_t j = 0; j <= m->columns; j++)
			*cell(m, i, j) -= factor * *cell(m, k, j);
		*cell(m, i, k) = -factor / pivot;
	}
	*cell(m, k, k) = 1 / pivot;
}

static void model_solve(struct model *m)
{
	m->log_determinant = 0;
	for (size_t k = 0; k < m->columns; k++) {
		m->log_determinant += log(*cell(m, k, k));
		sweep(m, k);
	}
}

static double log_marginal(size_t n, double rho, double rss, double log_determinant, size_t steps,
			   double log_ridge)
{
	return (log1p(-rho * rho) - log_determinant + (double)steps * log_ridge -
		(double)(n - 1) * log(rss)) /
	       2;
}

/* Log marginal likelihoods of one set of changes, and of the same without each of them. */
struct stage {
	double all[CHANGE_RHOS];
	double (*without)[CHANGE_RHOS];
};

/*
 * Contribution of the moment prior for step i: log of its size's mean square afterwards over that
 * before, 1 / ridge. Exact for one step; several are taken as independent.
 */
static double moment(const struct model *m, size_t i, double variance)
{
	double size = *cell(m, i, m->columns);

	return log(size * size / variance + *cell(m, i, i)) + m->log_ridge;
}

static void stage_of_rho(struct stage *stage, const struct model *m, size_t n, size_t r)
{
	double rho = change_rho(r), rss = *cell(m, m->columns, m->columns), moments = 0;
	double variance = rss / (double)(n - 1);
	size_t steps = m->columns - 1;

	for (size_t i = 1; i <= steps; i++)
		moments += moment(m, i, variance);
	stage->all[r] =
		log_marginal(n, rho, rss, m->log_determinant, steps, m->log_ridge) + moments;
	for (size_t i = 1; i <= steps; i++) {
		double inverse = *cell(m, i, i), size = *cell(m, i, m->columns);

		stage->without[i - 1][r] =
			log_marginal(n, rho, rss + size * size / inverse,
				     m->log_determinant + log(inverse), steps - 1, m->log_ridge) +
			moments - moment(m, i, variance);
	}
}

static void stage_fill(struct stage *stage, struct model *m, const struct nights *s,
		       const size_t *points, size_t count)
{
	m->columns = count + 1;
	for (size_t r = 0; r < CHANGE_RHOS; r++) {
		model_fill(m, s, change_rho(r), points);
		model_solve(m);
		stage_of_rho(stage, m, s->n, r);
	}
}

/* log of the sum of exp(values) by weight. */
static double log_sum(const double *values, const struct rho_weights *weights)
{
	double most = -INFINITY, sum = 0;

	for (size_t r = 0; r < CHANGE_RHOS; r++)
		most = fmax(most, values[r]);
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		sum += weights->weight[r] * exp(values[r] - most);
	return most + log(sum);
}

/*
 * Writes the cost of removing each change to `odds`; returns the cheapest one. `count` is above 0.
 */
static size_t weakest(const struct stage *stage, size_t count, const struct rho_weights *weights,
		      double *odds)
{
	double all = log_sum(stage->all, weights);
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		odds[i] = all - log_sum(stage->without[i], weights);
		if (odds[i] < odds[found])
			found = i;
	}
	return found;
}

static void drop(size_t *points, size_t *count, size_t i)
{
	memmove(&points[i], &points[i + 1], (--*count - i) * sizeof(*points));
}

/* Working state for the changes of one series. */
struct work {
	struct nights nights;
	struct model model;
	struct stage stage;
};

static void work_init(struct work *w, const double *values, size_t n, size_t count)
{
	nights_init(&w->nights, values, n);
	w->model = (struct model){ .cells = xmalloc((count + 2) * (count + 2) * sizeof(double)) };
	w->stage.without = xmalloc((count + 1) * sizeof(*w->stage.without));
}

static void work_release(struct work *w)
{
	nights_release(&w->nights);
	free(w->model.cells);
	free(w->stage.without);
}

size_t change_odds_keep(const double *values, size_t n, const struct rho_weights *weights,
			double limit, size_t *points, size_t count, double *odds)
{
	struct work w;

	if (!count)
		return 0;
	work_init(&w, values, n, count);
	while (count) {
		size_t i;

		stage_fill(&w.stage, &w.model, &w.nights, points, count);
		i = weakest(&w.stage, count, weights, odds);
		if (odds[i] > limit)
			break;
		drop(points, &count, i);
	}
	work_release(&w);
	return count;
}

/* Adds exp(more) to exp(*sum). */
static void add_log(double *sum, double more)
{
	double most = fmax(*sum, more);

	*sum = most + log(exp(*sum - most) + exp(more - most));
}

void change_odds_evidence(const double *values, size_t n, const size_t *points, size_t count,
			  struct rho_weights *evidence)
{
	size_t *left = xmalloc((count + 1) * sizeof(*left));
	double *odds = xmalloc((count + 1) * sizeof(*odds)), most = -INFINITY;
	struct work w;

	if (count)
		memcpy(left, points, count * sizeof(*left));
	work_init(&w, values, n, count);
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		evidence->weight[r] = -INFINITY;
	for (;;) {
		stage_fill(&w.stage, &w.model, &w.nights, left, count);
		for (size_t r = 0; r < CHANGE_RHOS; r++)
			add_log(&evidence->weight[r],
				w.stage.all[r] - CHANGE_SURPRISE * (double)count);
		if (!count)
			break;
		drop(left, &count, weakest(&w.stage, count, &rho_weights_flat, odds));
	}
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		most = fmax(most, evidence->weight[r]);
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		evidence->weight[r] = exp(evidence->weight[r] - most);
	work_release(&w);
	free(left);
	free(odds);
}
