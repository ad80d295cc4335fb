
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/acceptance/acceptance.h"
#include "report/page/html.h"
#include "report/page/view_sections.h"

/* Most machines per verdict with a row of their own; the others are only in the list. */
#define MOST_DETAILED 48
#define MOST_LEADING 6    /* sentences on the first screen */
#define MOST_SENTENCES 12 /* of one machine */

enum delivery_group { GROUP_REJECTED, GROUP_INCONCLUSIVE, GROUP_ACCEPTED, GROUP_COUNT };

struct delivered {
	struct tree *details; /* sentences and rows; NULL: accepted */
	struct tree *signs;   /* a row for each serial number */
	struct tree *leading; /* its sentences on the first screen */
	bool wrong;
	size_t faulty;  /* devices */
	size_t reasons; /* why it is not accepted */
	double margin;  /* of the worst reason */
	size_t order;   /* of the command line */
};

struct delivery {
	struct delivered *nodes[GROUP_COUNT];
	size_t counts[GROUP_COUNT], capacities[GROUP_COUNT], gpus[GROUP_COUNT];
	bool all_leading; /* the first screen covers its whole group */
	uint64_t hash;    /* of all configurations and limits */
	char *limits;
	bool several_limits;
};

struct delivery *delivery_new(void)
{
	struct delivery *d = xcalloc(1, sizeof(*d));

	d->hash = TEXT_HASH_START;
	return d;
}

void delivery_free(struct delivery *d)
{
	for (int g = 0; d && g < GROUP_COUNT; g++) {
		for (size_t i = 0; i < d->counts[g]; i++) {
			tree_free(d->nodes[g][i].details);
			tree_free(d->nodes[g][i].signs);
			tree_free(d->nodes[g][i].leading);
		}
		free(d->nodes[g]);
	}
	if (d)
		free(d->limits);
	free(d);
}

/* The device's serial number, else its UUID, else its name on the machine. */
static const char *delivery_serial(const struct device_judgement *d)
{
	const char *serial = view_string(d->serial), *uuid = view_string(d->uuid);

	return *serial ? serial : *uuid ? uuid : d->device;
}

static bool delivery_is_blamed(const struct verdicts *v, const char *device)
{
	for (size_t i = 0; i < v->reason_count; i++)
		if (!v->reasons[i].accepted && strcmp(v->reasons[i].devices, device) == 0)
			return true;
	return false;
}

/* A row for each serial number, to be signed. */
static struct tree *delivery_signs(enum delivery_group group, const char *host,
				   const struct verdicts *v, size_t *faulty)
{
	static const char *const words[GROUP_COUNT][2] = { { "node rejected", "at fault" },
							   { "node not decided", "not decided" },
							   { "accepted", "accepted" } };
	struct tree *list = tree_new(TREE_LIST);

	*faulty = 0;
	for (size_t i = 0; i < v->device_count; i++) {
		bool blamed = delivery_is_blamed(v, v->devices[i].device);
		struct tree *row = tree_item(list);

		*faulty += blamed;
		view_text(row, "host", host);
		view_text(row, "device", v->devices[i].device);
		view_text(row, "serial", delivery_serial(&v->devices[i]));
		tree_flag(row, "blamed", blamed);
		tree_text(row, "word", words[group][blamed]);
	}
	return list;
}

static void delivery_add_sentence(struct tree *list, const char *host,
				  const struct verdict_reason *r, bool with_remedy)
{
	struct tree *item = tree_item(list);

	view_text(item, "host", host);
	tree_text(item, "symbol", acceptance_symbol(r->verdict));
	tree_text(item, "word", verdict_fields_name(r->verdict));
	view_text(item, "text", r->text);
	view_text(item, "remedy", with_remedy ? r->remedy : "");
}

/* The sentences and the rows of one machine that is not accepted. */
static void delivery_add_details(struct tree *item, const char *host, const struct verdicts *v)
{
	struct tree *sentences = tree_list(item, "sentences"), *rows;
	size_t shown = 0;

	for (size_t i = 0; i < v->reason_count; i++) {
		bool again = i > 0 && strcmp(v->reasons[i].remedy, v->reasons[i - 1].remedy) == 0;

		if (!v->reasons[i].accepted && shown++ < MOST_SENTENCES)
			delivery_add_sentence(sentences, host, &v->reasons[i], !again);
	}
	tree_textf(item, "more", shown > MOST_SENTENCES ? "%zu more" : "", shown - MOST_SENTENCES);
	rows = tree_list(item, "rows");
	for (size_t i = 0; i < v->device_count; i++) {
		struct tree *row = tree_item(rows), *cells;

		view_text(row, "device", v->devices[i].device);
		view_text(row, "serial", delivery_serial(&v->devices[i]));
		cells = tree_list(row, "cells");
		for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++) {
			const struct aspect_judgement *a =
				verdict_device_aspect(&v->devices[i], (enum aspect)k);
			bool judged = a && a->judged && isfinite(a->margin);

			tree_text(acceptance_tables_add_aspect(a, (enum aspect)k, cells), "detail",
				  judged ? format_margin(a->margin).text : "");
		}
	}
}

static struct tree *delivery_details(const struct result *result, const char *host,
				     const char *path, const struct verdicts *v)
{
	struct tree *item = tree_new(TREE_MAP);

	view_text(item, "host", host);
	view_text(item, "path", path);
	tree_text(item, "run_id", view_string(result->run_id));
	acceptance_set_answer(v, item);
	delivery_add_details(item, host, v);
	return item;
}

void delivery_add(struct delivery *d, const struct result *result, const char *path,
		  const struct verdicts *v)
{
	const char *name = result_fact(result, "hostname"), *host = name && *name ? name : path;
	const char *config = view_string(result->config_text);
	const char *limits = view_string(v->limits_text);
	enum delivery_group group = verdicts_accepted(v)                     ? GROUP_ACCEPTED
				    : v->wrong || v->overall == VERDICT_FAIL ? GROUP_REJECTED
									     : GROUP_INCONCLUSIVE;
	struct delivered *node;

	ARRAY_GROW(d->nodes[group], d->counts[group], d->capacities[group]);
	node = &d->nodes[group][d->counts[group]++];
	*node = (struct delivered){ .wrong = v->wrong,
				    .margin = v->reason_count ? v->reasons[0].margin : NAN,
				    .order = d->counts[group] };
	d->gpus[group] += v->device_count;
	d->hash = text_hash(d->hash, config, strlen(config));
	d->hash = text_hash(d->hash, limits, strlen(limits));
	if (!d->limits)
		d->limits = xstrdup(view_string(v->limits));
	else if (strcmp(d->limits, view_string(v->limits)) != 0)
		d->several_limits = true;
	node->signs = delivery_signs(group, host, v, &node->faulty);
	if (group == GROUP_ACCEPTED)
		return;
	/* The first reasons, which the first screen may also show, and their number. */
	node->leading = tree_new(TREE_LIST);
	for (size_t i = 0; i < v->reason_count; i++)
		if (!v->reasons[i].accepted && node->reasons++ < MOST_LEADING)
			delivery_add_sentence(node->leading, host, &v->reasons[i], true);
	node->details = delivery_details(result, host, path, v);
}

/* Wrong results first, then more faulty devices, then the larger shortfall. */
static int delivery_by_fault(const void *first, const void *second)
{
	const struct delivered *a = first, *b = second;
	double p = isfinite(a->margin) ? a->margin : 0, q = isfinite(b->margin) ? b->margin : 0;

	if (a->wrong != b->wrong)
		return a->wrong ? -1 : 1;
	if (a->faulty != b->faulty)
		return a->faulty > b->faulty ? -1 : 1;
	if (p < q || p > q)
		return p < q ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static const struct {
	const char *name, *title, *kind, *symbol, *word, *mark;
} groups[GROUP_COUNT] = {
	[GROUP_REJECTED] = { "rejected", "Rejected", "failed", "✗", "REJECTED",
			     "Sign for each serial number. ✗ marks the devices at fault." },
	[GROUP_INCONCLUSIVE] = { "inconclusive", "Inconclusive", "error", "?", "INCONCLUSIVE",
				 "Sign for each serial number. ? marks the inconclusive devices." },
	[GROUP_ACCEPTED] = { "accepted", "Accepted", "ok", "✓", "ACCEPTED",
			     "Sign for each serial number." },
};

static void delivery_set_answer(const struct delivery *d, struct tree *page)
{
	int worst = GROUP_REJECTED;
	struct text counts = TEXT_EMPTY;
	size_t nodes = 0, gpus = 0;

	while (worst < GROUP_ACCEPTED && !d->counts[worst])
		worst++;
	for (int i = 0; i < GROUP_COUNT; i++) {
		nodes += d->counts[i];
		gpus += d->gpus[i];
		if (d->counts[i])
			text_addf(&counts, "%s%zu node%s with %zu device%s %s",
				  counts.length ? "; " : "", d->counts[i],
				  text_plural(d->counts[i]), d->gpus[i], text_plural(d->gpus[i]),
				  groups[i].name);
	}
	tree_textf(page, "title", "Delivery: %zu node%s, %zu device%s", nodes, text_plural(nodes),
		   gpus, text_plural(gpus));
	tree_text(page, "verdict_kind", groups[worst].kind);
	tree_text(page, "verdict_symbol", groups[worst].symbol);
	tree_text(page, "verdict_word", groups[worst].word);
	tree_textf(page, "verdict", "%s.", counts.data);
	text_release(&counts);
}

/* Moves the machines of one verdict to the page, the worst first. */
static void delivery_set_group(struct delivery *d, enum delivery_group group, struct tree *list)
{
	struct tree *item = tree_item(list), *machines, *signs;
	size_t count = d->counts[group], shown = count < MOST_DETAILED ? count : MOST_DETAILED;

	tree_text(item, "name", groups[group].name);
	tree_text(item, "group_title", groups[group].title);
	tree_text(item, "group_symbol", groups[group].symbol);
	tree_textf(item, "group_counts", "%zu node%s, %zu device%s", count, text_plural(count),
		   d->gpus[group], text_plural(d->gpus[group]));
	tree_textf(item, "unshown",
		   group != GROUP_ACCEPTED && count > shown
			   ? "%zu more nodes appear only in the list of serial numbers."
			   : "",
		   count - shown);
	tree_text(item, "mark", groups[group].mark);
	tree_flag(item, "said_above",
		  group == (d->counts[GROUP_REJECTED] ? GROUP_REJECTED : GROUP_INCONCLUSIVE) &&
			  d->all_leading);
	machines = tree_list(item, "machines");
	signs = tree_list(item, "signs");
	for (size_t i = 0; i < count; i++) {
		struct delivered *node = &d->nodes[group][i];

		if (node->details && i < shown) {
			tree_append(machines, node->details);
			node->details = NULL;
		}
		for (size_t k = 0; k < node->signs->count; k++)
			tree_append(signs, node->signs->children[k]);
		node->signs->count = 0;
	}
}

/* The worst sentences of rejected machines; where there are none, of inconclusive ones. */
static void delivery_set_leading(struct delivery *d, struct tree *page)
{
	struct tree *list = tree_list(page, "leading");
	enum delivery_group group = d->counts[GROUP_REJECTED] ? GROUP_REJECTED : GROUP_INCONCLUSIVE;
	size_t reasons = 0;

	for (size_t i = 0; i < d->counts[group]; i++) {
		struct tree *own = d->nodes[group][i].leading;

		reasons += d->nodes[group][i].reasons;
		for (size_t k = 0; k < own->count && list->count < MOST_LEADING; k++) {
			tree_append(list, own->children[k]);
			own->children[k] = tree_new(TREE_MAP);
		}
	}
	d->all_leading = reasons == list->count;
	tree_textf(page, "more_reasons", reasons > list->count ? "%zu more reasons are below." : "",
		   reasons - list->count);
}

static struct tree *delivery_page(struct delivery *d)
{
	struct tree *page = tree_new(TREE_MAP), *columns = tree_list(page, "aspect_columns");
	struct tree *list = tree_list(page, "groups");

	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
		tree_item_text(columns, aspect_name((enum aspect)k));
	delivery_set_answer(d, page);
	view_text(page, "limits_source",
		  d->several_limits ? "of each model" : view_string(d->limits));
	tree_textf(page, "fingerprint", "%016" PRIx64, d->hash);
	for (int i = 0; i < GROUP_COUNT; i++)
		if (d->counts[i])
			qsort(d->nodes[i], d->counts[i], sizeof(*d->nodes[i]), delivery_by_fault);
	delivery_set_leading(d, page);
	for (int i = 0; i < GROUP_COUNT; i++)
		if (d->counts[i])
			delivery_set_group(d, (enum delivery_group)i, list);
	return page;
}

enum status delivery_write(struct delivery *d, const struct report_options *options,
			   struct error *err)
{
	return html_write("delivery", options, delivery_page(d), err);
}
