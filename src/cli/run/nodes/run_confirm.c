#include "cli/run/nodes/run_confirm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/run/run_launches.h"
#include "fleet/merge.h"

/* Ids of cases, and "NODE POINT" for all cases of a point on a node; sorted. */
struct suspects {
	char **keys;
	size_t count, capacity;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_key(struct suspects *s, char *key)
{
	ARRAY_GROW(s->keys, s->count, s->capacity);
	s->keys[s->count++] = key;
}

static void collect(struct suspects *s, const struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct verdict_check *c = &v->checks[i];

		if (!check_wants_more(c) || !*c->case_id)
			continue;
		add_key(s, xstrdup(c->case_id));
		if (c->comparison == LIKE_IDENTICAL || check_is_of_node(c))
			add_key(s, xasprintf("%.*s %s", (int)device_node_length(c->devices),
					     c->devices, c->point));
	}
	if (s->count)
		qsort(s->keys, s->count, sizeof(*s->keys), by_text);
}

static bool holds(const struct suspects *s, const char *key)
{
	return s->count && bsearch(&key, s->keys, s->count, sizeof(*s->keys), by_text);
}

static bool is_suspect(const struct suspects *s, const struct case_result *c)
{
	char *point, *key;
	bool found = holds(s, c->id);

	if (found)
		return true;
	point = case_point(c);
	key = xasprintf("%s %s", c->node, point);
	found = holds(s, key);
	free(point);
	free(key);
	return found;
}

/* Tells node `n` what to measure again, and returns how many cases that are. */
static size_t tell_node(const struct result *result, const struct result_node *n,
			const struct suspects *s, size_t *at, const char *directory,
			struct error *err)
{
	struct text ids = TEXT_EMPTY;
	size_t count = 0;

	/* Cases come node by node. */
	for (; *at < result->case_count; ++*at) {
		const struct case_result *c = &result->cases[*at];
		char *id;

		if (!c->node || strcmp(c->node, n->name) != 0)
			break;
		if (n->status != NODE_OK || c->status != CASE_OK || !is_suspect(s, c))
			continue;
		id = case_id_on_node(c);
		text_addf(&ids, "%s\n", id);
		free(id);
		count++;
	}
	if (count) {
		char *path = fleet_confirm_path(directory, n->name);

		file_write(path, ids.data, ids.length, err);
		free(path);
	}
	text_release(&ids);
	return count;
}

/* Returns how many cases, of how many nodes, are to be measured again. */
static size_t tell_nodes(const struct result *result, const char *directory, size_t *nodes,
			 struct error *err)
{
	struct suspects s = { 0 };
	size_t cases = 0, at = 0;

	*nodes = 0;
	collect(&s, result->judgement);
	for (size_t i = 0; i < result->node_count && s.count && !err->status; i++) {
		size_t count = tell_node(result, &result->nodes[i], &s, &at, directory, err);

		cases += count;
		*nodes += count > 0;
	}
	for (size_t i = 0; i < s.count; i++)
		free(s.keys[i]);
	free(s.keys);
	return cases;
}

enum status run_confirm(struct run_check *check, const struct config *config,
			const struct fleet_options *options, struct result *result,
			struct error *err)
{
	struct fleet_options again = *options;
	enum status status = run_check_nodes(check, config, options->directory, result, err);

	again.resume = true;
	again.before = result;
	for (int round = 0; round < CONFIRM_ROUNDS && status == STATUS_OK; round++) {
		struct result next;
		size_t nodes, cases = tell_nodes(result, options->directory, &nodes, err);

		if (err->status || !cases)
			return err->status;
		if (!options->quiet)
			fprintf(stderr,
				"gpuproof: %zu case%s of %zu node%s not decided: %d more "
				"launches\n",
				cases, cases == 1 ? "" : "s", nodes,
				nodes == 1 && cases == 1 ? " is" : "s are", LAUNCHES_EXTENSION);
		status = fleet_run(config, &again, &next, err);
		if (!next.gpuproof_version)
			return status;
		result_release(result);
		*result = next;
		if (status == STATUS_OK)
			status = run_check_nodes(check, config, options->directory, result, err);
	}
	return status;
}
