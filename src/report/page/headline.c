#include "report/page/headline.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reference/gpu.h"
#include "report/view/presented.h"

static bool better(enum better direction, double a, double b)
{
	return direction == BETTER_LOWER ? a < b : a > b;
}

static char *group_key(const struct headline *h, const struct selected_case *selected)
{
	char *parameters = view_parameters(h->selection.view, selected->c, h->without);
	char *devices = selected->c->device_count > 1 ? view_devices(h->selection.view, selected->c)
						      : xstrdup("");
	char *key = xasprintf("%zu\n%s\n%s\n%s", selected->source, parameters, devices,
			      view_string(selected->c->label));

	free(parameters);
	free(devices);
	return key;
}

static double place(const struct headline *h, const struct selected_case *selected)
{
	const struct case_parameter *x = h->axis ? case_parameter(selected->c, h->axis) : NULL;

	return x ? x->number : NAN;
}

static void choose(const struct headline *h, struct headline_group *group,
		   const struct selected_case *selected)
{
	const struct selected_case **first = &group->figures[0], **last = &group->figures[1];

	if (!*first) {
		*first = selected;
	} else if (h->better != BETTER_LOWER) {
		if (!isfinite((*first)->m->value) ||
		    better(h->better, selected->m->value, (*first)->m->value))
			*first = selected;
	} else if (place(h, selected) < place(h, *first)) {
		*last = *last ? *last : *first;
		*first = selected;
	} else if (!*last || place(h, selected) > place(h, *last)) {
		*last = selected;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct headline_group *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static int by_first(const void *a, const void *b)
{
	const struct headline_group *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int by_key_and_first(const void *a, const void *b)
{
	int order = by_key(a, b);

	return order ? order : by_first(a, b);
}

typedef void failed_fn(struct headline *h, const struct case_result *c, size_t source);

/* Visits the cases of the suite that failed or ended in an error. */
static void each_failed(struct headline *h, const char *suite, failed_fn *visit)
{
	const struct view *view = h->selection.view;

	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];

			if ((c->status == CASE_FAILED || c->status == CASE_ERROR) &&
			    strcmp(view_string(c->suite), suite) == 0)
				visit(h, c, view_source_of(view, r, c));
		}
}

/* Marks the case's group, of those sorted by their keys. */
static void mark_failed(struct headline *h, const struct case_result *c, size_t source)
{
	struct headline_group wanted = { .key = group_key(h, &(struct selected_case){
								     .c = c, .source = source }) };
	struct headline_group *found =
		bsearch(&wanted, h->groups, h->group_count, sizeof(wanted), by_key);

	if (found)
		found->failed = true;
	free(wanted.key);
}

/* A group for each case at first; then those with the same key are joined. */
static void collect_groups(struct headline *h, const char *suite)
{
	size_t count = h->selection.count;
	struct headline_group *groups = xcalloc(count, sizeof(*groups)), *last = NULL;

	for (size_t i = 0; i < count; i++)
		groups[i] = (struct headline_group){ .key = group_key(h, &h->selection.items[i]),
						     .first = i };
	qsort(groups, count, sizeof(*groups), by_key_and_first);
	h->groups = groups;
	for (size_t i = 0; i < count; i++) {
		const struct selected_case *selected = &h->selection.items[groups[i].first];

		if (last && by_key(last, &groups[i]) == 0) {
			free(groups[i].key);
		} else {
			last = &groups[h->group_count++];
			*last = groups[i];
		}
		choose(h, last, selected);
	}
	each_failed(h, suite, mark_failed);
	qsort(groups, h->group_count, sizeof(*groups), by_first);
}

static struct headline_row *find_row(struct headline *h, const char *label, const char *section)
{
	for (size_t i = 0; i < h->count; i++)
		if (strcmp(h->rows[i].label, label) == 0 &&
		    strcmp(h->rows[i].section, section) == 0)
			return &h->rows[i];
	return NULL;
}

static struct headline_row *row_named(struct headline *h, char *label, const char *section)
{
	struct headline_row *found = find_row(h, label, section);

	if (found) {
		free(label);
		return found;
	}
	ARRAY_GROW(h->rows, h->count, h->capacity);
	h->rows[h->count] = (struct headline_row){ label, section,
						   xcalloc(h->selection.view->source_count,
							   sizeof(struct headline_cell)) };
	return &h->rows[h->count++];
}

static bool name_is_repeated(const struct headline *h, const struct headline_row *row)
{
	for (size_t i = 0; i < h->count; i++)
		if (&h->rows[i] != row && strcmp(h->rows[i].label, row->label) == 0)
			return true;
	return false;
}

/* Rows that differ only by the section of the configuration: its name is added. */
static void name_repeated_rows(struct headline *h)
{
	bool *repeated = xcalloc(h->count, sizeof(*repeated));

	for (size_t i = 0; i < h->count; i++)
		repeated[i] = h->rows[i].section[0] && name_is_repeated(h, &h->rows[i]);
	for (size_t i = 0; i < h->count; i++) {
		char *plain = h->rows[i].label;

		if (!repeated[i])
			continue;
		h->rows[i].label = xasprintf("%s (section %s)", plain, h->rows[i].section);
		free(plain);
	}
	free(repeated);
}

static char *row_label(const struct headline *h, const struct case_result *c)
{
	char *label = view_named_parameters(h->selection.view, c, h->without);

	if (*label)
		return label;
	free(label);
	return xstrdup("all");
}

/* Puts a set of devices into its row; of several that start at the same device the worst stays. */
static void fill_row(struct headline *h, const struct headline_group *group)
{
	const struct selected_case *first = group->figures[0];
	struct headline_cell *cell =
		&row_named(h, row_label(h, first->c), view_string(first->c->label))
			 ->cells[first->source];

	cell->sets++;
	if (!cell->group ||
	    better(h->better, cell->group->figures[0]->m->value, group->figures[0]->m->value))
		cell->group = group;
}

/* Counts a case in its row, which is there if the case was measured on any device. */
static void count_failed(struct headline *h, const struct case_result *c, size_t source)
{
	const struct metric_value *m = view_headline(c);
	char *label = row_label(h, c);
	struct headline_row *row = find_row(h, label, view_string(c->label));

	if (row && (!m || strcmp(m->name, h->selection.items[0].m->name) == 0))
		row->cells[source].failed++;
	free(label);
}

static void fill_rows(struct headline *h, const char *suite)
{
	for (size_t i = 0; i < h->group_count; i++)
		fill_row(h, &h->groups[i]);
	each_failed(h, suite, count_failed);
	name_repeated_rows(h);
}

/* True if all cases have the parameter, with one value. */
static bool is_common(const struct headline *h, const char *name)
{
	const struct case_parameter *first = case_parameter(h->selection.items[0].c, name);

	for (size_t i = 0; first && i < h->selection.count; i++) {
		const struct case_parameter *p = case_parameter(h->selection.items[i].c, name);

		if (!p || strcmp(view_string(p->text), view_string(first->text)) != 0)
			return false;
	}
	return first != NULL;
}

/*
 * Leaves the axis out of the rows' labels, and what is common if something else is left to name
 * them.
 */
static void choose_without(struct headline *h)
{
	const struct case_selection *selection = &h->selection;
	const char **varying = xcalloc(selection->parameter_count + 2, sizeof(*varying));
	size_t left_out = 0, left = 0;

	h->without = xcalloc(selection->parameter_count + 2, sizeof(*h->without));
	if (h->axis)
		varying[left++] = h->without[left_out++] = h->axis;
	for (size_t i = 0; i < selection->parameter_count; i++) {
		const char *name = selection->parameters[i].name;

		if (h->axis && strcmp(name, h->axis) == 0)
			continue;
		if (is_common(h, name))
			h->without[left_out++] = name;
		else
			varying[left++] = name;
	}
	if (left == (h->axis ? 1u : 0u)) {
		h->without[left] = NULL;
		h->common = xstrdup("");
	} else {
		h->common = view_parameters(selection->view, selection->items[0].c, varying);
	}
	free(varying);
}

size_t headline_leader(const struct headline *h, const struct headline_row *row, size_t source)
{
	const struct view *view = h->selection.view;

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
	struct case_selection all;

	*h = (struct headline){ 0 };
	selection_collect(&all, view, suite, metric);
	selection_main(&h->selection, &all);
	selection_release(&all);
	if (!h->selection.count)
		return;
	h->axis = selection_axis(&h->selection);
	choose_without(h);
	h->better = h->selection.items[0].m->better;
	collect_groups(h, suite);
	fill_rows(h, suite);
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
	free(h->without);
	free(h->common);
	selection_release(&h->selection);
}

bool headline_peak(const struct headline *h, const struct selected_case *selected,
		   struct headline_peak *peak)
{
	const struct device_info *info = h->selection.view->sources[selected->source].info;
	const struct gpu *gpu = info ? gpus_by_device(info->name) : NULL;
	const struct presentation shown =
		view_presentation(h->selection.view, view_string(selected->c->suite));
	const struct sheet_row *row = gpu ? sheet_row_of_case(shown.sheet, selected->c,
							      view_string(selected->m->name), info)
					  : NULL;
	const struct metric *metric =
		view_metric(h->selection.view, view_string(selected->m->name));
	struct quantity q;

	*peak = (struct headline_peak){ .peak = (double)NAN, .share = (double)NAN };
	if (!row)
		return false;
	q = quantity_of_row(row);
	peak->quantity = q.name ? quantity_find(q.name) : NULL;
	peak->unit = q.unit ? q.unit : view_string(selected->m->unit);
	peak->title = q.title;
	if (!q.title)
		peak->title =
			metric && metric->title ? metric->title : view_string(selected->m->name);
	peak->doubled = row->factor != 0;
	peak->peak = gpu_peak(gpu, &q, &peak->entry);
	peak->share = selected->m->value * (peak->doubled ? row->factor : 1) / peak->peak;
	return isfinite(peak->peak);
}
