/*
 * Comparison of two step times, and speed-up: no strategy wins by less than the variation of the
 * measurements.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "suites/training/pages/strategies.h"
#include "report/view/format.h"

/* A speed-up above the number of devices by more than this is not a rounding effect. */
#define SLACK 1.01

/* Bound of a time's interval or, if it has none, of its samples. */
static double strategies_apart_edge_of(const struct strategy *s, const char *metric, bool upper)
{
	const struct metric_value *m = strategies_metric(s, metric);
	const struct series *series = m && m->series ? case_series(s->c, m->series) : NULL;
	double edge = !m ? NAN : upper ? m->high : m->low;

	if (isfinite(edge) || !series)
		return edge;
	return upper ? series->statistics.max : series->statistics.min;
}

bool strategies_apart(const struct strategy *fast, const struct strategy *slow)
{
	return strategies_apart_edge_of(fast, "parallel.step_time", true) <
	       strategies_apart_edge_of(slow, "parallel.step_time", false);
}

bool strategies_has_interval(const struct strategy *s)
{
	const struct metric_value *m = strategies_metric(s, "parallel.step_time");

	return m && isfinite(m->low) && isfinite(m->high);
}

/* Lower bound of the speed-up over one device; NaN: not measured. */
static double least_speedup(const struct strategy *s)
{
	return strategies_apart_edge_of(s, "parallel.single_time", false) /
	       strategies_apart_edge_of(s, "parallel.step_time", true);
}

static double most_speedup(const struct strategy *s)
{
	return strategies_apart_edge_of(s, "parallel.single_time", true) /
	       strategies_apart_edge_of(s, "parallel.step_time", false);
}

static double strategies_apart_devices_of(const struct strategy *s)
{
	const struct case_parameter *p = case_parameter(s->c, "devices");

	return p ? p->number : NAN;
}

static bool strategies_apart_above_devices(const struct strategy *s)
{
	return strategies_value(s, "parallel.speedup") > SLACK * strategies_apart_devices_of(s);
}

struct formatted strategies_speedup_cell(const struct strategy *s)
{
	const struct formatted ratio = format_ratio(strategies_value(s, "parallel.speedup"));

	if (!strategies_apart_above_devices(s))
		return ratio;
	return format_text("%s, above %.0f×", ratio.text, strategies_apart_devices_of(s));
}

/*
 * More than n times as fast on n devices: the single device was slow, or the split changes more
 * than the division of work.
 */
static void strategies_apart_add_doubt(const struct strategy *s, struct text *out)
{
	const struct metric_value *single = strategies_metric(s, "parallel.single_time");

	text_addf(out, "; %.0f devices can speed up a step at most %.0f-fold: ",
		  strategies_apart_devices_of(s), strategies_apart_devices_of(s));
	if (least_speedup(s) > SLACK * strategies_apart_devices_of(s))
		text_add(out, "the parts fit into caches and the whole does not, or the single "
			      "device was disturbed");
	else if (single)
		text_addf(out, "the single-device time, %s %s, is doubtful",
			  format_quantity(single->value, "s").text,
			  format_interval(single, "s").text);
	else
		text_add(out, "the single-device time is doubtful");
}

void strategies_speedup_words(const struct strategy *s, struct text *out)
{
	double speedup = strategies_value(s, "parallel.speedup");

	if (!isfinite(speedup))
		return;
	if (least_speedup(s) <= 1 && most_speedup(s) >= 1) {
		text_addf(out, ", not distinguishable from a single device (%s)",
			  format_ratio(speedup).text);
		return;
	}
	text_addf(out, ", %s the speed of a single device", format_ratio(speedup).text);
	if (strategies_apart_above_devices(s))
		strategies_apart_add_doubt(s, out);
}
