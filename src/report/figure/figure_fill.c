/* Fills a chart: cases become lines, bars, cells and rows of samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/figure/figure.h"
#include "report/view/presented.h"

/* How a metric's cases are split over several charts. */

static void figure_fill_facets_set_without(struct figure *f)
{
	memset(f->without, 0, sizeof(f->without));
	for (size_t i = 0; f->facets[i]; i++)
		figure_fill_name_list_add(f->without, f->facets[i]);
	if (f->axis)
		figure_fill_name_list_add(f->without, f->axis);
}

/*
 * Lines (or bars, rows) of the fullest chart that the facets would give. Distinct labels are
 * counted up to `most`.
 */
static size_t figure_fill_facets_fullest_chart(const struct figure *f,
					       const struct case_selection *selection, size_t most)
{
	char **keys = NULL, **labels = NULL;
	size_t count = 0, capacity = 0, label_capacity = 0, best = 0;

	/*
	 * Distinct (facet, label) pairs, few: a linear search stays cheap because it stops at
	 * `most` per facet.
	 */
	for (size_t i = 0; i < selection->count && best <= most; i++) {
		char *key = case_selection_key(selection, &selection->items[i], f->facets);
		char *label = case_selection_label(selection, &selection->items[i], f->without);
		size_t in_facet = 1, j = 0;

		for (; j < count; j++) {
			bool same = strcmp(keys[j], key) == 0;

			in_facet += same;
			if (same && strcmp(labels[j], label) == 0)
				break;
		}
		if (j < count) {
			free(key);
			free(label);
			continue;
		}
		best = in_facet > best ? in_facet : best;
		ARRAY_GROW(keys, count, capacity);
		ARRAY_GROW(labels, count, label_capacity);
		keys[count] = key;
		labels[count++] = label;
	}
	for (size_t i = 0; i < count; i++) {
		free(keys[i]);
		free(labels[i]);
	}
	free(keys);
	free(labels);
	return best;
}

/* The rule's facets, then one parameter after another until each chart is readable. */
void figure_fill_choose_facets(struct figure *f, const struct case_selection *selection,
			       size_t most)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->rule->facets) && f->rule->facets[i]; i++)
		if (case_selection_vary(selection, f->rule->facets[i]))
			figure_fill_name_list_add(f->facets, f->rule->facets[i]);
	figure_fill_facets_set_without(f);
	for (size_t i = 0; i < selection->parameter_count; i++) {
		const char *name = selection->parameters[i].name;

		if (figure_fill_facets_fullest_chart(f, selection, most) <= most)
			return;
		if (selection->parameters[i].values < 2 || view_listed(name, f->without) ||
		    (f->kind == CHART_BARS && f->rule->bars[0] &&
		     strcmp(name, f->rule->bars[0]) == 0))
			continue;
		figure_fill_name_list_add(f->facets, name);
		figure_fill_facets_set_without(f);
	}
}

void figure_fill_name_list_add(const char **names, const char *name)
{
	size_t n = 0;

	while (names[n])
		n++;
	if (n + 1 < FIGURE_NAMES && !view_listed(name, names))
		names[n] = name;
}

static void figure_fill_point(struct chart_point *point, const struct selected_case *selected)
{
	point->y = selected->m->value;
	point->low = selected->devices ? selected->lowest : selected->m->low;
	point->high = selected->devices ? selected->highest : selected->m->high;
	point->n = selected->m->n;
	/* The chart has one axis; a rate of integers next to rates of FLOP says so itself. */
	if (strcmp(case_metric_unit(selected->c, selected->m), view_string(selected->m->unit)) != 0)
		point->unit = case_metric_unit(selected->c, selected->m);
}

static size_t figure_fill_count_distinct(char **texts, size_t count)
{
	size_t distinct = 0;

	for (size_t i = 0; i < count; i++) {
		size_t j = 0;

		while (j < i && strcmp(texts[j], texts[i]) != 0)
			j++;
		distinct += j == i;
	}
	return distinct;
}

static void figure_fill_note_left_out(struct chart *chart, size_t shown, size_t all,
				      const char *what)
{
	chart->note =
		all > shown ? xasprintf("Shows %zu of %zu %s; the table of cases has all of them.",
					shown, all, what)
			    : xstrdup("");
}

const char *figure_fill_value(const struct selected_case *selected, const char *name)
{
	const struct case_parameter *p = name ? case_parameter(selected->c, name) : NULL;

	return p ? view_string(p->text) : "";
}

/* True if lines or bars differ by the parameter. */
static bool figure_fill_tells_apart(const struct figure *f, const struct case_selection *selection,
				    const char *name)
{
	return case_selection_vary(selection, name) && !view_listed(name, f->without);
}

void figure_fill_choose_colour(struct figure *f, const struct case_selection *selection)
{
	const struct presentation p = view_presentation(f->view, f->suite);
	const struct role_row *precision = presentation_role(&p, ROLE_PRECISION, NULL);

	f->colour = f->rule->bars[0];
	if (!f->colour && precision && figure_fill_tells_apart(f, selection, precision->name))
		f->colour = precision->name;
	for (size_t i = 0; !f->colour && i < selection->parameter_count; i++)
		if (!selection->parameters[i].number &&
		    figure_fill_tells_apart(f, selection, selection->parameters[i].name))
			f->colour = selection->parameters[i].name;
}

/*
 * The colour of a case on the whole page, from its value of f->colour, else from its device, else
 * `other`.
 */
static size_t figure_fill_style_of(const struct figure *f, const struct case_selection *selection,
				   const struct selected_case *selected, size_t other)
{
	const char *text = figure_fill_value(selected, f->colour);
	size_t style = f->colour ? view_style(f->view, f->colour, text) : SIZE_MAX;

	if (style != SIZE_MAX)
		return style;
	if (!f->colour && selection->several_sources && selected->c->device_count < 2)
		return view_style_at(selected->source);
	return other;
}

static bool figure_fill_mark_is_used(const struct chart *chart, size_t mark,
				     const struct chart_series *by)
{
	for (size_t s = 0; s < chart->count; s++)
		if (&chart->series[s] != by && chart->series[s].mark == mark)
			return true;
	return false;
}

/* The mark of its colour, else the first that no other line has. */
static struct chart_series *figure_fill_add_line(const struct figure *f,
						 const struct case_selection *selection,
						 const struct selected_case *selected,
						 struct chart *chart, const char *label)
{
	struct chart_series *series = chart_series_named(chart, label);

	series->style = figure_fill_style_of(f, selection, selected, series->style);
	series->mark = series->style;
	for (size_t mark = 0; figure_fill_mark_is_used(chart, series->mark, series); mark++)
		series->mark = mark;
	return series;
}

void figure_fill_lines(const struct figure *f, const struct case_selection *selection,
		       struct chart *chart)
{
	size_t left_out = 0;
	char **dropped = xcalloc(selection->count + 1, sizeof(*dropped));

	for (size_t i = 0; i < selection->count; i++) {
		const struct selected_case *selected = &selection->items[i];
		const struct case_parameter *x = case_parameter(selected->c, f->axis);
		char *label = case_selection_label(selection, selected, f->without);
		struct chart_series *series = NULL;
		struct chart_point *point;

		for (size_t s = 0; s < chart->count; s++)
			if (strcmp(chart->series[s].name, label) == 0)
				series = &chart->series[s];
		if (!series && chart->count < FIGURE_LINES)
			series = figure_fill_add_line(f, selection, selected, chart, label);
		if (!series || !x) {
			dropped[left_out++] = label;
			continue;
		}
		free(label);
		point = chart_point_new(series, format_spaced(view_string(x->text)).text);
		point->x = x->number;
		figure_fill_point(point, selected);
	}
	figure_fill_note_left_out(chart, chart->count,
				  chart->count + figure_fill_count_distinct(dropped, left_out),
				  "lines");
	for (size_t i = 0; i < left_out; i++)
		free(dropped[i]);
	free(dropped);
}

/* True if every heading would have a single bar: then its text becomes the bar's name. */
static bool figure_fill_one_bar_each(const struct figure *f, const struct case_selection *selection,
				     const char **names)
{
	bool one = names[0] != NULL;
	char **keys = xcalloc(selection->count + 1, sizeof(*keys));

	for (size_t i = 0; i < selection->count; i++) {
		char *label = case_selection_label(selection, &selection->items[i], f->without);

		one = one && *label && chart_characters(label) <= CHART_NAME_LONGEST;
		free(label);
		keys[i] = case_selection_key(selection, &selection->items[i], names);
	}
	one = one && figure_fill_count_distinct(keys, selection->count) == selection->count;
	for (size_t i = 0; i < selection->count; i++)
		free(keys[i]);
	free(keys);
	return one;
}

/* A row must have a name: its devices if nothing else distinguishes it. */
static char *figure_fill_row_label(const struct case_selection *selection,
				   const struct selected_case *selected, const char *const *without)
{
	char *label = case_selection_label(selection, selected, without);

	if (*label)
		return label;
	free(label);
	if (selected->devices)
		return xasprintf("%zu devices", selected->devices);
	return view_all_devices(selection->view, selected->c);
}

/* Bars in order of their colour's parameter, then of the plan. */
struct bar {
	const struct selected_case *selected;
	size_t value; /* of the first parameter that names bars, in order of appearance */
};

static int figure_fill_bar_order(const void *a, const void *b)
{
	const struct bar *p = a, *q = b;

	if (p->value != q->value)
		return p->value < q->value ? -1 : 1;
	return p->selected < q->selected ? -1 : p->selected > q->selected;
}

static struct bar *figure_fill_ordered_bars(const struct case_selection *selection, const char *by)
{
	struct bar *bars = xmalloc((selection->count + 1) * sizeof(*bars));
	size_t values = 0;

	for (size_t i = 0; i < selection->count; i++) {
		size_t j = 0;

		bars[i] = (struct bar){ &selection->items[i], 0 };
		while (j < i && strcmp(figure_fill_value(bars[j].selected, by),
				       figure_fill_value(bars[i].selected, by)) != 0)
			j++;
		bars[i].value = j < i ? bars[j].value : values++;
	}
	qsort(bars, selection->count, sizeof(*bars), figure_fill_bar_order);
	return bars;
}

static void figure_fill_bar(const struct figure *f, const struct case_selection *selection,
			    const struct bar *bar, struct chart_point *point)
{
	const struct case_parameter *ideal =
		f->rule->ideal ? case_parameter(bar->selected->c, f->rule->ideal) : NULL;

	figure_fill_point(point, bar->selected);
	if (bar->selected->devices) {
		point->converted =
			figure_thin_device_values(selection, bar->selected, &point->sample_count);
		point->samples = point->converted;
		point->low = point->high = NAN;
	}
	point->style = figure_fill_style_of(f, selection, bar->selected, bar->value);
	point->ideal = ideal ? ideal->number : NAN;
}

/* Distinguishes cases with equal parameters by the name of their section. Takes `label`. */
static char *figure_fill_with_section(const struct selected_case *selected, char *label)
{
	const char *section = view_string(selected->c->label);
	char *longer;

	if (!*section)
		return label;
	longer = xasprintf("%s (section %s)", label, section);
	free(label);
	return longer;
}

void figure_fill_bars(const struct figure *f, const struct case_selection *selection,
		      struct chart *chart)
{
	const char *groups[FIGURE_NAMES] = { NULL }, *without[FIGURE_NAMES] = { NULL };
	struct bar *bars = figure_fill_ordered_bars(selection, f->rule->bars[0]);
	size_t shown = 0;

	/* Names of everything that varies but neither facets nor names a bar: it heads a group. */
	for (size_t i = 0; f->rule->bars[0] && i < selection->parameter_count; i++) {
		const struct varying *v = &selection->parameters[i];

		if (v->values > 1 && !view_listed(v->name, f->without) &&
		    !view_listed(v->name, f->rule->bars))
			figure_fill_name_list_add(groups, v->name);
	}
	if (f->joined)
		figure_fill_name_list_add(groups, f->facets[0]);
	if (figure_fill_one_bar_each(f, selection, groups))
		groups[0] = NULL;
	for (size_t i = 0; f->without[i]; i++)
		figure_fill_name_list_add(without, f->without[i]);
	for (size_t i = 0; groups[i]; i++)
		figure_fill_name_list_add(without, groups[i]);
	for (size_t i = 0; i < selection->count && shown < FIGURE_BARS; i++, shown++) {
		char *group = case_selection_key(selection, bars[i].selected, groups);
		struct chart_series *series = chart_series_named(chart, group);
		char *label = figure_fill_row_label(selection, bars[i].selected, without);

		if (chart_point_named(series, label))
			label = figure_fill_with_section(bars[i].selected, label);
		figure_fill_bar(f, selection, &bars[i], chart_point_new(series, label));
		free(group);
		free(label);
	}
	free(bars);
	figure_fill_note_left_out(chart, shown, selection->count, "bars");
}

/* A plan orders pairs of devices so that disjoint pairs run at once; sort them by number here. */
static int figure_fill_series_in_device_order(const void *a, const void *b)
{
	return strverscmp(((const struct chart_series *)a)->name,
			  ((const struct chart_series *)b)->name);
}

void figure_fill_heatmap(const struct figure *f, const struct case_selection *selection,
			 struct chart *chart, double size)
{
	const char *const *together = f->rule->together;

	for (size_t i = 0; i < selection->count; i++) {
		const struct case_result *c = selection->items[i].c;
		const struct case_parameter *x = f->axis ? case_parameter(c, f->axis) : NULL;

		if (c->device_count != 2 || (x && isfinite(x->number) && x->number != size))
			continue;
		figure_fill_point(chart_point_new(chart_series_named(chart,
								     view_string(c->devices[0])),
						  view_string(c->devices[1])),
				  &selection->items[i]);
	}
	chart->together =
		*together && selection->count &&
		view_listed(figure_fill_value(&selection->items[0], *together), together + 1);
	qsort(chart->series, chart->count, sizeof(*chart->series),
	      figure_fill_series_in_device_order);
}

void figure_fill_strip(const struct figure *f, const struct case_selection *selection,
		       struct chart *chart, double size)
{
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < selection->count; i++) {
		const struct selected_case *selected = &selection->items[i];
		const struct case_parameter *x =
			f->axis ? case_parameter(selected->c, f->axis) : NULL;
		const struct series *series = view_series(selected->c, selected->m);
		struct chart_point *point;
		char *label;
		const struct statistics *s;

		if (!series || !series->count || (x && x->number != size))
			continue;
		if (++all > FIGURE_ROWS)
			continue;
		label = figure_fill_row_label(selection, selected, f->without);
		point = chart_point_new(chart_series_named(chart, ""), label);
		free(label);
		figure_fill_point(point, selected);
		/*
		 * Samples of a time as the metric that was made of them, in its unit: a rate is an
		 * amount over the time, so that the 95th percentile of the times stays on the bad
		 * side.
		 */
		s = &series->statistics;
		point->converted = view_samples(series, selected->m);
		point->samples = point->converted;
		point->sample_count = series->count;
		point->p50 = view_sample(series, selected->m, s->median);
		point->p95 = view_sample(series, selected->m, s->p95);
		point->p99 = view_sample(series, selected->m, s->p99);
		shown++;
	}
	figure_fill_note_left_out(chart, shown, all, "rows");
}

/* A bar of its own for each case: the parameters of two variants of a suite may be the same. */
static struct chart_series *figure_fill_bar_of(const struct figure *f,
					       const struct case_selection *selection, size_t i,
					       struct chart *chart)
{
	char *label = figure_fill_row_label(selection, &selection->items[i], f->without);
	struct chart_series *series = chart_series_named(chart, label);

	if (series->count) {
		label = figure_fill_with_section(&selection->items[i], label);
		series = chart_series_named(chart, label);
	}
	free(label);
	return series;
}

static double figure_fill_part_of(const struct figure *f, const struct case_result *c,
				  const char *part)
{
	char name[FORMAT_SIZE];
	const struct metric_value *m;

	snprintf(name, sizeof(name), "%s%s", f->rule->parts, part);
	m = case_metric(c, name);
	return m ? m->value : 0;
}

/*
 * The parts of a bar add up to the metric: what one part shares with another (the row's `overlap`)
 * is drawn there, once. True: there was such.
 */
static bool figure_fill_add_parts(const struct figure *f, const struct case_result *c,
				  struct chart_series *series)
{
	const char *within = f->rule->overlap[0], *whole = within ? f->rule->overlap[1] : NULL;
	double shared = within ? figure_fill_part_of(f, c, within) : 0;

	for (size_t m = 0; f->rule->parts && m < c->metric_count && series->count < c->metric_count;
	     m++) {
		/* "memory_gradients" of "memory" is "gradients". */
		const char *part = c->metrics[m].name + strlen(f->rule->parts);

		if (text_starts_with(c->metrics[m].name, f->rule->parts) &&
		    !(within && strcmp(part, within) == 0))
			chart_point_new(series, part)->y =
				c->metrics[m].value -
				(whole && strcmp(part, whole) == 0 ? shared : 0);
	}
	return shared > 0;
}

void figure_fill_stacked(const struct figure *f, const struct case_selection *selection,
			 struct chart *chart)
{
	size_t shown = 0;
	bool shared = false;

	for (size_t i = 0; i < selection->count && shown < FIGURE_ROWS; i++, shown++) {
		const struct case_result *c = selection->items[i].c;
		struct chart_series *series = figure_fill_bar_of(f, selection, i, chart);

		if (series->count)
			continue;
		shared |= figure_fill_add_parts(f, c, series);
		if (!series->count)
			figure_fill_point(chart_point_new(series, chart->y_name),
					  &selection->items[i]);
	}
	figure_fill_note_left_out(chart, shown, selection->count, "bars");
	if (shared && f->rule->overlap[1] && f->rule->overlap[2]) {
		char *all = xasprintf("%s%s%s", chart->note, *chart->note ? " " : "",
				      f->rule->overlap[2]);

		free(chart->note);
		chart->note = all;
	}
}
