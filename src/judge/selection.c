/* The cases that a limit is about, and what their launches say of its metric. */
#include <stdlib.h>

#include "base/memory.h"
#include "judge/judging.h"

static void refuse_unverified(const struct subject *s, struct observation *o)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->cases[i]->status == CASE_OK && !case_is_verified(s->cases[i]))
			observation_refuse(o, VERDICT_ERROR, "its result was never verified");
}

/*
 * Estimates the identical devices of subjects[first] with the spread that all their launches show.
 */
static void learn_from_group(const struct judging *j, size_t first, bool *seen)
{
	size_t *members = xcalloc(j->count, sizeof(*members)), n = 0;
	size_t *launches = xcalloc(j->count, sizeof(*launches));
	double *deviations = xcalloc(j->count, sizeof(*deviations));
	struct launch_spread spread;

	for (size_t i = first; i < j->count; i++) {
		const struct observation *o = &j->observations[i];

		if (seen[i] || (i != first && !subjects_alike(j->subjects[first], j->subjects[i])))
			continue;
		seen[i] = true;
		if (o->verdict != VERDICT_PASS || o->exact || !(o->estimate.value > 0))
			continue;
		launches[n] = o->count;
		deviations[n] = log_deviation(o->values, o->count);
		members[n++] = i;
	}
	spread = launch_spread_learn(deviations, launches, n, j->limit->launch_spread);
	for (size_t i = 0; i < n; i++)
		observation_estimate(&j->observations[members[i]], &spread);
	free(members);
	free(launches);
	free(deviations);
}

void judging_select(struct judging *j)
{
	bool *seen = xcalloc(j->all->count + 1, sizeof(*seen));

	j->subjects = xcalloc(j->all->count + 1, sizeof(*j->subjects));
	j->observations = xcalloc(j->all->count + 1, sizeof(*j->observations));
	for (size_t i = 0; i < j->all->count; i++) {
		const struct subject *s = &j->all->items[i];

		if (!limit_selects(j->limit, s->first, s->device ? s->device->name : ""))
			continue;
		j->subjects[j->count] = s;
		j->observations[j->count] =
			observe(s, j->limit->metric->name, j->limit->metric->unit,
				j->limit->launch_spread);
		refuse_unverified(s, &j->observations[j->count++]);
	}
	for (size_t i = 0; i < j->count; i++)
		if (!seen[i])
			learn_from_group(j, i, seen);
	free(seen);
}
