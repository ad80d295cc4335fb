#include "report/cohort/cohort_page.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/trend.h"
#include "report/cohort/cohort_matrix.h"
#include "report/page/html.h"
#include "report/template/template.h"
#include "report/view/page_answer.h"
#include "report/view/format.h"
#include "report/view/view.h"

#define MOST_FINDINGS 200

/* Nothing compared is no good news; only decided findings are no clean fleet. */
static void cohort_set_answer(const struct fleet *f, struct tree *page)
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
		.things = "GPUs",
		.nothing = "Nothing was compared",
	};
	char first[16], last[16];

	history_date(f->first_day, first);
	history_date(f->last_day, last);
	page_answer_show(&answer, page);
	if (f->compared)
		tree_textf(page, "verdict",
			   "%zu open finding%s, %zu decided. %zu of %zu devices of %zu nodes "
			   "compared, in the nights from %s to %s.%s",
			   f->open, text_plural(f->open), f->finding_count - f->open, f->compared,
			   f->device_count, f->host_count, first, last,
			   f->too_few ? " For the others, too few devices have the same model, "
					"driver and config."
				      : "");
	else
		tree_textf(page, "verdict",
			   "%zu device%s of %zu node%s: a comparison needs %d devices of one "
			   "model, driver and config, on two nodes.",
			   f->device_count, text_plural(f->device_count), f->host_count,
			   text_plural(f->host_count), FLEET_FEWEST);
}

static void cohort_add_findings(const struct fleet *f, struct tree *page)
{
	struct tree *list = tree_list(page, "findings");

	for (size_t i = 0; i < f->finding_count && i < MOST_FINDINGS; i++) {
		const struct fleet_finding *x = &f->findings[i];
		char *subject = fleet_subject_words(f, x), *since = fleet_since_words(x);
		char *decision = x->decision ? triage_words(x->decision) : xstrdup("open");
		const struct history_series *s = f->members[x->member].series;
		struct tree *map = tree_item(list);

		tree_text(map, "kind", x->decision ? "skipped" : "failed");
		tree_text(map, "symbol", x->decision ? "○" : "✗");
		view_text(map, "subject", subject);
		view_text(map, "case", s->point);
		tree_text(map, "metric", format_metric(s->metric).text);
		tree_text(map, "worse", format_margin(-fleet_percent(x->deficit)).text);
		tree_text(map, "half", format_percent(x->half).text);
		tree_text(map, "allowed", format_margin(-fleet_percent(x->allowed)).text);
		tree_textf(map, "cohorts", "%zu", x->cohorts);
		view_text(map, "since", since);
		view_text(map, "state", decision);
		free(subject);
		free(since);
		free(decision);
	}
	tree_textf(page, "more_findings",
		   f->finding_count > list->count ? "%zu more are in history fleet --json." : "",
		   f->finding_count - list->count);
}

static void cohort_add_silent_nodes(const struct fleet *f, struct tree *page)
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
		tree_textf(map, "words", "no run since %s: %zu nights", date, f->hosts[i].silent);
	}
	for (size_t i = 0; i < f->gone_count; i++) {
		const struct history_place *p = f->gone[i].place;
		char *machine = history_machine_words(&f->places, p->machine);
		struct tree *map = tree_item(list);

		view_text(map, "subject", machine);
		history_date(p->day, date);
		tree_textf(map, "words", "not in the last %zu runs of its node, last seen %s",
			   f->gone[i].silent, date);
		free(machine);
	}
}

/* "node07 cuda:2 is 2.7 % slower than the others, and 2 more findings"; malloc'ed. */
static char *cohort_title(const struct fleet *f)
{
	const struct fleet_finding *x = f->findings; /* open ones first, the worst in front */
	struct text out = TEXT_EMPTY;

	if (!f->open)
		return xasprintf("%zu node%s against each other", f->host_count,
				 text_plural(f->host_count));
	text_addf(&out, "%s%s%s %s %.1f\u00a0%% slower than the others",
		  x->kind == FLEET_SLOT ? "Slot " : f->hosts[x->host].name,
		  x->kind == FLEET_DEVICE ? " " : "",
		  x->kind == FLEET_SLOT     ? x->slot
		  : x->kind == FLEET_DEVICE ? f->members[x->member].devices
					    : "",
		  "is", 100 * fleet_percent(x->deficit));
	if (f->open > 1)
		text_addf(&out, ", and %zu more finding%s", f->open - 1, text_plural(f->open - 1));
	return text_detach(&out);
}

enum status report_cohorts_write(const struct fleet *f, const struct report_options *options,
				 struct error *err)
{
	struct tree *page = tree_new(TREE_MAP);
	struct text html = TEXT_EMPTY;

	char *title = cohort_title(f);

	view_text(page, "title", options->title ? options->title : title);
	free(title);
	tree_list(page, "warnings");
	cohort_set_answer(f, page);
	cohort_add_findings(f, page);
	cohort_add_silent_nodes(f, page);
	fleet_strips(f, page);
	fleet_matrix(f, page);
	tree_textf(page, "fewest", "%d", FLEET_FEWEST);
	tree_textf(page, "fewest_hosts", "%d", FLEET_FEWEST_HOSTS);
	tree_textf(page, "tests", "%zu", f->tests);
	tree_text(page, "magnitude", format_percent(FLEET_MAGNITUDE).text);
	tree_text(page, "false_rate", format_percent(FLEET_FALSE).text);
	tree_textf(page, "dated", "%d", TREND_LEAST_NIGHTS);
	tree_textf(page, "reopened", "%d", TRIAGE_NIGHTS);
	if (html_render("cohort", options, page, &html, err) == STATUS_OK)
		html_publish(options, &html, err);
	text_release(&html);
	tree_free(page);
	return err->status;
}
