/*
 * The nodes of a run: what each one's devices failed, which are to be sent back first, and why.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/acceptance/acceptance.h"
#include "report/fleet/fleet_page.h"
#include "report/view/view.h"

#define MOST_SUSPECTS 50 /* with their evidence; the table has all */
#define FEW_DEVICES 2
#define MOST_REASONS 4 /* devices of one node */
#define MOST_MAPPED 40 /* rows of the heat map; suspects come first */
#define MOST_ROWS 400  /* of the table; of the nodes that nothing is against, names alone */

static int fleet_nodes_by_name(const void *a, const void *b)
{
	const struct fleet_node *const *p = a, *const *q = b;

	return strcmp((*p)->node->name, (*q)->node->name);
}

struct fleet_node *fleet_node_find(const struct fleet_nodes *nodes, const char *name, size_t length)
{
	size_t low = 0, high = nodes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *other = nodes->by_name[middle]->node->name;
		int order = strncmp(name, other, length);

		if (order == 0 && other[length] == '\0')
			return nodes->by_name[middle];
		if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The node in "n7/cuda:3"; NULL if the name has no node. */
static struct fleet_node *fleet_nodes_node_of(const struct fleet_nodes *nodes, const char *device)
{
	size_t length = strcspn(device, "/,");

	return device[length] == '/' ? fleet_node_find(nodes, device, length) : NULL;
}

static void fleet_node_add_check(struct fleet_node *n, const struct verdict_check *c)
{
	n->checks++;
	n->judged += verdict_check_is_judged(c);
	n->passed += c->verdict == VERDICT_PASS;
	if (!acceptance_is_bad(c))
		return;
	n->bad++;
	if (!n->worst || verdict_check_is_worse(c, n->worst))
		n->worst = c;
}

/* `device`: id of one of the node's, at the head of a list. */
static void fleet_nodes_device_add_check(const struct fleet_node *n, const char *device,
					 const struct verdict_check *c)
{
	size_t length = strcspn(device, ",");

	for (size_t i = 0; i < n->devices; i++) {
		struct fleet_device_verdict *d = &n->gpus[i];

		if (strncmp(d->info->id, device, length) || d->info->id[length])
			continue;
		d->judged = d->judged || verdict_check_is_judged(c);
		if (acceptance_is_bad(c) && (!d->worst || verdict_check_is_worse(c, d->worst)))
			d->worst = c;
	}
}

/* The devices of each node next to each other, whatever the order of the result. */
static void fleet_nodes_take_devices(struct fleet_nodes *nodes, const struct result *r)
{
	struct fleet_device_verdict *next;

	for (size_t i = 0; i < r->device_count; i++) {
		struct fleet_node *n = fleet_nodes_node_of(nodes, r->devices[i].id);

		if (n)
			n->devices++;
	}
	next = nodes->gpus = xcalloc(r->device_count + 1, sizeof(*nodes->gpus));
	for (size_t i = 0; i < nodes->count; i++) {
		nodes->items[i].gpus = next;
		next += nodes->items[i].devices;
		nodes->items[i].devices = 0;
	}
	for (size_t i = 0; i < r->device_count; i++) {
		struct fleet_node *n = fleet_nodes_node_of(nodes, r->devices[i].id);

		if (n)
			n->gpus[n->devices++].info = &r->devices[i];
	}
}

void fleet_nodes_collect(struct fleet_nodes *nodes, const struct result *r)
{
	nodes->count = r->node_count;
	nodes->items = xcalloc(r->node_count + 1, sizeof(*nodes->items));
	nodes->by_name = xcalloc(r->node_count + 1, sizeof(*nodes->by_name));
	nodes->by_need = xcalloc(r->node_count + 1, sizeof(*nodes->by_need));
	nodes->figures = 0;
	for (size_t i = 0; i < r->node_count; i++) {
		nodes->items[i].node = &r->nodes[i];
		nodes->by_name[i] = &nodes->items[i];
	}
	qsort(nodes->by_name, nodes->count, sizeof(struct fleet_node *), fleet_nodes_by_name);
	fleet_nodes_take_devices(nodes, r);
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];
		struct fleet_node *n = fleet_node_find(nodes, c->node, strlen(c->node));

		if (n) {
			n->wrong_cases += c->status == CASE_FAILED;
			n->error_cases += c->status == CASE_ERROR;
		}
	}
	for (size_t i = 0; r->judgement && i < r->judgement->count; i++) {
		struct fleet_node *last = NULL;

		/* A check of devices on several nodes concerns each of them, once. */
		for (const char *at = r->judgement->checks[i].devices; at && *at;) {
			struct fleet_node *n = fleet_nodes_node_of(nodes, at);

			if (n && n != last)
				fleet_node_add_check(n, &r->judgement->checks[i]);
			if (n)
				fleet_nodes_device_add_check(n, at, &r->judgement->checks[i]);
			last = n;
			at = strchr(at, ',');
			at = at ? at + 1 : NULL;
		}
	}
}

void fleet_nodes_release(struct fleet_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++) {
		free(nodes->items[i].deficits);
		free(nodes->items[i].failed);
	}
	free(nodes->items);
	free(nodes->by_name);
	free(nodes->by_need);
	free(nodes->gpus);
}

bool fleet_node_is_suspect(const struct fleet_node *n)
{
	return n->worst || n->node->status != NODE_OK || n->wrong_cases || n->error_cases;
}

bool fleet_node_is_cleared(const struct fleet_node *n)
{
	return n->judged && !fleet_node_is_suspect(n);
}

/* Wrong results first, then what failed, lost nodes, and what could not be judged. */
static int fleet_node_rank(const struct fleet_node *n)
{
	if (n->wrong_cases || (n->worst && n->worst->wrong))
		return 5;
	if (n->worst && n->worst->verdict == VERDICT_FAIL)
		return 4;
	if (n->node->status != NODE_OK)
		return 3;
	return n->error_cases ? 2 : n->worst ? 1 : 0;
}

static int fleet_nodes_by_need(const void *a, const void *b)
{
	const struct fleet_node *p = *(struct fleet_node *const *)a,
				*q = *(struct fleet_node *const *)b;

	if (fleet_node_rank(p) != fleet_node_rank(q))
		return fleet_node_rank(p) > fleet_node_rank(q) ? -1 : 1;
	if (p->worst && q->worst &&
	    verdict_check_is_worse(p->worst, q->worst) !=
		    verdict_check_is_worse(q->worst, p->worst))
		return verdict_check_is_worse(p->worst, q->worst) ? -1 : 1;
	if (p->deficit != q->deficit)
		return p->deficit > q->deficit ? -1 : 1;
	return strcmp(p->node->name, q->node->name);
}

const char *fleet_node_word(const struct fleet_node *n)
{
	if (fleet_node_rank(n) == 5)
		return "WRONG";
	if (n->worst && n->worst->verdict == VERDICT_FAIL)
		return verdict_fields_name(VERDICT_FAIL);
	if (n->node->status != NODE_OK)
		return node_status_name(n->node->status);
	if (n->error_cases)
		return verdict_fields_name(VERDICT_ERROR);
	if (n->worst)
		return verdict_fields_name(n->worst->verdict);
	return n->judged ? "OK" : "NOT JUDGED";
}

static const char *fleet_node_kind(const struct fleet_node *n)
{
	static const char *const kinds[] = { "ok", "noisy", "error", "error", "failed", "failed" };

	return fleet_node_rank(n) || n->judged ? kinds[fleet_node_rank(n)] : "skipped";
}

/* "n3/cuda:1", or "8 devices of n3, n7" where they are more than a few; malloc'ed. */
static char *fleet_nodes_devices_text(const char *devices)
{
	struct text nodes = TEXT_EMPTY;
	const char *before = NULL;
	size_t count = 0;
	char *out;

	for (const char *at = devices; *at; at += strcspn(at, ","), at += *at == ',', count++) {
		size_t length = strcspn(at, "/,");

		if (!before || strncmp(before, at, length + 1) != 0)
			text_addf(&nodes, "%s%.*s", before ? ", " : "", (int)length, at);
		before = at;
	}
	out = count <= FEW_DEVICES ? xstrdup(count ? devices : "the node")
				   : xasprintf("%zu devices of %s", count, nodes.data);
	text_release(&nodes);
	return out;
}

static void fleet_node_show_reason(const struct result *r, const struct verdict_check *c,
				   struct tree *list)
{
	const struct device_info *d = strchr(c->devices, ',') ? NULL : result_device(r, c->devices);
	struct tree *item = tree_item(list);
	char *numbers = verdict_check_numbers(c), *devices = fleet_nodes_devices_text(c->devices);

	view_text(item, "device", devices);
	view_text(item, "uuid", d ? d->uuid : "");
	view_text(item, "serial", d ? d->serial : "");
	tree_text(item, "word", verdict_fields_name(c->verdict));
	tree_text(item, "symbol", acceptance_symbol(c->verdict));
	view_text(item, "what",
		  *c->point                      ? c->point
		  : strcmp(c->limit, "run") == 0 ? ""
						 : c->limit);
	view_text(item, "numbers", numbers);
	view_text(item, "reason", c->reason);
	view_text(item, "cause", cause_name(c->cause));
	view_text(item, "action", cause_action(c->cause));
	free(numbers);
	free(devices);
}

struct reasons {
	const struct verdict_check *worst[MOST_REASONS]; /* of different devices, the worst first */
	size_t count;
};

/* Keeps the worst check of each device, and of these the worst. */
static void fleet_nodes_keep_reason(struct reasons *w, const struct verdict_check *c)
{
	size_t at = w->count;

	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->worst[i]->devices, c->devices) == 0) {
			if (!verdict_check_is_worse(c, w->worst[i]))
				return;
			at = i;
			break;
		}
	if (at == w->count) {
		if (w->count == MOST_REASONS && !verdict_check_is_worse(c, w->worst[--at]))
			return;
		w->count = at + 1;
	}
	for (; at && verdict_check_is_worse(c, w->worst[at - 1]); at--)
		w->worst[at] = w->worst[at - 1];
	w->worst[at] = c;
}

/* True for a failed check. Inconclusive checks are not listed next to failed ones. */
static bool fleet_nodes_has_failed(const struct verdict_check *c)
{
	return c->wrong || c->verdict == VERDICT_FAIL || c->verdict == VERDICT_ERROR;
}

static void fleet_nodes_show_suspect(const struct fleet_node *n, const struct reasons *reasons,
				     const struct result *r, struct tree *list)
{
	struct tree *item = tree_item(list), *shown;

	view_text(item, "node", n->node->name);
	tree_text(item, "kind", fleet_node_kind(n));
	tree_text(item, "word", fleet_node_word(n));
	view_text(item, "reason", n->node->reason);
	view_text(item, "lost_at", n->node->lost_at);
	tree_textf(item, "cases", "%zu of %zu", n->node->finished, n->node->planned);
	tree_flag(item, "unfinished",
		  n->node->finished < n->node->planned || n->node->status != NODE_OK);
	shown = tree_list(item, "reasons");
	for (size_t i = 0;
	     i < reasons->count && (i == 0 || fleet_nodes_has_failed(reasons->worst[i])); i++)
		fleet_node_show_reason(r, reasons->worst[i], shown);
	tree_textf(item, "more",
		   n->bad > shown->count ? "%zu checks of all devices did not pass" : "", n->bad);
	tree_textf(item, "failures",
		   !reasons->count && n->wrong_cases + n->error_cases
			   ? "%zu wrong results, %zu errors"
			   : "",
		   n->wrong_cases, n->error_cases);
}

/* The reasons of those that are shown, in one pass over the checks. */
static void fleet_nodes_show_suspects(const struct fleet_nodes *nodes, size_t shown,
				      const struct result *r, struct tree *page)
{
	struct reasons *reasons = xcalloc(nodes->count + 1, sizeof(*reasons));
	struct tree *list = tree_list(page, "nodes_shown");

	for (size_t i = 0; r->judgement && i < r->judgement->count; i++) {
		const struct verdict_check *c = &r->judgement->checks[i];
		struct fleet_node *n =
			acceptance_is_bad(c) ? fleet_nodes_node_of(nodes, c->devices) : NULL;

		if (n)
			fleet_nodes_keep_reason(&reasons[n - nodes->items], c);
	}
	for (size_t i = 0; i < shown; i++)
		fleet_nodes_show_suspect(nodes->by_need[i],
					 &reasons[nodes->by_need[i] - nodes->items], r, list);
	free(reasons);
}

struct fleet_mark {
	const char *kind, *symbol, *word;
};

/* Gives no tick to an incomplete node: what it did not measure did not pass. */
static struct fleet_mark fleet_nodes_device_mark(const struct fleet_node *n,
						 const struct fleet_device_verdict *d)
{
	if (d->worst)
		return (struct fleet_mark){ acceptance_kind(d->worst->verdict),
					    acceptance_symbol(d->worst->verdict),
					    verdict_fields_name(d->worst->verdict) };
	if (n->node->status != NODE_OK || n->node->finished < n->node->planned)
		return (struct fleet_mark){ "skipped", "○", "not all measured" };
	if (!d->judged)
		return (struct fleet_mark){ "skipped", "○", "not judged" };
	return (struct fleet_mark){ "ok", "✓", "no check failed" };
}

/* A row of the heat map, or an entry of the map of the other nodes: a mark for each device. */
static void fleet_node_map(const struct fleet_nodes *nodes, const struct fleet_node *n,
			   struct tree *map)
{
	struct tree *node = tree_item(map), *cells = tree_list(node, "cells");

	view_text(node, "node", n->node->name);
	tree_text(node, "kind", fleet_node_kind(n));
	tree_text(node, "word", fleet_node_is_suspect(n) ? fleet_node_word(n) : "");
	for (size_t i = 0; i < n->devices; i++) {
		const struct fleet_device_verdict *d = &n->gpus[i];
		struct fleet_mark mark = fleet_nodes_device_mark(n, d);
		struct tree *cell = tree_item(cells);

		view_text(cell, "device", d->info->id + strcspn(d->info->id, "/") + 1);
		tree_text(cell, "kind", mark.kind);
		tree_text(cell, "symbol", mark.symbol);
		tree_text(cell, "word", mark.word);
		view_text(cell, "what", d->worst ? d->worst->point : "");
	}
	fleet_figures_node_cells(n, nodes->figures, tree_list(node, "figures"));
}

void fleet_nodes_show(const struct fleet_nodes *nodes, const struct result *r, struct tree *page)
{
	struct fleet_node **order = nodes->by_need;
	struct tree *rows, *others, *map = tree_list(page, "map"),
				    *other_map = tree_list(page, "other_map");
	size_t suspects = 0, shown;

	for (size_t i = 0; i < nodes->count; i++) {
		order[i] = &nodes->items[i];
		suspects += fleet_node_is_suspect(order[i]);
	}
	qsort(order, nodes->count, sizeof(struct fleet_node *), fleet_nodes_by_need);
	shown = suspects < MOST_SUSPECTS ? suspects : MOST_SUSPECTS;
	fleet_nodes_show_suspects(nodes, shown, r, page);
	tree_textf(page, "suspect_count", "%zu", suspects);
	tree_textf(page, "more_suspects",
		   suspects > shown ? "%zu more nodes are in the table." : "", suspects - shown);
	rows = tree_list(page, "nodes");
	others = tree_list(page, "other_nodes");
	for (size_t i = 0; i < nodes->count; i++)
		if (i < suspects || i < MOST_ROWS) {
			struct tree *row = tree_item(rows);

			view_text(row, "node", order[i]->node->name);
			tree_text(row, "kind", fleet_node_kind(order[i]));
			tree_text(row, "word", fleet_node_word(order[i]));
			tree_textf(row, "devices", "%zu", order[i]->devices);
			tree_textf(row, "cases", "%zu of %zu", order[i]->node->finished,
				   order[i]->node->planned);
			tree_textf(row, "passed", "%zu of %zu", order[i]->passed, order[i]->checks);
			view_text(row, "reason", order[i]->node->reason);
			fleet_node_map(nodes, order[i], i < MOST_MAPPED ? map : other_map);
		} else {
			tree_item_text(others, order[i]->node->name);
		}
	tree_textf(page, "other_count", "%zu", others->count);
	tree_textf(page, "mapped_more", other_map->count + others->count ? "%zu more nodes" : "",
		   other_map->count + others->count);
}
