#include "report/acceptance/acceptance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "judge/judge.h"
#include "report/figure/figure.h"
#include "report/page/html.h"
#include "report/page/settings.h"
#include "report/page/view_sections.h"
#include "report/template/template.h"
#include "report/view/format.h"
#include "report/view/view.h"

static const struct {
	const char *kind, *symbol;
} looks[VERDICT_COUNT] = {
	[VERDICT_PASS] = { "ok", "✓" },      [VERDICT_WARN] = { "noisy", "~" },
	[VERDICT_FAIL] = { "failed", "✗" },  [VERDICT_INCONCLUSIVE] = { "error", "?" },
	[VERDICT_SKIP] = { "skipped", "○" }, [VERDICT_ERROR] = { "error", "!" },
};

const char *acceptance_kind(enum verdict verdict)
{
	return looks[verdict].kind;
}

const char *acceptance_symbol(enum verdict verdict)
{
	return looks[verdict].symbol;
}

bool acceptance_is_bad(const struct verdict_check *c)
{
	return !c->accepted && c->verdict != VERDICT_PASS;
}

/* "2 inconclusive, 103 passed" */
static void acceptance_count_checks(const struct acceptance *a, struct tree *page)
{
	static const struct {
		enum verdict verdict;
		const char *words;
	} order[] = { { VERDICT_FAIL, "failed" },
		      { VERDICT_ERROR, "could not be judged" },
		      { VERDICT_INCONCLUSIVE, "inconclusive" },
		      { VERDICT_WARN, "with a warning" },
		      { VERDICT_SKIP, "not measured" },
		      { VERDICT_PASS, "passed" } };
	struct text counts = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		size_t count = a->result->judgement->counts[order[i].verdict];

		if (count)
			text_addf(&counts, "%s%zu %s", counts.length ? ", " : "", count,
				  order[i].words);
	}
	view_text(page, "check_counts", counts.length ? counts.data : "none");
	text_release(&counts);
}

static const struct finding *acceptance_same_subject(const struct finding *list, size_t count,
						     const struct finding *f)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].subject, f->subject) == 0)
			return &list[i];
	return NULL;
}

static const char *const severities[] = { "ok", "note", "warning", "error" };
static const char *const severity_kinds[] = { "ok", "skipped", "noisy", "failed" };

static void acceptance_add_finding(struct tree *list, const struct finding *before,
				   const struct finding *after, bool changed)
{
	const struct finding *worst =
		!before || (after && after->severity > before->severity) ? after : before;
	struct tree *row = tree_item(list);

	view_text(row, "subject", worst->subject);
	tree_text(row, "kind", severity_kinds[worst->severity]);
	tree_text(row, "word", severities[worst->severity]);
	view_text(row, "before", before ? before->text : "–");
	view_text(row, "after",
		  !after                                             ? "–"
		  : before && strcmp(before->text, after->text) == 0 ? "the same"
								     : after->text);
	tree_text(row, "changed", changed ? "changed" : "");
}

/* Findings with problems or changes are expanded, the others collapsed. */
static void set_flight(const struct acceptance *a, struct tree *page)
{
	const struct result *r = a->result;
	struct tree *notable = tree_list(page, "health_notable"),
		    *others = tree_list(page, "health_others");

	for (size_t i = 0; i < r->preflight_count; i++) {
		const struct finding *f = &r->preflight[i],
				     *after = acceptance_same_subject(r->postflight,
								      r->postflight_count, f);
		bool changed = after && health_changed(f, after);
		bool bad = f->severity >= SEVERITY_WARNING ||
			   (after && after->severity >= SEVERITY_WARNING);

		acceptance_add_finding(changed || bad ? notable : others, f, after, changed);
	}
	for (size_t i = 0; i < r->postflight_count; i++)
		if (!acceptance_same_subject(r->preflight, r->preflight_count, &r->postflight[i]))
			acceptance_add_finding(r->postflight[i].severity >= SEVERITY_WARNING
						       ? notable
						       : others,
					       NULL, &r->postflight[i], true);
	tree_flag(page, "has_flight", notable->count || others->count);
	tree_flag(page, "has_notable", notable->count != 0);
	tree_flag(page, "has_others", others->count != 0);
	tree_textf(page, "others_count", "%zu", others->count);
}

static char *acceptance_default_title(const struct result *r)
{
	const char *label = view_string(r->label), *asked = report_setting(r, "title");
	struct text out = TEXT_EMPTY;

	if (*asked)
		return xstrdup(asked);
	text_addf(&out, "Acceptance: %s%s", label, *label ? ", " : "");
	if (r->device_count > 1 && !device_is_host(&r->devices[0]))
		text_addf(&out, "%zu × ", r->device_count);
	text_add(&out, r->device_count ? r->devices[0].name : "no device");
	return text_detach(&out);
}

/* Maps of all pairs of devices, for each suite that has one. */
static void acceptance_set_topology(const struct view *view, struct tree *page)
{
	struct tree *all = tree_new(TREE_LIST), *maps = tree_list(page, "topology");

	for (size_t i = 0; i < view->suite_count; i++)
		if (view_has_map(view, view->suites[i]))
			view_figures(view, view->suites[i], all);
	for (size_t i = 0; i < all->count; i++) {
		struct tree *chart = all->children[i];

		for (size_t m = 0; m < chart->count; m++) {
			if (chart->children[m]->kind != TREE_MAP ||
			    strcmp(chart->children[m]->name, "heatmap") != 0)
				continue;
			tree_append(maps, chart);
			all->children[i] = tree_new(TREE_MAP);
			break;
		}
	}
	tree_flag(page, "has_topology", maps->count != 0);
	tree_free(all);
}

static struct tree *acceptance_page_tree(const struct acceptance *a, const struct view *view,
					 const char *own_title)
{
	struct tree *page = tree_new(TREE_MAP);
	struct acceptance_devices devices;
	char *title = own_title ? xstrdup(own_title) : acceptance_default_title(a->result);
	const struct verdicts *v;

	view_text(page, "title", title);
	free(title);
	view_runs(view, page);
	/* The word at the top, which is all that some readers read. */
	v = a->result->judgement;
	tree_text(page, "verdict_kind", verdicts_kind(v));
	tree_text(page, "verdict_symbol", verdicts_symbol(v));
	tree_text(page, "verdict_word", verdicts_word(v));
	view_text(page, "verdict", v->sentence);
	tree_flag(page, "inconclusive", strcmp(verdicts_word(v), "INCONCLUSIVE") == 0);
	acceptance_devices_find(&devices, a);
	acceptance_stages(a, page);
	acceptance_soak(view, page);
	acceptance_reasons(a, page);
	acceptance_count_checks(a, page);
	view_warnings(view, page);
	view_text(page, "limits_source", a->result->judgement->limits);
	view_text(page, "host", result_fact(a->result, "hostname"));
	tree_text(page, "run_page", a->run_page ? a->run_page : "");
	acceptance_aspects(a, page);
	acceptance_matrix(a, &devices, page);
	acceptance_devices_release(&devices);
	acceptance_checks(a, page);
	acceptance_charts(a, page);
	acceptance_limits(a, page);
	set_flight(a, page);
	acceptance_set_topology(view, page);
	view_skipped(view, page);
	view_devices_table(view, page);
	view_environment(view, page);
	return page;
}

enum status acceptance_render(const struct acceptance *a, const struct report_options *options,
			      struct text *html, struct error *err)
{
	struct tree *page;
	struct view view;
	enum status status;

	view_init(&view, a->result, 1);
	page = acceptance_page_tree(a, &view, options->title);
	tree_flag(page, "charts_folder", false);
	status = html_render("acceptance", options, page, html, err);
	tree_free(page);
	view_release(&view);
	return status;
}

enum status acceptance_write(const struct acceptance *a, const struct report_options *options,
			     struct error *err)
{
	struct text html = TEXT_EMPTY;
	enum status status = acceptance_render(a, options, &html, err);

	if (status == STATUS_OK)
		status = html_publish(options, &html, err);
	text_release(&html);
	return status;
}
