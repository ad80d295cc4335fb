/*
 * Draws the charts of a suite: those of its rows, else its headline metrics as lines over size,
 * or as bars where nothing is an axis. Charts are split by parameters ("facets") until each is
 * readable.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/figure/figure.h"
#include "report/view/suite_page.h"
#include "report/view/presented.h"

/* A kind that only another program knows is drawn as bars. */
static enum chart_kind figures_chart_kind_of_row(const struct figure_row *row)
{
	static const char *const kinds[] = { [CHART_LINES] = "lines",
					     [CHART_BARS] = "bars",
					     [CHART_HEATMAP] = "heatmap",
					     [CHART_STRIP] = "strip",
					     [CHART_STACKED] = "stacked" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(row->kind, kinds[i]) == 0)
			return (enum chart_kind)i;
	return CHART_BARS;
}

static double figures_end_of_axis(const struct case_selection *selection, const char *axis,
				  bool largest)
{
	double end = NAN;

	for (size_t i = 0; axis && i < selection->count; i++) {
		const struct case_parameter *x = case_parameter(selection->items[i].c, axis);

		if (x && isfinite(x->number) &&
		    (isnan(end) || (largest ? x->number > end : x->number < end)))
			end = x->number;
	}
	return end;
}

/* The text of the axis's value `number` ("64 MiB"). */
static struct formatted figures_axis_text(const struct case_selection *selection, const char *axis,
					  double number)
{
	for (size_t i = 0; axis && i < selection->count; i++) {
		const struct case_parameter *x = case_parameter(selection->items[i].c, axis);

		if (x && x->number == number)
			return format_spaced(view_string(x->text));
	}
	return format_text("");
}

static const char *figures_merged_words(const struct figure *f)
{
	return f->kind == CHART_BARS    ? "; bar: the median device, dots: all devices"
	       : f->kind == CHART_LINES ? "; the middle device, whisker: from the lowest to the "
					  "highest device"
					: "; of the median device";
}

static char *figure_shows_text(const struct figure *f, const struct chart *chart)
{
	const char *interval = f->merged                    ? figures_merged_words(f)
			       : chart_has_intervals(chart) ? "; whisker: 95\u00a0% interval"
							    : "";
	const char *direction = format_better(chart->better);
	struct formatted axis;
	char *out = NULL;

	axis = format_metric(f->axis ? f->axis : "");
	switch (f->kind) {
	case CHART_LINES:
		out = xasprintf("%s over %s%s; %s.", chart->y_name, axis.text, interval, direction);
		break;
	case CHART_BARS:
		/* A meaning without a direction states itself what is best. */
		out = xasprintf("%s%s%s%s%s.", f->rule->means ? f->rule->means : chart->y_name,
				interval, f->rule->ideal ? "; dashed: the ideal" : "",
				f->rule->means && chart->better == BETTER_NONE ? "" : "; ",
				f->rule->means && chart->better == BETTER_NONE ? "" : direction);
		break;
	case CHART_HEATMAP:
		out = xasprintf("%s of every pair of devices; %s.", chart->y_name, direction);
		break;
	case CHART_STACKED:
		out = xasprintf("%s and its parts%s; %s.", chart->y_name, f->merged ? interval : "",
				direction);
		break;
	case CHART_STRIP:
		out = xasprintf("%s of every sample%s, one tick each%s; %s.", chart->y_name,
				f->pooled ? " of the first launch, scaled to the value of all "
					    "launches"
					  : "",
				f->merged ? interval : "", direction);
		break;
	case CHART_TIMELINE:
	case CHART_MAP:
		out = xstrdup(""); /* a suite's own page draws these */
		break;
	}
	format_capital(out);
	return out;
}

static const char *figures_axis_unit(const struct case_selection *selection, const char *axis)
{
	const struct case_parameter *x = NULL;

	for (size_t i = 0; i < selection->count && !x; i++)
		x = case_parameter(selection->items[i].c, axis);
	return x ? view_string(x->unit) : "";
}

static enum scale_kind figures_axis_scale(const struct case_selection *selection, const char *axis)
{
	struct extent extent = EXTENT_EMPTY;

	for (size_t i = 0; i < selection->count; i++) {
		const struct case_parameter *x = case_parameter(selection->items[i].c, axis);

		scale_extent_add(&extent, x ? x->number : NAN);
	}
	if (!(extent.min > 0) || extent.min == extent.max)
		return SCALE_LINEAR;
	/* Sizes are read in powers of two. */
	return extent.max / extent.min >= 8 || strcmp(figures_axis_unit(selection, axis), "B") == 0
		       ? SCALE_LOG2
		       : SCALE_LINEAR;
}

/* "bandwidth by pair: device to device, at 64 MiB"; `name`: of the metric */
static char *figures_title_of(const struct figure *f, const char *name, const char *facet,
			      const char *size)
{
	const char *of = f->rule->of ? f->rule->of : "";

	return xasprintf("%s%s%s%s%s%s%s%s", name, f->kind == CHART_HEATMAP ? " by pair" : "",
			 *of || *facet ? ": " : "", of, *of && *facet ? ", " : "", facet,
			 *size ? ", at " : "", size);
}

/* The unit of the axis: of all cases, or the stored one where they differ. */
static const char *figures_unit(const struct view *view, const struct case_selection *selection)
{
	const struct metric_value *m = selection->items[0].m;
	const char *unit = presented_case_unit(view, selection->items[0].c, m);

	for (size_t i = 1; i < selection->count; i++)
		if (strcmp(unit, presented_case_unit(view, selection->items[i].c,
						     selection->items[i].m)) != 0)
			return presented_unit(view, m->name, m->unit);
	return unit;
}

static void figures_start_chart(const struct figure *f, const struct case_selection *selection,
				struct chart *chart, const char *facet, const char *size)
{
	const struct metric_value *m = selection->items[0].m;
	const struct case_parameter *x =
		f->axis ? case_parameter(selection->items[0].c, f->axis) : NULL;
	struct formatted name;

	chart_init(chart, f->kind);
	chart->table_step = f->view->table_step;
	name = presented_metric_title(f->view, f->metric);
	chart->y_name = xstrdup(name.text);
	chart->y_unit = xstrdup(figures_unit(f->view, selection));
	chart->y_scale = f->rule->logarithmic ? SCALE_LOG10 : SCALE_LINEAR;
	chart->better = m->better;
	chart->fitted = f->rule->fitted && f->kind == CHART_LINES;
	chart->reference = f->rule->reference != 0 ? f->rule->reference : NAN;
	chart->id = xasprintf("chart-%zu-%zu", view_suite_number(f->view, f->suite),
			      f->charts->count + 1);
	chart->title = figures_title_of(f, name.text, facet, size);
	format_capital(chart->title);
	name = format_metric(f->axis ? f->axis : "");
	chart->x_name = xstrdup(name.text);
	chart->x_unit = xstrdup(x ? view_string(x->unit) : "");
	chart->x_scale = f->axis ? figures_axis_scale(selection, f->axis) : SCALE_LINEAR;
}

#define HIDES_FROM 30       /* a linear axis that spans this factor hides the small bars, */
#define HIDES_MOST_FROM 300 /* and this one most of them, whatever the metric */

/* Bars on a logarithmic axis have no honest foot: only where a linear one hides the small ones. */
static void figures_choose_scale(const struct figure *f, struct chart *chart)
{
	struct extent extent = chart_extent(chart);
	double factor = extent.min > 0 ? extent.max / extent.min : 1;

	if (f->kind != CHART_BARS)
		return;
	if (chart->y_scale == SCALE_LOG10 && !(factor > HIDES_FROM))
		chart->y_scale = SCALE_LINEAR;
	else if (factor > HIDES_MOST_FROM && !isfinite(chart->reference))
		chart->y_scale = SCALE_LOG10;
}

/* Draws a line with one point as a bar. Other charts of the metric may have more sizes. */
static struct figure figure_for_selection(const struct figure *all,
					  const struct case_selection *selection)
{
	struct figure f = *all;

	if (f.kind == CHART_LINES && !case_selection_vary(selection, f.axis))
		f.kind = CHART_BARS;
	return f;
}

/* Two devices need no map: two bars show the same. Pairs of many nodes have the page of nodes. */
static bool figures_has_map(const struct case_selection *selection)
{
	const char *first[2] = { NULL };
	bool more = false;

	for (size_t i = 0; i < selection->count; i++) {
		const struct case_result *c = selection->items[i].c;

		if (strcmp(view_string(c->node), view_string(selection->items[0].c->node)) != 0)
			return false;
		for (size_t d = 0; d < 2; d++) {
			const char *device = view_string(c->devices[d]);

			if (!first[0] || strcmp(first[0], device) == 0)
				first[0] = device;
			else if (!first[1] || strcmp(first[1], device) == 0)
				first[1] = device;
			else
				more = true;
		}
	}
	return more;
}

/* True if a map of the same metric shows all that these bars would: one size of each pair. */
static bool figures_on_a_map(const struct figure *f, const struct case_selection *selection)
{
	const struct presentation p = view_presentation(f->view, f->suite);
	bool map = false;

	for (const struct figure_row *row = p.figures; row && row->metric; row++)
		map |= figures_chart_kind_of_row(row) == CHART_HEATMAP &&
		       strcmp(row->metric, f->metric) == 0;
	for (size_t i = 0; i < selection->count; i++)
		map = map && selection->items[i].c->device_count == 2;
	return map && f->kind == CHART_BARS && figures_has_map(selection);
}

#define MOST_STRIPS 8     /* devices whose samples have a row each */
#define LEAST_OF_A_LINE 4 /* points: through fewer, a line shows rates that were not measured */

/* One bar, equal bars, or a line through few points are rows of the table of cases and no chart. */
static bool figures_is_worth_drawing(const struct chart *chart)
{
	struct extent extent = chart_extent(chart);
	size_t points = 0, longest = 0;

	for (size_t s = 0; s < chart->count; s++) {
		points += chart->series[s].count;
		longest = chart->series[s].count > longest ? chart->series[s].count : longest;
	}
	switch (chart->kind) {
	case CHART_LINES:
		return longest >= LEAST_OF_A_LINE;
	case CHART_BARS:
		return points > 1 && extent.min < extent.max;
	case CHART_STACKED:
		return chart->count > 1;
	default:
		return points != 0;
	}
}

static void figures_draw_facet(const struct figure *all, const struct case_selection *selection,
			       const char *facet, const struct extent *range)
{
	struct figure one = figure_for_selection(all, selection);
	const struct figure *f = &one;
	bool one_size = f->axis && f->kind != CHART_LINES;
	double size = figures_end_of_axis(selection, f->axis, f->kind == CHART_HEATMAP);
	const struct metric *row = presented_metric(f->view, f->metric);
	struct formatted text = { "" };
	struct chart chart;

	if (!f->joined && figures_on_a_map(f, selection))
		return;
	if (one_size)
		text = figures_axis_text(selection, f->axis, size);
	figure_fill_choose_colour(&one, selection);
	for (size_t i = 0; i < selection->count; i++)
		one.pooled = one.pooled || selection->items[i].m->launch_count > 1;
	figures_start_chart(f, selection, &chart, facet, text.text);
	chart.range = *range;
	/* A line's table has the values below the pointer (report.js), a strip's the quantiles. */
	chart.listed =
		f->kind == CHART_BARS || f->kind == CHART_HEATMAP || f->kind == CHART_STACKED;
	switch (f->kind) {
	case CHART_LINES:
		figure_fill_lines(f, selection, &chart);
		break;
	case CHART_BARS:
		figure_fill_bars(f, selection, &chart);
		/* Different quantities have no meaningful highest and lowest. */
		chart.finding = f->joined ? xstrdup("") : figure_thin_ratio(f, selection);
		break;
	case CHART_HEATMAP:
		figure_fill_heatmap(f, selection, &chart, size);
		break;
	case CHART_STACKED:
		figure_fill_stacked(f, selection, &chart);
		break;
	case CHART_STRIP:
		figure_fill_strip(f, selection, &chart, size);
		break;
	case CHART_TIMELINE:
	case CHART_MAP:
		break;
	}
	if (row && row->percent && f->kind == CHART_BARS)
		chart_in_percent(&chart);
	figures_choose_scale(f, &chart);
	chart.shows = figure_shows_text(f, &chart);
	if (figures_is_worth_drawing(&chart))
		chart_draw(&chart, f->charts);
	chart_release(&chart);
}

/* The maps of one facet share their colours. */
static void figures_draw_maps(const struct figure *f, const struct case_selection *selection,
			      const char *facet)
{
	double size = figures_end_of_axis(selection, f->axis, true);
	struct extent range = EXTENT_EMPTY;

	for (size_t i = 0; i < selection->count; i++) {
		const struct case_parameter *x =
			f->axis ? case_parameter(selection->items[i].c, f->axis) : NULL;

		if (!x || x->number == size)
			scale_extent_add(&range, selection->items[i].m->value);
	}
	figures_draw_facet(f, selection, facet, &range);
}

/*
 * A facet with a single size becomes bars in a chart shared with other facets; several sizes become
 * lines.
 */
static bool figures_is_joined(const struct figure *f, const struct case_selection *own)
{
	const struct figure one = figure_for_selection(f, own);

	return figures_chart_kind_of_row(f->rule) == CHART_LINES && one.kind == CHART_BARS &&
	       f->facets[0] && own->count <= FIGURE_BARS / 2 && !figures_on_a_map(&one, own);
}

/* "each direction and engine, part 2 of 3" */
static char *figures_joined_title(const struct figure *f, const struct case_selection *own,
				  size_t part, size_t parts)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; f->facets[i]; i++)
		if (i == 0 || case_selection_vary(own, f->facets[i]))
			text_addf(&out, "%s%s", i ? " and " : "each ",
				  format_metric(f->facets[i]).text);
	if (parts > 1)
		text_addf(&out, ", part %zu of %zu", part, parts);
	return text_detach(&out);
}

/* The items of `selection` with part[item] equal to `part` in one chart. */
static void figures_draw_joined(const struct figure *all, const struct case_selection *selection,
				const size_t *part, size_t number, size_t parts)
{
	const struct extent none = EXTENT_EMPTY;
	struct figure f = *all;
	struct case_selection own;
	char *title;

	case_selection_numbered(&own, selection, part, number);
	f.joined = true;
	f.kind = CHART_BARS;
	memset(f.without, 0, sizeof(f.without));
	f.axis = figures_end_of_axis(&own, f.axis, true) == figures_end_of_axis(&own, f.axis, false)
			 ? f.axis
			 : NULL;
	if (f.axis)
		figure_fill_name_list_add(f.without, f.axis);
	title = figures_joined_title(&f, &own, number, parts);
	figures_draw_facet(&f, &own, title, &none);
	free(title);
	case_selection_release(&own);
}

/*
 * Deals facets that join to charts of at most FIGURE_BARS: their parts, from 1; 0: a chart of its
 * own, as of one that would join alone. Returns how many parts there are.
 */
static size_t figures_deal_parts(const struct figure *f, const struct case_groups *facets,
				 size_t *part_of)
{
	size_t parts = 0, bars = 0, joined = 0;

	for (size_t j = 0; j < facets->count; j++)
		joined += part_of[j] = figures_is_joined(f, &facets->items[j]);
	for (size_t j = 0; j < facets->count; j++) {
		size_t size = facets->items[j].count;

		if (!part_of[j] || joined == 1) {
			part_of[j] = 0;
			continue;
		}
		if (!parts || bars + size > FIGURE_BARS) {
			parts++;
			bars = 0;
		}
		bars += size;
		part_of[j] = parts;
	}
	return parts;
}

#define CHARTS_MOST 200 /* of a rule, and of joined ones: beyond that, read the table of cases */

/* One chart for each value of the facets, in order of appearance; then those that join. */
static void figure_draw_facets(const struct figure *f, const struct case_selection *selection)
{
	const struct extent none = EXTENT_EMPTY;
	struct case_groups facets;
	size_t *part_of, parts;

	case_selection_group(&facets, selection, f->facets);
	part_of = xcalloc(facets.count + 1, sizeof(*part_of));
	parts = figures_deal_parts(f, &facets, part_of);
	for (size_t j = 0, drawn = 0; j < facets.count && drawn < CHARTS_MOST; j++) {
		if (part_of[j])
			continue;
		drawn++;
		if (f->kind == CHART_HEATMAP)
			figures_draw_maps(f, &facets.items[j], facets.keys[j]);
		else
			figures_draw_facet(f, &facets.items[j], facets.keys[j], &none);
	}
	for (size_t i = 0; i < selection->count; i++)
		facets.of[i] = part_of[facets.of[i]];
	for (size_t part = 1; part <= parts && part <= CHARTS_MOST; part++)
		figures_draw_joined(f, selection, facets.of, part, parts);
	case_selection_groups_release(&facets);
	free(part_of);
}

static void figures_draw_rule(const struct view *view, const char *suite, const char *metric,
			      const struct figure_row *rule, struct tree *charts)
{
	struct figure f = { .view = view,
			    .rule = rule,
			    .suite = suite,
			    .metric = metric,
			    .kind = figures_chart_kind_of_row(rule),
			    .charts = charts };
	struct case_selection all, selection;

	case_selection_collect(&all, view, suite, metric);
	case_selection_only(&selection, &all, rule->only);
	case_selection_release(&all);
	if (f.kind == CHART_HEATMAP) {
		size_t kept = 0;

		for (size_t i = 0; i < selection.count; i++)
			if (selection.items[i].c->device_count == 2)
				selection.items[kept++] = selection.items[i];
		selection.count = kept;
	}
	if (f.kind == CHART_HEATMAP && !figures_has_map(&selection)) {
		case_selection_release(&selection);
		return;
	}
	if (f.kind != CHART_BARS && f.kind != CHART_STACKED)
		f.axis = rule->axis && case_selection_vary(&selection, rule->axis)
				 ? rule->axis
				 : case_selection_axis(&selection);
	if (f.kind == CHART_LINES && !f.axis)
		f.kind = CHART_BARS;
	if (f.kind != CHART_HEATMAP && (f.kind != CHART_STRIP || view->source_count > MOST_STRIPS))
		f.merged = figure_thin_merge_devices(&selection);
	figure_fill_choose_facets(&f, &selection,
				  f.kind == CHART_LINES     ? FIGURE_LINES
				  : f.kind == CHART_HEATMAP ? SIZE_MAX
							    : FIGURE_BARS);
	figure_draw_facets(&f, &selection);
	case_selection_release(&selection);
}

/* Every headline metric that a suite's cases have, once each. */
static void figures_draw_headlines(const struct view *view, const char *suite, struct tree *charts)
{
	static const struct figure_row rule = { .kind = "lines" };
	const char *done[FIGURE_NAMES] = { NULL };

	for (size_t i = 0; i < view->results->case_count; i++) {
		const struct case_result *c = &view->results->cases[i];
		const struct metric_value *m = view_headline(c);

		if (!m || strcmp(view_string(c->suite), suite) != 0 || view_listed(m->name, done) ||
		    view_listed(m->name, presented_suite_page_of(suite).tabled))
			continue;
		figure_fill_name_list_add(done, m->name);
		figures_draw_rule(view, suite, m->name, &rule, charts);
	}
}

void view_figures(const struct view *view, const char *suite, struct tree *charts)
{
	const struct presentation p = view_presentation(view, suite);
	const struct suite_page page = presented_suite_page_of(suite);

	if (page.figures)
		page.figures(view, suite, charts);
	for (const struct figure_row *row = p.figures; row && row->metric; row++)
		if (!view_listed(row->metric, page.tabled))
			figures_draw_rule(view, suite, row->metric, row, charts);
	if (!p.figures)
		figures_draw_headlines(view, suite, charts);
}

bool figures_view_has_map(const struct view *view, const char *suite)
{
	const struct presentation p = view_presentation(view, suite);

	for (const struct figure_row *row = p.figures; row && row->metric; row++)
		if (figures_chart_kind_of_row(row) == CHART_HEATMAP)
			return true;
	return false;
}
