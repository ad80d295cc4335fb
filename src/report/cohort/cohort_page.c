#include "report/cohort/cohort_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "history/trend.h"
#include "report/chart/chart.h"
#include "report/page/html.h"
#include "report/template/template.h"
#include "report/view/view.h"

#define MOST_HOSTS 400
#define MOST_STRIPS 8
#define MOST_NAMED 6
#define STRIP_LEFT 8.0
#define STRIP_LEAST 0.01 /* a strip reaches as far on both sides */
#define STRIP_HEIGHT 40.0

struct cohort_cell {
	double offset; /* log ratio of the case that is worst for this node; NaN: none */
	bool slow;
	const struct fleet_member *slowest; /* of the slow ones; NULL: none, or the whole node is */
};

struct matrix {
	const struct fleet *fleet;
	const char **sections; /* in the order of their cohorts */
	size_t section_count;
	struct cohort_cell *cells; /* host x section */
	size_t *hosts;             /* in the order of rows */
};

static size_t cohort_page_matrix_section(struct matrix *m, const char *name)
{
	size_t i = 0;

	while (i < m->section_count && strcmp(m->sections[i], name) != 0)
		i++;
	m->section_count += i == m->section_count;
	m->sections[i] = name;
	return i;
}

static struct cohort_cell *cohort_page_matrix_cell_at(const struct matrix *m, size_t host,
						      size_t section)
{
	return &m->cells[host * m->section_count + section];
}

/* Members are in the order of hosts. */
static void cohort_page_take(struct matrix *m, const struct fleet_cohort *c, double *values)
{
	const struct fleet_member *members = m->fleet->members;
	size_t section = cohort_page_matrix_section(m, members[c->first].series->section), end;

	for (size_t i = c->first; i < c->first + c->count; i = end) {
		struct cohort_cell *cell = cohort_page_matrix_cell_at(m, members[i].host, section);
		double offset;
		size_t n = 0;

		for (end = i; end < c->first + c->count && members[end].host == members[i].host;
		     end++) {
			if (!members[end].recent)
				continue;
			values[n++] = members[end].residual;
			if (!members[end].slow)
				continue;
			cell->slow = true;
			if (!cell->slowest || members[end].residual > cell->slowest->residual)
				cell->slowest = &members[end];
		}
		offset = median_of(values, n);
		if (isnan(cell->offset) || offset > cell->offset)
			cell->offset = offset;
	}
}

static void cohort_page_matrix_init(struct matrix *m, const struct fleet *f)
{
	double *values = xcalloc(f->member_count + 1, sizeof(*values));

	*m = (struct matrix){ .fleet = f,
			      .sections = xcalloc(f->cohort_count + 1, sizeof(*m->sections)) };
	for (size_t i = 0; i < f->cohort_count; i++)
		if (f->cohorts[i].compared)
			cohort_page_matrix_section(m,
						   f->members[f->cohorts[i].first].series->section);
	m->cells = xcalloc(f->host_count * m->section_count + 1, sizeof(*m->cells));
	for (size_t i = 0; i < f->host_count * m->section_count; i++)
		m->cells[i].offset = NAN;
	for (size_t i = 0; i < f->cohort_count; i++)
		if (f->cohorts[i].compared)
			cohort_page_take(m, &f->cohorts[i], values);
	for (size_t i = 0; i < f->finding_count; i++) {
		const struct fleet_finding *x = &f->findings[i];

		if (x->kind == FLEET_HOST) {
			struct cohort_cell *cell = cohort_page_matrix_cell_at(
				m, x->host,
				cohort_page_matrix_section(m,
							   f->members[x->member].series->section));

			cell->slow = true;
			cell->slowest = NULL;
		}
	}
	free(values);
}

/* The distance of a row's worst cell; rows with a mark weigh more than those without. */
static double cohort_page_matrix_weight_of(const struct matrix *m, size_t host)
{
	double weight = -1;

	for (size_t s = 0; s < m->section_count; s++) {
		const struct cohort_cell *c = cohort_page_matrix_cell_at(m, host, s);

		if (!isnan(c->offset))
			weight = fmax(weight, c->offset + (c->slow ? 100 : 0));
	}
	return weight;
}

struct weighted {
	double weight;
	size_t index;
};

static int cohort_page_by_matrix_weight(const void *left, const void *right)
{
	const struct weighted *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static void cohort_page_matrix_row(const struct matrix *m, size_t host, struct tree *list)
{
	const struct fleet_host *h = &m->fleet->hosts[host];
	struct tree *row = tree_item(list), *cells = tree_list(row, "cells");

	view_text(row, "host", *h->name ? h->name : "(no name)");
	view_text(row, "tags", h->tags);
	for (size_t s = 0; s < m->section_count; s++) {
		const struct cohort_cell *c = cohort_page_matrix_cell_at(m, host, s);

		view_heat_cell(fleet_findings_percent(c->slowest ? c->slowest->residual
								 : c->offset),
			       c->slow, c->slowest ? c->slowest->devices : "", tree_item(cells));
	}
}

static void cohort_page_matrix(const struct fleet *f, struct tree *page)
{
	struct tree *sections = tree_list(page, "sections"), *rows = tree_list(page, "hosts");
	struct weighted *order = xcalloc(f->host_count + 1, sizeof(*order));
	size_t shown = f->host_count < MOST_HOSTS ? f->host_count : MOST_HOSTS;
	struct matrix m;

	cohort_page_matrix_init(&m, f);
	for (size_t i = 0; i < m.section_count; i++)
		view_text(tree_item(sections), "section", m.sections[i]);
	for (size_t i = 0; i < f->host_count; i++)
		order[i] = (struct weighted){ cohort_page_matrix_weight_of(&m, i), i };
	if (f->host_count)
		qsort(order, f->host_count, sizeof(*order), cohort_page_by_matrix_weight);
	for (size_t i = 0; i < shown && m.section_count; i++)
		cohort_page_matrix_row(&m, order[i].index, rows);
	tree_textf(page, "more_hosts",
		   f->host_count > shown ? "%zu more nodes are not shown, because they differ less "
					   "from the others."
					 : "",
		   f->host_count - shown);
	free(order);
	free(m.sections);
	free(m.cells);
}

/* Ends of a strip: relative differences from the centre. */
struct strip_ends {
	double low, high;
};

static double cohort_page_strip_x(double ratio, const struct strip_ends *ends)
{
	double share = (ratio - ends->low) / (ends->high - ends->low);

	return STRIP_LEFT + fmin(1, fmax(0, share)) * (CHART_WIDTH - 2 * STRIP_LEFT);
}

/* Devices that share a pixel are one tick; slow ones are drawn separately. */
static void cohort_page_strip_ticks(const struct fleet *f, const struct fleet_cohort *c,
				    const struct strip_ends *ends, struct tree *map)
{
	struct text usual = TEXT_EMPTY, slow = TEXT_EMPTY;
	size_t columns[(size_t)CHART_WIDTH + 1] = { 0 }, highest = 1;

	for (size_t i = c->first; i < c->first + c->count; i++) {
		const struct fleet_member *m = &f->members[i];
		double x = m->recent ? cohort_page_strip_x(expm1(-m->residual), ends) : 0;

		if (m->recent && m->slow)
			text_addf(&slow, "M%.1f 4V32", x);
		else if (m->recent && ++columns[(size_t)x] > highest)
			highest = columns[(size_t)x];
	}
	for (size_t x = 0; x <= (size_t)CHART_WIDTH; x++)
		if (columns[x])
			text_addf(&usual, "M%zu.5 32v-%.1f", x,
				  4 + 20 * (double)columns[x] / (double)highest);
	tree_text_owned(map, "usual", text_detach(&usual));
	tree_text_owned(map, "slow", text_detach(&slow));
}

static size_t cohort_page_matrix_slow_members(const struct fleet *f, const struct fleet_cohort *c)
{
	size_t n = 0;

	for (size_t i = c->first; i < c->first + c->count; i++)
		n += f->members[i].slow;
	return n;
}

/* How far its worst device is from the centre. */
static double cohort_page_matrix_strip_weight(const struct fleet *f, const struct fleet_cohort *c)
{
	double worst = -INFINITY;

	for (size_t i = c->first; i < c->first + c->count; i++)
		if (f->members[i].recent)
			worst = fmax(worst, f->members[i].residual);
	return worst;
}

static void cohort_page_name_slow_members(const struct fleet *f, const struct fleet_cohort *c,
					  struct tree *map)
{
	struct text out = TEXT_EMPTY;
	size_t n = 0, all = cohort_page_matrix_slow_members(f, c);

	for (size_t i = c->first; i < c->first + c->count && n < MOST_NAMED; i++) {
		const struct fleet_member *m = &f->members[i];

		if (m->slow)
			text_addf(&out, "%s%s %s", n++ ? "; " : "", f->hosts[m->host].name,
				  m->devices);
	}
	if (all > n)
		text_addf(&out, " and %zu more", all - n);
	view_text_owned(map, "names", text_detach(&out));
}

static void cohort_page_add_strip(const struct fleet *f, size_t index, struct tree *list)
{
	const struct fleet_cohort *c = &f->cohorts[index];
	const struct history_series *s = f->members[c->first].series;
	struct tree *map = tree_item(list);
	char *kinds = fleet_findings_kinds_words(f, c);
	struct strip_ends ends = { -STRIP_LEAST, STRIP_LEAST };

	for (size_t i = c->first; i < c->first + c->count; i++)
		if (f->members[i].recent) {
			ends.low = fmin(ends.low, expm1(-f->members[i].residual));
			ends.high = fmax(ends.high, expm1(-f->members[i].residual));
		}
	tree_textf(map, "id", "strip-%zu", index);
	view_text(map, "case", s->point);
	tree_text(map, "metric", format_metric(s->metric).text);
	view_text(map, "model", s->model);
	tree_textf(map, "count", "%zu", c->count);
	tree_textf(map, "nodes", "%zu", c->hosts);
	tree_text(map, "scatter", format_percent(c->deviation).text);
	tree_text(map, "low", format_margin(ends.low).text);
	tree_text(map, "high", format_margin(ends.high).text);
	tree_textf(map, "width", "%.0f", CHART_WIDTH);
	tree_textf(map, "middle", "%.1f", cohort_page_strip_x(0, &ends));
	/* Without it where it would touch the label of an end. */
	tree_text(map, "centre",
		  fmin(ends.high, -ends.low) > 0.15 * (ends.high - ends.low) ? "0" : "");
	tree_textf(map, "right", "%.1f", CHART_WIDTH - STRIP_LEFT);
	view_text(map, "kinds", kinds ? kinds : "");
	cohort_page_strip_ticks(f, c, &ends, map);
	cohort_page_name_slow_members(f, c, map);
	free(kinds);
}

/* Index of the cohort with the farthest device; SIZE_MAX: none was compared. */
static size_t cohort_page_farthest(const struct fleet *f)
{
	size_t found = SIZE_MAX;
	double farthest = -INFINITY;

	for (size_t i = 0; i < f->cohort_count; i++) {
		double weight = cohort_page_matrix_strip_weight(f, &f->cohorts[i]);

		if (f->cohorts[i].compared && weight > farthest) {
			found = i;
			farthest = weight;
		}
	}
	return found;
}

static void cohort_page_strips(const struct fleet *f, struct tree *page)
{
	bool *drawn = xcalloc(f->cohort_count + 1, sizeof(*drawn));
	struct tree *list = tree_list(page, "strips");
	size_t farthest = cohort_page_farthest(f);

	for (size_t i = 0; i < f->finding_count && list->count < MOST_STRIPS; i++) {
		size_t cohort = f->findings[i].cohort;

		if (drawn[cohort] || !f->cohorts[cohort].compared)
			continue;
		drawn[cohort] = true;
		cohort_page_add_strip(f, cohort, list);
	}
	if (!list->count && farthest != SIZE_MAX)
		cohort_page_add_strip(f, farthest, list);
	free(drawn);
}

#define MOST_FINDINGS 200

/* Nothing compared is no good news; only decided findings are no clean fleet. */
static void cohort_page_set_answer(const struct fleet *f, struct tree *page)
{
	/* A node or device without a word was not compared, whatever it was like before. */
	size_t silent = f->silent_hosts + f->gone_count;
	const struct page_answer answer = {
		.found = f->open,
		.found_word = "Slower than the others",
		.warned = f->compared ? f->finding_count + silent : 0,
		.warned_word = f->finding_count ? "Slower than the others, all decided"
						: "A node or device is missing",
		.compared = f->compared,
		.total = f->device_count,
		.good = "No slow device",
		.things = "known devices",
		.nothing = "Nothing was compared",
	};
	struct text found = TEXT_EMPTY;
	char first[16], last[16];

	format_list(&found, "%zu open finding%s", f->open, text_plural(f->open));
	format_count_of(&found, f->finding_count - f->open, "decided");
	format_count_of(&found, silent, "missing");
	history_date(f->first_day, first);
	history_date(f->last_day, last);
	view_answer_show(&answer, page);
	if (f->compared)
		tree_textf(page, "verdict",
			   "%s. %zu of %zu devices of %zu nodes compared, by their runs from %s "
			   "to %s.%s",
			   found.data, f->compared, f->device_count, f->host_count, first, last,
			   f->too_few ? " The remaining devices cannot be compared, because too "
					"few devices have the same model, driver and config."
				      : "");
	else
		tree_textf(page, "verdict",
			   "%zu device%s of %zu node%s: a comparison needs %d devices of one "
			   "model, driver and config, on two nodes.",
			   f->device_count, text_plural(f->device_count), f->host_count,
			   text_plural(f->host_count), FLEET_FEWEST);
	text_release(&found);
}

static void cohort_page_add_silent_nodes(const struct fleet *f, struct tree *page)
{
	struct tree *list = tree_list(page, "silent");
	char date[16];

	for (size_t i = 0; i < f->host_count; i++) {
		struct tree *map;

		if (f->hosts[i].silent < FLEET_SILENT)
			continue;
		map = tree_item(list);
		view_text(map, "subject", f->hosts[i].name);
		history_date(f->hosts[i].last_day, date);
		tree_textf(map, "words", "no run since %s: %zu days", date, f->hosts[i].silent);
	}
	for (size_t i = 0; i < f->gone_count; i++) {
		const struct history_place *p = f->gone[i].place;
		char *machine = history_machine_words(&f->places, p->machine);
		struct tree *map = tree_item(list);

		view_text(map, "subject", machine);
		history_date(p->day, date);
		tree_textf(map, "words", "not in the last %zu runs of its node; last seen %s",
			   f->gone[i].silent, date);
		free(machine);
	}
}

/* Nodes with an open finding. */
static size_t cohort_page_count_slow_nodes(const struct fleet *f)
{
	bool *slow = xcalloc(f->host_count + 1, sizeof(*slow));
	size_t count = 0;

	for (size_t i = 0; i < f->open; i++) {
		const struct fleet_finding *x = &f->findings[i];

		if (x->kind == FLEET_SLOT || slow[x->host])
			continue;
		slow[x->host] = true;
		count++;
	}
	free(slow);
	return count;
}

#define MOST_TITLED 3 /* findings */

/* "2 of 40 nodes are slow: n028 cuda:0 by 39.5 % in transfer, n013 by 5.1 % in ..."; malloc'ed. */
static char *cohort_page_title(const struct fleet *f)
{
	size_t nodes = cohort_page_count_slow_nodes(f);
	struct text out = TEXT_EMPTY, list = TEXT_EMPTY;

	/* Open findings come first, the worst in front. */
	for (size_t i = 0; i < f->open && i < MOST_TITLED; i++) {
		const struct fleet_finding *x = &f->findings[i];

		char *name = node_page_cohort_finding_name(f, x);

		format_list(&list, "%s by %.1f\u00a0%% in %s", name,
			    100 * fleet_findings_percent(x->deficit),
			    f->members[x->member].series->section);
		free(name);
	}
	text_addf(&out, "%zu of %zu node%s %s slow", nodes, f->host_count,
		  text_plural(f->host_count), nodes == 1 ? "is" : "are");
	if (!f->open) {
		text_release(&out);
		return xasprintf(f->compared ? "%zu node%s, none slow" : "%zu node%s, not compared",
				 f->host_count, text_plural(f->host_count));
	}
	text_addf(&out, ": %s", list.data);
	if (f->open > MOST_TITLED)
		text_addf(&out, " and %zu more", f->open - MOST_TITLED);
	text_release(&list);
	return text_detach(&out);
}

enum status cohort_page_write(const struct fleet *f, const struct report_options *options,
			      struct error *err)
{
	struct tree *page = tree_new(TREE_MAP);

	char *title = cohort_page_title(f);

	view_text(page, "title", options->title ? options->title : title);
	free(title);
	tree_list(page, "warnings");
	cohort_page_set_answer(f, page);
	node_page_cohort_findings_show(f, NULL, MOST_FINDINGS, page);
	cohort_page_add_silent_nodes(f, page);
	cohort_page_strips(f, page);
	cohort_page_matrix(f, page);
	tree_textf(page, "fewest", "%d", FLEET_FEWEST);
	tree_textf(page, "fewest_hosts", "%d", FLEET_FEWEST_HOSTS);
	tree_textf(page, "tests", "%zu", f->tests);
	tree_text(page, "magnitude", format_percent(FLEET_MAGNITUDE).text);
	tree_text(page, "false_rate", format_percent(FLEET_FALSE).text);
	tree_textf(page, "dated", "%d", TREND_LEAST_NIGHTS);
	tree_textf(page, "reopened", "%d", TRIAGE_NIGHTS);
	return html_write("cohort", options, page, err);
}
