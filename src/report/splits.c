#include "report/splits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/format.h"

/* Parameters that say how a step is split; all others say what is trained. */
static const char *const split_names[] = { "mode",   "devices",   "microbatches", "bucket",
					   "hybrid", "transport", "launch",       NULL };

static bool listed(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/* The case's parameters that are in split_names, or those that are not. */
static char *words(const struct view *view, size_t run, const struct case_result *c, bool of_split)
{
	struct text out = TEXT_EMPTY;
	char word[FORMAT_SIZE], letter[4];

	if (!of_split && view->count > 1)
		text_add(&out, view_letter(run, letter));
	for (size_t i = 0; i < c->parameter_count; i++) {
		const struct case_parameter *p = &c->parameters[i];

		/* Nearly always strong: said where it is not. */
		if (strcmp(view_string(p->text), "strong") != 0 &&
		    listed(view_string(p->name), split_names) == of_split &&
		    format_parameter(p, word, sizeof(word))[0])
			text_addf(&out, "%s%s", out.length ? ", " : "", word);
	}
	/* Other layers, accumulation and so on are another model as well. */
	if (!of_split && *view_string(c->label))
		text_addf(&out, "%s%s", out.length ? ", " : "", c->label);
	return text_detach(&out);
}

void splits_collect(struct splits *splits, const struct view *view, const char *suite)
{
	*splits = (struct splits){ .view = view };
	while (splits->suite < view->suite_count &&
	       strcmp(view->suites[splits->suite], suite) != 0)
		splits->suite++;
	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			const struct metric_value *step = case_metric(c, "parallel.step_time");
			const struct metric_value *memory = case_metric(c, "parallel.memory");

			if (strcmp(view_string(c->suite), suite) != 0 || c->status != CASE_OK ||
			    !step || !case_parameter(c, "mode"))
				continue;
			ARRAY_GROW(splits->items, splits->count, splits->capacity);
			splits->items[splits->count++] =
				(struct split){ .c = c,
						.run = r,
						.seconds = step->value,
						.memory = memory ? memory->value : NAN,
						.model = words(view, r, c, false),
						.name = words(view, r, c, true) };
		}
}

void splits_release(struct splits *splits)
{
	for (size_t i = 0; i < splits->count; i++) {
		free(splits->items[i].model);
		free(splits->items[i].name);
	}
	free(splits->items);
	*splits = (struct splits){ 0 };
}

void splits_chart(const struct splits *splits, struct chart *chart, enum chart_kind kind,
		  const struct tree *charts, char *title)
{
	chart_init(chart, kind);
	chart->id = xasprintf("chart-%zu-%zu", splits->suite + 1, charts->count + 1);
	chart->title = title;
	chart->y_name = xstrdup("step time");
	chart->y_unit = xstrdup("s");
	chart->x_name = xstrdup("time");
	chart->x_unit = xstrdup("s");
	chart->note = xstrdup("");
	chart->better = BETTER_LOWER;
}

void view_split_figures(const struct view *view, const char *suite, struct tree *charts)
{
	struct splits splits;

	splits_collect(&splits, view, suite);
	splits_time(&splits, charts);
	splits_by_memory(&splits, charts);
	splits_utilisation(&splits, charts);
	splits_crossover(&splits, charts);
	splits_timelines(&splits, charts);
	splits_release(&splits);
}

void view_split_limits(const struct view *view, const char *suite, struct tree *tables)
{
	struct splits splits;

	splits_collect(&splits, view, suite);
	splits_under_limits(&splits, view->memory_limits, view->memory_limit_count, tables);
	splits_release(&splits);
}
