/*
 * Which charts a suite gets. The table names the special ones; a suite that is not in it gets its headline metrics as
 * lines over size, or as bars where nothing is an axis. Charts are split by parameters ("facets") until each is readable.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart.h"
#include "report/format.h"
#include "report/picks.h"
#include "report/view.h"

#define MOST_LINES 8
#define MOST_BARS 24
#define MOST_ROWS 24
#define NAMES_MOST 16

struct figure_rule {
	const char *suite, *metric; /* metric NULL: each headline metric */
	enum chart_kind kind;
	enum scale_kind y_scale;
	double reference;       /* chart.reference */
	const char *facets[4];  /* one chart per value of these */
	const char *bars[4];    /* CHART_BARS: name the bars; the rest heads groups. Empty: all name the bars */
	const char *compare[3]; /* parameter, value, base value: their ratio is the finding */
};

static const struct figure_rule rules[] = {
	{ "transfer", "transfer.bandwidth", CHART_LINES, SCALE_LINEAR, NAN, { "direction" }, { 0 }, { 0 } },
	{ "transfer", "transfer.bandwidth", CHART_HEATMAP, SCALE_LINEAR, NAN, { "direction", "access" }, { 0 }, { 0 } },
	{ "alloc", "alloc.latency", CHART_LINES, SCALE_LOG10, NAN, { "operation", "state" }, { 0 }, { 0 } },
	{ "alloc", "alloc.latency", CHART_STRIP, SCALE_LOG10, NAN, { "operation", "state" }, { 0 }, { 0 } },
	{ "alloc", "alloc.failure", CHART_BARS, SCALE_LOG10, NAN, { 0 }, { 0 }, { 0 } },
	{ "matmul", "matmul.throughput", CHART_BARS, SCALE_LINEAR, NAN, { 0 }, { "precision" },
	  { "precision", "fp16", "fp32" } },
	{ "matmul", "matmul.memory", CHART_BARS, SCALE_LINEAR, NAN, { 0 }, { "precision" },
	  { "precision", "fp16", "fp32" } },
	{ "matmul", "matmul.error", CHART_BARS, SCALE_LOG10, NAN, { 0 }, { "precision" },
	  { "precision", "fp16", "fp32" } },
	{ "parallel", "parallel.step_time", CHART_BARS, SCALE_LINEAR, NAN, { 0 }, { "mode", "devices", "microbatches" },
	  { 0 } },
	{ "parallel", "parallel.speedup", CHART_BARS, SCALE_LINEAR, 1, { 0 }, { "mode", "devices", "microbatches" },
	  { 0 } },
	{ "parallel", "parallel.efficiency", CHART_BARS, SCALE_LINEAR, NAN, { 0 },
	  { "mode", "devices", "microbatches" }, { 0 } },
	{ "parallel", "parallel.exposed_communication", CHART_BARS, SCALE_LINEAR, NAN, { 0 },
	  { "mode", "devices", "microbatches" }, { 0 } },
	{ "parallel", "parallel.idle", CHART_BARS, SCALE_LINEAR, NAN, { 0 }, { "mode", "devices", "microbatches" },
	  { 0 } },
	{ "parallel", "parallel.memory", CHART_BARS, SCALE_LINEAR, NAN, { 0 }, { "mode", "devices", "microbatches" },
	  { 0 } },
};

struct figure {
	const struct view *view;
	const struct figure_rule *rule;
	const char *suite, *metric;
	enum chart_kind kind;
	const char *axis; /* parameter along x; NULL: none */
	const char *facets[NAMES_MOST]; /* NULL-terminated */
	const char *without[NAMES_MOST]; /* facets and axis: what no label says */
	struct tree *charts;
};

static bool listed(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static void list_add(const char **names, const char *name)
{
	size_t n = 0;

	while (names[n])
		n++;
	if (n + 1 < NAMES_MOST && !listed(name, names))
		names[n] = name;
}

static void set_without(struct figure *f)
{
	memset(f->without, 0, sizeof(f->without));
	for (size_t i = 0; f->facets[i]; i++)
		list_add(f->without, f->facets[i]);
	if (f->axis)
		list_add(f->without, f->axis);
}

static size_t count_distinct(char **texts, size_t count)
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

/* Lines (or bars, rows) of the fullest chart that the facets would give. Distinct labels are counted up to `most`. */
static size_t fullest(const struct figure *f, const struct picks *picks, size_t most)
{
	char **keys = NULL, **labels = NULL;
	size_t count = 0, capacity = 0, label_capacity = 0, best = 0;

	/* Distinct (facet, label) pairs, few: a linear search stays cheap because it stops at `most` per facet. */
	for (size_t i = 0; i < picks->count && best <= most; i++) {
		char *key = picks_key(&picks->items[i], f->facets);
		char *label = picks_label(picks, &picks->items[i], f->without);
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
static void choose_facets(struct figure *f, const struct picks *picks, size_t most)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->rule->facets) && f->rule->facets[i]; i++)
		if (picks_vary(picks, f->rule->facets[i]))
			list_add(f->facets, f->rule->facets[i]);
	set_without(f);
	for (size_t i = 0; i < picks->parameter_count; i++) {
		const char *name = picks->parameters[i].name;

		if (fullest(f, picks, most) <= most)
			return;
		if (picks->parameters[i].values < 2 || listed(name, f->without) ||
		    (f->kind == CHART_BARS && f->rule->bars[0] && strcmp(name, f->rule->bars[0]) == 0))
			continue;
		list_add(f->facets, name);
		set_without(f);
	}
}

static void fill_point(struct chart_point *point, const struct pick *pick)
{
	point->y = pick->m->value;
	point->low = pick->m->low;
	point->high = pick->m->high;
	point->n = pick->m->n;
}

static void note_left_out(struct chart *chart, size_t shown, size_t all, const char *what)
{
	chart->note = all > shown ? xasprintf("Shows %zu of %zu %s; all are in the table of cases.", shown, all, what) :
				    xstrdup("");
}

static void fill_lines(const struct figure *f, const struct picks *picks, struct chart *chart)
{
	size_t left_out = 0;
	char **dropped = xcalloc(picks->count + 1, sizeof(*dropped));

	for (size_t i = 0; i < picks->count; i++) {
		const struct pick *pick = &picks->items[i];
		const struct case_parameter *x = case_parameter(pick->c, f->axis);
		char *label = picks_label(picks, pick, f->without);
		struct chart_series *series = NULL;
		struct chart_point *point;
		char text[FORMAT_SIZE];

		for (size_t s = 0; s < chart->count; s++)
			if (strcmp(chart->series[s].name, label) == 0)
				series = &chart->series[s];
		if (!series && chart->count < MOST_LINES)
			series = chart_series_named(chart, label);
		if (!series || !x) {
			dropped[left_out++] = label;
			continue;
		}
		free(label);
		point = chart_point_new(series, format_spaced(view_string(x->text), text, sizeof(text)));
		point->x = x->number;
		fill_point(point, pick);
	}
	note_left_out(chart, chart->count, chart->count + count_distinct(dropped, left_out), "lines");
	for (size_t i = 0; i < left_out; i++)
		free(dropped[i]);
	free(dropped);
}

/* Names of everything that varies but neither facets nor names a bar: it heads a group. */
static void group_names(const struct figure *f, const struct picks *picks, const char **names)
{
	for (size_t i = 0; f->rule->bars[0] && i < picks->parameter_count; i++) {
		const struct varying *v = &picks->parameters[i];

		if (v->values > 1 && !listed(v->name, f->without) && !listed(v->name, f->rule->bars))
			list_add(names, v->name);
	}
}

static void fill_bars(const struct figure *f, const struct picks *picks, struct chart *chart)
{
	const char *groups[NAMES_MOST] = { NULL }, *without[NAMES_MOST] = { NULL };
	size_t shown = 0;

	group_names(f, picks, groups);
	for (size_t i = 0; f->without[i]; i++)
		list_add(without, f->without[i]);
	for (size_t i = 0; groups[i]; i++)
		list_add(without, groups[i]);
	for (size_t i = 0; i < picks->count && shown < MOST_BARS; i++, shown++) {
		char *group = picks_key(&picks->items[i], groups);
		char *label = picks_label(picks, &picks->items[i], without);

		fill_point(chart_point_new(chart_series_named(chart, group), label), &picks->items[i]);
		free(group);
		free(label);
	}
	note_left_out(chart, shown, picks->count, "bars");
}

static void fill_heatmap(const struct picks *picks, struct chart *chart, double size)
{
	for (size_t i = 0; i < picks->count; i++) {
		const struct case_result *c = picks->items[i].c;
		const struct case_parameter *x = case_parameter(c, "size");

		if (c->device_count != 2 || (x && isfinite(x->number) && x->number != size))
			continue;
		fill_point(chart_point_new(chart_series_named(chart, view_string(c->devices[0])),
					   view_string(c->devices[1])),
			   &picks->items[i]);
	}
	chart->note = xstrdup("");
}

static void fill_strip(const struct figure *f, const struct picks *picks, struct chart *chart, double size)
{
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < picks->count; i++) {
		const struct pick *pick = &picks->items[i];
		const struct case_parameter *x = f->axis ? case_parameter(pick->c, f->axis) : NULL;
		const struct series *series = view_series(pick->c, pick->m);
		struct chart_point *point;
		char *label;

		if (!series || !series->count || (x && x->number != size))
			continue;
		if (++all > MOST_ROWS)
			continue;
		label = picks_label(picks, pick, f->without);
		point = chart_point_new(chart_series_named(chart, ""), label);
		free(label);
		fill_point(point, pick);
		point->samples = series->samples;
		point->sample_count = series->count;
		point->p50 = series->statistics.median;
		point->p95 = series->statistics.p95;
		point->p99 = series->statistics.p99;
		shown++;
	}
	note_left_out(chart, shown, all, "rows");
}

static double end_of_axis(const struct picks *picks, const char *axis, bool largest)
{
	double end = NAN;

	for (size_t i = 0; axis && i < picks->count; i++) {
		const struct case_parameter *x = case_parameter(picks->items[i].c, axis);

		if (x && isfinite(x->number) && (isnan(end) || (largest ? x->number > end : x->number < end)))
			end = x->number;
	}
	return end;
}

/* The text of the axis's value `number` ("64 MiB"). */
static void axis_text(const struct picks *picks, const char *axis, double number, char *out, size_t size)
{
	*out = '\0';
	for (size_t i = 0; axis && i < picks->count; i++) {
		const struct case_parameter *x = case_parameter(picks->items[i].c, axis);

		if (x && x->number == number) {
			format_spaced(view_string(x->text), out, size);
			return;
		}
	}
}

/* "FP16 is 6.8 to 7.9 times FP32": over all cases that differ in nothing else. NULL when there are none. */
static char *ratio_finding(const struct figure *f, const struct picks *picks)
{
	const char *const *compare = f->rule->compare;
	double lowest = NAN, highest = NAN;
	char low[FORMAT_SIZE], high[FORMAT_SIZE], metric[FORMAT_SIZE], of[FORMAT_SIZE], to[FORMAT_SIZE];
	size_t pairs = 0;

	for (size_t i = 0; compare[0] && i < picks->count; i++) {
		const struct case_parameter *p = case_parameter(picks->items[i].c, compare[0]);
		const char *without[] = { compare[0], NULL };
		char *own;

		if (!p || strcmp(view_string(p->text), compare[1]) != 0)
			continue;
		format_parameter(p, of, sizeof(of));
		own = view_parameters(picks->items[i].c, without);
		for (size_t j = 0; j < picks->count; j++) {
			const struct case_parameter *q = case_parameter(picks->items[j].c, compare[0]);
			char *other;
			double ratio;

			if (!q || strcmp(view_string(q->text), compare[2]) != 0 ||
			    picks->items[j].source != picks->items[i].source)
				continue;
			other = view_parameters(picks->items[j].c, without);
			ratio = picks->items[i].m->value / picks->items[j].m->value;
			if (strcmp(own, other) == 0 && isfinite(ratio)) {
				format_parameter(q, to, sizeof(to));
				lowest = fmin(lowest, ratio);
				highest = fmax(highest, ratio);
				pairs++;
			}
			free(other);
		}
		free(own);
	}
	if (!pairs)
		return NULL;
	format_metric(f->metric, metric, sizeof(metric));
	format_ratio(lowest, low, sizeof(low));
	format_ratio(highest, high, sizeof(high));
	if (strcmp(low, high) == 0)
		return xasprintf("%s of %s is %s that of %s (%zu %s).", metric, of, low, to, pairs,
				 pairs == 1 ? "pair" : "pairs");
	return xasprintf("%s of %s is %s to %s that of %s (%zu pairs).", metric, of, low, high, to, pairs);
}

static void capitalise(char *s)
{
	if (*s >= 'a' && *s <= 'z')
		*s = (char)(*s - 'a' + 'A');
}

static char *shows(const struct figure *f, enum better better)
{
	char metric[FORMAT_SIZE], axis[FORMAT_SIZE];
	char *out;

	format_metric(f->metric, metric, sizeof(metric));
	format_metric(f->axis ? f->axis : "", axis, sizeof(axis));
	switch (f->kind) {
	case CHART_LINES:
		out = xasprintf("%s over %s; whisker and band: 95 %% interval of the median; %s.", metric, axis,
				format_better(better));
		break;
	case CHART_BARS:
		out = xasprintf("%s; whisker: 95 %% interval of the median; %s.", metric, format_better(better));
		break;
	case CHART_HEATMAP:
		out = xasprintf("%s of every pair of devices; %s.", metric, format_better(better));
		break;
	default:
		out = xasprintf("%s of every sample, one tick each; %s.", metric, format_better(better));
		break;
	}
	capitalise(out);
	return out;
}

static enum scale_kind axis_scale(const struct picks *picks, const char *axis)
{
	struct extent extent = EXTENT_EMPTY;

	for (size_t i = 0; i < picks->count; i++) {
		const struct case_parameter *x = case_parameter(picks->items[i].c, axis);

		extent_add(&extent, x ? x->number : NAN);
	}
	return extent.min > 0 && extent.max / extent.min >= 8 ? SCALE_LOG2 : SCALE_LINEAR;
}

/* Suites' names come from outside, so they make no ids. */
static size_t suite_number(const struct figure *f)
{
	size_t i = 0;

	while (i < f->view->suite_count && strcmp(f->view->suites[i], f->suite) != 0)
		i++;
	return i + 1;
}

static void start_chart(const struct figure *f, const struct picks *picks, struct chart *chart, const char *facet,
			const char *size)
{
	const struct metric_value *m = picks->items[0].m;
	const struct case_parameter *x = f->axis ? case_parameter(picks->items[0].c, f->axis) : NULL;
	char name[FORMAT_SIZE];

	chart_init(chart, f->kind);
	format_metric(f->metric, name, sizeof(name));
	chart->y_name = xstrdup(name);
	chart->y_unit = xstrdup(view_string(m->unit));
	chart->y_scale = f->rule->y_scale;
	chart->better = m->better;
	chart->reference = f->rule->reference;
	chart->id = xasprintf("chart-%zu-%zu", suite_number(f), f->charts->count + 1);
	chart->title = xasprintf("%s%s%s%s%s", name, *facet ? ": " : "", facet, *size ? ", at " : "", size);
	capitalise(chart->title);
	chart->shows = shows(f, m->better);
	format_metric(f->axis ? f->axis : "", name, sizeof(name));
	chart->x_name = xstrdup(name);
	chart->x_unit = xstrdup(x ? view_string(x->unit) : "");
	chart->x_scale = f->axis ? axis_scale(picks, f->axis) : SCALE_LINEAR;
}

static void draw_facet(const struct figure *f, const struct picks *picks, const char *facet)
{
	bool one_size = f->kind == CHART_HEATMAP || f->kind == CHART_STRIP;
	double size = end_of_axis(picks, f->axis, f->kind == CHART_HEATMAP);
	char text[FORMAT_SIZE] = "";
	struct chart chart;

	if (one_size)
		axis_text(picks, f->axis, size, text, sizeof(text));
	start_chart(f, picks, &chart, facet, text);
	switch (f->kind) {
	case CHART_LINES:
		fill_lines(f, picks, &chart);
		break;
	case CHART_BARS:
		fill_bars(f, picks, &chart);
		chart.finding = ratio_finding(f, picks);
		break;
	case CHART_HEATMAP:
		fill_heatmap(picks, &chart, size);
		break;
	case CHART_STRIP:
		fill_strip(f, picks, &chart, size);
		break;
	}
	if (chart.count)
		chart_draw(&chart, f->charts);
	chart_release(&chart);
}

/* One chart for each value of the facets, in order of appearance. */
static void draw_facets(const struct figure *f, const struct picks *picks)
{
	char **done = xcalloc(picks->count + 1, sizeof(*done));
	size_t count = 0;

	for (size_t i = 0; i < picks->count; i++) {
		char *key = picks_key(&picks->items[i], f->facets);
		struct picks own;
		size_t j = 0;

		while (j < count && strcmp(done[j], key) != 0)
			j++;
		if (j < count) {
			free(key);
			continue;
		}
		done[count++] = key;
		picks_filter(&own, picks, f->facets, key);
		draw_facet(f, &own, key);
		picks_release(&own);
	}
	for (size_t j = 0; j < count; j++)
		free(done[j]);
	free(done);
}

static void keep_pairs(struct picks *picks)
{
	size_t kept = 0;

	for (size_t i = 0; i < picks->count; i++)
		if (picks->items[i].c->device_count == 2)
			picks->items[kept++] = picks->items[i];
	picks->count = kept;
}

static void draw_rule(const struct view *view, const char *suite, const char *metric,
		      const struct figure_rule *rule, struct tree *charts)
{
	struct figure f = { .view = view, .rule = rule, .suite = suite, .metric = metric, .kind = rule->kind,
			    .charts = charts };
	struct picks picks;

	picks_collect(&picks, view, suite, metric);
	if (f.kind == CHART_HEATMAP)
		keep_pairs(&picks);
	if (f.kind != CHART_BARS)
		f.axis = picks_axis(&picks);
	if (f.kind == CHART_LINES && !f.axis)
		f.kind = CHART_BARS;
	set_without(&f);
	choose_facets(&f, &picks, f.kind == CHART_LINES ? MOST_LINES : f.kind == CHART_HEATMAP ? SIZE_MAX : MOST_BARS);
	draw_facets(&f, &picks);
	picks_release(&picks);
}

/* Every headline metric that a suite's cases have, once each. */
static void draw_headlines(const struct view *view, const char *suite, struct tree *charts)
{
	static const struct figure_rule rule = { .kind = CHART_LINES, .y_scale = SCALE_LINEAR, .reference = NAN };
	const char *done[NAMES_MOST] = { NULL };

	for (size_t r = 0; r < view->count; r++) {
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			const struct metric_value *m = view_headline(c);

			if (!m || strcmp(view_string(c->suite), suite) != 0 || listed(m->name, done))
				continue;
			list_add(done, m->name);
			draw_rule(view, suite, m->name, &rule, charts);
		}
	}
}

void view_figures(const struct view *view, const char *suite, struct tree *charts)
{
	bool known = false;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (strcmp(rules[i].suite, suite) != 0)
			continue;
		known = true;
		draw_rule(view, suite, rules[i].metric, &rules[i], charts);
	}
	if (!known)
		draw_headlines(view, suite, charts);
}
