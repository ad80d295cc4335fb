#include "plan/suites/made_suite.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Updates pointers after the tables have moved or grown. */
static void made_suite_connect_tables(struct made_suite *made)
{
	made->suite.keys = made->keys;
	made->suite.axes = made->axes;
	made->suite.metrics = made->metrics;
}

struct made_suite *made_suite_of(const struct suite *base)
{
	struct made_suite *made = xcalloc(1, sizeof(*made));

	made->suite = *base;
	for (; base->keys && base->keys[made->key_count].name;)
		made->key_count++;
	for (; base->axes && base->axes[made->axis_count];)
		made->axis_count++;
	for (; base->metrics && base->metrics[made->metric_count].name;)
		made->metric_count++;
	made->keys = xcalloc(made->key_count + 1, sizeof(*made->keys));
	made->axes = xcalloc(made->axis_count + 1, sizeof(*made->axes));
	made->metrics = xcalloc(made->metric_count + 1, sizeof(*made->metrics));
	if (made->key_count)
		memcpy(made->keys, base->keys, made->key_count * sizeof(*made->keys));
	if (made->axis_count)
		memcpy(made->axes, base->axes, made->axis_count * sizeof(*made->axes));
	if (made->metric_count)
		memcpy(made->metrics, base->metrics, made->metric_count * sizeof(*made->metrics));
	made_suite_connect_tables(made);
	return made;
}

void made_suite_free(struct made_suite *made)
{
	for (size_t i = 0; i < made->text_count; i++)
		free(made->texts[i]);
	free(made->texts);
	free(made->keys);
	free(made->axes);
	free(made->metrics);
	free(made);
}

const char *made_suite_text(struct made_suite *made, const char *text)
{
	if (!text)
		return NULL;
	ARRAY_GROW(made->texts, made->text_count, made->text_capacity);
	made->texts[made->text_count] = xstrdup(text);
	return made->texts[made->text_count++];
}

void made_suite_add_key(struct made_suite *made, const struct key *key)
{
	for (size_t i = 0; i < made->key_count; i++)
		if (strcmp(made->keys[i].name, key->name) == 0) {
			if (made->keys[i].type != key->type)
				made->keys[i].type = KEY_TEXT;
			return;
		}
	made->keys = xrealloc(made->keys, made->key_count + 2, sizeof(*made->keys));
	made->keys[made->key_count] = *key;
	made->keys[made->key_count++].name = made_suite_text(made, key->name);
	made->keys[made->key_count] = (struct key){ 0 };
	made_suite_connect_tables(made);
}

void made_suite_add_metric(struct made_suite *made, const struct metric *metric)
{
	struct metric *added;

	made->metrics = xrealloc(made->metrics, made->metric_count + 2, sizeof(*made->metrics));
	added = &made->metrics[made->metric_count++];
	*added = *metric;
	added->name = made_suite_text(made, metric->name);
	added->unit = made_suite_text(made, metric->unit);
	added->title = made_suite_text(made, metric->title);
	added->help = made_suite_text(made, metric->help);
	made->metrics[made->metric_count] = (struct metric){ 0 };
	made_suite_connect_tables(made);
}

void made_suite_add_axis(struct made_suite *made, const struct key *key)
{
	const char *name = NULL;

	made_suite_add_key(made, key);
	for (size_t i = 0; i < made->axis_count; i++)
		if (strcmp(made->axes[i], key->name) == 0)
			return;
	for (size_t i = 0; i < made->key_count; i++)
		if (strcmp(made->keys[i].name, key->name) == 0)
			name = made->keys[i].name;
	made->axes = xrealloc(made->axes, made->axis_count + 2, sizeof(*made->axes));
	made->axes[made->axis_count++] = name;
	made->axes[made->axis_count] = NULL;
	made_suite_connect_tables(made);
}
