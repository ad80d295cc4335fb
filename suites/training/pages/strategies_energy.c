/*
 * The strategy of a model with the least energy, compared with the fastest; undecided if intervals
 * overlap.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "suites/training/pages/strategies.h"
#include "report/view/format.h"

static double strategy_step_joules(const struct strategy *s)
{
	return strategies_value(s, "parallel.energy");
}

/* "512.0 J [505.0 J, 519.0 J]" */
static void add_joules(const struct strategy *s, struct text *out)
{
	const struct metric_value *m = strategies_metric(s, "parallel.energy");
	struct formatted interval;

	interval = format_interval(m, "J");
	text_addf(out, "%s%s%s", format_quantity(m->value, "J").text,
		  *interval.text ? " " : ", no interval", interval.text);
}

/* False if one has no interval. */
static bool energy_is_apart(const struct strategy *less, const struct strategy *more)
{
	return strategies_metric(less, "parallel.energy")->high <
	       strategies_metric(more, "parallel.energy")->low;
}

/* The one with the least energy, except `except`; `count`: none was measured. */
static size_t energy_least(const struct strategy *const *items, size_t count, size_t except)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++)
		if (i != except && isfinite(strategy_step_joules(items[i])) &&
		    (found == count ||
		     strategy_step_joules(items[i]) < strategy_step_joules(items[found])))
			found = i;
	return found;
}

static void energy_add_winner(const struct strategy *const *items, char *const *names,
			      size_t frugal, struct text *out)
{
	text_addf(out, " Least energy: %s, ", names[frugal]);
	add_joules(items[frugal], out);
	text_add(out, " per step, all devices");
	if (frugal && isfinite(strategy_step_joules(items[0]))) {
		text_addf(out, "; %s%s takes ", names[0], strchr(names[0], ',') ? "," : "");
		add_joules(items[0], out);
	}
	if (frugal)
		text_addf(out, ", with a step time of %s instead of %s",
			  format_quantity(items[frugal]->seconds, "s").text,
			  format_quantity(items[0]->seconds, "s").text);
	text_add(out, ".");
}

void strategies_energy_words(const struct strategy *const *items, char *const *names, size_t count,
			     struct text *out)
{
	size_t frugal = energy_least(items, count, count),
	       next = energy_least(items, count, frugal), measured = 0, alike = 0;

	for (size_t i = 0; i < count; i++) {
		measured += isfinite(strategy_step_joules(items[i])) != 0;
		alike += i != frugal && isfinite(strategy_step_joules(items[i])) &&
			 !energy_is_apart(items[frugal], items[i]);
	}
	if (measured < 2)
		return;
	if (!alike) {
		energy_add_winner(items, names, frugal, out);
	} else {
		text_addf(out, " Least energy: undecided between %s, ", names[frugal]);
		add_joules(items[frugal], out);
		text_addf(out, " per step, and %s, ", names[next]);
		add_joules(items[next], out);
		if (alike > 1)
			text_addf(out, ", and %zu more", alike - 1);
		text_add(out, ": their intervals overlap.");
	}
	if (measured < count)
		text_addf(out, " Energy was not measured for %zu of %zu.", count - measured, count);
}
