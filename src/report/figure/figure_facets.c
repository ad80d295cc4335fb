/* How a metric's cases are split over several charts. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/figure/figure.h"

static void facets_set_without(struct figure *f)
{
	memset(f->without, 0, sizeof(f->without));
	for (size_t i = 0; f->facets[i]; i++)
		figure_name_list_add(f->without, f->facets[i]);
	if (f->axis)
		figure_name_list_add(f->without, f->axis);
}

/*
 * Lines (or bars, rows) of the fullest chart that the facets would give. Distinct labels are
 * counted up to `most`.
 */
static size_t facets_fullest_chart(const struct figure *f, const struct case_selection *selection,
				   size_t most)
{
	char **keys = NULL, **labels = NULL;
	size_t count = 0, capacity = 0, label_capacity = 0, best = 0;

	/*
	 * Distinct (facet, label) pairs, few: a linear search stays cheap because it stops at
	 * `most` per facet.
	 */
	for (size_t i = 0; i < selection->count && best <= most; i++) {
		char *key = selection_key(selection, &selection->items[i], f->facets);
		char *label = selection_label(selection, &selection->items[i], f->without);
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
void figure_choose_facets(struct figure *f, const struct case_selection *selection, size_t most)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->rule->facets) && f->rule->facets[i]; i++)
		if (selection_vary(selection, f->rule->facets[i]))
			figure_name_list_add(f->facets, f->rule->facets[i]);
	facets_set_without(f);
	for (size_t i = 0; i < selection->parameter_count; i++) {
		const char *name = selection->parameters[i].name;

		if (facets_fullest_chart(f, selection, most) <= most)
			return;
		if (selection->parameters[i].values < 2 || view_listed(name, f->without) ||
		    (f->kind == CHART_BARS && f->rule->bars[0] &&
		     strcmp(name, f->rule->bars[0]) == 0))
			continue;
		figure_name_list_add(f->facets, name);
		facets_set_without(f);
	}
}
