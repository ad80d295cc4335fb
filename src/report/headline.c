#include "report/headline.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool better(enum better direction, double a, double b)
{
	return direction == BETTER_LOWER ? a < b : a > b;
}

static char *group_key(const struct headline *h, const struct pick *pick)
{
	char *parameters = view_parameters(pick->c, h->without);
	char *devices = pick->c->device_count > 1 ? view_devices(pick->c) : xstrdup("");
	char *key = xasprintf("%zu\n%s\n%s", pick->source, parameters, devices);

	free(parameters);
	free(devices);
	return key;
}

/* Cases come in the plan's order, so the group is mostly the last one. */
static struct headline_group *group_of(struct headline *h, const struct pick *pick)
{
	char *key = group_key(h, pick);
	size_t i = h->last;

	if (i >= h->group_count || strcmp(h->groups[i].key, key) != 0)
		for (i = 0; i < h->group_count && strcmp(h->groups[i].key, key) != 0;)
			i++;
	h->last = i;
	if (i < h->group_count) {
		free(key);
		return &h->groups[i];
	}
	ARRAY_GROW(h->groups, h->group_count, h->group_capacity);
	h->groups[h->group_count++] = (struct headline_group){ .key = key };
	return &h->groups[i];
}

static double place(const struct headline *h, const struct pick *pick)
{
	const struct case_parameter *x = h->axis ? case_parameter(pick->c, h->axis) : NULL;

	return x ? x->number : NAN;
}

static void choose(const struct headline *h, struct headline_group *group, const struct pick *pick)
{
	const struct pick **first = &group->figures[0], **last = &group->figures[1];

	if (!*first) {
		*first = pick;
	} else if (h->better != BETTER_LOWER) {
		if (!isfinite((*first)->m->value) ||
		    better(h->better, pick->m->value, (*first)->m->value))
			*first = pick;
	} else if (place(h, pick) < place(h, *first)) {
		*last = *last ? *last : *first;
		*first = pick;
	} else if (!*last || place(h, pick) > place(h, *last)) {
		*last = pick;
	}
}

static struct headline_row *row_named(struct headline *h, char *label)
{
	for (size_t i = 0; i < h->count; i++) {
		if (strcmp(h->rows[i].label, label) == 0) {
			free(label);
			return &h->rows[i];
		}
	}
	ARRAY_GROW(h->rows, h->count, h->capacity);
	h->rows[h->count] =
		(struct headline_row){ label, xcalloc(h->picks.view->source_count, sizeof(struct headline_cell)) };
	return &h->rows[h->count++];
}

/* Puts a set of devices into its row; of several that start at the same device the worst stays. */
static void fill_row(struct headline *h, const struct headline_group *group)
{
	char *label = view_parameters(group->figures[0]->c, h->without);
	struct headline_cell *cell;

	if (!*label) {
		free(label);
		label = xstrdup("all");
	}
	cell = &row_named(h, label)->cells[group->figures[0]->source];
	cell->sets++;
	if (!cell->group ||
	    better(h->better, cell->group->figures[0]->m->value, group->figures[0]->m->value))
		cell->group = group;
}

static void fill(struct headline *h)
{
	for (size_t i = 0; i < h->picks.count; i++)
		choose(h, group_of(h, &h->picks.items[i]), &h->picks.items[i]);
	for (size_t i = 0; i < h->group_count; i++)
		fill_row(h, &h->groups[i]);
}

size_t headline_leader(const struct headline *h, const struct headline_row *row, size_t source)
{
	const struct view *view = h->picks.view;

	for (size_t s = 0; s < view->source_count; s++) {
		const struct case_result *c =
			row->cells[s].group ? row->cells[s].group->figures[0]->c : NULL;

		for (size_t d = 1;
		     c && view->sources[s].run == view->sources[source].run && d < c->device_count;
		     d++)
			if (strcmp(view_string(c->devices[d]), view->sources[source].device) == 0)
				return s;
	}
	return SIZE_MAX;
}

void headline_collect(struct headline *h, const struct view *view, const char *suite,
		      const char *metric)
{
	*h = (struct headline){ 0 };
	picks_collect(&h->picks, view, suite, metric);
	if (!h->picks.count)
		return;
	h->axis = h->without[0] = picks_axis(&h->picks);
	h->better = h->picks.items[0].m->better;
	fill(h);
}

void headline_release(struct headline *h)
{
	for (size_t i = 0; i < h->count; i++) {
		free(h->rows[i].label);
		free(h->rows[i].cells);
	}
	for (size_t i = 0; i < h->group_count; i++)
		free(h->groups[i].key);
	free(h->rows);
	free(h->groups);
	picks_release(&h->picks);
}
