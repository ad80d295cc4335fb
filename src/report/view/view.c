#include "report/view/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/presented.h"

static void view_answer_set(struct tree *map, const char *kind, const char *symbol,
			    const char *word)
{
	tree_text(map, "verdict_kind", kind);
	tree_text(map, "verdict_symbol", symbol);
	tree_text(map, "verdict_word", word);
}

void view_answer_show(const struct page_answer *a, struct tree *map)
{
	if (a->found) {
		view_answer_set(map, "failed", "✗", a->found_word);
	} else if (a->warned) {
		view_answer_set(map, "error", "!", a->warned_word);
	} else if (!a->compared) {
		view_answer_set(map, "skipped", "○", a->nothing);
	} else if (a->compared < a->total) {
		tree_text(map, "verdict_kind", "skipped");
		tree_text(map, "verdict_symbol", "○");
		tree_textf(map, "verdict_word", a->things ? "%s in %zu of %zu %s" : "%s", a->good,
			   a->compared, a->total, a->things);
	} else {
		view_answer_set(map, "ok", "✓", a->good);
	}
}

/* Counts of cases by their status. */

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

const char *view_string(const char *s)
{
	return s ? s : "";
}

void view_text(struct tree *map, const char *name, const char *text)
{
	tree_text_owned(map, name, format_cut(view_string(text), FORMAT_LONGEST));
}

void view_text_owned(struct tree *map, const char *name, char *text)
{
	view_text(map, name, text);
	free(text);
}

struct formatted view_letter(size_t run)
{
	if (run < 26)
		return format_text("%c", (char)('A' + run));
	return format_text("%c%c", (char)('A' + (run / 26 - 1) % 26), (char)('A' + run % 26));
}

static bool view_labels_tell(const struct view *view)
{
	for (size_t r = 0; r < view->count; r++) {
		const char *label = view_string(view->results[r].label);

		if (!*label)
			return false;
		for (size_t s = 0; s < r; s++)
			if (strcmp(view_string(view->results[s].label), label) == 0)
				return false;
	}
	return true;
}

const char *view_run_name(const struct view *view, size_t run)
{
	if (view_labels_tell(view))
		return view->results[run].label;
	return view->names ? view->names[run] : "";
}

struct formatted view_device_name(const char *name)
{
	static const char *const makers[] = { "NVIDIA ", "GeForce ", "Tesla ", "Quadro " };
	struct formatted out;
	char *cut;

	for (size_t i = 0; i < ARRAY_SIZE(makers); i++)
		if (text_starts_with(name, makers[i]))
			name += strlen(makers[i]);
	cut = format_label(*name ? name : "unnamed GPU", 16); /* an import may know none */
	out = format_text("%s", cut);
	free(cut);
	return out;
}

#define MOST_MODELS 4 /* that are named */

void view_add_devices(struct text *out, const struct result *r)
{
	size_t models = 0, start = out->length;

	for (size_t i = 0; i < r->device_count; i++) {
		const struct device_info *d = &r->devices[i];
		/* Shares of one CPU are not as many CPUs; those of several nodes are. */
		bool parts = device_is_host(d) && !r->node_count;
		size_t count = 0, first = 0;

		while (strcmp(r->devices[first].name, d->name))
			first++;
		if (first < i || models++ >= MOST_MODELS)
			continue;
		for (size_t k = i; k < r->device_count; k++)
			count += !strcmp(r->devices[k].name, d->name);
		text_add(out, out->length > start ? ", " : "");
		if (count > 1 && !parts)
			text_addf(out, "%zu × ", count);
		text_addf(out, "%s%s", d->name, device_is_host(d) ? " (CPU)" : "");
		if (count > 1 && parts)
			text_addf(out, " in %zu parts", count);
	}
	if (models > MOST_MODELS)
		text_addf(out, " and %zu other models", models - MOST_MODELS);
	text_add(out, models ? "" : "no device");
}

static bool view_is_source(const struct view *view, size_t i, size_t run, const char *device)
{
	return i < view->source_count && view->sources[i].run == run &&
	       strcmp(view->sources[i].device, device) == 0;
}

/* Cases follow each other by device: of thousands it is mostly the last one again, or the next. */
size_t view_source_named(const struct view *view, size_t run, const char *device)
{
	static _Thread_local size_t last;

	if (view_is_source(view, last, run, device))
		return last;
	if (view_is_source(view, last + 1, run, device))
		return ++last;
	for (size_t i = 0; i < view->source_count; i++)
		if (view_is_source(view, i, run, device))
			return last = i;
	return view->source_count;
}

static void view_add_source(struct view *view, size_t run, const char *device)
{
	struct view_source *source;

	if (view_source_named(view, run, device) < view->source_count)
		return;
	ARRAY_GROW(view->sources, view->source_count, view->source_capacity);
	source = &view->sources[view->source_count++];
	*source = (struct view_source){ .result = &view->results[run],
					.run = run,
					.device = device,
					.info = result_device(&view->results[run], device) };
	snprintf(source->label, sizeof(source->label), "%.3s%s%.31s",
		 view->count > 1 ? view_letter(run).text : "", view->count > 1 ? " " : "", device);
}

static void view_add_suite(struct view *view, const char *suite)
{
	if (view_suite_number(view, suite) <= view->suite_count)
		return;
	ARRAY_GROW(view->suites, view->suite_count, view->suite_capacity);
	view->suites[view->suite_count++] = suite;
}

size_t view_suite_number(const struct view *view, const char *suite)
{
	size_t i = 0;

	while (i < view->suite_count && strcmp(view->suites[i], suite) != 0)
		i++;
	return i + 1;
}

size_t view_style_at(size_t place)
{
	place %= VIEW_STYLES - 1;
	return place < VIEW_STYLE_NONE ? place : place + 1;
}

size_t view_style(const struct view *view, const char *name, const char *text)
{
	return text_index_find(&view->colours, name, text);
}

static void view_add_colour(struct view *view, const struct case_parameter *p)
{
	const char *name = view_string(p->name), *text = view_string(p->text);
	size_t *place;

	if (isfinite(p->number) || view_style(view, name, text) != SIZE_MAX)
		return;
	place = text_index_at(&view->colour_counts, name, "");
	*place = *place == SIZE_MAX ? 0 : *place + 1;
	*text_index_at(&view->colours, name, text) = view_style_at(*place);
}

/* True if a case ran on the device. `at`: in: first index of the search; out: its last. */
static bool view_has_cases(const struct result *result, const char *device, size_t *at)
{
	for (size_t i = 0; i < result->case_count; i++) {
		size_t c = (*at + i) % result->case_count;

		if (strcmp(view_string(result->cases[c].device), device) == 0) {
			*at = c;
			return true;
		}
	}
	return false;
}

#define TABLE_CASES_MOST 10000 /* in the data tables of all charts */

void view_init(struct view *view, const struct result *results, size_t count)
{
	size_t cases = 0;

	*view = (struct view){ .results = results, .count = count };
	for (size_t r = 0; r < count; r++) {
		cases += results[r].case_count;
		for (size_t d = 0, at = 0; d < results[r].device_count; d++)
			if (view_has_cases(&results[r], results[r].devices[d].id, &at))
				view_add_source(view, r, results[r].devices[d].id);
		for (size_t c = 0; c < results[r].case_count; c++) {
			view_add_source(view, r, view_string(results[r].cases[c].device));
			view_add_suite(view, view_string(results[r].cases[c].suite));
			for (size_t p = 0; p < results[r].cases[c].parameter_count; p++)
				view_add_colour(view, &results[r].cases[c].parameters[p]);
		}
	}
	view->table_step = (cases + TABLE_CASES_MOST - 1) / TABLE_CASES_MOST;
	/* One unit for all sizes of a suite: its rows are compared with each other. */
	view->binary = xcalloc(view->suite_count + 1, sizeof(*view->binary));
	for (size_t s = 0; s < view->suite_count; s++)
		for (size_t r = 0; r < view->count; r++)
			for (size_t i = 0; !view->binary[s] && i < view->results[r].case_count; i++)
				view->binary[s] =
					strcmp(view_string(view->results[r].cases[i].suite),
					       view->suites[s]) == 0 &&
					case_asks_binary(&view->results[r].cases[i]);
}

void view_release(struct view *view)
{
	free(view->sources);
	free(view->suites);
	text_index_release(&view->colours);
	text_index_release(&view->colour_counts);
	free(view->binary);
	*view = (struct view){ 0 };
}

size_t view_source_of(const struct view *view, size_t run, const struct case_result *c)
{
	return view_source_named(view, run, view_string(c->device));
}

bool view_listed(const char *name, const char *const *names)
{
	for (; names && *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

char *view_parameters(const struct view *view, const struct case_result *c,
		      const char *const *without)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < c->parameter_count; i++) {
		const struct case_parameter *p = &c->parameters[i];
		const struct formatted word = presented_parameter(view, c->suite, p);

		if (!view_listed(view_string(p->name), without) && *word.text)
			format_list(&out, "%s", word.text);
	}
	return text_detach(&out);
}

const char *view_section(const struct case_result *c)
{
	const char *label = view_string(c->label);

	for (size_t i = 0; i < c->parameter_count; i++)
		if (strcmp(view_string(c->parameters[i].text), label) == 0)
			return "";
	return label;
}

char *view_named_parameters(const struct view *view, const struct case_result *c,
			    const char *const *without)
{
	const char **left_out;
	size_t count = 0;
	char *words;

	while (without && without[count])
		count++;
	left_out = xcalloc(count + c->parameter_count + 1, sizeof(*left_out));
	for (size_t i = 0; i < count; i++)
		left_out[i] = without[i];
	for (size_t i = 0; i < c->parameter_count; i++)
		if (!case_names_parameter(c, view_string(c->parameters[i].name)))
			left_out[count++] = view_string(c->parameters[i].name);
	words = view_parameters(view, c, left_out);
	free(left_out);
	return words;
}

char *view_all_devices(const struct view *view, const struct case_result *c)
{
	const char *between = presented_role_holds(view, c, ROLE_ARROW) ? " → " : " + ";
	struct text out = TEXT_EMPTY;

	if (!c->device_count)
		text_add(&out, view_string(c->device));
	for (size_t i = 0; i < c->device_count; i++)
		text_addf(&out, "%s%s", i ? between : "", view_string(c->devices[i]));
	return text_detach(&out);
}

const struct metric_value *view_headline(const struct case_result *c)
{
	for (size_t i = 0; i < c->metric_count; i++)
		if (c->metrics[i].headline)
			return &c->metrics[i];
	return c->metric_count ? &c->metrics[0] : NULL;
}

const struct series *view_series(const struct case_result *c, const struct metric_value *m)
{
	return m && m->series && *m->series ? case_series(c, m->series) : NULL;
}

bool view_metric_noisy(const struct case_result *c, const struct metric_value *m)
{
	const struct series *series = view_series(c, m);

	return series && series->statistics.noisy;
}

double view_sample(const struct series *series, const struct metric_value *m, double sample)
{
	const char *unit = view_string(m->unit);
	size_t length = strlen(unit);
	double median = series->statistics.median, level = 1;

	/* Samples are those of the first launch, the value is that of all. */
	if (m->launch_count > 1 && m->launches[0] > 0 && isfinite(m->value))
		level = m->value / m->launches[0];
	if (strcmp(unit, series->unit) == 0)
		return level * sample;
	if (length > 2 && strcmp(unit + length - 2, "/s") == 0)
		return m->value * median / sample;
	return m->value * sample / median;
}

double *view_samples(const struct series *series, const struct metric_value *m)
{
	double *out = xcalloc(series->count + 1, sizeof(*out));

	for (size_t i = 0; i < series->count; i++)
		out[i] = view_sample(series, m, series->samples[i]);
	return out;
}

bool view_unsettled(const struct case_result *c)
{
	for (size_t i = 0; i < c->series_count; i++)
		if (c->series[i].unsettled)
			return true;
	return false;
}

bool view_noisy(const struct case_result *c)
{
	for (size_t i = 0; i < c->series_count; i++)
		if (c->series[i].statistics.noisy)
			return true;
	return false;
}

/* Slower than the others by more than this is shaded. */
#define HEAT1 0.005
#define HEAT2 0.01
#define UNSEEN 0.0005 /* is 0.0 % in the cell */

void view_heat_cell(double deficit, bool failed, const char *device, struct tree *cell)
{
	tree_text(cell, "kind",
		  failed            ? "failed"
		  : deficit > HEAT2 ? "heat2"
		  : deficit > HEAT1 ? "heat1"
				    : "");
	tree_textf(cell, "symbol", "%s%s%s", failed ? "✗ " : "", device, *device ? " " : "");
	tree_text(cell, "offset",
		  isnan(deficit)           ? "–"
		  : fabs(deficit) < UNSEEN ? "0.0\u00a0%"
					   : format_margin(-deficit).text);
}
