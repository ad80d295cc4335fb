/* What a parameter brings, in a sentence below a chart: FP16 against FP32 over all cases that have both. */
#include "report/figure/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/format.h"

/* Everything of a case but the compared parameter: cases with the same key make a pair. */
static char **pair_keys(const struct picks *picks, const char *parameter)
{
	const char *without[] = { parameter, NULL };
	char **keys = xcalloc(picks->count + 1, sizeof(*keys));

	for (size_t i = 0; i < picks->count; i++) {
		char *parameters = view_parameters(picks->items[i].c, without);

		keys[i] = xasprintf("%zu %s", picks->items[i].source, parameters);
		free(parameters);
	}
	return keys;
}

static const struct pick *partner(const struct picks *picks, char **keys, size_t of,
				  const char *parameter, const char *value)
{
	for (size_t j = 0; j < picks->count; j++)
		if (strcmp(figure_value(&picks->items[j], parameter), value) == 0 &&
		    strcmp(keys[j], keys[of]) == 0)
			return &picks->items[j];
	return NULL;
}

/* The ratios' extremes over all pairs; returns how many there are. */
static size_t pair_ratios(const struct picks *picks, const char *const *compare,
			  struct extent *ratios)
{
	char **keys = pair_keys(picks, compare[0]);
	size_t pairs = 0;

	for (size_t i = 0; i < picks->count; i++) {
		const struct pick *base;
		double ratio;

		if (strcmp(figure_value(&picks->items[i], compare[0]), compare[1]) != 0)
			continue;
		base = partner(picks, keys, i, compare[0], compare[2]);
		ratio = base ? picks->items[i].m->value / base->m->value : NAN;
		extent_add(ratios, ratio);
		pairs += isfinite(ratio) != 0;
	}
	for (size_t i = 0; i < picks->count; i++)
		free(keys[i]);
	free(keys);
	return pairs;
}

static void word_of(const char *name, const char *value, char *out, size_t size)
{
	struct case_parameter p = {
		.name = (char *)name, .text = (char *)value, .number = NAN, .unit = (char *)""
	};

	format_parameter(&p, out, size);
}

char *figure_ratio(const struct figure *f, const struct picks *picks)
{
	const char *const *compare = f->rule->compare;
	struct extent ratios = EXTENT_EMPTY;
	char low[FORMAT_SIZE], high[FORMAT_SIZE], metric[FORMAT_SIZE], of[FORMAT_SIZE],
		to[FORMAT_SIZE];
	size_t pairs = compare[0] ? pair_ratios(picks, compare, &ratios) : 0;

	if (!pairs)
		return NULL;
	format_metric(f->metric, metric, sizeof(metric));
	format_capital(metric);
	word_of(compare[0], compare[1], of, sizeof(of));
	word_of(compare[0], compare[2], to, sizeof(to));
	format_ratio(ratios.min, low, sizeof(low));
	format_ratio(ratios.max, high, sizeof(high));
	if (strcmp(low, high) == 0)
		return xasprintf("%s of %s: %s that of %s (%zu %s).", metric, of, low, to, pairs,
				 pairs == 1 ? "pair" : "pairs");
	return xasprintf("%s of %s: %s to %s that of %s (%zu pairs).", metric, of, low, high, to,
			 pairs);
}
