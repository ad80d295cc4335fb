#include "report/fleet/fleet_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "base/units.h"
#include "report/acceptance/acceptance.h"
#include "report/chart/chart.h"
#include "report/page/html.h"
#include "report/page/view_sections.h"
#include "report/template/template.h"
#include "report/view/presented.h"

/*
 * Each figure over all devices of a run: a row of all values, where they crowd, and a row for each
 * device that fails a check. Drawn for figures with failed devices, the most first, then for
 * the headline figure of each suite.
 */

#define MOST_CHARTS 16
#define MOST_FAILED 8 /* rows of one chart */

/* The cases of one point on all devices, and its headline metric. */
struct fleet_figure {
	char *point; /* the first case's id, up to its devices */
	const struct case_result *first;
	const struct metric_value *metric; /* from the first case that has it */
	double *values;                    /* sorted at last */
	size_t count, capacity;
	const struct verdict_check **failed;
	size_t failed_count, failed_capacity;
};

struct figures {
	struct fleet_figure *items;
	size_t count, capacity;
	struct text_index index; /* by point */
};

/* The figure of a case's id, "transfer/h2d/pinned@n7/cuda:3" without its devices. */
static struct fleet_figure *figures_find(struct figures *f, const char *id, bool add)
{
	char *point = xstrndup(id, strcspn(id, "@"));
	size_t at = text_index_find(&f->index, point, "");

	if (at == SIZE_MAX && add) {
		ARRAY_GROW(f->items, f->count, f->capacity);
		f->items[f->count] = (struct fleet_figure){ .point = point };
		at = f->count++;
		*text_index_at(&f->index, point, "") = at;
	} else {
		free(point);
	}
	return at == SIZE_MAX ? NULL : &f->items[at];
}

static void figures_add_case(struct figures *f, const struct case_result *c)
{
	const struct metric_value *m = c->status == CASE_OK ? view_headline(c) : NULL;
	struct fleet_figure *figure;

	/* Cases of several nodes together are no device's. */
	if (!m || !*view_string(c->node) || !isfinite(m->value))
		return;
	figure = figures_find(f, c->id, true);
	if (!figure->metric) {
		figure->first = c;
		figure->metric = m;
	}
	if (strcmp(figure->metric->name, m->name) != 0)
		return;
	ARRAY_GROW(figure->values, figure->count, figure->capacity);
	figure->values[figure->count++] = m->value;
}

static void figures_add_failed(struct figures *f, const struct verdict_check *c)
{
	struct fleet_figure *figure = *c->case_id && acceptance_is_bad(c) && isfinite(c->value) &&
						      c->verdict != VERDICT_SKIP
					      ? figures_find(f, c->case_id, false)
					      : NULL;

	if (!figure || strcmp(figure->metric->name, c->metric) != 0)
		return;
	ARRAY_GROW(figure->failed, figure->failed_count, figure->failed_capacity);
	figure->failed[figure->failed_count++] = c;
}

static int checks_by_badness(const void *a, const void *b)
{
	const struct verdict_check *p = *(const struct verdict_check *const *)a,
				   *q = *(const struct verdict_check *const *)b;

	return check_is_worse(p, q)   ? -1
	       : check_is_worse(q, p) ? 1
				      : strcmp(p->devices, q->devices);
}

static void figures_add_row(struct chart_series *rows, const char *name, const double *values,
			    size_t count)
{
	struct chart_point *point = chart_point_new(rows, name);

	point->samples = values;
	point->sample_count = count;
	point->p50 = point->y = median_of_sorted(values, count);
	point->n = count;
}

static void figures_draw(const struct result *r, struct fleet_figure *f, struct tree *charts)
{
	const struct view view = { .results = r, .count = 1 };
	struct chart_series *rows;
	struct chart chart;
	struct formatted name, median, low, high;
	size_t shown = f->failed_count < MOST_FAILED ? f->failed_count : MOST_FAILED;
	const char *unit = f->metric->unit;
	char *all = xasprintf("all %zu devices", f->count);

	qsort(f->values, f->count, sizeof(*f->values), compare_doubles);
	chart_init(&chart, CHART_STRIP);
	name = view_metric_title(&view, f->metric->name);
	chart.close = true;
	chart.id = xasprintf("figure-%zu", charts->count + 1);
	chart.title = xasprintf("%s, %s", name.text, f->point);
	format_capital(chart.title);
	/* The legend stands once. */
	chart.shows = xstrdup(charts->count ? ""
					    : "One tick for each device, higher where more devices "
					      "have that value. A device that did not pass has a "
					      "row of its own.");
	median = format_quantity(median_of_sorted(f->values, f->count), unit);
	low = format_quantity(f->values[0], unit);
	high = format_quantity(f->values[f->count - 1], unit);
	chart.finding = xasprintf("%zu devices: median %s, from %s to %s.", f->count, median.text,
				  low.text, high.text);
	chart.y_name = xstrdup(name.text);
	chart.y_unit = xstrdup(unit);
	chart.note = f->failed_count > shown
			     ? xasprintf("%zu more devices did not pass.", f->failed_count - shown)
			     : xstrdup("");
	rows = chart_series_named(&chart, "");
	figures_add_row(rows, all, f->values, f->count);
	if (f->failed_count)
		qsort(f->failed, f->failed_count, sizeof(*f->failed), checks_by_badness);
	for (size_t i = 0; i < shown; i++)
		if (i == 0 || strcmp(f->failed[i]->devices, f->failed[i - 1]->devices) != 0)
			figures_add_row(rows, f->failed[i]->devices, &f->failed[i]->value, 1);
	chart_draw(&chart, charts);
	chart_release(&chart);
	free(all);
}

/* Those with failed devices first, the most of them in front; then in the order of the result. */
static int figures_by_failed(const void *a, const void *b)
{
	const struct fleet_figure *p = *(struct fleet_figure *const *)a,
				  *q = *(struct fleet_figure *const *)b;

	if (p->failed_count != q->failed_count)
		return p->failed_count > q->failed_count ? -1 : 1;
	return (p > q) - (p < q);
}

/* True if a chart before has drawn the suite, and nothing is wrong with this figure. */
static bool is_more_of_the_same(struct fleet_figure *const *order, size_t at)
{
	if (order[at]->failed_count)
		return false;
	for (size_t i = 0; i < at; i++)
		if (strcmp(order[i]->first->suite, order[at]->first->suite) == 0)
			return true;
	return false;
}

static void figures_release(struct figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->items[i].point);
		free(f->items[i].values);
		free(f->items[i].failed);
	}
	free(f->items);
	text_index_release(&f->index);
}

static void fleet_figures(const struct result *r, struct tree *page)
{
	struct figures f = { 0 };
	struct fleet_figure **order;
	struct tree *charts = tree_list(page, "charts");

	for (size_t i = 0; i < r->case_count; i++)
		figures_add_case(&f, &r->cases[i]);
	for (size_t i = 0; r->judgement && i < r->judgement->count; i++)
		if (f.count)
			figures_add_failed(&f, &r->judgement->checks[i]);
	order = xcalloc(f.count + 1, sizeof(*order));
	for (size_t i = 0; i < f.count; i++)
		order[i] = &f.items[i];
	qsort(order, f.count, sizeof(struct fleet_figure *), figures_by_failed);
	for (size_t i = 0; i < f.count && charts->count < MOST_CHARTS; i++)
		if (order[i]->count > 1 && !is_more_of_the_same(order, i))
			figures_draw(r, order[i], charts);
	free(order);
	figures_release(&f);
}

/* Cost of a run on several nodes: time, node hours and device hours by phase. */

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

static void fleet_cost(const struct result *r, struct tree *page)
{
	struct tree *list = tree_list(page, "phases");
	double devices = r->seconds * (double)r->device_count,
	       cases = fleet_cost_seconds_in_cases(r);
	const struct formatted time = format_seconds(r->seconds),
			       nodes = fleet_cost_hours(r->seconds * (double)r->node_count),
			       held = fleet_cost_hours(devices);

	for (size_t i = 0; i < r->phase_count; i++) {
		struct tree *map = tree_item(list);

		view_text(map, "phase", r->phases[i].name);
		tree_text(map, "time", format_seconds(r->phases[i].seconds).text);
		tree_text(map, "share", format_percent(r->phases[i].seconds / r->seconds).text);
		tree_text(map, "node_hours",
			  fleet_cost_hours(r->phases[i].seconds * (double)r->node_count).text);
		tree_text(map, "device_hours",
			  fleet_cost_hours(r->phases[i].seconds * (double)r->device_count).text);
	}
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

static void fleet_set_answer(const struct fleet_page *fleet, struct tree *page)
{
	const struct verdicts *v = fleet->result->judgement;

	tree_text(page, "verdict_kind", v ? verdicts_kind(v) : "skipped");
	tree_text(page, "verdict_symbol", v ? verdicts_symbol(v) : "○");
	tree_text(page, "verdict_word", v ? verdicts_word(v) : "NOT JUDGED");
	view_text(page, "verdict",
		  v ? v->sentence : "No limits were applied. For a verdict: run with --check.");
	view_text(page, "limits_source", v ? v->limits : "");
}

/* Appends "2 nodes failed" to the text. */
static void fleet_add_count(struct text *out, size_t count, const char *words)
{
	if (count)
		format_list(out, "%zu node%s %s", count, text_plural(count), words);
}

static void fleet_set_counts(const struct fleet_page *fleet, const struct fleet_nodes *nodes,
			     struct tree *page)
{
	size_t failed = 0, lost = result_lost_nodes(fleet->result), open = 0, cleared = 0;
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < nodes->count; i++) {
		const struct fleet_node *n = &nodes->items[i];
		bool fails = n->wrong_cases || (n->worst && n->worst->verdict == VERDICT_FAIL);

		if (n->node->status != NODE_OK)
			continue;
		failed += fails;
		open += !fails && fleet_node_is_suspect(n);
		cleared += fleet_node_is_cleared(n);
	}
	fleet_add_count(&out, failed, "failed");
	fleet_add_count(&out, lost, "not complete");
	fleet_add_count(&out, open, "with errors or open checks");
	fleet_add_count(&out, cleared, "judged without a failure");
	fleet_add_count(&out, nodes->count - failed - lost - open - cleared,
			"complete, not judged");
	tree_text_owned(page, "counts", text_detach(&out));
}

#define MOST_MODELS 4 /* that are named */

/* "64 × NVIDIA H100", "3 × AMD EPYC (CPU)", by model in the order of the result. */
static void fleet_add_models(struct text *out, const struct result *r)
{
	size_t models = 0;

	for (size_t i = 0; i < r->device_count; i++) {
		const struct device_info *d = &r->devices[i];
		size_t count = 0, first = 0;

		while (strcmp(r->devices[first].name, d->name))
			first++;
		if (first < i || models++ >= MOST_MODELS)
			continue;
		for (size_t k = i; k < r->device_count; k++)
			count += !strcmp(r->devices[k].name, d->name);
		format_list(out, "%zu × %s%s", count, d->name, device_is_host(d) ? " (CPU)" : "");
	}
	if (models > MOST_MODELS)
		text_addf(out, " and %zu other models", models - MOST_MODELS);
}

/* GPUs that a node before has as well: nodes that share a GPU are simulated. */
static size_t fleet_count_shared(const struct result *r)
{
	struct text_index seen = { 0 };
	size_t shared = 0;

	for (size_t i = 0; i < r->device_count; i++) {
		const struct device_info *d = &r->devices[i];

		if (!*view_string(d->uuid))
			continue;
		if (text_index_find(&seen, d->uuid, "") != SIZE_MAX)
			shared++;
		else
			*text_index_at(&seen, d->uuid, "") = i;
	}
	text_index_release(&seen);
	return shared;
}

/* Names the devices as what they are, and says which figures are no GPU's or no node's own. */
static void fleet_set_devices(const struct result *r, struct tree *page)
{
	size_t hosts = 0, shared = fleet_count_shared(r);
	struct text models = TEXT_EMPTY;

	fleet_add_models(&models, r);
	view_text_owned(page, "models", text_detach(&models));
	for (size_t i = 0; i < r->device_count; i++)
		hosts += device_is_host(&r->devices[i]);
	if (hosts && hosts == r->device_count)
		tree_text(page, "not_gpus", "No GPU was measured: all devices are CPUs.");
	else if (hosts)
		tree_textf(page, "not_gpus", "%zu of %zu devices are CPUs.", hosts,
			   r->device_count);
	else
		tree_textf(page, "not_gpus",
			   shared ? "%zu of %zu GPUs belong to another node as well: these nodes "
				    "are simulated, and no figure is of one node alone."
				  : "",
			   shared, r->device_count);
}

static struct tree *fleet_page_tree(const struct fleet_page *fleet, const char *own_title)
{
	const struct result *r = fleet->result;
	const struct view view = { .results = r, .count = 1 };
	struct tree *page = tree_new(TREE_MAP);
	const char *asked = report_setting(r, "title");
	struct fleet_nodes nodes;
	char *title = own_title || *asked
			      ? xstrdup(own_title ? own_title : asked)
			      : xasprintf("%s%s%zu nodes", view_string(r->label),
					  *view_string(r->label) ? ", " : "", r->node_count);

	view_text_owned(page, "title", title);
	view_runs(&view, page);
	fleet_nodes_collect(&nodes, r);
	fleet_set_answer(fleet, page);
	fleet_set_counts(fleet, &nodes, page);
	fleet_set_devices(r, page);
	/* "1,000 nodes, 8,000 devices, 480,000 cases; took 12 min" */
	tree_textf(page, "scope", "%s nodes, %s devices, %s cases; took %s",
		   format_count((double)r->node_count).text,
		   format_count((double)r->device_count).text,
		   format_count((double)r->case_count).text, format_seconds(r->seconds).text);
	tree_text(page, "run_page", fleet->run_page ? fleet->run_page : "");
	tree_text(page, "acceptance_page", fleet->acceptance_page ? fleet->acceptance_page : "");
	fleet_nodes_show(&nodes, r, page);
	fleet_pairs(&nodes, r, page);
	fleet_scaling(&nodes, r, page);
	fleet_nodes_release(&nodes);
	fleet_figures(r, page);
	fleet_cost(r, page);
	view_environment(&view, page);
	return page;
}

enum status fleet_page_write(const struct fleet_page *fleet, const struct report_options *options,
			     struct error *err)
{
	struct tree *page;

	if (!fleet->result->node_count)
		return error_set(err, STATUS_USAGE,
				 "the result is of one machine, not of a run on several nodes");
	page = fleet_page_tree(fleet, options->title);
	tree_flag(page, "charts_folder", false);
	return html_write("fleet", options, page, err);
}
