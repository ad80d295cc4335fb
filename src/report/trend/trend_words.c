#include "report/trend/trend_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/view/format.h"
#include "report/view/presented.h"

static const char *trend_change_direction(enum better better, double ratio)
{
	if (better == BETTER_NONE)
		return ratio > 1 ? "more" : "less";
	return ratio > 1 ? "worse" : "better";
}

static char *found_words(const struct trend_change *c)
{
	if (c->found != FOUND_BY_NIGHTS)
		return trend_found_words(c);
	return xasprintf("odds over %s to 1",
			 format_power_of_ten(pow(10, trend_odds_power(c))).text);
}

char *trend_change_words(const struct trend_row *row, const struct trend_change *c)
{
	char date[16];
	char *decision = c->decision ? triage_words(c->decision) : NULL, *how, *out;

	history_date(c->day, date);
	how = found_words(c);
	out = xasprintf("%s since %s: %s → %s, %.1f\u00a0%% %s, %s%s%s",
			change_state_name(c->state), date,
			format_quantity(c->before, row->unit).text,
			format_quantity(c->after, row->unit).text, trend_percent(c),
			trend_change_direction(row->better, c->ratio), how, decision ? "; " : "",
			decision ? decision : "");
	free(how);
	free(decision);
	return out;
}

char *trend_state_words(const struct trend_row *row)
{
	const struct trend_change *c = trend_row_change(row);
	char date[16];

	if (row->news == TREND_WARNS)
		return trend_warning_words(row->beyond, row->beyond_by, row->band);
	if (row->news == TREND_ANEW)
		return xstrdup(row->seams[row->seam_count - 1].words);
	if (!c)
		return xstrdup(row->young ? "cannot tell yet" : "no change");
	history_date(c->day, date);
	return xasprintf("%s: %.1f %% %s since %s", change_state_name(c->state), trend_percent(c),
			 trend_change_direction(row->better, c->ratio), date);
}

char *trend_incident_name(const struct trend_row *const *rows, size_t count)
{
	if (count > 1)
		return xasprintf("%.*s: %zu series", trend_row_suite_length(rows[0]),
				 rows[0]->case_id, count);
	return xasprintf("%s, %s", rows[0]->case_id, view_metric_title(NULL, rows[0]->metric).text);
}

char *trend_incident_words(const struct trend_row *const *rows, size_t count)
{
	const struct trend_change *c = trend_row_change(rows[0]);
	double low = INFINITY, high = 0;
	char date[16];

	if (!c || count < 2)
		return trend_state_words(rows[0]);
	for (size_t i = 0; i < count; i++) {
		low = fmin(low, trend_percent(trend_row_change(rows[i])));
		high = fmax(high, trend_percent(trend_row_change(rows[i])));
	}
	history_date(c->day, date);
	if (high - low < 0.05)
		return xasprintf("%s: %.1f\u00a0%% %s since %s", change_state_name(c->state), high,
				 trend_change_direction(rows[0]->better, c->ratio), date);
	return xasprintf("%s: %.1f %% to %.1f\u00a0%% %s since %s", change_state_name(c->state),
			 low, high, trend_change_direction(rows[0]->better, c->ratio), date);
}
