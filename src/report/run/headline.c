#include "report/run/headline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reference/gpu.h"
#include "report/view/presented.h"

static bool headline_is_better(enum better direction, double a, double b)
{
	return direction == BETTER_LOWER ? a < b : a > b;
}

static char *headline_group_key(const struct headline *h, const struct selected_case *selected)
{
	char *parameters = view_parameters(h->selection.view, selected->c, h->without);
	char *devices = selected->c->device_count > 1
				? view_all_devices(h->selection.view, selected->c)
				: xstrdup("");
	char *key = xasprintf("%zu\n%s\n%s\n%s", selected->source, parameters, devices,
			      view_string(selected->c->label));

	free(parameters);
	free(devices);
	return key;
}

static double headline_axis_value(const struct headline *h, const struct selected_case *selected)
{
	const struct case_parameter *x = h->axis ? case_parameter(selected->c, h->axis) : NULL;

	return x ? x->number : NAN;
}

static void headline_choose_figure(const struct headline *h, struct headline_group *group,
				   const struct selected_case *selected)
{
	const struct selected_case **first = &group->figures[0], **last = &group->figures[1];

	if (!*first) {
		*first = selected;
	} else if (h->better != BETTER_LOWER) {
		if (!isfinite((*first)->m->value) ||
		    headline_is_better(h->better, selected->m->value, (*first)->m->value))
			*first = selected;
	} else if (headline_axis_value(h, selected) < headline_axis_value(h, *first)) {
		*last = *last ? *last : *first;
		*first = selected;
	} else if (!*last || headline_axis_value(h, selected) > headline_axis_value(h, *last)) {
		*last = selected;
	}
}

static int headline_by_key(const void *a, const void *b)
{
	const struct headline_group *x = a, *y = b;

	return strcmp(x->key, y->key);
}

static int headline_by_first(const void *a, const void *b)
{
	const struct headline_group *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int headline_by_key_and_first(const void *a, const void *b)
{
	int order = headline_by_key(a, b);

	return order ? order : headline_by_first(a, b);
}

typedef void failed_fn(struct headline *h, const struct case_result *c, size_t source);

/* Visits the cases of the suite that failed or ended in an error. */
static void headline_each_failed(struct headline *h, const char *suite, failed_fn *visit)
{
	const struct view *view = h->selection.view;

	for (size_t i = 0; i < view->results->case_count; i++) {
		const struct case_result *c = &view->results->cases[i];

		if ((c->status == CASE_FAILED || c->status == CASE_ERROR) &&
		    strcmp(view_string(c->suite), suite) == 0)
			visit(h, c, view_source_of(view, 0, c));
	}
}

/* Marks the case's group, of those sorted by their keys. */
static void headline_mark_failed(struct headline *h, const struct case_result *c, size_t source)
{
	struct headline_group wanted = {
		.key = headline_group_key(h, &(struct selected_case){ .c = c, .source = source })
	};
	struct headline_group *found =
		bsearch(&wanted, h->groups, h->group_count, sizeof(wanted), headline_by_key);

	if (found)
		found->failed = true;
	free(wanted.key);
}

/* A group for each case at first; then those with the same key are joined. */
static void headline_collect_groups(struct headline *h, const char *suite)
{
	size_t count = h->selection.count;
	struct headline_group *groups = xcalloc(count, sizeof(*groups)), *last = NULL;

	for (size_t i = 0; i < count; i++)
		groups[i] = (struct headline_group){
			.key = headline_group_key(h, &h->selection.items[i]), .first = i
		};
	qsort(groups, count, sizeof(*groups), headline_by_key_and_first);
	h->groups = groups;
	for (size_t i = 0; i < count; i++) {
		const struct selected_case *selected = &h->selection.items[groups[i].first];

		if (last && headline_by_key(last, &groups[i]) == 0) {
			free(groups[i].key);
		} else {
			last = &groups[h->group_count++];
			*last = groups[i];
		}
		headline_choose_figure(h, last, selected);
	}
	headline_each_failed(h, suite, headline_mark_failed);
	qsort(groups, h->group_count, sizeof(*groups), headline_by_first);
}

static struct headline_row *headline_find_row(struct headline *h, const char *label,
					      const char *section)
{
	size_t place = text_index_find(&h->places, label, section);

	return place == SIZE_MAX ? NULL : &h->rows[place];
}

static struct headline_row *headline_row_named(struct headline *h, char *label, const char *section)
{
	struct headline_row *found = headline_find_row(h, label, section);

	if (found) {
		free(label);
		return found;
	}
	ARRAY_GROW(h->rows, h->count, h->capacity);
	h->rows[h->count] = (struct headline_row){ label, section,
						   xcalloc(h->selection.view->source_count,
							   sizeof(struct headline_cell)) };
	*text_index_at(&h->places, label, section) = h->count;
	return &h->rows[h->count++];
}

/* Rows that differ only by the section of the configuration: its name is added. */
static void headline_name_repeated_rows(struct headline *h)
{
	bool *repeated = xcalloc(h->count + 1, sizeof(*repeated));
	struct text_index first = { 0 };

	for (size_t i = 0; i < h->count; i++) {
		size_t *place = text_index_at(&first, h->rows[i].label, "");

		if (*place == SIZE_MAX)
			*place = i;
		else
			repeated[i] = repeated[*place] = true;
	}
	text_index_release(&first);
	for (size_t i = 0; i < h->count; i++) {
		char *plain = h->rows[i].label;

		if (!repeated[i] || !h->rows[i].section[0])
			continue;
		h->rows[i].label = xasprintf("%s (section %s)", plain, h->rows[i].section);
		free(plain);
	}
	free(repeated);
}

static char *headline_row_label(const struct headline *h, const struct case_result *c)
{
	char *label = view_named_parameters(h->selection.view, c, h->without);

	if (*label)
		return label;
	free(label);
	return xstrdup("all");
}

/* Puts a set of devices into its row; of several that start at the same device the worst stays. */
static void headline_fill_row(struct headline *h, const struct headline_group *group)
{
	const struct selected_case *first = group->figures[0];
	struct headline_cell *cell = &headline_row_named(h, headline_row_label(h, first->c),
							 view_string(first->c->label))
					      ->cells[first->source];

	cell->sets++;
	if (!cell->group || headline_is_better(h->better, cell->group->figures[0]->m->value,
					       group->figures[0]->m->value))
		cell->group = group;
}

/* Counts a case in its row, which exists if any device measured the case. */
static void headline_count_failed(struct headline *h, const struct case_result *c, size_t source)
{
	const struct metric_value *m = view_headline(c);
	char *label = headline_row_label(h, c);
	struct headline_row *row = headline_find_row(h, label, view_string(c->label));

	if (row && (!m || strcmp(m->name, h->selection.items[0].m->name) == 0))
		row->cells[source].failed++;
	free(label);
}

/* True if all cases have the parameter, with one value. */
static bool headline_parameter_is_common(const struct headline *h, const char *name)
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
 * Removes the axis from the rows' labels, and the common parameters if others remain to name the
 * rows.
 */
static void headline_choose_without(struct headline *h)
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
		if (headline_parameter_is_common(h, name))
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

int headline_by_value(const void *a, const void *b)
{
	double x = (*(const struct selected_case *const *)a)->m->value;
	double y = (*(const struct selected_case *const *)b)->m->value;

	return (x > y) - (x < y);
}

void headline_collect(struct headline *h, const struct view *view, const char *suite,
		      const char *metric)
{
	struct case_selection all;

	*h = (struct headline){ 0 };
	case_selection_collect(&all, view, suite, metric);
	case_selection_main(&h->selection, &all);
	case_selection_release(&all);
	if (!h->selection.count)
		return;
	h->axis = case_selection_axis(&h->selection);
	headline_choose_without(h);
	h->better = h->selection.items[0].m->better;
	headline_collect_groups(h, suite);
	for (size_t i = 0; i < h->group_count; i++)
		headline_fill_row(h, &h->groups[i]);
	headline_each_failed(h, suite, headline_count_failed);
	text_index_release(&h->places);
	headline_name_repeated_rows(h);
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
	case_selection_release(&h->selection);
}

#define METRICS_MOST 8 /* of a suite */

void headline_each(const struct view *view, const char *suite, headline_fn *visit, void *user)
{
	const char *done[METRICS_MOST + 1] = { NULL };
	size_t count = 0;

	for (size_t i = 0; i < view->results->case_count; i++) {
		const struct case_result *c = &view->results->cases[i];
		const struct metric_value *m = view_headline(c);
		struct headline h;

		if (!m || c->status != CASE_OK || strcmp(view_string(c->suite), suite) != 0 ||
		    view_listed(m->name, done) || count == METRICS_MOST)
			continue;
		done[count++] = m->name;
		headline_collect(&h, view, suite, m->name);
		if (h.count)
			visit(user, suite, &h);
		headline_release(&h);
	}
}

bool headline_peak(const struct headline *h, const struct selected_case *selected,
		   struct headline_peak *peak)
{
	const struct device_info *info = h->selection.view->sources[selected->source].info;
	const struct gpu *gpu = info ? gpus_by_device(info->name) : NULL;
	const struct presentation shown =
		view_presentation(h->selection.view, view_string(selected->c->suite));
	const struct sheet_row *row =
		gpu ? quantity_sheet_row_of_case(shown.sheet, selected->c,
						 view_string(selected->m->name), info)
		    : NULL;
	const struct metric *metric =
		presented_metric(h->selection.view, view_string(selected->m->name));
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
