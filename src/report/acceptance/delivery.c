#include "report/acceptance/delivery.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/acceptance/acceptance.h"
#include "report/page/html.h"
#include "report/page/view_sections.h"
#include "report/template/tree.h"
#include "report/view/format.h"
#include "report/view/view.h"

/* Machines of one verdict that have rows of their own; those after them are in the list alone. */
#define MOST_DETAILED 48
#define MOST_LEADING 6    /* sentences on the first screen */
#define MOST_SENTENCES 12 /* of one machine */

enum delivery_group { GROUP_REJECTED, GROUP_INCONCLUSIVE, GROUP_ACCEPTED, GROUP_COUNT };

struct delivery {
	struct tree *machines[GROUP_COUNT]; /* lists of rows */
	struct tree *compact[GROUP_COUNT];  /* lists of the machines with their serial numbers */
	struct tree *leading;               /* sentences of the first screen: rejections */
	size_t counts[GROUP_COUNT], gpus[GROUP_COUNT];
	size_t reasons; /* of rejected machines */
	uint64_t hash;  /* of all configurations and limits */
	char *limits;
	bool several_limits;
};

struct delivery *delivery_new(void)
{
	struct delivery *d = xcalloc(1, sizeof(*d));

	for (int i = 0; i < GROUP_COUNT; i++) {
		d->machines[i] = tree_new(TREE_LIST);
		d->compact[i] = tree_new(TREE_LIST);
	}
	d->leading = tree_new(TREE_LIST);
	d->hash = TEXT_HASH_START;
	return d;
}

void delivery_free(struct delivery *d)
{
	for (int i = 0; d && i < GROUP_COUNT; i++) {
		tree_free(d->machines[i]);
		tree_free(d->compact[i]);
	}
	if (d) {
		tree_free(d->leading);
		free(d->limits);
	}
	free(d);
}

static enum delivery_group delivery_group_of(const struct verdicts *v)
{
	if (verdicts_accepted(v))
		return GROUP_ACCEPTED;
	return v->wrong || v->overall == VERDICT_FAIL ? GROUP_REJECTED : GROUP_INCONCLUSIVE;
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

/* Serial numbers for the sign-off; those of GPUs that fail or are not decided are marked. */
static void delivery_add_compact(struct delivery *d, enum delivery_group group, const char *host,
				 const struct verdicts *v)
{
	struct tree *item = tree_item(d->compact[group]), *serials;

	view_text(item, "host", host);
	serials = tree_list(item, "serials");
	for (size_t i = 0; i < v->device_count; i++) {
		struct tree *serial = tree_item(serials);

		view_text(serial, "serial", delivery_serial(&v->devices[i]));
		tree_flag(serial, "blamed", delivery_is_blamed(v, v->devices[i].device));
	}
}

static void delivery_add_sentence(struct tree *list, const char *host,
				  const struct verdict_reason *r, bool with_remedy)
{
	struct tree *item = tree_item(list);

	view_text(item, "host", host);
	tree_text(item, "symbol", acceptance_symbol(r->verdict));
	tree_text(item, "word", verdict_name(r->verdict));
	view_text(item, "text", r->text);
	view_text(item, "remedy", with_remedy ? r->remedy : "");
}

static void delivery_add_cell(struct tree *cells, enum aspect aspect,
			      const struct aspect_judgement *a)
{
	struct tree *cell = tree_item(cells);
	char margin[FORMAT_SIZE];
	bool judged = a && a->judged, missing = a && !a->judged && a->promised;

	tree_text(cell, "aspect", aspect_name(aspect));
	tree_text(cell, "kind", judged ? acceptance_kind(a->verdict) : missing ? "error" : "none");
	tree_text(cell, "symbol", judged ? acceptance_symbol(a->verdict) : missing ? "?" : "·");
	tree_text(cell, "word",
		  judged    ? verdict_name(a->verdict)
		  : missing ? "not judged"
			    : "not asked for");
	if (judged && isfinite(a->margin))
		view_text(cell, "detail", format_margin(a->margin, margin, sizeof(margin)));
	else
		tree_text(cell, "detail", "");
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
	if (shown > MOST_SENTENCES)
		tree_textf(item, "more", "%zu more", shown - MOST_SENTENCES);
	else
		tree_text(item, "more", "");
	rows = tree_list(item, "rows");
	for (size_t i = 0; i < v->device_count; i++) {
		struct tree *row = tree_item(rows), *cells;

		view_text(row, "device", v->devices[i].device);
		view_text(row, "serial", delivery_serial(&v->devices[i]));
		cells = tree_list(row, "cells");
		for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
			delivery_add_cell(cells, (enum aspect)k,
					  device_aspect(&v->devices[i], (enum aspect)k));
	}
}

static void delivery_add_leading(struct delivery *d, const char *host, const struct verdicts *v)
{
	for (size_t i = 0; i < v->reason_count; i++) {
		if (v->reasons[i].accepted)
			continue;
		if (d->reasons++ < MOST_LEADING)
			delivery_add_sentence(d->leading, host, &v->reasons[i], true);
	}
}

static void delivery_note_limits(struct delivery *d, const struct result *r,
				 const struct verdicts *v)
{
	const char *config = view_string(r->config_text), *limits = view_string(v->limits_text);

	d->hash = text_hash(d->hash, config, strlen(config));
	d->hash = text_hash(d->hash, limits, strlen(limits));
	if (!d->limits)
		d->limits = xstrdup(view_string(v->limits));
	else if (strcmp(d->limits, view_string(v->limits)) != 0)
		d->several_limits = true;
}

void delivery_add(struct delivery *d, const struct result *result, const char *path,
		  const struct verdicts *v)
{
	const char *name = result_fact(result, "hostname"), *host = *name ? name : path;
	enum delivery_group group = delivery_group_of(v);
	struct tree *item;

	d->counts[group]++;
	d->gpus[group] += v->device_count;
	delivery_note_limits(d, result, v);
	delivery_add_compact(d, group, host, v);
	if (group == GROUP_REJECTED)
		delivery_add_leading(d, host, v);
	if (group == GROUP_ACCEPTED || d->machines[group]->count >= MOST_DETAILED)
		return;
	item = tree_item(d->machines[group]);
	view_text(item, "host", host);
	view_text(item, "path", path);
	view_text(item, "verdict", v->sentence);
	tree_text(item, "run_id", view_string(result->run_id));
	tree_text(item, "verdict_kind", verdicts_kind(v));
	tree_text(item, "verdict_symbol", verdicts_symbol(v));
	tree_text(item, "verdict_word", verdicts_word(v));
	delivery_add_details(item, host, v);
}

static const struct {
	const char *name, *title, *kind, *symbol, *word, *mark;
} groups[GROUP_COUNT] = {
	[GROUP_REJECTED] = { "rejected", "Rejected", "failed", "✗", "REJECTED",
			     "✗ marks the devices at fault." },
	[GROUP_INCONCLUSIVE] = { "inconclusive", "Inconclusive", "error", "?", "INCONCLUSIVE",
				 "? marks the devices that are not decided." },
	[GROUP_ACCEPTED] = { "accepted", "Accepted", "ok", "✓", "ACCEPTED", "" },
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

/* Moves the lists of one verdict to the page. */
static void delivery_set_group(struct delivery *d, enum delivery_group group, struct tree *list)
{
	struct tree *item = tree_item(list);
	size_t shown = d->machines[group]->count;

	tree_text(item, "name", groups[group].name);
	tree_text(item, "group_title", groups[group].title);
	tree_text(item, "group_symbol", groups[group].symbol);
	tree_textf(item, "group_counts", "%zu node%s, %zu device%s", d->counts[group],
		   text_plural(d->counts[group]), d->gpus[group], text_plural(d->gpus[group]));
	if (group != GROUP_ACCEPTED && d->counts[group] > shown)
		tree_textf(item, "unshown",
			   "%zu more nodes are only in the list of serial numbers.",
			   d->counts[group] - shown);
	else
		tree_text(item, "unshown", "");
	tree_text(item, "mark", groups[group].mark);
	tree_flag(item, "said_above", group == GROUP_REJECTED && d->reasons <= MOST_LEADING);
	tree_set(item, "machines", d->machines[group]);
	tree_set(item, "compact", d->compact[group]);
	d->machines[group] = tree_new(TREE_LIST);
	d->compact[group] = tree_new(TREE_LIST);
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
	if (d->reasons > MOST_LEADING)
		tree_textf(page, "more_reasons", "%zu more reasons are below.",
			   d->reasons - MOST_LEADING);
	else
		tree_text(page, "more_reasons", "");
	tree_flag(page, "has_leading", d->leading->count != 0);
	tree_set(page, "leading", d->leading);
	d->leading = tree_new(TREE_LIST);
	for (int i = 0; i < GROUP_COUNT; i++)
		if (d->counts[i])
			delivery_set_group(d, (enum delivery_group)i, list);
	return page;
}

enum status delivery_write(struct delivery *d, const struct report_options *options,
			   struct error *err)
{
	struct text html = TEXT_EMPTY;
	struct tree *page = delivery_page(d);
	enum status status = html_render("delivery", options, page, &html, err);

	tree_free(page);
	if (status == STATUS_OK)
		status = html_publish(options, &html, err);
	text_release(&html);
	return status;
}
