#include "report/view/case_selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/presented.h"

static struct varying *case_selection_parameter_named(struct case_selection *selection,
						      const char *name, const char *unit)
{
	for (size_t i = 0; i < selection->parameter_count; i++)
		if (strcmp(selection->parameters[i].name, name) == 0)
			return &selection->parameters[i];
	ARRAY_GROW(selection->parameters, selection->parameter_count,
		   selection->parameter_capacity);
	selection->parameters[selection->parameter_count] =
		(struct varying){ .name = name, .unit = unit, .number = true };
	return &selection->parameters[selection->parameter_count++];
}

static void case_selection_count_values(const struct case_selection *selection, struct varying *v)
{
	const char *seen[VARYING_MOST];

	for (size_t i = 0; i < selection->count; i++) {
		const struct case_parameter *p = case_parameter(selection->items[i].c, v->name);
		const char *text = p ? view_string(p->text) : "";
		size_t k = 0;

		/*
		 * A parameter that does not apply has no value, so "pinned" and "-" do not count as
		 * varying.
		 */
		if (!*text || strcmp(text, "-") == 0)
			continue;
		v->number = v->number && isfinite(p->number);
		while (k < v->values && strcmp(seen[k], text) != 0)
			k++;
		if (k == v->values && v->values < VARYING_MOST)
			seen[v->values++] = text;
	}
}

static void selection_add_case(struct case_selection *selection,
			       const struct selected_case *selected)
{
	ARRAY_GROW(selection->items, selection->count, selection->capacity);
	selection->items[selection->count++] = *selected;
	for (size_t i = 0; i < selected->c->parameter_count; i++)
		case_selection_parameter_named(selection,
					       view_string(selected->c->parameters[i].name),
					       view_string(selected->c->parameters[i].unit));
}

static bool case_selection_same_devices(const struct case_result *a, const struct case_result *b)
{
	if (a->device_count != b->device_count)
		return false;
	for (size_t i = 0; i < a->device_count; i++)
		if (strcmp(view_string(a->devices[i]), view_string(b->devices[i])) != 0)
			return false;
	return true;
}

/* All of a case but one parameter. */
static char *case_selection_without_parameter(const struct view *view,
					      const struct selected_case *selected,
					      const char *name)
{
	const char *const without[] = { name, NULL };
	char *parameters = view_parameters(view, selected->c, without),
	     *devices = view_all_devices(view, selected->c);
	char *all = xasprintf("%zu %s %s", selected->source, devices, parameters);

	free(parameters);
	free(devices);
	return all;
}

static int case_selection_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * True if a case without the parameter otherwise equals one with it: "transport = peer_copy" and
 * the default transport, which no case names.
 */
static bool case_selection_has_implicit_default(const struct case_selection *selection,
						const char *name)
{
	char **with = xcalloc(selection->count + 1, sizeof(*with));
	size_t count = 0;
	bool found = false;

	for (size_t i = 0; i < selection->count; i++)
		if (case_parameter(selection->items[i].c, name))
			with[count++] =
				case_selection_without_parameter(selection->view,
								 &selection->items[i], name);
	qsort(with, count, sizeof(*with), case_selection_by_text);
	for (size_t i = 0; i < selection->count && count < selection->count && !found; i++) {
		char *own;

		if (case_parameter(selection->items[i].c, name))
			continue;
		own = case_selection_without_parameter(selection->view, &selection->items[i], name);
		found = bsearch(&own, with, count, sizeof(*with), case_selection_by_text) != NULL;
		free(own);
	}
	for (size_t i = 0; i < count; i++)
		free(with[i]);
	free(with);
	return found;
}

static void case_selection_count_implicit_default(const struct case_selection *selection,
						  struct varying *v)
{
	size_t named = 0;

	for (size_t i = 0; i < selection->count; i++)
		named += case_parameter(selection->items[i].c, v->name) != NULL;
	v->default_is_implicit = named && named < selection->count &&
				 case_selection_has_implicit_default(selection, v->name);
	v->values += v->default_is_implicit && v->values < VARYING_MOST;
}

#define COUNTS_MOST 64 /* devices of one case, far above any plan's */

/* Different pairs are several sets. One device against two is not, because a parameter shows it. */
static void case_selection_count_sources(struct case_selection *selection)
{
	const struct case_result *first[COUNTS_MOST] = { NULL };

	for (size_t i = 0; i < selection->count; i++) {
		const struct case_result *c = selection->items[i].c;
		size_t n = c->device_count < COUNTS_MOST ? c->device_count : COUNTS_MOST - 1;

		selection->several_sources =
			selection->several_sources ||
			selection->items[i].source != selection->items[0].source;
		if (n < 2)
			continue;
		if (!first[n])
			first[n] = c;
		else if (!case_selection_same_devices(first[n], c))
			selection->several_device_sets = true;
	}
}

static void case_selection_count_all(struct case_selection *selection)
{
	for (size_t i = 0; i < selection->parameter_count; i++) {
		case_selection_count_values(selection, &selection->parameters[i]);
		case_selection_count_implicit_default(selection, &selection->parameters[i]);
	}
	case_selection_count_sources(selection);
}

void case_selection_collect(struct case_selection *selection, const struct view *view,
			    const char *suite, const char *metric)
{
	*selection = (struct case_selection){ .view = view };
	for (size_t i = 0; i < view->results->case_count; i++) {
		const struct case_result *c = &view->results->cases[i];
		struct selected_case selected = { c, case_metric(c, metric), 0 };

		/* The speed of a wrong result is not shown with correct ones. */
		if (!selected.m || c->status != CASE_OK ||
		    strcmp(view_string(c->suite), suite) != 0)
			continue;
		selected.source = view_source_of(view, 0, c);
		selection_add_case(selection, &selected);
	}
	case_selection_count_all(selection);
}

void case_selection_only(struct case_selection *selection, const struct case_selection *from,
			 const char *const *only)
{
	*selection = (struct case_selection){ .view = from->view };
	for (size_t i = 0; i < from->count; i++) {
		const struct case_parameter *p =
			only[0] ? case_parameter(from->items[i].c, only[0]) : NULL;

		if (!only[0] || (p && view_listed(view_string(p->text), only + 1)))
			selection_add_case(selection, &from->items[i]);
	}
	case_selection_count_all(selection);
}

void case_selection_main(struct case_selection *selection, const struct case_selection *from)
{
	*selection = (struct case_selection){ .view = from->view };
	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].m == view_headline(from->items[i].c))
			selection_add_case(selection, &from->items[i]);
	case_selection_count_all(selection);
}

/* The group of a key, which it takes over; a new one is the last. */
static size_t case_selection_intern_key(struct case_groups *groups, struct text_index *index,
					char *key)
{
	size_t *group = text_index_at(index, key, "");

	if (*group != SIZE_MAX) {
		free(key);
		return *group;
	}
	groups->keys[groups->count] = key;
	return *group = groups->count++;
}

void case_selection_group(struct case_groups *groups, const struct case_selection *from,
			  const char *const *names)
{
	struct text_index index = { 0 };

	*groups = (struct case_groups){ .keys = xcalloc(from->count + 1, sizeof(*groups->keys)),
					.of = xcalloc(from->count + 1, sizeof(*groups->of)) };
	for (size_t i = 0; i < from->count; i++)
		groups->of[i] =
			case_selection_intern_key(groups, &index,
						  case_selection_key(from, &from->items[i], names));
	text_index_release(&index);
	groups->items = xcalloc(groups->count + 1, sizeof(*groups->items));
	for (size_t j = 0; j < groups->count; j++)
		groups->items[j].view = from->view;
	for (size_t i = 0; i < from->count; i++)
		selection_add_case(&groups->items[groups->of[i]], &from->items[i]);
	for (size_t j = 0; j < groups->count; j++)
		case_selection_count_all(&groups->items[j]);
}

void case_selection_groups_release(struct case_groups *groups)
{
	for (size_t j = 0; j < groups->count; j++) {
		case_selection_release(&groups->items[j]);
		free(groups->keys[j]);
	}
	free(groups->items);
	free(groups->keys);
	free(groups->of);
	*groups = (struct case_groups){ 0 };
}

void case_selection_numbered(struct case_selection *selection, const struct case_selection *from,
			     const size_t *number, size_t wanted)
{
	*selection = (struct case_selection){ .view = from->view };
	for (size_t i = 0; i < from->count; i++)
		if (number[i] == wanted)
			selection_add_case(selection, &from->items[i]);
	case_selection_count_all(selection);
}

void case_selection_release(struct case_selection *selection)
{
	free(selection->items);
	free(selection->parameters);
	*selection = (struct case_selection){ 0 };
}

const char *case_selection_axis(const struct case_selection *selection)
{
	const struct varying *best = NULL;

	for (size_t i = 0; i < selection->parameter_count; i++) {
		const struct varying *v = &selection->parameters[i];
		bool size = strcmp(v->unit, "B") == 0;

		if (!v->number || v->values < (size ? 2u : 4u))
			continue;
		if (!best || (size && strcmp(best->unit, "B") != 0))
			best = v;
	}
	return best ? best->name : NULL;
}

bool case_selection_vary(const struct case_selection *selection, const char *name)
{
	for (size_t i = 0; i < selection->parameter_count; i++)
		if (strcmp(selection->parameters[i].name, name) == 0)
			return selection->parameters[i].values > 1;
	return false;
}

char *case_selection_key(const struct case_selection *selection,
			 const struct selected_case *selected, const char *const *names)
{
	struct text out = TEXT_EMPTY;

	for (; *names; names++) {
		const struct case_parameter *p = case_parameter(selected->c, *names);
		struct formatted word = { "" };

		if (p)
			word = presented_parameter(selection->view, selected->c->suite, p);
		if (*word.text)
			format_list(&out, "%s", word.text);
	}
	return text_detach(&out);
}

#define DEVICES_NAMED 4 /* of more, two are named */

/* "cuda:5 + cuda:7 + 6 others", where no other set begins so. malloc'ed. */
static char *case_selection_label_devices(const struct case_selection *selection,
					  const struct case_result *c)
{
	if (c->device_count <= DEVICES_NAMED)
		return view_all_devices(selection->view, c);
	for (size_t i = 0; i < selection->count; i++) {
		const struct case_result *other = selection->items[i].c;

		if (other->device_count == c->device_count &&
		    strcmp(view_string(other->devices[0]), view_string(c->devices[0])) == 0 &&
		    strcmp(view_string(other->devices[1]), view_string(c->devices[1])) == 0 &&
		    !case_selection_same_devices(other, c))
			return view_all_devices(selection->view, c);
	}
	return xasprintf("%s + %s + %zu others", view_string(c->devices[0]),
			 view_string(c->devices[1]), c->device_count - 2);
}

char *case_selection_label(const struct case_selection *selection,
			   const struct selected_case *selected, const char *const *without)
{
	struct text out = TEXT_EMPTY;
	bool several = selected->c->device_count > 1;

	for (size_t i = 0; i < selection->parameter_count; i++) {
		const struct varying *v = &selection->parameters[i];
		const struct case_parameter *p = case_parameter(selected->c, v->name);
		struct formatted word = { "" };

		if (p && v->values > 1 && !view_listed(v->name, without) &&
		    case_names_parameter(selected->c, v->name))
			word = presented_parameter(selection->view, selected->c->suite, p);
		if (*word.text)
			format_list(&out, "%s", word.text);
	}
	if (several && selection->several_device_sets) {
		char *devices = case_selection_label_devices(selection, selected->c);

		format_list(&out, "%s", devices);
		free(devices);
	}
	/* Names the implicit default: "default transport". */
	for (size_t i = 0, named = out.length; !named && i < selection->parameter_count; i++) {
		const struct varying *v = &selection->parameters[i];

		if (v->default_is_implicit && !view_listed(v->name, without) &&
		    !case_parameter(selected->c, v->name))
			format_list(&out, "default %s", format_metric(v->name).text);
	}
	if (!several && selection->several_sources)
		format_list(&out, "%s", selection->view->sources[selected->source].label);
	return text_detach(&out);
}
