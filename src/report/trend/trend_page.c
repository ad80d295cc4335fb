#include "report/trend/trend_page.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "history/change_points.h"
#include "report/page/html.h"
#include "report/page/view_sections.h"
#include "report/template/template.h"
#include "report/trend/trend_rows.h"
#include "report/view/view.h"
#include "report/view/presented.h"

#define MOST_INCIDENTS 24
#define MOST_ROWS 40 /* of a suite */
#define MOST_FACTS 3 /* of the environment, in the answer */

/* If no series has enough runs there is no answer, and no tick. */
static bool trend_page_nothing_known(const struct trend_page *p)
{
	return p->rows.summary.young == p->rows.summary.series && !trend_pools_tell(&p->rows.pools);
}

/* Series with enough runs, and a figure in the last run. */
static size_t trend_page_compared(const struct trend_page *p)
{
	const struct trend_summary *s = &p->rows.summary;

	return trend_page_nothing_known(p) ? 0 : s->series - s->young - p->rows.silent;
}

static void trend_page_set_word(const struct trend_page *p)
{
	const struct trend_summary *s = &p->rows.summary;
	const struct page_answer answer = {
		.found = s->worse,
		.found_word = "Changed for the worse",
		.warned = s->warnings,
		.warned_word = "Warning",
		.compared = trend_page_compared(p),
		.total = s->series,
		.good = "Nothing new for the worse",
		.things = "figures",
		.nothing = p->nights.count ? "Cannot tell yet" : "No runs",
	};

	view_answer_show(&answer, p->tree);
}

static void trend_page_set_sentence(const struct trend_page *p)
{
	const struct trend_summary *s = &p->rows.summary;
	size_t other = s->fresh - s->worse - s->improved;
	struct text out = TEXT_EMPTY;

	if (trend_page_nothing_known(p)) {
		text_addf(&out,
			  "A change can be found after %d runs with the same hardware, driver and "
			  "config; a change of %.0f\u00a0%% or more at once.",
			  TREND_LEAST_NIGHTS, 100 * TREND_SUDDEN);
	} else {
		format_count_of(&out, s->worse,
				s->worse == 1 ? "new change for the worse"
					      : "new changes for the worse");
		format_count_of(&out, s->warnings, s->warnings == 1 ? "warning" : "warnings");
		format_count_of(&out, s->improved,
				s->improved == 1 ? "improvement" : "improvements");
		format_count_of(&out, other,
				other == 1 ? "change of a figure without a better direction"
					   : "changes of figures without a better direction");
		text_addf(&out, "%s in %zu figure%s.", out.length ? "" : "No new change",
			  trend_page_compared(p), text_plural(trend_page_compared(p)));
		if (s->young)
			text_addf(&out,
				  " %zu of %zu figures have fewer than %d runs: cannot tell yet.",
				  s->young, s->series, TREND_LEAST_NIGHTS);
	}
	if (p->rows.silent)
		text_addf(&out, " %zu of %zu figures are not in the last run.", p->rows.silent,
			  s->series);
	tree_text_owned(p->tree, "verdict", text_detach(&out));
}

/* Changes that coincide with another driver, config or hardware, and changes of pools. */
static void trend_page_add_seams(const struct trend_page *p)
{
	struct tree *list = tree_list(p->tree, "since");

	for (size_t i = 0; i < p->rows.seams.count; i++) {
		char *words = trend_news_seam_group_words(&p->rows.seams.items[i]);

		words[0] = (char)toupper((unsigned char)words[0]);
		tree_item_text(list, view_string(words));
		free(words);
	}
	for (size_t i = 0; i < p->rows.pools.count;) {
		char *words = trend_pool_words(&p->rows.pools, &i);

		tree_item_text(list, view_string(words));
		free(words);
	}
}

static const char *trend_page_run_id(const struct trend_page *p, int64_t night)
{
	for (size_t i = 0; i < p->nights.count; i++)
		if (p->nights.items[i].id == night)
			return view_string(p->nights.items[i].run_id);
	return "";
}

/* The first thing to look at, after the worst incident. */
static void trend_page_set_advice(const struct trend_page *p, const struct incident *worst)
{
	const struct trend_change *c = worst ? trend_row_change(worst->rows[0]) : NULL;
	struct fact_differences found = { 0 };
	struct text out = TEXT_EMPTY;

	if (worst && worst->rows[0]->news == TREND_WARNS)
		text_addf(&out, "Run again: %d runs at a new level confirm a change.",
			  CHANGE_MIN_SEGMENT);
	if (c && worst->rows[0]->news <= TREND_BETTER)
		trend_news_differences(p->history, c->night_before, c->night, &found, p->err);
	for (size_t i = 0; i < found.count && i < MOST_FACTS; i++)
		text_addf(&out, "%s%s %s → %s",
			  i ? ", " : "Look first at what else changed: ", found.items[i].name,
			  found.items[i].before, found.items[i].after);
	if (found.count > MOST_FACTS)
		text_addf(&out, " and %zu more", found.count - MOST_FACTS);
	if (found.count)
		text_add(&out, ".");
	else if (c && worst->rows[0]->news <= TREND_BETTER)
		text_addf(&out,
			  "No recorded fact of machine, program or config changed at that time. "
			  "Compare clocks, power limit and temperatures: gpuproof compare, runs %s "
			  "and %s.",
			  trend_page_run_id(p, c->night_before), trend_page_run_id(p, c->night));
	trend_news_fact_differences_release(&found);
	view_text_owned(p->tree, "advice", text_detach(&out));
}

/* The answer. malloc'ed. */
static char *trend_page_title(const struct trend_page *p, const struct incident *incidents,
			      size_t count)
{
	const struct trend_summary *s = &p->rows.summary;
	char *worst = count && incidents[0].rows[0]->news <= TREND_BETTER
			      ? incident_words(p, &incidents[0])
			      : NULL;
	char *hosts = trend_news_hosts(&p->nights);
	size_t more = 0;
	char *title;

	for (size_t i = 1; i < count; i++)
		more += incidents[i].rows[0]->news == incidents[0].rows[0]->news;
	if (worst)
		title = xasprintf(more ? "%s, and %zu more" : "%s", worst, more);
	else if (trend_page_nothing_known(p))
		title = xasprintf("Trend of %s: cannot tell yet", *hosts ? hosts : "no runs");
	else
		title = xasprintf("%s: no new change in %s%zu figure%s over %zu run%s",
				  *hosts ? hosts : "Trend",
				  trend_page_compared(p) < s->series
					  ? format_text("%zu of ", trend_page_compared(p)).text
					  : "",
				  s->series, text_plural(s->series), p->nights.count,
				  text_plural(p->nights.count));
	free(worst);
	free(hosts);
	return title;
}

static void trend_page_add_table_row(const struct trend_page *p, const struct trend_row *row,
				     struct tree *list)
{
	struct tree *map = tree_item(list);

	trend_incidents_row_names(row, trend_incidents_has_one_device(&p->rows), map);
	tree_text_owned(map, "state", trend_incidents_state_words(row));
	tree_text(map, "last", format_quantity(row->last, row->unit).text);
	tree_text(map, "median", format_quantity(row->median, row->unit).text);
	tree_text(map, "noise", isnan(row->noise) ? "–" : format_percent(row->noise).text);
	tree_textf(map, "nights", "%zu", row->measured);
	tree_textf(map, "missed", "%zu", row->missed);
	trend_incidents_draw_row(p, row, NULL, 0, false, map);
}

/* All series of the suite of rows.items[first]. */
static void trend_page_add_table(const struct trend_page *p, size_t first, bool *taken,
				 struct tree *suites)
{
	const struct trend_row *of = &p->rows.items[first];
	struct tree *map = tree_item(suites), *list = tree_list(map, "rows");
	size_t count = 0, news = 0;

	for (size_t i = first; i < p->rows.count; i++) {
		const struct trend_row *row = &p->rows.items[i];

		if (!trend_rows_one_suite(of, row))
			continue;
		taken[i] = true;
		news += row->news != TREND_QUIET;
		if (count++ < MOST_ROWS)
			trend_page_add_table_row(p, row, list);
	}
	tree_textf(map, "suite", "%.*s", trend_row_suite_length(of), of->case_id);
	tree_textf(map, "counts",
		   news ? "%zu figure%s, %zu with a change, seam or warning"
			: "%zu figure%s, none changed",
		   count, text_plural(count), news);
	tree_textf(map, "more_rows",
		   count > MOST_ROWS ? "%zu more figures: gpuproof history trend --all." : "",
		   count - MOST_ROWS);
}

static void trend_page_add_missed_days(const struct trend_page *p)
{
	int64_t missing[MOST_MISSED];
	size_t count = trend_news_missed(&p->nights, missing);
	char date[16], last[16], *hosts = trend_news_hosts(&p->nights);
	struct tree *list;

	tree_textf(p->tree, "missed_count", "%zu", count);
	list = tree_list(p->tree, "missed_dates");
	for (size_t i = 0; i < count; i++) {
		history_date(missing[i], date);
		tree_item_text(list, date);
	}
	history_date(p->nights.count ? p->nights.items[0].day : 0, date);
	history_date(p->rows.last, last);
	/* "40 runs of node1, 2026-10-01 to 2026-11-09" */
	view_text_owned(p->tree, "runs_words",
			p->nights.count
				? xasprintf("%zu run%s%s%s, %s%s%s", p->nights.count,
					    text_plural(p->nights.count), *hosts ? " of " : "",
					    hosts, date, strcmp(date, last) ? " to " : "",
					    strcmp(date, last) ? last : "")
				: xstrdup("No runs"));
	free(hosts);
}

static void trend_fill_page(const struct trend_page *p, const struct report_options *options)
{
	struct tree *suites = tree_list(p->tree, "suites"), *list = tree_list(p->tree, "details");
	bool *taken = xcalloc(p->rows.count + 1, sizeof(*taken));
	struct incident *incidents;
	size_t count = incidents_collect(&p->rows, &incidents);
	char *title = trend_page_title(p, incidents, count);

	view_text(p->tree, "title", options->title ? options->title : title);
	/* The answer stands once: as the title, or below another one. */
	view_text(p->tree, "answer", options->title ? title : "");
	trend_incidents_set_device(trend_incidents_has_one_device(&p->rows) ? p->rows.items : NULL,
				   p->tree);
	trend_page_set_word(p);
	trend_page_set_sentence(p);
	trend_page_add_seams(p);
	trend_page_set_advice(p, count ? incidents : NULL);
	tree_list(p->tree, "warnings");
	trend_page_add_missed_days(p);
	trend_incidents_notes_of(p, 0, p->tree);
	for (size_t i = 0; i < count && i < MOST_INCIDENTS; i++)
		trend_add_incident(p, &incidents[i], list);
	tree_textf(p->tree, "more_details",
		   count > list->count ? "%zu more incidents are in the tables below." : "",
		   count - list->count);
	for (size_t i = 0; i < p->rows.count; i++)
		if (!taken[i])
			trend_page_add_table(p, i, taken, suites);
	free(taken);
	free(title);
	incidents_release(incidents, count);
	/* Definitions of the words on the page, from the constants that decide. */
	tree_textf(p->tree, "segment", "%d", CHANGE_MIN_SEGMENT);
	tree_text(p->tree, "odds", format_count(round(exp(p->rows.odds_limit))).text);
	tree_textf(p->tree, "looked_at", "%zu", p->rows.looked_at);
	tree_text(p->tree, "sudden", format_percent(TREND_SUDDEN).text);
	tree_textf(p->tree, "least", "%d", TREND_LEAST_NIGHTS);
	tree_textf(p->tree, "odds_series", "%d", TREND_ODDS_SERIES);
	tree_text(p->tree, "magnitude", format_percent(CHANGE_MAGNITUDE).text);
	tree_textf(p->tree, "band_sigmas", "%d", BAND_SIGMAS);
	tree_text(p->tree, "band_least", format_percent(BAND_LEAST).text);
	tree_textf(p->tree, "band_nights", "%d", BAND_NIGHTS);
	tree_textf(p->tree, "days_shown", "%d", TREND_NIGHTS);
}

enum status trend_page_write(struct store *history, const struct history_filter *filter,
			     const struct report_options *options, struct trend_summary *summary,
			     struct error *err)
{
	struct trend_page p = { .history = history, .tree = tree_new(TREE_MAP), .err = err };

	if (store_nights(history, &p.nights, err) == STATUS_OK &&
	    store_notes(history, &p.notes, err) == STATUS_OK &&
	    trend_rows_collect(history, filter, &p.nights, &p.notes, &p.rows, err) == STATUS_OK) {
		trend_fill_page(&p, options);
		*summary = p.rows.summary;
	}
	trend_rows_release(&p.rows);
	history_notes_release(&p.notes);
	history_nights_release(&p.nights);
	return html_write("trend", options, p.tree, err);
}
