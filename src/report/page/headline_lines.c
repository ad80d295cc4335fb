#include "report/page/headline_lines.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/headline.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/view.h"

#define MOST_METRICS 32
#define MOST_OF_A_METRIC 3
#define LABEL_WIDTH 30
#define FIGURE_WIDTH 22
#define SHARE_WIDTH 5 /* " 91 %" */
#define BOTH 2 /* devices that have a column each; of more there are the middle and the worst */

/* A row that may be a line. */
struct candidate {
	const struct headline *h;
	const struct headline_row *row;
	const char *suite;
	double share; /* of the data sheet, the best device's; NaN: unknown */
	bool taken;
};

struct lines {
	struct view view;
	struct headline headlines[MOST_METRICS];
	size_t headline_count;
	struct candidate *candidates; /* metric by metric */
	size_t count, capacity, taken;
};

static double share_of(const struct headline *h, const struct selected_case *selected)
{
	struct headline_peak peak;

	return headline_peak(h, selected, &peak) ? peak.share : (double)NAN;
}

static const struct selected_case *figure_of(const struct headline_row *row, size_t source)
{
	const struct headline_group *group = row->cells[source].group;
	const struct selected_case *selected = group ? group->figures[0] : NULL;

	return selected && isfinite(selected->m->value) &&
			       !case_is_unsettled(selected->c, selected->m)
		       ? selected
		       : NULL;
}

static void add_rows(struct lines *l, const struct headline *h, const char *suite)
{
	for (size_t i = 0; i < h->count; i++) {
		struct candidate c = { .h = h, .row = &h->rows[i], .suite = suite, .share = NAN };
		bool any = false;

		for (size_t s = 0; s < l->view.source_count; s++) {
			const struct selected_case *selected = figure_of(&h->rows[i], s);

			any = any || selected;
			if (selected && !(share_of(h, selected) <= c.share))
				c.share = share_of(h, selected);
		}
		if (!any)
			continue;
		ARRAY_GROW(l->candidates, l->count, l->capacity);
		l->candidates[l->count++] = c;
	}
}

static bool has_metric(const struct lines *l, size_t first, const char *metric)
{
	for (size_t i = first; i < l->headline_count; i++)
		if (strcmp(l->headlines[i].selection.items[0].m->name, metric) == 0)
			return true;
	return false;
}

static void collect_suite(struct lines *l, const struct result *r, const char *suite)
{
	size_t first = l->headline_count;

	for (size_t i = 0; i < r->case_count && l->headline_count < MOST_METRICS; i++) {
		const struct case_result *c = &r->cases[i];
		const struct metric_value *m = view_headline(c);
		struct headline *h = &l->headlines[l->headline_count];

		if (!m || !m->headline || c->status != CASE_OK ||
		    strcmp(view_string(c->suite), suite) != 0 || has_metric(l, first, m->name))
			continue;
		headline_collect(h, &l->view, suite, m->name);
		if (h->selection.count) {
			l->headline_count++;
			add_rows(l, h, suite);
		} else {
			headline_release(h);
		}
	}
}

static void take(struct lines *l, struct candidate *c)
{
	c->taken = true;
	l->taken++;
}

/* The row of a metric that is nearest to the data sheet, else its first. */
static struct candidate *best_of(struct lines *l, const struct headline *h)
{
	struct candidate *best = NULL;

	for (size_t i = 0; i < l->count; i++) {
		struct candidate *c = &l->candidates[i];

		if (c->h == h && !c->taken &&
		    (!best || (isfinite(c->share) && !(c->share <= best->share))))
			best = c;
	}
	return best;
}

static size_t taken_of(const struct lines *l, const struct headline *h)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += l->candidates[i].h == h && l->candidates[i].taken;
	return n;
}

/* A share or a count mostly describes the measurement, not the machine. */
static bool has_unit(const struct headline *h)
{
	return strcmp(view_string(h->selection.items[0].m->unit), "1") != 0;
}

/*
 * A line per metric with a unit as long as there is room; then more of those that a data sheet says
 * something of.
 */
static void choose(struct lines *l)
{
	for (size_t i = 0; i < l->headline_count && l->taken < HEADLINE_LINES; i++) {
		struct candidate *best = best_of(l, &l->headlines[i]);

		if (best && has_unit(&l->headlines[i]))
			take(l, best);
	}
	for (size_t round = 1; round < MOST_OF_A_METRIC; round++)
		for (size_t i = 0; i < l->headline_count && l->taken < HEADLINE_LINES; i++) {
			struct candidate *best = best_of(l, &l->headlines[i]);

			if (best && isfinite(best->share) && taken_of(l, &l->headlines[i]) == round)
				take(l, best);
		}
	for (size_t i = 0; i < l->count && l->taken < HEADLINE_LINES / 2 + 1; i++)
		if (!l->candidates[i].taken)
			take(l, &l->candidates[i]);
}

/* Characters, not bytes: "µs" and "±" are two of them. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void add_padded(struct text *out, const char *s, size_t width)
{
	text_add(out, s);
	for (size_t n = width_of(s); n < width; n++)
		text_add_char(out, ' ');
}

/* "4.366 TB/s ±0.2 %", "~" where it is noisy */
static void add_figure(struct text *out, const struct lines *l,
		       const struct selected_case *selected)
{
	char value[FORMAT_SIZE], spread[FORMAT_SIZE], *words;

	if (!selected) {
		add_padded(out, "", FIGURE_WIDTH);
		return;
	}
	words = xasprintf("%s%s %s", view_noisy(selected->c) ? "~" : "",
			  view_value(&l->view, selected->m, value, sizeof(value)),
			  format_spread(selected->m->value, selected->m->low, selected->m->high,
					spread, sizeof(spread)));
	add_padded(out, words, FIGURE_WIDTH);
	free(words);
}

static int by_value(const void *a, const void *b)
{
	double x = (*(const struct selected_case *const *)a)->m->value;
	double y = (*(const struct selected_case *const *)b)->m->value;

	return (x > y) - (x < y);
}

/* For many devices: the median one and the worst. */
static void add_summary(struct text *out, const struct lines *l, const struct candidate *c)
{
	const struct selected_case **figures =
		xcalloc(l->view.source_count + 1, sizeof(const struct selected_case *));
	size_t n = 0;
	bool lower = c->h->better == BETTER_LOWER;

	for (size_t s = 0; s < l->view.source_count; s++)
		if (figure_of(c->row, s))
			figures[n++] = figure_of(c->row, s);
	qsort(figures, n, sizeof(*figures), by_value);
	add_figure(out, l, figures[lower ? n / 2 : (n - 1) / 2]);
	add_figure(out, l, n > 1 ? figures[lower ? n - 1 : 0] : NULL);
	free(figures);
}

static void add_line(struct text *out, const struct lines *l, const struct candidate *c)
{
	char *whole = xasprintf("%s: %s", c->suite, c->row->label);
	char *label = format_label(whole, LABEL_WIDTH - 1);

	add_padded(out, label, LABEL_WIDTH);
	if (l->view.source_count > BOTH)
		add_summary(out, l, c);
	for (size_t s = 0; l->view.source_count <= BOTH && s < l->view.source_count; s++)
		add_figure(out, l, figure_of(c->row, s));
	if (isfinite(c->share))
		text_addf(out, "%3.0f %%", 100 * c->share);
	while (out->length && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
	text_add_char(out, '\n');
	free(label);
	free(whole);
}

/* The last words end where the shares do: names of devices leave room for them. */
static void add_head(struct text *out, const struct lines *l)
{
	static const char share[] = "of data sheet";
	size_t columns = l->view.source_count > BOTH ? BOTH : l->view.source_count;
	size_t start = out->length, end = LABEL_WIDTH + columns * FIGURE_WIDTH + SHARE_WIDTH;

	add_padded(out, "", LABEL_WIDTH);
	if (l->view.source_count > BOTH) {
		add_padded(out, "middle device", FIGURE_WIDTH);
		add_padded(out, "worst", FIGURE_WIDTH);
	}
	for (size_t s = 0; l->view.source_count <= BOTH && s < l->view.source_count; s++)
		add_padded(out, l->view.sources[s].label, FIGURE_WIDTH);
	while (out->length > start && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
	text_add_char(out, ' ');
	while (width_of(out->data + start) + strlen(share) < end)
		text_add_char(out, ' ');
	text_addf(out, "%s\n", share);
}

void headline_lines(const struct result *result, struct text *out)
{
	struct lines *l = xcalloc(1, sizeof(*l));

	view_init(&l->view, result, 1);
	for (size_t i = 0; i < l->view.suite_count; i++)
		collect_suite(l, result, l->view.suites[i]);
	choose(l);
	if (l->taken)
		add_head(out, l);
	for (size_t i = 0; i < l->count; i++)
		if (l->candidates[i].taken)
			add_line(out, l, &l->candidates[i]);
	for (size_t i = 0; i < l->headline_count; i++)
		headline_release(&l->headlines[i]);
	free(l->candidates);
	view_release(&l->view);
	free(l);
}
