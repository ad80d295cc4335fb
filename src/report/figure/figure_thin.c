/*
 * Charts of a run with several devices: identical ones are one bar with a dot each; of many lines
 * those with the worst figures and the middle one stay, so that a chart never leaves out the device
 * that matters.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "report/figure/figure.h"

#define MOST_DEVICES 8 /* that a chart shows all of */
#define WORST 4        /* devices of more that stay, and the middle one */

/* A case among those that measure the same on other devices. */
struct thin_member {
	const struct selected_case *selected;
	char *key;
};

/* How much worse than the median of all a device is, at most over what it measured. */
struct thin_standing {
	size_t source;
	double worst, farthest; /* farthest: to either side */
	bool there;
};

static int thin_by_key_and_value(const void *a, const void *b)
{
	const struct thin_member *p = a, *q = b;
	int order = strcmp(p->key, q->key);
	double x = p->selected->m->value, y = q->selected->m->value;

	return order ? order : (x > y) - (x < y);
}

static int thin_by_worst(const void *a, const void *b)
{
	const struct thin_standing *p = a, *q = b;

	if (p->there != q->there)
		return p->there ? -1 : 1;
	if (p->worst != q->worst)
		return p->worst > q->worst ? -1 : 1;
	return (p->source > q->source) - (p->source < q->source);
}

/* Members with one key, in order of their values. */
static void thin_add_standings(const struct thin_member *members, size_t count,
			       struct thin_standing *standings)
{
	double median = members[count / 2].selected->m->value;

	for (size_t i = 0; i < count; i++) {
		const struct metric_value *m = members[i].selected->m;
		struct thin_standing *s = &standings[members[i].selected->source];
		double above = median != 0 ? (m->value - median) / fabs(median) : 0;
		double worse = m->better == BETTER_LOWER    ? above
			       : m->better == BETTER_HIGHER ? -above
							    : fabs(above);

		/* A value that is no number is the worst. */
		worse = isfinite(worse) ? worse : INFINITY;
		s->worst = s->there ? fmax(s->worst, worse) : worse;
		s->farthest = fmax(s->farthest, isfinite(above) ? fabs(above) : INFINITY);
		s->there = true;
	}
}

/* Marks the sources to keep of cases with n devices; returns how many there are. */
static size_t thin_choose_sources(const struct case_selection *selection, size_t n, bool *kept)
{
	static const char *const all[] = { NULL };
	size_t sources = selection->view->source_count, count = 0, known = 0;
	struct thin_member *members = xcalloc(selection->count + 1, sizeof(*members));
	struct thin_standing *standings = xcalloc(sources + 1, sizeof(*standings)), *middle = NULL;

	for (size_t i = 0; i < selection->count; i++)
		if (selection->items[i].c->device_count == n)
			members[count++] =
				(struct thin_member){ &selection->items[i],
						      view_parameters(selection->view,
								      selection->items[i].c, all) };
	qsort(members, count, sizeof(*members), thin_by_key_and_value);
	for (size_t s = 0; s < sources; s++)
		standings[s].source = s;
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && strcmp(members[next].key, members[i].key) == 0;)
			next++;
		thin_add_standings(members + i, next - i, standings);
	}
	qsort(standings, sources, sizeof(*standings), thin_by_worst);
	for (size_t s = 0; s < sources && standings[s].there; s++) {
		known++;
		if (s >= WORST && (!middle || standings[s].farthest < middle->farthest))
			middle = &standings[s];
	}
	for (size_t s = 0; s < known; s++)
		kept[standings[s].source] =
			known <= MOST_DEVICES || s < WORST || &standings[s] == middle;
	for (size_t i = 0; i < count; i++)
		free(members[i].key);
	free(members);
	free(standings);
	return known;
}

size_t figure_thin(struct case_selection *selection)
{
	size_t sources = selection->view->source_count, left = 0, most = 0;
	bool *kept, *done;

	if (sources <= MOST_DEVICES)
		return 0;
	kept = xcalloc(sources, sizeof(*kept));
	done = xcalloc(selection->count + 1, sizeof(*done));
	for (size_t i = 0; i < selection->count; i++) {
		size_t devices = selection->items[i].c->device_count, known;

		if (done[i])
			continue;
		memset(kept, 0, sources * sizeof(*kept));
		known = thin_choose_sources(selection, devices, kept);
		most = known > MOST_DEVICES && known > most ? known : most;
		for (size_t k = i; k < selection->count; k++)
			if (selection->items[k].c->device_count == devices) {
				done[k] = true;
				if (!kept[selection->items[k].source])
					selection->items[k].m = NULL;
			}
	}
	for (size_t i = 0; i < selection->count; i++)
		if (selection->items[i].m)
			selection->items[left++] = selection->items[i];
	selection->count = left;
	free(kept);
	free(done);
	return most;
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

/* The case that stands for all devices of items[i]: the first with their middle value. */
static struct selected_case thin_middle_of(const struct case_selection *selection, size_t i)
{
	struct selected_case middle = selection->items[i];
	size_t count;
	double *values = figure_device_values(selection, &middle, &count);

	for (size_t k = selection->count; count > 1 && k-- > i;)
		if (selection->items[k].m->value == values[(count - 1) / 2] &&
		    cases_share_point(selection->items[k].c, middle.c))
			middle = selection->items[k];
	middle.source = 0;
	middle.devices = count > 1 ? count : 0;
	free(values);
	return middle;
}

size_t figure_merge_devices(struct case_selection *selection)
{
	size_t kept = 0, most = 0;

	if (!thin_sources_are_identical(selection->view))
		return 0;
	for (size_t i = 0; i < selection->count; i++) {
		const struct case_result *c = selection->items[i].c;
		bool done = false;

		for (size_t k = 0; c->device_count < 2 && k < kept && !done; k++)
			done = selection->items[k].devices &&
			       cases_share_point(selection->items[k].c, c);
		if (done)
			continue;
		if (c->device_count < 2 && isfinite(selection->items[i].m->value))
			selection->items[kept] = thin_middle_of(selection, i);
		else
			selection->items[kept] = selection->items[i];
		most = selection->items[kept].devices > most ? selection->items[kept].devices
							     : most;
		kept++;
	}
	selection->count = kept;
	selection->several_sources = false;
	for (size_t i = 1; i < kept; i++)
		selection->several_sources =
			selection->several_sources ||
			selection->items[i].source != selection->items[0].source;
	return most;
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
