#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "history/fleet/fleet.h"
#include "report/chart/chart.h"
#include "report/cohort/cohort_page.h"
#include "report/page/html.h"
#include "report/view/view.h"

#define MOST_CHARTS 6

struct node_page {
	const struct fleet *fleet;
	const struct fleet_subject *subject;
	const struct course *courses;
	size_t count;
	struct tree *tree;
};

static const struct history_series *node_page_course_series(const struct node_page *p,
							    const struct course *x)
{
	return p->fleet->members[p->fleet->cohorts[x->cohort].first].series;
}

char *node_page_cohort_finding_name(const struct fleet *f, const struct fleet_finding *x)
{
	if (x->kind == FLEET_SLOT)
		return xasprintf("slot %s", x->slot);
	if (x->kind == FLEET_HOST)
		return xstrdup(f->hosts[x->host].name);
	return xasprintf("%s %s", f->hosts[x->host].name, f->members[x->member].devices);
}

/* "n028 cuda:0 is 39.7 % slower than the others in transfer"; malloc'ed. */
static char *node_page_title(const struct fleet *f, const struct fleet_subject *subject)
{
	char *name, *title;

	/* Open findings come first, the worst in front. */
	for (size_t i = 0; i < f->open; i++) {
		const struct fleet_finding *x = &f->findings[i];

		if (!fleet_finding_is_about(f, x, subject))
			continue;
		name = node_page_cohort_finding_name(f, x);
		title = xasprintf("%s is %.1f\u00a0%% slower than the others in %s", name,
				  100 * fleet_findings_percent(x->deficit),
				  f->members[x->member].series->section);
		free(name);
		return title;
	}
	return fleet_findings_subject_name(f, subject);
}

void node_page_cohort_findings_show(const struct fleet *f, const struct fleet_subject *subject,
				    size_t most, struct tree *page)
{
	struct tree *list = tree_list(page, "findings");
	size_t left = 0;

	for (size_t i = 0; i < f->finding_count; i++) {
		const struct fleet_finding *x = &f->findings[i];
		struct tree *map;

		if (subject && !fleet_finding_is_about(f, x, subject))
			continue;
		if (list->count >= most) {
			left++;
			continue;
		}
		map = tree_item(list);
		tree_text(map, "kind", x->decision ? "skipped" : "failed");
		tree_text(map, "symbol", x->decision ? "○" : "✗");
		view_text_owned(map, "subject", fleet_findings_subject_words(f, x));
		view_text_owned(map, "words", fleet_finding_words(f, x));
	}
	tree_textf(page, "more_findings",
		   left ? "%zu more findings are in history fleet --json." : "", left);
}

/* Nothing found is good news only where there was something to compare it with. */
static void node_page_set_answer(const struct node_page *p)
{
	const struct fleet_host *host = &p->fleet->hosts[p->subject->host];
	bool silent = host->silent >= FLEET_SILENT;
	size_t open = 0, decided = 0, compared = 0;
	struct text out = TEXT_EMPTY, found = TEXT_EMPTY;
	struct page_answer answer;
	char first[16], last[16];

	for (size_t i = 0; i < p->fleet->finding_count; i++) {
		const struct fleet_finding *x = &p->fleet->findings[i];

		if (fleet_finding_is_about(p->fleet, x, p->subject))
			*(x->decision ? &decided : &open) += 1;
	}
	for (size_t i = 0; i < p->count; i++)
		compared += p->fleet->cohorts[p->courses[i].cohort].compared &&
			    p->courses[i].recent > 0;
	answer =
		(struct page_answer){ .found = open,
				      .found_word = "Slower than the others",
				      .warned = decided + silent,
				      .warned_word = silent ? "No recent run"
							    : "Slower than the others, all decided",
				      .compared = compared,
				      .total = p->count,
				      .good = "Like the others",
				      .things = "cases",
				      .nothing = "Not compared" };
	view_answer_show(&answer, p->tree);
	history_date(p->fleet->first_day, first);
	history_date(p->fleet->last_day, last);
	if (silent) {
		char date[16];

		history_date(host->last_day, date);
		text_addf(&out, "No run since %s: %zu days. ", date, host->silent);
	}
	format_list(&found, "%zu open finding%s", open, text_plural(open));
	format_count_of(&found, decided, "decided");
	text_addf(&out, "%s; judged in %zu of %zu cases, by runs from %s to %s.", found.data,
		  compared, p->count, first, last);
	text_release(&found);
	tree_text_owned(p->tree, "verdict", text_detach(&out));
}

/* The mean of the others over all nights: what percents are of. */
static double node_page_base_of(const struct course *x)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < x->count; i++)
		if (!isnan(x->nights[i].others)) {
			sum += x->nights[i].others;
			n++;
		}
	return n ? sum / (double)n : (double)NAN;
}

static void node_page_chart_add_point(struct chart_series *line, int64_t day, int64_t last,
				      double y, double low, double high, size_t n)
{
	char date[16];
	struct chart_point *point;

	history_date(day, date);
	point = chart_point_new(line, date);
	point->x = (double)(day - last);
	point->y = expm1(y);
	point->low = expm1(low);
	point->high = expm1(high);
	point->n = n;
}

/* name of the subject if it differs from the page's; else "" */
static void node_page_draw_course(const struct node_page *p, const struct course *x,
				  const char *name, struct tree *charts)
{
	const struct history_series *s = node_page_course_series(p, x);
	double base = node_page_base_of(x);
	const char *other = p->subject->machine ? "other devices" : "other nodes";
	struct chart_series *own, *others;
	char last[16];
	struct chart chart;

	if (isnan(base))
		return;
	history_date(p->fleet->last_day, last);
	chart_init(&chart, CHART_LINES);
	chart.id = xasprintf("nights-%zu", charts->count + 1);
	chart.title = xasprintf("%s%s%s, %s", name, *name ? ": " : "", s->point,
				format_metric(s->metric).text);
	/* The legend stands once. */
	chart.shows =
		charts->count
			? xstrdup("")
			: xasprintf("Each day next to the %s, in percent of their mean level; "
				    "higher is "
				    "better. Area around the %s: the middle 80 %% of them. Area "
				    "around this "
				    "one: the 95 %% interval of its difference to their median.",
				    other, other);
	chart.finding = fleet_findings_course_words(p->fleet, p->subject, x);
	chart.x_name = xasprintf("days before %s", last);
	chart.x_unit = xstrdup("");
	chart.y_name = xstrdup("to the others' mean level");
	chart_series_named(&chart, other)->style = 7;
	chart_series_named(&chart, p->subject->machine ? "this device" : "this node")->style = 0;
	others = &chart.series[0];
	own = &chart.series[1];
	for (size_t i = 0; i < x->count; i++) {
		const struct course_night *n = &x->nights[i];
		double y = n->own - base;

		if (n->count)
			node_page_chart_add_point(others, n->day, p->fleet->last_day,
						  n->others - base, n->low - base, n->high - base,
						  n->count);
		if (!isnan(n->own))
			node_page_chart_add_point(own, n->day, p->fleet->last_day, y, y - n->half,
						  y + n->half, x->devices);
	}
	chart_in_percent(&chart);
	chart_draw(&chart, charts);
	chart_release(&chart);
}

/* A slow device of the node, in its worst case. The node's median does not show it. */
static void node_page_draw_devices(const struct node_page *p, struct tree *charts)
{
	for (size_t i = 0; i < p->fleet->finding_count && charts->count < MOST_CHARTS; i++) {
		const struct fleet_finding *x = &p->fleet->findings[i];
		const struct fleet_member *member = &p->fleet->members[x->member];
		const struct fleet_subject subject = { x->host, member->series->machine };
		struct node_page device = *p;
		struct course *courses;
		size_t count;

		if (p->subject->machine || x->kind != FLEET_DEVICE ||
		    !fleet_finding_is_about(p->fleet, x, p->subject))
			continue;
		count = fleet_findings_courses(p->fleet, &subject, &courses);
		device.subject = &subject;
		for (size_t k = 0; k < count; k++)
			if (courses[k].cohort == x->cohort)
				node_page_draw_course(&device, &courses[k], member->devices,
						      charts);
		fleet_findings_courses_release(courses, count);
	}
}

enum status node_page_write(const struct fleet *f, const struct fleet_subject *subject,
			    const struct report_options *options, struct error *err)
{
	struct course *courses;
	struct node_page p = { .fleet = f, .subject = subject, .tree = tree_new(TREE_MAP) };
	struct tree *rows = tree_list(p.tree, "rows"), *charts = tree_list(p.tree, "charts");
	char *title = node_page_title(f, subject);

	p.count = fleet_findings_courses(f, subject, &courses);
	p.courses = courses;
	view_text(p.tree, "title", options->title ? options->title : title);
	tree_list(p.tree, "warnings");
	node_page_set_answer(&p);
	node_page_cohort_findings_show(f, subject, SIZE_MAX, p.tree);
	for (size_t i = 0; i < p.count; i++) {
		const struct history_series *s = node_page_course_series(&p, &courses[i]);
		struct tree *map = tree_item(rows);
		char *words = fleet_findings_course_words(p.fleet, p.subject, &courses[i]);

		view_text(map, "case", s->point);
		tree_text(map, "metric", format_metric(s->metric).text);
		view_text(map, "model", s->model);
		view_text_owned(map, "words", words);
	}
	node_page_draw_devices(&p, charts);
	/* The worst course of each suite: the worst come first. */
	for (size_t i = 0; i < p.count && charts->count < MOST_CHARTS; i++) {
		const char *suite = node_page_course_series(&p, &p.courses[i])->section;
		size_t k = 0;

		while (k < i && strcmp(node_page_course_series(&p, &p.courses[k])->section, suite))
			k++;
		if (k == i)
			node_page_draw_course(&p, &p.courses[i], "", charts);
	}
	tree_textf(p.tree, "row_count", "%zu cases", rows->count);
	fleet_findings_courses_release(courses, p.count);
	free(title);
	return html_write("node", options, p.tree, err);
}
