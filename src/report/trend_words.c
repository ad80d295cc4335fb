#include "report/trend_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/format.h"

static const char *direction(enum better better, double ratio)
{
	if (better == BETTER_NONE)
		return ratio > 1 ? "more" : "less";
	return ratio > 1 ? "worse" : "better";
}

/* One digit: "0.003", "6×10⁻¹³". */
static char *probability(double p, char *out, size_t size)
{
	char digit[32];

	snprintf(digit, sizeof(digit), "%.0e", p);
	p = strtod(digit, NULL);
	return p > 0 && p < 0.001 ? format_power_of_ten(p, out, size) : format_short(p, 1, out, size);
}

char *trend_change_words(const struct trend_row *row, const struct trend_change *c)
{
	char date[16], before[FORMAT_SIZE], after[FORMAT_SIZE], p[FORMAT_SIZE];

	history_date(c->day, date);
	return xasprintf("%s since %s: %s → %s, %.1f\u00a0%% %s, p\u00a0=\u00a0%s", change_state_name(c->state),
			 date, format_quantity(c->before, row->unit, before, sizeof(before)),
			 format_quantity(c->after, row->unit, after, sizeof(after)),
			 100 * fabs(c->ratio - 1), direction(row->better, c->ratio),
			 probability(c->probability, p, sizeof(p)));
}

char *trend_state_words(const struct trend_row *row)
{
	const struct trend_change *c = trend_row_change(row);
	char date[16];

	if (row->news == TREND_WARNS)
		return xstrdup("WARNING: two of the last three nights beyond the band");
	if (row->news == TREND_ANEW) {
		history_date(row->start.day, date);
		return xasprintf("starts anew %s", date);
	}
	if (!c)
		return xstrdup("no change");
	history_date(c->day, date);
	return xasprintf("%s: %.1f %% %s since %s", change_state_name(c->state),
			 100 * fabs(c->ratio - 1), direction(row->better, c->ratio), date);
}
