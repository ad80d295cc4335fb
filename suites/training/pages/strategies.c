#include "suites/training/pages/strategies.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/view/format.h"
#include "report/view/suite_page.h"
#include "suites/training/pages/pages.h"

#define SEVERAL 3 /* number of device sets to count as several; two are both shown */

double strategies_value(const struct strategy *strategy, const char *metric)
{
	const struct metric_value *m = case_metric(strategy->c, metric);

	return m ? m->value : NAN;
}

const struct case_parameter *strategies_width(const struct case_result *c)
{
	const struct case_parameter *width = case_parameter(c, "width");

	return width ? width : case_parameter(c, "hidden");
}

bool strategies_scales_weakly(const struct case_result *c)
{
	const struct case_parameter *mode = case_parameter(c, "batch_mode");

	return mode && strcmp(view_string(mode->text), "weak") == 0;
}

/* Adds the differing settings of sections to the names of cases with equal model and split. */
static void strategies_name_repeated_models(struct strategies *strategies)
{
	for (size_t i = 0; i < strategies->count; i++) {
		struct strategy *a = &strategies->items[i];
		bool repeated = false;

		for (size_t k = 0; k < strategies->count && !repeated; k++)
			repeated = k != i && strcmp(strategies->items[k].model, a->model) == 0 &&
				   strcmp(strategies->items[k].plain, a->plain) == 0;
		free(a->name);
		a->name = repeated && *view_section(a->c)
				  ? xasprintf("%s, section %s", a->plain, view_section(a->c))
				  : xstrdup(a->plain);
	}
}

/* The parameters that describe the split of a step, as words. */
static char *strategy_words(const struct view *view, const struct case_result *c)
{
	const char **without = xcalloc(c->parameter_count + 1, sizeof(*without));
	static const char *const own[] = { STRATEGY_PARAMETERS, NULL };
	size_t count = 0;
	char *out;

	for (size_t i = 0; i < c->parameter_count; i++)
		if (!view_listed(view_string(c->parameters[i].name), own))
			without[count++] = view_string(c->parameters[i].name);
	out = view_parameters(view, c, without);
	free(without);
	return out;
}

size_t strategies_word_length(const char *words)
{
	const char *end = strstr(words, ", ");

	return end ? (size_t)(end - words) : strlen(words);
}

bool strategies_has_word(const char *words, const char *word, size_t length)
{
	for (const char *at = words; at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL)
		if (strncmp(at, word, length) == 0 && (at[length] == ',' || !at[length]))
			return true;
	return false;
}

static void strategies_release_item(struct strategy *s)
{
	free(s->model);
	free(s->name);
	free(s->plain);
}

/* Orders by model and split, independent of the devices. */
static int strategies_by_kind(const struct strategy *a, const struct strategy *b)
{
	int order = a->run != b->run ? (a->run > b->run ? 1 : -1) : strcmp(a->model, b->model);

	order = order ? order : strcmp(a->plain, b->plain);
	return order ? order : strcmp(view_section(a->c), view_section(b->c));
}

static int strategies_by_kind_and_time(const void *a, const void *b)
{
	const struct strategy *p = *(struct strategy *const *)a, *q = *(struct strategy *const *)b;
	int order = strategies_by_kind(p, q);

	if (order)
		return order;
	if (p->seconds != q->seconds)
		return p->seconds > q->seconds ? 1 : -1;
	return p->c > q->c ? 1 : p->c < q->c ? -1 : 0;
}

/* Merges the measurements of a strategy on many sets of devices: only the median one stays. */
static void strategies_keep_middle(struct strategies *strategies)
{
	size_t count = strategies->count, left = 0;
	struct strategy **order = xcalloc(count + 1, sizeof(*order));
	bool *dropped = xcalloc(count + 1, sizeof(*dropped));

	for (size_t i = 0; i < count; i++)
		order[i] = &strategies->items[i];
	qsort(order, count, sizeof(struct strategy *), strategies_by_kind_and_time);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && strategies_by_kind(order[i], order[next]) == 0;)
			next++;
		for (size_t k = i; k < next && next - i >= SEVERAL; k++)
			dropped[order[k] - strategies->items] = k != (i + next) / 2;
		strategies->several = strategies->several || next - i >= SEVERAL;
	}
	for (size_t i = 0; i < count; i++) {
		if (dropped[i])
			strategies_release_item(&strategies->items[i]);
		else
			strategies->items[left++] = strategies->items[i];
	}
	strategies->count = left;
	free(order);
	free(dropped);
}

/*
 * The model that a strategy trains, in words: times are compared only between equal models.
 * Sections of a config may train the same model differently, or different models with the same
 * parameters: their settings distinguish them.
 */

#define WIDTHS_MOST 64

/* A setting of the case's section; NULL if the result has none. */
static const char *strategies_case_section_setting(const struct result *r,
						   const struct case_result *c, const char *key)
{
	const char *label = view_string(c->label);
	char *section = xasprintf("suite %s%s%s", view_string(c->suite), *label ? " " : "", label);
	const char *value = NULL;

	for (size_t i = 0; i < r->setting_count && !value; i++)
		if (strcmp(view_string(r->settings[i].section), section) == 0 &&
		    strcmp(view_string(r->settings[i].key), key) == 0)
			value = view_string(r->settings[i].value);
	free(section);
	return value;
}

/* "8 layers of 8192" of "8192, 8192, ..."; "1000-2000-10" where widths differ. */
static void strategy_model_add_widths(const char *list, struct text *out)
{
	const char *words[WIDTHS_MOST];
	size_t lengths[WIDTHS_MOST], count = 0, same = 1;

	for (const char *at = list; *at && count < WIDTHS_MOST; at += strspn(at, ", ")) {
		words[count] = at;
		lengths[count] = strcspn(at, ", ");
		same += count && lengths[count] == lengths[0] &&
			memcmp(words[count], words[0], lengths[0]) == 0;
		at += lengths[count++];
	}
	if (count > 2 && same == count) {
		text_addf(out, "%zu layers of %.*s", count - 1, (int)lengths[0], words[0]);
		return;
	}
	for (size_t i = 0; i < count; i++)
		text_addf(out, "%s%.*s", i ? "-" : "", (int)lengths[i], words[i]);
}

/*
 * Settings that determine the size of a model. One that varies between cases is a parameter of the
 * case.
 */
#define MODEL_SIZES \
	"blocks", "hidden", "heads", "sequence", "vocabulary", "channels", "image", "classes"

/* Sizes by kind of model. */
static bool strategy_model_has_size(const char *model, const char *size)
{
	static const char *const of_transformers[] = { "hidden", "heads", "sequence", "vocabulary",
						       NULL };

	return strcmp(size, "blocks") == 0 ||
	       view_listed(size, of_transformers) == (strcmp(model, "transformer") == 0);
}

void strategies_layers(const struct view *view, size_t run, const struct case_result *c,
		       struct text *out)
{
	const struct result *r = &view->results[run];
	const struct case_parameter *width = strategies_width(c),
				    *model = case_parameter(c, "model");
	const char *layers = strategies_case_section_setting(r, c, "layers"),
		   *depth = strategies_case_section_setting(r, c, "depth");

	if (model && strcmp(view_string(model->text), "mlp") != 0) {
		/* "blocks 12, hidden 768, heads 12"; "0" means that gpuproof chose. */
		static const char *const sizes[] = { MODEL_SIZES };

		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			const struct case_parameter *varied = case_parameter(c, sizes[i]);
			const char *value =
				varied ? view_string(varied->text)
				       : strategies_case_section_setting(r, c, sizes[i]);

			if (value && strcmp(value, "0") != 0 &&
			    strategy_model_has_size(view_string(model->text), sizes[i]))
				format_list(out, "%s %s", sizes[i], value);
		}
	} else if (width && width->number > 0 && depth)
		text_addf(out, "%s layers of %.0f", depth, width->number);
	else if (!width && layers)
		strategy_model_add_widths(layers, out);
}

/* Settings are named if they differ from the usual value. */
static void strategies_add_unusual(const struct result *r, const struct case_result *c,
				   struct text *out)
{
	static const char *const usual[][2] = { { "optimizer", "adam" },
						{ "accumulate", "1" },
						{ "loss_chunks", "0" },
						{ "recompute", "none" } };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		const char *value = strategies_case_section_setting(r, c, usual[i][0]);

		if (value && strcmp(value, usual[i][1]) != 0)
			text_addf(out, ", %s %s", usual[i][0], value);
	}
}

/* The model, from the case's parameters; `widths`: the width was already added. */
static char *strategies_model_trained_words(const struct view *view, const struct case_result *c,
					    bool widths)
{
	static const char *const strategy[] = { STRATEGY_PARAMETERS, "batch_mode", NULL };
	static const char *const sizes[] = { STRATEGY_PARAMETERS, "batch_mode", "width",
					     MODEL_SIZES, NULL };
	const struct case_parameter *devices = case_parameter(c, "devices");
	char *plain = view_parameters(view, c, widths ? sizes : strategy), *out;

	if (!strategies_scales_weakly(c))
		return plain;
	/* Times with other numbers of devices have other batches. */
	out = xasprintf("%s for each of %s devices", plain,
			devices ? view_string(devices->text) : "several");
	free(plain);
	return out;
}

/*
 * The model that a case trains: "8 layers of 8192, TF32, batch 8192", without its split. The caller
 * frees it.
 */
static char *strategies_model(const struct view *view, size_t run, const struct case_result *c)
{
	const struct result *r = &view->results[run];
	struct text out = TEXT_EMPTY, layers = TEXT_EMPTY;
	char *parameters;

	strategies_layers(view, run, c, &layers);
	parameters = strategies_model_trained_words(view, c, layers.length != 0);
	if (layers.length)
		text_add(&out, layers.data);
	if (*parameters)
		format_list(&out, "%s", parameters);
	strategies_add_unusual(r, c, &out);
	/* Without settings, only the section's name distinguishes other layers. */
	if (!strategies_case_section_setting(r, c, "layers") && *view_section(c))
		format_list(&out, "%s", view_section(c));
	text_release(&layers);
	free(parameters);
	return text_detach(&out);
}

void strategies_collect(struct strategies *strategies, const struct view *view, const char *suite)
{
	*strategies = (struct strategies){ .view = view };
	while (strategies->suite < view->suite_count &&
	       strcmp(view->suites[strategies->suite], suite) != 0)
		strategies->suite++;
	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			const struct case_parameter *devices = case_parameter(c, "devices");
			const struct metric_value *step, *memory;

			if (strcmp(view_string(c->suite), suite) != 0 || c->status != CASE_OK)
				continue;
			step = case_metric(c, "parallel.step_time");
			if (!step || !case_parameter(c, "mode"))
				continue;
			memory = case_metric(c, "parallel.memory");
			ARRAY_GROW(strategies->items, strategies->count, strategies->capacity);
			strategies->items[strategies->count++] =
				(struct strategy){ .view = view,
						   .c = c,
						   .run = r,
						   .seconds = step->value,
						   .memory = memory ? memory->value : NAN,
						   .devices = devices ? devices->number : NAN,
						   .model = strategies_model(view, r, c),
						   .plain = strategy_words(view, c) };
		}
	strategies_keep_middle(strategies);
	strategies_name_repeated_models(strategies);
}

bool strategies_is_first(const struct strategies *strategies, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(strategies->items[i].model, strategies->items[index].model) == 0)
			return false;
	return true;
}

void strategies_release(struct strategies *strategies)
{
	for (size_t i = 0; i < strategies->count; i++)
		strategies_release_item(&strategies->items[i]);
	free(strategies->items);
	*strategies = (struct strategies){ 0 };
}

void strategies_chart(const struct strategies *strategies, struct chart *chart,
		      enum chart_kind kind, const struct tree *charts, char *title)
{
	chart_init(chart, kind);
	chart->id = xasprintf("chart-%zu-%zu", strategies->suite + 1, charts->count + 1);
	chart->title = title;
	chart->y_name = xstrdup("step time");
	chart->y_unit = xstrdup("s");
	chart->x_name = xstrdup("time");
	chart->x_unit = xstrdup("s");
	chart->note = xstrdup("");
	chart->better = BETTER_LOWER;
}

static void strategies_show_maps(const struct view *view, const char *suite, struct tree *charts,
				 struct tree *answers)
{
	struct strategies strategies;

	strategies_collect(&strategies, view, suite);
	strategies_map_crossover(&strategies, charts, answers);
	strategies_release(&strategies);
}

static void strategies_show_figures(const struct view *view, const char *suite, struct tree *charts)
{
	struct strategies strategies;

	strategies_collect(&strategies, view, suite);
	strategies_timelines(&strategies, charts);
	strategies_release(&strategies);
}

#define SEVERAL_TERMS "A strategy measured on several sets of devices shows the median set. "
#define TERMS                                                                                      \
	"Speed-up: time of the same step on one device, measured in the same case / step "         \
	"time; it is not the ratio to the row of the single device, which is a separate "          \
	"measurement. Memory: tensors and workspaces on the device that needs most, without the "  \
	"CUDA context and the collectives library (NCCL). Compute: kernels of the slowest device " \
	"without communication. Pipeline bubble: idle time of the schedule with these stages, if " \
	"messages took no time. Exposed communication: the part of the step that no "              \
	"computation hides."

static void strategies_show_answer(const struct view *view, const char *suite, struct tree *answers,
				   struct tree *tables, struct text *terms)
{
	struct strategies strategies;
	char *peaks;

	strategies_collect(&strategies, view, suite);
	strategies_table_answer(&strategies, answers, tables);
	peaks = strategies_columns_peak_words(&strategies);
	if (tables->count)
		text_addf(terms, "%s%s", strategies.several ? SEVERAL_TERMS : "", TERMS);
	if (tables->count && peaks && *peaks)
		text_addf(terms,
			  " MFU: operations that the model needs / step time / data-sheet peak of "
			  "all devices (%s each). HFU: the same, including recomputation.",
			  peaks);
	free(peaks);
	strategies_release(&strategies);
}

static void strategies_show_limits(const struct view *view, const char *suite, struct tree *tables)
{
	struct strategies strategies;

	strategies_collect(&strategies, view, suite);
	strategies_columns_under_limits(&strategies, view->memory_limits, view->memory_limit_count,
					tables);
	strategies_release(&strategies);
}

static void strategies_show_title(const struct view *view, const char *suite, struct text *out)
{
	struct strategies strategies;

	strategies_collect(&strategies, view, suite);
	strategies_table_add_title(&strategies, out);
	strategies_release(&strategies);
}

static const char *const tabled[] = { "parallel.step_time",  "parallel.speedup",
				      "parallel.efficiency", "parallel.exposed_communication",
				      "parallel.energy",     NULL };

const struct suite_page parallel_page = { .tabled = tabled,
					  .title = strategies_show_title,
					  .maps = strategies_show_maps,
					  .answer = strategies_show_answer,
					  .figures = strategies_show_figures,
					  .limits = strategies_show_limits };

/*
 * Comparison of two step times, and speed-up: no strategy wins by less than the variation of the
 * measurements.
 */

/* A speed-up above the number of devices by more than this is not a rounding effect. */
#define SLACK 1.01

/* Bound of a time's interval or, if it has none, of its samples. */
static double strategies_apart_edge_of(const struct strategy *s, const char *metric, bool upper)
{
	const struct metric_value *m = case_metric(s->c, metric);
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
	const struct metric_value *m = case_metric(s->c, "parallel.step_time");

	return m && isfinite(m->low) && isfinite(m->high);
}

/* Lower bound of the speed-up over one device; NaN: not measured. */
static double strategies_least_speedup(const struct strategy *s)
{
	return strategies_apart_edge_of(s, "parallel.single_time", false) /
	       strategies_apart_edge_of(s, "parallel.step_time", true);
}

static bool strategies_apart_above_devices(const struct strategy *s)
{
	return strategies_value(s, "parallel.speedup") > SLACK * s->devices;
}

struct formatted strategies_speedup_cell(const struct strategy *s)
{
	const struct formatted ratio = format_ratio(strategies_value(s, "parallel.speedup"));

	if (!strategies_apart_above_devices(s))
		return ratio;
	return format_text("%s, above %.0f×", ratio.text, s->devices);
}

/*
 * More than n times as fast on n devices: the single device was slow, or the split changes more
 * than the division of work.
 */
static void strategies_apart_add_doubt(const struct strategy *s, struct text *out)
{
	const struct metric_value *single = case_metric(s->c, "parallel.single_time");

	text_addf(out, "; %.0f devices can speed up a step at most %.0f-fold: ", s->devices,
		  s->devices);
	if (strategies_least_speedup(s) > SLACK * s->devices)
		text_add(out, "either the parts of the model fit into caches and the whole model "
			      "does not, or the single device was disturbed");
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
	if (strategies_least_speedup(s) <= 1 &&
	    strategies_apart_edge_of(s, "parallel.single_time", true) /
			    strategies_apart_edge_of(s, "parallel.step_time", false) >=
		    1) {
		text_addf(out, ", not distinguishable from a single device (%s)",
			  format_ratio(speedup).text);
		return;
	}
	text_addf(out, ", %s the speed of a single device", format_ratio(speedup).text);
	if (strategies_apart_above_devices(s))
		strategies_apart_add_doubt(s, out);
}
