/*
 * Charts of a run with several devices: identical ones are one bar or line, the middle one, with a
 * dot for each or their range.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "report/figure/figure.h"
#include "report/view/presented.h"

/*
 * States the effect of a parameter below a chart: FP16 against FP32 over all cases that have both.
 */

/* Everything of a case but the compared parameter: cases with the same key make a pair. */
static char **figure_thin_ratio_pair_keys(const struct case_selection *selection,
					  const char *parameter)
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

static const struct selected_case *
figure_thin_ratio_find_partner(const struct case_selection *selection, char **keys, size_t of,
			       const char *parameter, const char *value)
{
	for (size_t j = 0; j < selection->count; j++)
		if (strcmp(figure_fill_value(&selection->items[j], parameter), value) == 0 &&
		    strcmp(keys[j], keys[of]) == 0)
			return &selection->items[j];
	return NULL;
}

/* The ratios' extremes over all pairs; returns how many there are. */
static size_t figure_thin_pair_ratios(const struct case_selection *selection,
				      const char *const *compare, struct extent *ratios)
{
	char **keys = figure_thin_ratio_pair_keys(selection, compare[0]);
	size_t pairs = 0;

	for (size_t i = 0; i < selection->count; i++) {
		const struct selected_case *base;
		double ratio;

		if (strcmp(figure_fill_value(&selection->items[i], compare[0]), compare[1]) != 0)
			continue;
		base = figure_thin_ratio_find_partner(selection, keys, i, compare[0], compare[2]);
		ratio = base ? selection->items[i].m->value / base->m->value : NAN;
		scale_extent_add(ratios, ratio);
		pairs += isfinite(ratio) != 0;
	}
	for (size_t i = 0; i < selection->count; i++)
		free(keys[i]);
	free(keys);
	return pairs;
}

static struct formatted figure_thin_parameter_word(const struct figure *f, const char *name,
						   const char *value)
{
	struct case_parameter p = {
		.name = (char *)name, .text = (char *)value, .number = NAN, .unit = (char *)""
	};

	return presented_parameter(f->view, f->suite, &p);
}

char *figure_thin_ratio(const struct figure *f, const struct case_selection *selection)
{
	const char *const *compare = f->rule->compare;
	struct extent ratios = EXTENT_EMPTY;
	struct formatted low, high, metric, of, to;
	size_t pairs = compare[0] && compare[1] && compare[2]
			       ? figure_thin_pair_ratios(selection, compare, &ratios)
			       : 0;

	if (!pairs)
		return NULL;
	metric = presented_metric_title(f->view, f->metric);
	format_capital(metric.text);
	of = figure_thin_parameter_word(f, compare[0], compare[1]);
	to = figure_thin_parameter_word(f, compare[0], compare[2]);
	low = format_ratio(ratios.min);
	high = format_ratio(ratios.max);
	if (strcmp(low.text, high.text) == 0)
		return xasprintf("%s of %s: %s that of %s (%zu pair%s).", metric.text, of.text,
				 low.text, to.text, pairs, text_plural(pairs));
	return xasprintf("%s of %s: %s to %s that of %s (%zu pairs).", metric.text, of.text,
			 low.text, high.text, to.text, pairs);
}

/* A case among those that measure the same on other devices. */
struct thin_member {
	const struct selected_case *selected;
	char *key;
};

static int thin_by_key_and_value(const void *a, const void *b)
{
	const struct thin_member *p = a, *q = b;
	int order = strcmp(p->key, q->key);
	double x = p->selected->m->value, y = q->selected->m->value;

	return order ? order : (x > y) - (x < y);
}

double *figure_thin_device_values(const struct case_selection *selection,
				  const struct selected_case *selected, size_t *count)
{
	const struct result *result = selection->view->results;
	double *values = xcalloc(result->case_count + 1, sizeof(*values));

	*count = 0;
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		const struct metric_value *m =
			c->status == CASE_OK && c->device_count < 2 &&
					cases_share_point(c, selected->c)
				? case_metric(c, view_string(selected->m->name))
				: NULL;

		if (m && isfinite(m->value))
			values[(*count)++] = m->value;
	}
	qsort(values, *count, sizeof(*values), compare_doubles);
	return values;
}

/* True if all sources are devices of one model. */
static bool thin_sources_are_identical(const struct view *view)
{
	for (size_t s = 0; s < view->source_count; s++)
		if (!view->sources[s].info ||
		    strcmp(view->sources[s].info->name, view->sources[0].info->name) != 0)
			return false;
	return true;
}

/* The middle one of `count` members, at the place of the first of them in the selection. */
static void thin_keep_middle(const struct case_selection *selection,
			     const struct thin_member *members, size_t count,
			     struct selected_case *kept)
{
	size_t place = selection->count;

	for (size_t i = 0; i < count; i++) {
		size_t own = (size_t)(members[i].selected - selection->items);

		place = own < place ? own : place;
	}
	kept[place] = *members[(count - 1) / 2].selected;
	kept[place].source = 0;
	kept[place].devices = count > 1 ? count : 0;
	kept[place].lowest = members[0].selected->m->value;
	kept[place].highest = members[count - 1].selected->m->value;
}

size_t figure_thin_merge_devices(struct case_selection *selection)
{
	struct thin_member *members;
	struct selected_case *kept;
	size_t count = 0, left = 0, most = 0;

	if (selection->view->source_count < 2 || !thin_sources_are_identical(selection->view))
		return 0;
	members = xcalloc(selection->count + 1, sizeof(*members));
	kept = xcalloc(selection->count + 1, sizeof(*kept));
	for (size_t i = 0; i < selection->count; i++)
		if (selection->items[i].c->device_count < 2 &&
		    isfinite(selection->items[i].m->value))
			members[count++] =
				(struct thin_member){ &selection->items[i],
						      case_point(selection->items[i].c) };
		else
			kept[i] = selection->items[i];
	qsort(members, count, sizeof(*members), thin_by_key_and_value);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && !strcmp(members[next].key, members[i].key);)
			next++;
		thin_keep_middle(selection, members + i, next - i, kept);
		most = next - i > most ? next - i : most;
	}
	for (size_t i = 0; i < selection->count; i++)
		if (kept[i].m)
			selection->items[left++] = kept[i];
	selection->count = left;
	selection->several_sources = false;
	for (size_t i = 0; i < count; i++)
		free(members[i].key);
	free(members);
	free(kept);
	return most > 1 ? most : 0;
}
