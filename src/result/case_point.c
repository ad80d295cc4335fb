/*
 * The point of a case: what it measured, without its devices.
 *
 * Ids are keys and headings. A case has its axes and devices as fields; only this file looks into
 * an id, for series of a history, which have nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/result.h"
#include "result/verdict.h"

static const char *case_point_text_or_empty(const char *s)
{
	return s ? s : "";
}

void case_add_axis(struct case_result *c, const char *name, const char *value, bool labelled)
{
	c->point = xrealloc(c->point, c->point_count + 1, sizeof(*c->point));
	c->point[c->point_count++] = (struct case_axis){ xstrdup(name), xstrdup(value), labelled };
}

static char *case_point_text(const struct case_result *c, const char *label)
{
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%s%s%s", case_point_text_or_empty(c->suite), *label ? ":" : "", label);
	for (size_t i = 0; i < c->point_count; i++) {
		const struct case_axis *a = &c->point[i];

		text_addf(&out, "/%s%s%s", a->labelled ? a->name : "", a->labelled ? "=" : "",
			  a->value);
	}
	return text_detach(&out);
}

char *case_point(const struct case_result *c)
{
	return case_point_text(c, case_point_text_or_empty(c->label));
}

char *case_point_without_label(const struct case_result *c)
{
	return case_point_text(c, "");
}

static void case_point_put_device(char **device, const char *node)
{
	char *placed = xasprintf("%s/%s", node, case_point_text_or_empty(*device));

	memory_shared_text_free(*device);
	*device = placed;
}

void case_put_on_node(struct case_result *c, const char *node)
{
	char *devices = case_devices(c), *id, *placed;
	size_t length = strlen(c->id), tail = strlen(devices);

	for (size_t i = 0; i < c->device_count; i++) {
		case_point_put_device(&c->devices[i], node);
		memory_shared_text(&c->devices[i]);
	}
	case_point_put_device(&c->device, node);
	memory_shared_text(&c->device);
	if (*case_point_text_or_empty(c->failed_device)) {
		case_point_put_device(&c->failed_device, node);
		free(c->failed_node);
		c->failed_node = xstrdup(node);
	}
	for (size_t i = 0; i < c->watch_count; i++)
		case_point_put_device(&c->watches[i].device, node);
	for (size_t i = 0; i < c->lost_count; i++)
		for (size_t d = 0; d < c->lost[i].device_count; d++)
			case_point_put_device(&c->lost[i].devices[d], node);
	placed = case_devices(c);
	/* An imported id may not end in its devices. */
	if (length > tail && strcmp(c->id + length - tail, devices) == 0)
		id = xasprintf("%.*s%s", (int)(length - tail), c->id, placed);
	else
		id = xasprintf("%s@%s", c->id, node);
	free(c->id);
	c->id = id;
	memory_shared_text_free(c->node);
	c->node = xstrdup(node);
	memory_shared_text(&c->node);
	free(placed);
	free(devices);
}

char *case_id_on_node(const struct case_result *c)
{
	char *placed = case_devices(c), *id;
	size_t length = strlen(c->id), tail = strlen(placed),
	       node = strlen(case_point_text_or_empty(c->node));
	struct text devices = TEXT_EMPTY;

	for (size_t i = 0; i < c->device_count; i++)
		text_addf(&devices, "%s%s", i ? "," : "", device_id_on_node(c->devices[i]));
	if (length > tail && strcmp(c->id + length - tail, placed) == 0)
		id = xasprintf("%.*s%s", (int)(length - tail), c->id,
			       devices.length ? devices.data : "");
	else
		id = xstrndup(c->id, length > node ? length - node - 1 : length);
	free(placed);
	text_release(&devices);
	return id;
}

char *case_devices(const struct case_result *c)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < c->device_count; i++)
		text_addf(&out, "%s%s", i ? "," : "", case_point_text_or_empty(c->devices[i]));
	return text_detach(&out);
}

bool cases_share_point(const struct case_result *a, const struct case_result *b)
{
	if (a->point_count != b->point_count ||
	    strcmp(case_point_text_or_empty(a->suite), case_point_text_or_empty(b->suite)) != 0 ||
	    strcmp(case_point_text_or_empty(a->label), case_point_text_or_empty(b->label)) != 0)
		return false;
	for (size_t i = 0; i < a->point_count; i++)
		if (strcmp(a->point[i].name, b->point[i].name) != 0 ||
		    strcmp(a->point[i].value, b->point[i].value) != 0)
			return false;
	return true;
}

bool case_names_parameter(const struct case_result *c, const char *name)
{
	for (size_t i = 0; i < c->point_count; i++)
		if (!*c->point[i].name || strcmp(c->point[i].name, name) == 0)
			return true;
	return c->point_count == 0;
}

void series_point_of_id(const char *id, char **section, char **point)
{
	const char *at = strrchr(id, '@');

	*section = xstrndup(id, strcspn(id, "/@"));
	/* Without "@cuda:0,cuda:1". */
	*point = xstrndup(id, at ? (size_t)(at - id) : strlen(id));
}
