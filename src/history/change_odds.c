#include "history/change_odds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "history/change_points.h"

#define DATES 3  /* nights that a proposed date is moved by at most */
#define AROUND 5 /* window of nights whose median identifies an outlier */
#define SIGMAS_PER_MAD 1.4826
/*
 * If most nights are equal, their deviation is 0. An outlier must differ by at least this share of
 * a change.
 */
#define LEAST_WILD (0.1 * CHANGE_MAGNITUDE)
/* Resolution of values: keeps the logarithm of a noiseless series finite. */
#define RESOLUTION 1e-5

const struct rho_weights rho_weights_flat = { { 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05,
						0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05,
						0.05, 0.05, 0.05, 0.05, 0.05, 0.05 } };

double change_odds_rho(size_t i)
{
	return (double)i / CHANGE_RHOS;
}

/* A centred series without outliers, and the sums that all models need. */
struct nights {
	size_t n;
	double *x, *rest; /* rest[i]: sum of x from index i on */
	/* x(t)^2, x(t-1)^2 and x(t) x(t-1), summed over t >= 1 */
	double squares, earlier, products;
};

static void change_odds_draw_in(const double *values, size_t n, double *x)
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

/*
 * The regression for one rho. Column 0 is the level, column i the step at points[i - 1], the last
 * column the series. After sweeping (Goodnight 1979) over all but the last, it contains M^-1, the
 * step sizes and RSS.
 */
struct odds_model {
	size_t columns; /* columns of the level and the steps */
	double *cells;  /* (columns + 1) squared */
	double log_determinant, log_ridge;
};

static double *change_odds_model_cell(const struct odds_model *m, size_t row, size_t column)
{
	return &m->cells[row * (m->columns + 1) + column];
}

static void change_odds_set_both(const struct odds_model *m, size_t row, size_t column,
				 double value)
{
	*change_odds_model_cell(m, row, column) = *change_odds_model_cell(m, column, row) = value;
}

/* Sum over the prewhitened nights after `night`. */
static double change_odds_rest_after(const struct nights *s, size_t night, double rho)
{
	return (1 - rho) * (s->rest[night + 1] - rho * (s->rest[night] - s->x[s->n - 1]));
}

static void change_odds_model_fill(struct odds_model *m, const struct nights *s, double rho,
				   const size_t *points)
{
	double first = 1 - rho * rho;

	m->log_ridge = log(first / (CHANGE_SIZE * CHANGE_SIZE));
	change_odds_set_both(m, 0, 0, first + (double)(s->n - 1) * (1 - rho) * (1 - rho));
	change_odds_set_both(m, 0, m->columns, first * s->x[0] + change_odds_rest_after(s, 0, rho));
	/* A prewhitened step is 1 at its night and 1 - rho from the next on. */
	for (size_t i = 1; i < m->columns; i++) {
		size_t night = points[i - 1];
		double after = (double)(s->n - night - 1) * (1 - rho) * (1 - rho);

		for (size_t j = 0; j < i; j++)
			change_odds_set_both(m, i, j, 1 - rho + after);
		change_odds_set_both(m, i, i, 1 + after + exp(m->log_ridge));
		change_odds_set_both(m, i, m->columns,
				     s->x[night] - rho * s->x[night - 1] +
					     change_odds_rest_after(s, night, rho));
	}
	*change_odds_model_cell(m, m->columns, m->columns) =
		first * s->x[0] * s->x[0] + s->squares - 2 * rho * s->products +
		rho * rho * s->earlier + (double)s->n * RESOLUTION * RESOLUTION;
}

static void change_odds_model_sweep(const struct odds_model *m, size_t k)
{
	double pivot = *change_odds_model_cell(m, k, k);

	for (size_t j = 0; j <= m->columns; j++)
		*change_odds_model_cell(m, k, j) /= pivot;
	for (size_t i = 0; i <= m->columns; i++) {
		double factor = *change_odds_model_cell(m, i, k);

		if (i == k)
			continue;
		for (size_t j = 0; j <= m->columns; j++)
			*change_odds_model_cell(m, i, j) -=
				factor * *change_odds_model_cell(m, k, j);
		*change_odds_model_cell(m, i, k) = -factor / pivot;
	}
	*change_odds_model_cell(m, k, k) = 1 / pivot;
}

static double change_odds_log_marginal(size_t n, double rho, double rss, double log_determinant,
				       size_t steps, double log_ridge)
{
	return (log1p(-rho * rho) - log_determinant + (double)steps * log_ridge -
		(double)(n - 1) * log(rss)) /
	       2;
}

/* Log marginal likelihoods of one set of changes, and of that set without each of them. */
struct stage {
	double all[CHANGE_RHOS];
	double (*without)[CHANGE_RHOS];
};

/*
 * Contribution of the moment prior for step i: log of the posterior mean square of its size over
 * the prior one, 1 / ridge. Exact for one step; several are treated as independent.
 */
static double change_odds_moment_prior(const struct odds_model *m, size_t i, double variance)
{
	double size = *change_odds_model_cell(m, i, m->columns);

	return log(size * size / variance + *change_odds_model_cell(m, i, i)) + m->log_ridge;
}

static void change_odds_stage_of_rho(struct stage *stage, const struct odds_model *m, size_t n,
				     size_t r)
{
	double rho = change_odds_rho(r), rss = *change_odds_model_cell(m, m->columns, m->columns),
	       moments = 0;
	double variance = rss / (double)(n - 1);
	size_t steps = m->columns - 1;

	for (size_t i = 1; i <= steps; i++)
		moments += change_odds_moment_prior(m, i, variance);
	stage->all[r] =
		change_odds_log_marginal(n, rho, rss, m->log_determinant, steps, m->log_ridge) +
		moments;
	for (size_t i = 1; i <= steps; i++) {
		double inverse = *change_odds_model_cell(m, i, i),
		       size = *change_odds_model_cell(m, i, m->columns);

		stage->without[i - 1][r] =
			change_odds_log_marginal(n, rho, rss + size * size / inverse,
						 m->log_determinant + log(inverse), steps - 1,
						 m->log_ridge) +
			moments - change_odds_moment_prior(m, i, variance);
	}
}

static void change_odds_stage_fill(struct stage *stage, struct odds_model *m,
				   const struct nights *s, const size_t *points, size_t count)
{
	m->columns = count + 1;
	for (size_t r = 0; r < CHANGE_RHOS; r++) {
		change_odds_model_fill(m, s, change_odds_rho(r), points);
		m->log_determinant = 0;
		for (size_t k = 0; k < m->columns; k++) {
			m->log_determinant += log(*change_odds_model_cell(m, k, k));
			change_odds_model_sweep(m, k);
		}
		change_odds_stage_of_rho(stage, m, s->n, r);
	}
}

/* Weighted log-sum-exp of the values. */
static double change_odds_log_sum(const double *values, const struct rho_weights *weights)
{
	double most = -INFINITY, sum = 0;

	for (size_t r = 0; r < CHANGE_RHOS; r++)
		most = fmax(most, values[r]);
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		sum += weights->weight[r] * exp(values[r] - most);
	return most + log(sum);
}

/*
 * Stores the cost of removing each change in `odds`; returns the index of the cheapest. `count` is
 * above 0.
 */
static size_t change_odds_stage_weakest_change(const struct stage *stage, size_t count,
					       const struct rho_weights *weights, double *odds)
{
	double all = change_odds_log_sum(stage->all, weights);
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		odds[i] = all - change_odds_log_sum(stage->without[i], weights);
		if (odds[i] < odds[found])
			found = i;
	}
	return found;
}

/* Working memory for the changes of one series. */
struct odds_work {
	struct nights nights;
	struct odds_model model;
	struct stage stage;
};

static void change_odds_work_init(struct odds_work *w, const double *values, size_t n, size_t count)
{
	double centre = median_of(values, n);
	struct nights *s = &w->nights;

	*s = (struct nights){ .n = n,
			      .x = xmalloc(n * sizeof(*s->x)),
			      .rest = xcalloc(n + 1, sizeof(*s->rest)) };
	change_odds_draw_in(values, n, s->x);
	for (size_t i = n; i-- > 0;) {
		s->x[i] -= centre;
		s->rest[i] = s->rest[i + 1] + s->x[i];
	}
	for (size_t i = 1; i < n; i++) {
		s->squares += s->x[i] * s->x[i];
		s->earlier += s->x[i - 1] * s->x[i - 1];
		s->products += s->x[i] * s->x[i - 1];
	}
	w->model =
		(struct odds_model){ .cells = xmalloc((count + 2) * (count + 2) * sizeof(double)) };
	w->stage.without = xmalloc((count + 1) * sizeof(*w->stage.without));
}

static void change_odds_work_release(struct odds_work *w)
{
	free(w->nights.x);
	free(w->nights.rest);
	free(w->model.cells);
	free(w->stage.without);
}

/* Moves change i to the night near it where the series is most likely. */
static void change_odds_date(struct odds_work *w, const struct rho_weights *weights, size_t *points,
			     size_t count, size_t i)
{
	size_t proposed = points[i], best = proposed;
	size_t least = (i ? points[i - 1] : 0) + CHANGE_MIN_SEGMENT;
	size_t end = i + 1 < count ? points[i + 1] : w->nights.n;
	size_t last = end > CHANGE_MIN_SEGMENT ? end - CHANGE_MIN_SEGMENT : 0;
	double most = -INFINITY;

	for (size_t at = proposed > least + DATES ? proposed - DATES : least;
	     at <= last && at <= proposed + DATES; at++) {
		double now;

		points[i] = at;
		change_odds_stage_fill(&w->stage, &w->model, &w->nights, points, count);
		now = change_odds_log_sum(w->stage.all, weights);
		if (now > most) {
			most = now;
			best = at;
		}
	}
	points[i] = best;
}

size_t change_odds_keep(const double *values, size_t n, const struct rho_weights *weights,
			double limit, size_t *points, size_t count, double *odds)
{
	struct odds_work w;

	if (!count)
		return 0;
	change_odds_work_init(&w, values, n, count);
	for (size_t i = 0; i < count; i++)
		change_odds_date(&w, weights, points, count, i);
	while (count) {
		size_t i;

		change_odds_stage_fill(&w.stage, &w.model, &w.nights, points, count);
		i = change_odds_stage_weakest_change(&w.stage, count, weights, odds);
		if (odds[i] > limit)
			break;
		memmove(&points[i], &points[i + 1], (--count - i) * sizeof(*points));
	}
	change_odds_work_release(&w);
	return count;
}

void change_odds_evidence(const double *values, size_t n, const size_t *points, size_t count,
			  struct rho_weights *evidence)
{
	size_t *left = xmalloc((count + 1) * sizeof(*left)), i;
	double *odds = xmalloc((count + 1) * sizeof(*odds)), most = -INFINITY;
	struct odds_work w;

	if (count)
		memcpy(left, points, count * sizeof(*left));
	change_odds_work_init(&w, values, n, count);
	for (i = 0; i < count; i++)
		change_odds_date(&w, &rho_weights_flat, left, count, i);
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		evidence->weight[r] = -INFINITY;
	for (;;) {
		change_odds_stage_fill(&w.stage, &w.model, &w.nights, left, count);
		for (size_t r = 0; r < CHANGE_RHOS; r++) {
			double sum = evidence->weight[r];
			double more = w.stage.all[r] - CHANGE_SURPRISE * (double)count;
			double larger = fmax(sum, more);

			evidence->weight[r] = larger + log(exp(sum - larger) + exp(more - larger));
		}
		if (!count)
			break;
		i = change_odds_stage_weakest_change(&w.stage, count, &rho_weights_flat, odds);
		memmove(&left[i], &left[i + 1], (--count - i) * sizeof(*left));
	}
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		most = fmax(most, evidence->weight[r]);
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		evidence->weight[r] = exp(evidence->weight[r] - most);
	change_odds_work_release(&w);
	free(left);
	free(odds);
}
