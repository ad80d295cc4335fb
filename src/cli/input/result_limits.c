#include "cli/input/result_limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/input/population_file.h"
#include "judge/judge.h"

struct pooled_limits {
	char *key;
	struct limits limits;
};

/* Everything that judge_limits_of_result() reads: results with equal keys have the same limits. */
static char *result_limits_pool_key(const char *named, const struct result *result)
{
	struct text key = TEXT_EMPTY;

	if (named)
		return xstrdup("");
	if (!strstr(result->config_text, "[limit "))
		return judge_machine_by_trend(result)
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

/* False, with a message, if the limits contradict the result. */
static bool result_limits_fit(const struct limits *limits, const struct result *result)
{
	struct text errors = TEXT_EMPTY;
	bool fit = judge_limits_make_sense(limits, result, &errors);

	cli_command_print_errors(&errors);
	return fit;
}

static enum status result_limits_pool_read(const char *named, bool shipped,
					   const struct result *result, struct limits *limits)
{
	struct text errors = TEXT_EMPTY;
	enum status status = STATUS_OK;

	if (named)
		status = judge_limits_load(limits, named, &errors);
	else if ((shipped && !judge_machine_by_trend(result)) ||
		 strstr(result->config_text, "[limit "))
		status = judge_limits_of_result(limits, result, &errors);
	cli_command_print_errors(&errors);
	if (status == STATUS_OK && !result_limits_fit(limits, result)) {
		judge_limits_release(limits);
		status = STATUS_USAGE;
	}
	return status;
}

const struct limits *result_limits_pool_find(struct limits_pool *pool, const char *named,
					     bool shipped, const struct result *result)
{
	char *key = result_limits_pool_key(named, result);
	struct pooled_limits *found = NULL;

	for (size_t i = 0; i < pool->count && !found; i++)
		if (strcmp(pool->items[i]->key, key) == 0)
			found = pool->items[i];
	if (found) {
		free(key);
		return result_limits_fit(&found->limits, result) ? &found->limits : NULL;
	}
	found = xcalloc(1, sizeof(*found));
	found->key = key;
	if (result_limits_pool_read(named, shipped, result, &found->limits) != STATUS_OK) {
		free(key);
		free(found);
		return NULL;
	}
	ARRAY_GROW(pool->items, pool->count, pool->capacity);
	pool->items[pool->count++] = found;
	return &found->limits;
}

void result_limits_pool_release(struct limits_pool *pool)
{
	for (size_t i = 0; i < pool->count; i++) {
		judge_limits_release(&pool->items[i]->limits);
		free(pool->items[i]->key);
		free(pool->items[i]);
	}
	free(pool->items);
	*pool = (struct limits_pool){ 0 };
}

bool result_limits_judging_is_stored(const struct result_judging *j, struct result *result)
{
	if (!result->judgement || j->limits || (j->baseline && j->baseline->count))
		return false;
	if (j->strict && !result->judgement->strict) {
		result->judgement->strict = true;
		verdicts_finish(result->judgement);
	}
	return true;
}

enum status result_limits_judging_apply(const struct result_judging *j, struct result *result)
{
	struct judge_input input = { .results = result, .count = 1 };
	struct verdicts verdicts = { .strict = j->strict };
	struct population population = { 0 };
	struct limits_pool pool = { 0 };
	enum status status = STATUS_USAGE;

	if (result_limits_judging_is_stored(j, result))
		return STATUS_OK;
	if (j->baseline) {
		input.baseline = j->baseline->items;
		input.baseline_count = j->baseline->count;
	}
	input.limits = result_limits_pool_find(&pool, j->limits, !j->only_own, result);
	input.population = &population;
	if (input.limits && population_file_open(&population, NULL) == STATUS_OK) {
		status = STATUS_OK;
		if (input.limits->count || !j->only_own) {
			judge_machine_results(&input, &verdicts);
			verdicts_finish(&verdicts);
			result_judge(result, &verdicts);
		}
	}
	verdicts_release(&verdicts);
	population_release(&population);
	result_limits_pool_release(&pool);
	return status;
}
