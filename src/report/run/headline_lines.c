#include "report/run/run_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/chart/chart.h"
#include "report/run/headline.h"
#include "report/view/suite_page.h"
#include "report/view/presented.h"

#define MOST_METRICS 32
#define MOST_OF_A_METRIC 3
#define LABEL_WIDTH 30
#define FIGURE_WIDTH 22
#define SHARE_WIDTH 5  /* " 91 %" */
#define MOST_ANSWERS 4 /* sentences from the page */
#define BOTH 2 /* devices with a column each; of more, only the middle and the worst are shown */

/* A row that may be a line. */
struct candidate {
	const struct headline *h;
	const struct headline_row *row;
	const char *suite;
	double share; /* of the data sheet, the best device's; NaN: unknown */
	bool taken;
};

struct headline_lines {
	struct view view;
	struct headline headlines[MOST_METRICS];
	size_t headline_count;
	struct candidate *candidates; /* metric by metric */
	size_t count, capacity, taken;
	size_t pairs, overlapping; /* lines of two figures with intervals; those that overlap */
};

static double headline_lines_peak_share(const struct headline *h,
					const struct selected_case *selected)
{
	struct headline_peak peak;

	return headline_peak(h, selected, &peak) ? peak.share : (double)NAN;
}

/* NULL also where a case of the row failed: the best of the others is not its figure. */
static const struct selected_case *headline_lines_figure_of(const struct headline_row *row,
							    size_t source)
{
	const struct headline_group *group =
		row->cells[source].failed ? NULL : row->cells[source].group;
	const struct selected_case *selected = group ? group->figures[0] : NULL;

	return selected && isfinite(selected->m->value) &&
			       !case_is_unsettled(selected->c, selected->m)
		       ? selected
		       : NULL;
}

static void headline_lines_candidates_add_rows(struct headline_lines *l, const struct headline *h,
					       const char *suite)
{
	for (size_t i = 0; i < h->count; i++) {
		struct candidate c = { .h = h, .row = &h->rows[i], .suite = suite, .share = NAN };
		bool any = false;

		for (size_t s = 0; s < l->view.source_count; s++) {
			const struct selected_case *selected =
				headline_lines_figure_of(&h->rows[i], s);

			any = any || selected || h->rows[i].cells[s].failed;
			if (selected && !(headline_lines_peak_share(h, selected) <= c.share))
				c.share = headline_lines_peak_share(h, selected);
		}
		if (!any)
			continue;
		ARRAY_GROW(l->candidates, l->count, l->capacity);
		l->candidates[l->count++] = c;
	}
}

static bool headline_lines_has_metric(const struct headline_lines *l, size_t first,
				      const char *metric)
{
	for (size_t i = first; i < l->headline_count; i++)
		if (strcmp(l->headlines[i].selection.items[0].m->name, metric) == 0)
			return true;
	return false;
}

static void headline_lines_collect_suite(struct headline_lines *l, const struct result *r,
					 const char *suite)
{
	size_t first = l->headline_count;

	for (size_t i = 0; i < r->case_count && l->headline_count < MOST_METRICS; i++) {
		const struct case_result *c = &r->cases[i];
		const struct metric_value *m = view_headline(c);
		struct headline *h = &l->headlines[l->headline_count];

		if (!m || !m->headline || c->status != CASE_OK ||
		    strcmp(view_string(c->suite), suite) != 0 ||
		    headline_lines_has_metric(l, first, m->name))
			continue;
		headline_collect(h, &l->view, suite, m->name);
		if (h->selection.count) {
			l->headline_count++;
			headline_lines_candidates_add_rows(l, h, suite);
		} else {
			headline_release(h);
		}
	}
}

static void headline_lines_candidate_take(struct headline_lines *l, struct candidate *c)
{
	c->taken = true;
	l->taken++;
}

/* The row of a metric that is nearest to the data sheet, else its first. */
static struct candidate *headline_lines_candidates_best(struct headline_lines *l,
							const struct headline *h)
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

static size_t headline_lines_taken_of(const struct headline_lines *l, const struct headline *h)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += l->candidates[i].h == h && l->candidates[i].taken;
	return n;
}

/* A share or a count mostly describes the measurement, not the machine. */
static bool headline_lines_has_unit(const struct headline *h)
{
	return strcmp(view_string(h->selection.items[0].m->unit), "1") != 0;
}

/* One line per metric with a unit while there is room; then more of the metrics in a data sheet. */
static void headline_lines_candidates_choose(struct headline_lines *l)
{
	for (size_t i = 0; i < l->headline_count && l->taken < HEADLINE_LINES; i++) {
		struct candidate *best = headline_lines_candidates_best(l, &l->headlines[i]);

		if (best && headline_lines_has_unit(&l->headlines[i]))
			headline_lines_candidate_take(l, best);
	}
	for (size_t round = 1; round < MOST_OF_A_METRIC; round++)
		for (size_t i = 0; i < l->headline_count && l->taken < HEADLINE_LINES; i++) {
			struct candidate *best =
				headline_lines_candidates_best(l, &l->headlines[i]);

			if (best && isfinite(best->share) &&
			    headline_lines_taken_of(l, &l->headlines[i]) == round)
				headline_lines_candidate_take(l, best);
		}
	for (size_t i = 0; i < l->count && l->taken < HEADLINE_LINES / 2 + 1; i++)
		if (!l->candidates[i].taken)
			headline_lines_candidate_take(l, &l->candidates[i]);
}

static void headline_lines_add_padded(struct text *out, const char *s, size_t width)
{
	text_add(out, s);
	for (size_t n = chart_characters(s); n < width; n++)
		text_add_char(out, ' ');
}

/* "4.366 TB/s ±0.2 %", "~" where its samples are noisy */
static void headline_lines_add_figure(struct text *out, const struct headline_lines *l,
				      const struct selected_case *selected)
{
	char *words;

	if (!selected) {
		headline_lines_add_padded(out, "", FIGURE_WIDTH);
		return;
	}
	words = xasprintf(
		"%s%s %s", view_metric_noisy(selected->c, selected->m) ? "~" : "",
		presented_value(&l->view, selected->c, selected->m).text,
		format_spread(selected->m->value, selected->m->low, selected->m->high).text);
	headline_lines_add_padded(out, words, FIGURE_WIDTH);
	free(words);
}

/* Counts two figures of a line as distinguishable or not; one may be missing. */
static void headline_lines_count_overlap(struct headline_lines *l, const struct selected_case *a,
					 const struct selected_case *b)
{
	if (!a || !b || !isfinite(a->m->low + a->m->high + b->m->low + b->m->high))
		return;
	l->pairs++;
	l->overlapping += a->m->low <= b->m->high && b->m->low <= a->m->high;
}

/* A device's figure, or how many of its cases failed. */
static void headline_lines_add_device(struct text *out, const struct headline_lines *l,
				      const struct headline_row *row, size_t source)
{
	size_t failed = row->cells[source].failed;
	char words[FORMAT_SIZE];

	if (!failed) {
		headline_lines_add_figure(out, l, headline_lines_figure_of(row, source));
		return;
	}
	snprintf(words, sizeof(words), "%zu %s failed", failed, format_cases(failed));
	headline_lines_add_padded(out, words, FIGURE_WIDTH);
}

/* For many devices: the median one and the worst, or how many failed. */
static void headline_lines_add_summary(struct text *out, struct headline_lines *l,
				       const struct candidate *c)
{
	const struct selected_case **figures =
		xcalloc(l->view.source_count + 1, sizeof(const struct selected_case *));
	const struct selected_case *middle, *worst;
	size_t n = 0, failed = 0;
	bool lower = c->h->better == BETTER_LOWER;
	char words[FORMAT_SIZE];

	for (size_t s = 0; s < l->view.source_count; s++) {
		if (headline_lines_figure_of(c->row, s))
			figures[n++] = headline_lines_figure_of(c->row, s);
		failed += c->row->cells[s].failed != 0;
	}
	qsort(figures, n, sizeof(*figures), headline_by_value);
	middle = n ? figures[lower ? n / 2 : (n - 1) / 2] : NULL;
	worst = n > 1 && !failed ? figures[lower ? n - 1 : 0] : NULL;
	headline_lines_add_figure(out, l, middle);
	snprintf(words, sizeof(words), "failed on %zu", failed);
	if (failed)
		headline_lines_add_padded(out, words, FIGURE_WIDTH);
	else
		headline_lines_add_figure(out, l, worst);
	headline_lines_count_overlap(l, middle, worst);
	free(figures);
}

static void headline_add_line(struct text *out, struct headline_lines *l, const struct candidate *c)
{
	char *whole = xasprintf("%s: %s", c->suite, c->row->label);
	char *label = format_label(whole, LABEL_WIDTH - 1);

	headline_lines_add_padded(out, label, LABEL_WIDTH);
	if (l->view.source_count > BOTH)
		headline_lines_add_summary(out, l, c);
	for (size_t i = 0; l->view.source_count <= BOTH && i < l->view.source_count; i++)
		headline_lines_add_device(out, l, c->row, i);
	if (l->view.source_count == BOTH)
		headline_lines_count_overlap(l, headline_lines_figure_of(c->row, 0),
					     headline_lines_figure_of(c->row, 1));
	if (isfinite(c->share))
		text_addf(out, "%3.0f %%", 100 * c->share);
	while (out->length && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
	text_add_char(out, '\n');
	free(label);
	free(whole);
}

static bool headline_lines_has_share(const struct headline_lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->candidates[i].taken && isfinite(l->candidates[i].share))
			return true;
	return false;
}

/* The last words end where the shares do: names of devices leave room for them. */
static void headline_lines_add_head(struct text *out, const struct headline_lines *l)
{
	static const char share[] = "of data sheet";
	size_t columns = l->view.source_count > BOTH ? BOTH : l->view.source_count;
	size_t start = out->length, end = LABEL_WIDTH + columns * FIGURE_WIDTH + SHARE_WIDTH;

	headline_lines_add_padded(out, "", LABEL_WIDTH);
	if (l->view.source_count > BOTH) {
		headline_lines_add_padded(out, "middle device", FIGURE_WIDTH);
		headline_lines_add_padded(out, "worst", FIGURE_WIDTH);
	}
	for (size_t s = 0; l->view.source_count <= BOTH && s < l->view.source_count; s++)
		headline_lines_add_padded(out, l->view.sources[s].label, FIGURE_WIDTH);
	while (out->length > start && out->data[out->length - 1] == ' ')
		out->data[--out->length] = '\0';
	if (headline_lines_has_share(l)) {
		text_add_char(out, ' ');
		while (chart_characters(out->data + start) + strlen(share) < end)
			text_add_char(out, ' ');
		text_add(out, share);
	}
	text_add_char(out, '\n');
}

static void headline_lines_say_overlap(const struct headline_lines *l, struct text *out)
{
	const struct view_source *sources = l->view.sources;

	if (l->overlapping == 0)
		return;
	if (l->view.source_count > BOTH)
		text_add(out, "The worst device and the middle one");
	else
		text_addf(out, "%s and %s", sources[0].label, sources[1].label);
	text_addf(out, " are not distinguishable on %zu of %zu lines: their intervals overlap.\n",
		  l->overlapping, l->pairs);
}

/* The page's sentences about suites, "In short". */
static void headline_lines_say_answers(const struct headline_lines *l, struct text *out)
{
	struct tree *unused = tree_new(TREE_MAP), *answers = tree_list(unused, "answers");
	struct tree *charts = tree_list(unused, "charts");

	for (size_t i = 0; i < l->view.suite_count; i++) {
		struct suite_page page = presented_suite_page_of(l->view.suites[i]);
		struct text terms = TEXT_EMPTY;

		if (page.maps)
			page.maps(&l->view, l->view.suites[i], charts, answers);
		if (page.answer)
			page.answer(&l->view, l->view.suites[i], answers, charts, &terms);
		text_release(&terms);
	}
	for (size_t i = 0; i < answers->count && i < MOST_ANSWERS; i++)
		text_addf(out, "%s\n", answers->children[i]->text);
	if (answers->count > MOST_ANSWERS)
		text_addf(out, "and %zu more sentences on the page\n",
			  answers->count - MOST_ANSWERS);
	tree_free(unused);
}

void headline_lines(const struct result *result, struct text *out, struct text *answers)
{
	struct headline_lines *l = xcalloc(1, sizeof(*l));

	view_init(&l->view, result, 1);
	for (size_t i = 0; i < l->view.suite_count; i++)
		headline_lines_collect_suite(l, result, l->view.suites[i]);
	headline_lines_candidates_choose(l);
	if (l->taken)
		headline_lines_add_head(out, l);
	for (size_t i = 0; i < l->count; i++)
		if (l->candidates[i].taken)
			headline_add_line(out, l, &l->candidates[i]);
	headline_lines_say_overlap(l, answers);
	headline_lines_say_answers(l, answers);
	for (size_t i = 0; i < l->headline_count; i++)
		headline_release(&l->headlines[i]);
	free(l->candidates);
	view_release(&l->view);
	free(l);
}
