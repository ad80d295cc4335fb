/* Counts of cases by their status. */
#include <math.h>
#include <string.h>

#include "report/view/view.h"

void view_count_case(struct view_counts *n, const struct case_result *c)
{
	const struct metric_value *m = view_headline(c);

	n->of[c->status]++;
	n->total++;
	if (c->status != CASE_OK)
		return;
	n->noisy += view_noisy(c);
	n->unsettled += view_unsettled(c);
	n->verified += c->verification.done;
	n->no_interval += m && view_series(c, m) && isnan(m->low);
}

void view_count(const struct view *view, struct view_counts *n)
{
	*n = (struct view_counts){ 0 };
	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];

		for (size_t i = 0; i < result->case_count; i++)
			view_count_case(n, &result->cases[i]);
		if (result->planned > result->case_count)
			n->unreached += result->planned - result->case_count;
		if (strcmp(view_string(result->state), "complete") != 0)
			n->stopped = true;
	}
}

bool view_is_selftest(const struct result *result, double *injected)
{
	bool clean = true;

	*injected = 0;
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		*injected += case_injected_faults(c).injected;
		clean = clean && c->status != CASE_ERROR &&
			(c->status != CASE_FAILED || case_wrong_is_injected(c));
	}
	return clean && *injected > 0;
}
