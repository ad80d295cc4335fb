/*
 * Charts of a run with several devices: identical ones are one bar or line, the middle one, with a
 * dot for each or their range. Of many nodes a few have maps.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "report/figure/figure.h"

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

double *figure_device_values(const struct case_selection *selection,
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

size_t figure_merge_devices(struct case_selection *selection)
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

/* The pairs of one node. */
struct node_pairs {
	const char *node;
	double worst, sum; /* of how much better than 0, where higher is better */
	size_t count;
};

static int thin_by_mean(const void *a, const void *b)
{
	const struct node_pairs *p = a, *q = b;
	double x = p->sum / (double)p->count, y = q->sum / (double)q->count;

	return (x > y) - (x < y);
}

size_t figure_choose_nodes(const struct case_selection *selection, const char *axis, double size,
			   const char *chosen[2])
{
	struct node_pairs *nodes = NULL, *worst = NULL;
	size_t count = 0, capacity = 0, at = 0;

	for (size_t i = 0; i < selection->count; i++) {
		const struct selected_case *selected = &selection->items[i];
		const struct case_parameter *x = axis ? case_parameter(selected->c, axis) : NULL;
		const char *node = view_string(selected->c->node);
		double value = selected->m->better == BETTER_LOWER ? -selected->m->value
								   : selected->m->value;

		if (x && x->number != size)
			continue;
		if (at == count || strcmp(nodes[at].node, node) != 0)
			for (at = 0; at < count && strcmp(nodes[at].node, node) != 0;)
				at++;
		if (at == count) {
			ARRAY_GROW(nodes, count, capacity);
			nodes[count++] = (struct node_pairs){ .node = node, .worst = value };
		}
		nodes[at].worst = fmin(nodes[at].worst, value);
		nodes[at].sum += value;
		nodes[at].count++;
	}
	if (count)
		qsort(nodes, count, sizeof(*nodes), thin_by_mean);
	for (size_t i = 0; i < count; i++)
		worst = !worst || nodes[i].worst < worst->worst ? &nodes[i] : worst;
	chosen[0] = worst ? worst->node : NULL;
	if (count < 2)
		chosen[1] = NULL;
	else
		chosen[1] = nodes[count / 2 - (worst == &nodes[count / 2])].node;
	free(nodes);
	return count;
}
