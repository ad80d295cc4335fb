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

static void sort(struct suspects *s)
{
	if (s->count)
		qsort(s->keys, s->count, sizeof(*s->keys), by_text);
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
	sort(s);
}

/* As judge_wants_alone(). */
static void collect_doubted(struct suspects *s, const struct verdicts *v)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].alone_decides)
			add_key(s, xstrdup(v->checks[i].case_id));
	sort(s);
}

static void forget(struct suspects *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->keys[i]);
	free(s->keys);
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

enum again { AGAIN_MORE, AGAIN_ALONE, AGAIN_NOT };

/* Cases to measure again, and on how many nodes. */
struct plan_again {
	struct suspects undecided, doubted;
	size_t cases[AGAIN_NOT], nodes[AGAIN_NOT];
};

static enum again again_of(const struct plan_again *a, const struct case_result *c)
{
	return is_suspect(&a->undecided, c) ? AGAIN_MORE
	       : holds(&a->doubted, c->id)  ? AGAIN_ALONE
					    : AGAIN_NOT;
}

/* Tells node `n` what to measure again. */
static void tell_node(const struct result *result, const struct result_node *n,
		      struct plan_again *a, size_t *at, const char *directory, struct error *err)
{
	static const char *const words[] = { CONFIRM_MORE, CONFIRM_ALONE };
	struct text lines = TEXT_EMPTY;
	size_t cases[AGAIN_NOT] = { 0 };

	/* Cases come node by node. */
	for (; *at < result->case_count; ++*at) {
		const struct case_result *c = &result->cases[*at];
		enum again again;
		char *id;

		if (!c->node || strcmp(c->node, n->name) != 0)
			break;
		if (n->status != NODE_OK || c->status != CASE_OK)
			continue;
		again = again_of(a, c);
		if (again == AGAIN_NOT)
			continue;
		cases[again]++;
		id = case_id_on_node(c);
		text_addf(&lines, "%s %s\n", words[again], id);
		free(id);
	}
	if (lines.length) {
		char *path = fleet_confirm_path(directory, n->name);

		file_write(path, lines.data, lines.length, err);
		free(path);
	}
	for (int i = 0; i < AGAIN_NOT; i++) {
		a->cases[i] += cases[i];
		a->nodes[i] += cases[i] > 0;
	}
	text_release(&lines);
}

static struct plan_again tell_nodes(const struct result *result, const char *directory,
				    struct error *err)
{
	struct plan_again a = { .cases = { 0 } };
	size_t at = 0;

	collect(&a.undecided, result->judgement);
	collect_doubted(&a.doubted, result->judgement);
	for (size_t i = 0; i < result->node_count && !err->status; i++)
		tell_node(result, &result->nodes[i], &a, &at, directory, err);
	forget(&a.undecided);
	forget(&a.doubted);
	return a;
}

static void print_again(const struct plan_again *a)
{
	const size_t *cases = a->cases, *nodes = a->nodes;

	if (cases[AGAIN_MORE])
		fprintf(stderr, "gpuproof: %zu case%s not decided: %d more launches (%zu node%s)\n",
			cases[AGAIN_MORE], cases[AGAIN_MORE] == 1 ? " is" : "s are",
			LAUNCHES_EXTENSION, nodes[AGAIN_MORE], nodes[AGAIN_MORE] == 1 ? "" : "s");
	if (cases[AGAIN_ALONE])
		fprintf(stderr, "gpuproof: %zu case%s again, without other devices (%zu node%s)\n",
			cases[AGAIN_ALONE], cases[AGAIN_ALONE] == 1 ? "" : "s", nodes[AGAIN_ALONE],
			nodes[AGAIN_ALONE] == 1 ? "" : "s");
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
		struct plan_again asked = tell_nodes(result, options->directory, err);

		if (err->status || !(asked.cases[AGAIN_MORE] + asked.cases[AGAIN_ALONE]))
			return err->status;
		if (!options->quiet)
			print_again(&asked);
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
