#include "history/trend_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "history/trend.h"
#include "judge/estimate/kind.h"

#define EM_STEPS 30
/* Flat weights count as this many series, because few series do not determine their rho. */
#define FLAT_SERIES 1.0

static struct rho_group *trend_prior_rho_group_find(const struct trend_prior *p,
						    const struct history_series *s)
{
	/* NULL in series that tests construct. */
	const char *section = s->section ? s->section : "";

	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->groups[i].section, section) == 0 &&
		    strcmp(p->groups[i].machine, s->machine) == 0)
			return &p->groups[i];
	return NULL;
}

static bool trend_prior_has_states(const struct history_series *s)
{
	enum figure_kind kind = figure_kind_named(s->kind ? s->kind : "");

	return kind < FIGURE_KINDS && figure_kind_repeat(kind).states;
}

struct prior_series {
	struct rho_group *group;
	bool states;
};

static void trend_prior_take_evidence(void *context, const double *logs, size_t n,
				      const size_t *points, size_t count)
{
	const struct prior_series *s = context;
	struct rho_group *g = s->group;

	if (s->states)
		state_visits_add(&g->visits, logs, n, log1p(STATE_LEAST), log(LEVEL_STATES));
	/* Two nights do not determine a correlation. */
	if (n < 3)
		return;
	ARRAY_GROW(g->evidence, g->count, g->capacity);
	change_odds_evidence(logs, n, points, count, &g->evidence[g->count++]);
}

void trend_prior_add(void *prior, const struct history_series *s)
{
	struct trend_prior *p = prior;
	struct prior_series series = { trend_prior_rho_group_find(p, s),
				       trend_prior_has_states(s) };

	if (!series.group) {
		ARRAY_GROW(p->groups, p->count, p->capacity);
		series.group = &p->groups[p->count++];
		*series.group =
			(struct rho_group){ .section = xstrdup(s->section ? s->section : ""),
					    .machine = xstrdup(s->machine),
					    .weights = rho_weights_flat };
	}
	p->series++;
	trend_propose(s, trend_prior_take_evidence, &series);
}

/* One EM step: distributes each series over rho by weights and likelihood together. */
static void trend_prior_em_step(struct rho_group *g)
{
	struct rho_weights sum;

	for (size_t r = 0; r < CHANGE_RHOS; r++)
		sum.weight[r] = FLAT_SERIES * rho_weights_flat.weight[r];
	for (size_t i = 0; i < g->count; i++) {
		double all = 0;

		for (size_t r = 0; r < CHANGE_RHOS; r++)
			all += g->weights.weight[r] * g->evidence[i].weight[r];
		for (size_t r = 0; r < CHANGE_RHOS; r++)
			sum.weight[r] += g->weights.weight[r] * g->evidence[i].weight[r] / all;
	}
	for (size_t r = 0; r < CHANGE_RHOS; r++)
		g->weights.weight[r] = sum.weight[r] / ((double)g->count + FLAT_SERIES);
}

void trend_prior_finish(struct trend_prior *p)
{
	for (size_t i = 0; i < p->count; i++)
		for (int step = 0; step < EM_STEPS; step++)
			trend_prior_em_step(&p->groups[i]);
}

enum status trend_prior_learn(struct trend_prior *p, struct store *history,
			      const struct history_filter *filter, struct error *err)
{
	const struct history_filter all = { .all_metrics = filter->all_metrics,
					    .nights = filter->nights };

	memset(p, 0, sizeof(*p));
	if (store_each_series(history, &all, trend_prior_add, p, err) == STATUS_OK)
		trend_prior_finish(p);
	return err->status;
}

void trend_prior_release(struct trend_prior *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->groups[i].section);
		free(p->groups[i].machine);
		free(p->groups[i].evidence);
	}
	free(p->groups);
	memset(p, 0, sizeof(*p));
}

const struct rho_weights *trend_prior_weights(const struct trend_prior *p,
					      const struct history_series *s)
{
	const struct rho_group *group = p ? trend_prior_rho_group_find(p, s) : NULL;

	return group ? &group->weights : &rho_weights_flat;
}

size_t trend_prior_lasting(const struct trend_prior *p, const struct history_series *s)
{
	const struct rho_group *group = p ? trend_prior_rho_group_find(p, s) : NULL;
	const struct state_visits none = { 0 };

	if (!trend_prior_has_states(s))
		return 0;
	return state_visit_length(group ? &group->visits : &none, STATE_FALSE);
}

size_t trend_prior_series(const struct trend_prior *p)
{
	return p && p->series ? p->series : 1;
}

double trend_prior_rho(const struct trend_prior *p, const struct history_series *s)
{
	const struct rho_weights *weights = trend_prior_weights(p, s);
	double rho = 0;

	for (size_t i = 0; i < CHANGE_RHOS; i++)
		rho += weights->weight[i] * change_odds_rho(i);
	return rho;
}

double trend_prior_limit(const struct trend_prior *p)
{
	double series = p ? (double)p->series : 1;

	return TREND_ODDS + TREND_ODDS_GROWTH * fmax(0, log(series / TREND_ODDS_SERIES));
}
