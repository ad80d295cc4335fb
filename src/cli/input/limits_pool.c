#include "cli/input/limits_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/input/result_limits.h"
#include "judge/judge.h"

struct pooled_limits {
	char *key;
	struct limits limits;
};

/* Everything that limits_of_result() reads: results with equal keys have the same limits. */
static char *limits_pool_key(const char *named, const struct result *result)
{
	struct text key = TEXT_EMPTY;

	if (named)
		return xstrdup("");
	if (!strstr(result->config_text, "[limit "))
		return judge_by_trend(result)
			       ? xstrdup("trend")
			       : xasprintf("model %s",
					   result->device_count ? result->devices[0].name : "");
	text_addf(&key, "own %s\n%s\n", result->config_name ? result->config_name : "",
		  result->config_text);
	for (size_t i = 0; i < result->presentation_count; i++) {
		text_addf(&key, "suite %s\n", result->presentations[i].suite);
		for (const struct metric *m = result->presentations[i].metrics; m && m->name; m++)
			text_addf(&key, "%s %s\n", m->name, m->unit);
	}
	for (size_t i = 0; i < result->setting_count; i++)
		if (text_starts_with(result->settings[i].section, "limit "))
			text_addf(&key, "%s %s %s\n", result->settings[i].section,
				  result->settings[i].key, result->settings[i].origin);
	if (result->device_count)
		text_add(&key, result->devices[0].name);
	return text_detach(&key);
}

const struct limits *limits_pool_find(struct limits_pool *pool, const char *named,
				      const struct result *result)
{
	char *key = limits_pool_key(named, result);
	struct pooled_limits *found = NULL;

	for (size_t i = 0; i < pool->count && !found; i++)
		if (strcmp(pool->items[i]->key, key) == 0)
			found = pool->items[i];
	if (found) {
		free(key);
		return limits_fit(&found->limits, result) ? &found->limits : NULL;
	}
	found = xcalloc(1, sizeof(*found));
	found->key = key;
	if (result_limits(named, result, true, &found->limits) != STATUS_OK) {
		free(key);
		free(found);
		return NULL;
	}
	ARRAY_GROW(pool->items, pool->count, pool->capacity);
	pool->items[pool->count++] = found;
	return &found->limits;
}

void limits_pool_release(struct limits_pool *pool)
{
	for (size_t i = 0; i < pool->count; i++) {
		limits_release(&pool->items[i]->limits);
		free(pool->items[i]->key);
		free(pool->items[i]);
	}
	free(pool->items);
	*pool = (struct limits_pool){ 0 };
}
