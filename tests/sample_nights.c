#include "sample_nights.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "history/change_points.h"
#include "history/trend.h"

#define MOST_NIGHTS 512
#define STEP_NIGHTS 10

/* splitmix64 (Steele, Lea & Flood 2014) */
static double uniform(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

double sample_normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(uniform(state)));

	return radius * cos(2 * M_PI * uniform(state));
}

/* What is said after some nights. */
struct said {
	size_t at[MOST_NIGHTS / CHANGE_MIN_SEGMENT + 1], count; /* changes */
	bool warning;
};

/* A simulated series, and what became of it. */
struct sample {
	struct history_point points[MOST_NIGHTS];
	struct history_series series;
	struct said before;
	bool changed, warned, near;
	size_t found; /* nights after the step; 0: not yet */
};

static void fill(struct sample *sample, const struct night_plan *plan, uint64_t *state)
{
	double wander = sample_normal(state);

	sample->series = (struct history_series){ .case_id = (char *)"simulated/case@host:0",
						  .machine = (char *)"",
						  .points = sample->points,
						  .better = BETTER_HIGHER };
	for (size_t i = 0; i < plan->past + plan->nights; i++) {
		double level = 5e10 * (i < plan->past ? 1 : 1 - plan->step);

		sample->points[i] =
			(struct history_point){ .night = (int64_t)i + 1,
						.day = (int64_t)i,
						.epoch = 1,
						.value = level * exp(plan->noise * wander) };
		wander =
			plan->rho * wander + sqrt(1 - plan->rho * plan->rho) * sample_normal(state);
	}
}

static struct sample *samples(const struct night_plan *plan)
{
	struct sample *all = xcalloc(plan->series, sizeof(*all));
	uint64_t state = plan->seed;

	for (size_t i = 0; i < plan->series; i++)
		fill(&all[i], plan, &state);
	return all;
}

static void take_proposed(void *context, const double *logs, size_t n, const size_t *points,
			  size_t count)
{
	struct said *said = context;

	(void)logs;
	(void)n;
	said->count = count;
	for (size_t i = 0; i < count; i++)
		said->at[i] = points[i];
}

static void look(const struct history_series *s, const struct night_plan *plan,
		 const struct trend_prior *prior, struct said *said)
{
	struct trend *trends;
	size_t count =
		trend_of_series(s, NULL, plan->method == NIGHTS_TOGETHER ? prior : NULL, &trends);

	said->count = trends[0].change_count;
	for (size_t i = 0; i < said->count; i++)
		said->at[i] = trends[0].changes[i].at;
	said->warning = trends[0].warning;
	trends_release(trends, count);
	if (plan->method == NIGHTS_PROPOSED)
		trend_propose(s, take_proposed, said);
}

static void learn(struct sample *all, const struct night_plan *plan, size_t nights,
		  struct trend_prior *prior)
{
	*prior = (struct trend_prior){ 0 };
	for (size_t i = 0; i < plan->series; i++) {
		all[i].series.count = nights;
		if (plan->method == NIGHTS_TOGETHER)
			trend_prior_add(prior, &all[i].series);
	}
	trend_prior_finish(prior);
}

/* Changes that were not there the night before, give or take two nights. */
static size_t raised(const struct said *now, const struct said *before)
{
	size_t count = 0;

	for (size_t i = 0; i < now->count; i++) {
		bool known = false;

		for (size_t j = 0; j < before->count; j++)
			known = known || labs((long)now->at[i] - (long)before->at[j]) <= 2;
		count += !known;
	}
	return count;
}

struct quiet_outcome simulate_quiet(const struct night_plan *plan)
{
	struct sample *all = samples(plan);
	struct quiet_outcome out = { 0 };

	for (size_t n = plan->past; n <= plan->past + plan->nights; n++) {
		struct trend_prior prior;

		learn(all, plan, n, &prior);
		for (size_t i = 0; i < plan->series; i++) {
			size_t fresh;
			struct said now;

			look(&all[i].series, plan, &prior, &now);
			fresh = n > plan->past ? raised(&now, &all[i].before) : 0;
			out.alarms += fresh;
			all[i].changed = all[i].changed || fresh;
			all[i].warned = all[i].warned || (n > plan->past && now.warning);
			all[i].before = now;
		}
		trend_prior_release(&prior);
	}
	for (size_t i = 0; i < plan->series; i++) {
		out.changes += all[i].changed / (double)plan->series;
		out.warnings += all[i].warned / (double)plan->series;
	}
	free(all);
	return out;
}

/* What the n-th night after the step says of it. */
static void take_night(struct sample *sample, const struct night_plan *plan,
		       const struct trend_prior *prior, size_t n)
{
	struct said now;
	size_t last;

	look(&sample->series, plan, prior, &now);
	last = now.count ? now.at[now.count - 1] : 0;
	sample->warned = sample->warned || (n <= 3 && now.warning);
	if (!sample->found && last + ACKNOWLEDGED_WITHIN >= plan->past)
		sample->found = n;
	sample->near = sample->near || (n <= 6 && last + 2 >= plan->past);
}

struct step_outcome simulate_step(const struct night_plan *wanted)
{
	struct night_plan plan = *wanted;
	struct step_outcome out = { 0 };
	struct sample *all;
	double found = 0;

	plan.nights = STEP_NIGHTS;
	all = samples(&plan);
	for (size_t n = 1; n <= STEP_NIGHTS; n++) {
		struct trend_prior prior;

		learn(all, &plan, plan.past + n, &prior);
		for (size_t i = 0; i < plan.series; i++)
			take_night(&all[i], &plan, &prior, n);
		trend_prior_release(&prior);
	}
	for (size_t i = 0; i < plan.series; i++) {
		out.within_6 += (all[i].found && all[i].found <= 6) / (double)plan.series;
		out.within_10 += (all[i].found > 0) / (double)plan.series;
		out.dated += all[i].near / (double)plan.series;
		out.warned += all[i].warned / (double)plan.series;
		out.mean += (double)all[i].found;
		found += all[i].found > 0;
	}
	out.mean = found > 0 ? out.mean / found : NAN;
	free(all);
	return out;
}
