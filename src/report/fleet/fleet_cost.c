/* Cost of a run on several nodes: time, node hours and device hours by phase. */
#include <math.h>
#include <stdio.h>

#include "report/fleet/fleet_page.h"
#include "report/view/format.h"
#include "report/view/view.h"

#define HOUR 3600.0

/* Seconds of each device in cases; devices that measure at the same time count each. */
static double fleet_cost_seconds_in_cases(const struct result *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->case_count; i++)
		if (isfinite(r->cases[i].seconds))
			sum += r->cases[i].seconds * (double)r->cases[i].device_count;
	return sum;
}

static struct formatted fleet_cost_hours(double seconds)
{
	double hours = seconds / HOUR;

	if (hours >= 1000)
		return format_count(round(hours));
	return format_text(hours >= 10 ? "%.1f" : hours >= 0.005 ? "%.2f" : "< 0.01", hours);
}

static void cost_add_row(const struct result *r, const struct case_phase *phase, struct tree *list)
{
	struct tree *map = tree_item(list);

	view_text(map, "phase", phase->name);
	tree_text(map, "time", format_seconds(phase->seconds).text);
	tree_text(map, "share", format_percent(phase->seconds / r->seconds).text);
	tree_text(map, "node_hours", fleet_cost_hours(phase->seconds * (double)r->node_count).text);
	tree_text(map, "device_hours",
		  fleet_cost_hours(phase->seconds * (double)r->device_count).text);
}

void fleet_cost(const struct result *r, struct tree *page)
{
	struct tree *list = tree_list(page, "phases");
	double devices = r->seconds * (double)r->device_count,
	       cases = fleet_cost_seconds_in_cases(r);
	const struct formatted time = format_seconds(r->seconds),
			       nodes = fleet_cost_hours(r->seconds * (double)r->node_count),
			       held = fleet_cost_hours(devices);

	for (size_t i = 0; i < r->phase_count; i++)
		cost_add_row(r, &r->phases[i], list);
	if (cases > 0 && cases <= devices)
		tree_textf(page, "cost",
			   "%s × %zu nodes: %s node hours; × %zu devices: %s device hours. Cases "
			   "took %s of it. The rest is start, tests before and after, and waiting "
			   "for the slowest node. Lost nodes count until the end.",
			   time.text, r->node_count, nodes.text, r->device_count, held.text,
			   format_percent(cases / devices).text);
	else
		tree_textf(page, "cost",
			   "%s × %zu nodes: %s node hours; × %zu devices: %s device hours. Lost "
			   "nodes count until the end.",
			   time.text, r->node_count, nodes.text, r->device_count, held.text);
}
