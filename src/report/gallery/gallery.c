#include "report/gallery/gallery.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/page/headline.h"
#include "report/page/html.h"
#include "report/template/template.h"
#include "report/view/format.h"
#include "report/view/view.h"

#define MOST_FILTERS 12 /* of one kind; report.css has a rule for each */
#define MOST_FIGURES 12 /* of a row */
#define MOST_NAMED 4    /* models of the sentence at the top */

struct entry {
	char *gpu, *started;
	struct tree *row;
};

struct gallery {
	struct entry *items;
	size_t count, capacity;
	struct tree *refused;
};

struct gallery *gallery_new(void)
{
	struct gallery *gallery = xcalloc(1, sizeof(*gallery));

	gallery->refused = tree_new(TREE_LIST);
	return gallery;
}

void gallery_free(struct gallery *gallery)
{
	for (size_t i = 0; i < gallery->count; i++) {
		free(gallery->items[i].gpu);
		free(gallery->items[i].started);
		tree_free(gallery->items[i].row);
	}
	free(gallery->items);
	tree_free(gallery->refused);
	free(gallery);
}

/* A path as an address: what is neither letter, digit nor one of "-._~/" as %XX. */
static char *address_of(const char *path)
{
	struct text out = TEXT_EMPTY;

	/* A first name with a colon would be taken for a scheme. */
	text_add(&out, "./");
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (isalnum(c) || strchr("-._~/", c))
			text_add_char(&out, *path);
		else
			text_addf(&out, "%%%02X", c);
	}
	return text_detach(&out);
}

/* Each quantity once, by the best device: "STREAM triad 4.37 TB/s (91 %)". */
static void add_figures(const struct view *view, struct tree *row)
{
	struct headline_shares shares = { 0 };
	struct tree *list = tree_list(row, "figures");

	headline_shares_of(view, &shares);
	for (size_t i = 0; i < shares.quantity_count && list->count < MOST_FIGURES; i++) {
		size_t index = shares.quantities[i].best;
		const struct headline_share *best = index ? &shares.items[index - 1] : NULL;
		char value[FORMAT_SIZE], share[FORMAT_SIZE];

		if (best)
			tree_textf(tree_item(list), "words", "%s %s (%s)", best->title,
				   format_rounded(best->value, best->unit, value, sizeof(value)),
				   format_percent(best->share, share, sizeof(share)));
	}
	headline_shares_release(&shares);
}

void gallery_add(struct gallery *gallery, const struct result *result, const char *link)
{
	struct tree *row = tree_new(TREE_MAP);
	struct view view;
	const char *gpu = result->device_count ? result->devices[0].name : "no device";

	view_init(&view, result, 1);
	view_verdict(&view, row);
	view_runs(&view, row);
	add_figures(&view, row);
	view_release(&view);
	tree_text_owned(row, "link", address_of(link));
	view_text(row, "gpu", gpu);
	/* Parts of a CPU are not as many CPUs. */
	if (result->device_count > 1 && !device_is_host(result->devices))
		tree_textf(row, "devices", "%zu × ", result->device_count);
	else
		tree_text(row, "devices", "");
	tree_textf(row, "date", "%.10s", view_string(result->started));
	ARRAY_GROW(gallery->items, gallery->count, gallery->capacity);
	gallery->items[gallery->count++] = (struct entry){
		.gpu = xstrdup(gpu), .started = xstrdup(view_string(result->started)), .row = row
	};
}

void gallery_refuse(struct gallery *gallery, const char *path, const char *reason)
{
	struct tree *item = tree_item(gallery->refused);

	view_text(item, "path", path);
	view_text(item, "reason", reason);
}

/* By GPU; the newest first. */
static int by_gpu(const void *a, const void *b)
{
	const struct entry *p = a, *q = b;
	int order = strcasecmp(p->gpu, q->gpu);

	return order ? order : strcmp(q->started, p->started);
}

static int newest_first(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

static size_t place_in(char **names, size_t count, const char *name)
{
	size_t i = 0;

	while (i < count && strcmp(names[i], name) != 0)
		i++;
	return i;
}

/*
 * Filters of one kind, in the list `name`, and the class of each row under `key`: "g1". Names
 * beyond the last filter have none, and show with all.
 */
static void add_filters(struct gallery *gallery, struct tree *page, const char *name,
			const char *key, char letter, char **of_row)
{
	struct tree *list = tree_list(page, name);
	char **names = xcalloc(gallery->count + 1, sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; i < gallery->count; i++)
		if (place_in(names, count, of_row[i]) == count)
			names[count++] = of_row[i];
	if (letter == 'y')
		qsort(names, count, sizeof(*names), newest_first);
	for (size_t i = 0; i < gallery->count; i++)
		tree_textf(gallery->items[i].row, key, "%c%zu", letter,
			   place_in(names, count, of_row[i]) + 1);
	for (size_t n = 0; count > 1 && n < count && n < MOST_FILTERS; n++) {
		struct tree *filter = tree_item(list);
		size_t rows = 0;

		for (size_t i = 0; i < gallery->count; i++)
			rows += strcmp(of_row[i], names[n]) == 0;
		tree_textf(filter, "filter_class", "%c%zu", letter, n + 1);
		view_text(filter, "name", *names[n] ? names[n] : "no date");
		tree_textf(filter, "rows", "%zu", rows);
	}
	tree_flag(page, letter == 'y' ? "has_years" : "has_gpus", list->count != 0);
	free(names);
}

/* "8 results of 2 device models, 2025-03-01 to 2026-11-20: NVIDIA H200 (6), Tesla V100 (2)" */
static char *summary_of(const struct gallery *gallery)
{
	const char *first = "", *last = "";
	struct text models = TEXT_EMPTY, out = TEXT_EMPTY;
	size_t count = 0, own;

	for (size_t i = 0; i < gallery->count; i++) {
		const char *started = gallery->items[i].started;

		/* Results of other tools need not have a time. */
		if (*started && (!*first || strcmp(started, first) < 0))
			first = started;
		if (strcmp(started, last) > 0)
			last = started;
	}
	for (size_t i = 0; i < gallery->count; i += own) {
		const char *gpu = gallery->items[i].gpu;

		for (own = 1; i + own < gallery->count; own++)
			if (strcmp(gallery->items[i + own].gpu, gpu) != 0)
				break;
		if (count++ < MOST_NAMED)
			text_addf(&models, "%s%s (%zu)", count > 1 ? ", " : "", gpu, own);
	}
	text_addf(&out, "%zu result%s of %zu device model%s", gallery->count,
		  plural(gallery->count), count, plural(count));
	if (*first)
		text_addf(&out, ", %.10s", first);
	if (strncmp(first, last, 10) != 0)
		text_addf(&out, " to %.10s", last);
	text_addf(&out, ": %s", models.data);
	if (count > MOST_NAMED)
		text_addf(&out, " and %zu more", count - MOST_NAMED);
	text_release(&models);
	return text_detach(&out);
}

static struct tree *page_of(struct gallery *gallery, const struct report_options *options)
{
	struct tree *page = tree_new(TREE_MAP), *rows;
	char *summary;
	char **gpus = xcalloc(gallery->count + 1, sizeof(*gpus));
	char **years = xcalloc(gallery->count + 1, sizeof(*years));

	qsort(gallery->items, gallery->count, sizeof(*gallery->items), by_gpu);
	for (size_t i = 0; i < gallery->count; i++) {
		gpus[i] = gallery->items[i].gpu;
		years[i] = xasprintf("%.4s", gallery->items[i].started);
	}
	view_text(page, "title", options->title ? options->title : "Measured GPUs");
	add_filters(gallery, page, "gpus", "gpu_class", 'g', gpus);
	add_filters(gallery, page, "years", "year_class", 'y', years);
	for (size_t i = 0; i < gallery->count; i++)
		free(years[i]);
	free(gpus);
	free(years);
	summary = summary_of(gallery);
	view_text(page, "verdict", summary);
	free(summary);
	rows = tree_list(page, "rows");
	for (size_t i = 0; i < gallery->count; i++) {
		tree_append(rows, gallery->items[i].row);
		gallery->items[i].row = NULL;
	}
	tree_textf(page, "refused_count", gallery->refused->count ? "%zu" : "",
		   gallery->refused->count);
	tree_set(page, "refused", gallery->refused);
	gallery->refused = NULL;
	return page;
}

enum status gallery_write(struct gallery *gallery, const struct report_options *options,
			  struct error *err)
{
	struct text html = TEXT_EMPTY;
	struct tree *page;

	if (!gallery->count)
		return error_set(err, STATUS_USAGE, "a gallery needs at least one result");
	page = page_of(gallery, options);
	if (html_render("gallery", options, page, &html, err) == STATUS_OK)
		html_publish(options, &html, err);
	text_release(&html);
	tree_free(page);
	return err->status;
}
