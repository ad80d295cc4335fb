/*
 * States the effect of a parameter below a chart: FP16 against FP32 over all cases that have both.
 */
#include "report/figure/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/format.h"
#include "report/view/presented.h"

/* Everything of a case but the compared parameter: cases with the same key make a pair. */
static char **ratio_pair_keys(const struct case_selection *selection, const char *parameter)
{
	const char *without[] = { parameter, NULL };
	char **keys = xcalloc(selection->count + 1, sizeof(*keys));

	for (size_t i = 0; i < selection->count; i++) {
		char *parameters = view_parameters(selection->view, selection->items[i].c, without);

		keys[i] = xasprintf("%zu %s", selection->items[i].source, parameters);
		free(parameters);
	}
	return keys;
}

static const struct selected_case *ratio_find_partner(const struct case_selection *selection,
						      char **keys, size_t of, const char *parameter,
						      const char *value)
{
	for (size_t j = 0; j < selection->count; j++)
		if (strcmp(figure_value(&selection->items[j], parameter), value) == 0 &&
		    strcmp(keys[j], keys[of]) == 0)
			return &selection->items[j];
	return NULL;
}

/* The ratios' extremes over all pairs; returns how many there are. */
static size_t pair_ratios(const struct case_selection *selection, const char *const *compare,
			  struct extent *ratios)
{
	char **keys = ratio_pair_keys(selection, compare[0]);
	size_t pairs = 0;

	for (size_t i = 0; i < selection->count; i++) {
		const struct selected_case *base;
		double ratio;

		if (strcmp(figure_value(&selection->items[i], compare[0]), compare[1]) != 0)
			continue;
		base = ratio_find_partner(selection, keys, i, compare[0], compare[2]);
		ratio = base ? selection->items[i].m->value / base->m->value : NAN;
		extent_add(ratios, ratio);
		pairs += isfinite(ratio) != 0;
	}
	for (size_t i = 0; i < selection->count; i++)
		free(keys[i]);
	free(keys);
	return pairs;
}

static struct formatted figure_parameter_word(const struct figure *f, const char *name,
					      const char *value)
{
	struct case_parameter p = {
		.name = (char *)name, .text = (char *)value, .number = NAN, .unit = (char *)""
	};

	return view_parameter(f->view, f->suite, &p);
}

char *figure_ratio(const struct figure *f, const struct case_selection *selection)
{
	const char *const *compare = f->rule->compare;
	struct extent ratios = EXTENT_EMPTY;
	struct formatted low, high, metric, of, to;
	size_t pairs = compare[0] && compare[1] && compare[2]
			       ? pair_ratios(selection, compare, &ratios)
			       : 0;

	if (!pairs)
		return NULL;
	metric = view_metric_title(f->view, f->metric);
	format_capital(metric.text);
	of = figure_parameter_word(f, compare[0], compare[1]);
	to = figure_parameter_word(f, compare[0], compare[2]);
	low = format_ratio(ratios.min);
	high = format_ratio(ratios.max);
	if (strcmp(low.text, high.text) == 0)
		return xasprintf("%s of %s: %s that of %s (%zu pair%s).", metric.text, of.text,
				 low.text, to.text, pairs, text_plural(pairs));
	return xasprintf("%s of %s: %s to %s that of %s (%zu pairs).", metric.text, of.text,
			 low.text, high.text, to.text, pairs);
}
