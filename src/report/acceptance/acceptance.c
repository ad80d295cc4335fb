#include "report/acceptance/acceptance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "judge/judge.h"
#include "report/figure/figure.h"
#include "report/page/html.h"
#include "report/page/view_sections.h"
#include "report/template/template.h"
#include "report/view/suite_page.h"
#include "result/outcome.h"

#define MOST_REASONS 8
#define MOST_HEADLINES 3

static const struct {
	const char *kind, *symbol;
} looks[VERDICT_COUNT] = {
	[VERDICT_PASS] = { "ok", "✓" },      [VERDICT_WARN] = { "noisy", "~" },
	[VERDICT_FAIL] = { "failed", "✗" },  [VERDICT_INCONCLUSIVE] = { "error", "?" },
	[VERDICT_SKIP] = { "skipped", "○" }, [VERDICT_ERROR] = { "error", "!" },
};

void acceptance_set_words(struct tree *item, const char *kind, const char *symbol, const char *word)
{
	tree_text(item, "kind", kind);
	tree_text(item, "symbol", symbol);
	tree_text(item, "word", word);
}

void acceptance_set_verdict(struct tree *item, enum verdict verdict)
{
	acceptance_set_words(item, looks[verdict].kind, looks[verdict].symbol,
			     verdict_fields_name(verdict));
}

void acceptance_set_answer(const struct verdicts *v, struct tree *page)
{
	tree_text(page, "verdict_kind", view_verdict_kind_of(v));
	tree_text(page, "verdict_symbol", view_verdict_symbol(v));
	tree_text(page, "verdict_word", verdicts_word(v));
	view_text(page, "verdict", v->sentence);
}

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
		      { VERDICT_WARN, "passed with a warning" },
		      { VERDICT_SKIP, "not measured" },
		      { VERDICT_PASS, "passed" } };
	struct text counts = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		size_t count = a->result->judgement->counts[order[i].verdict];

		if (count)
			format_list(&counts, "%zu %s", count, order[i].words);
	}
	view_text_owned(page, "check_counts",
			counts.length ? text_detach(&counts) : xstrdup("none"));
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
static void acceptance_set_flight(const struct acceptance *a, struct tree *page)
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
	tree_textf(page, "others_count", "%zu", others->count);
}

static char *acceptance_default_title(const struct result *r)
{
	const char *label = view_string(r->label), *asked = report_setting(r, "title");
	struct text out = TEXT_EMPTY;

	if (*asked)
		return xstrdup(asked);
	text_addf(&out, "Acceptance: %s%s", label, *label ? ", " : "");
	view_add_devices(&out, r);
	return text_detach(&out);
}

/* Maps of all pairs of devices, for each suite that has one. */
static void acceptance_set_topology(const struct view *view, struct tree *page)
{
	struct tree *all = tree_new(TREE_LIST), *maps = tree_list(page, "topology");

	for (size_t i = 0; i < view->suite_count; i++)
		if (figures_view_has_map(view, view->suites[i]))
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
	tree_free(all);
}

static bool acceptance_remedy_was_given(const struct verdicts *v, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(v->reasons[k].remedy, v->reasons[i].remedy) == 0)
			return true;
	return false;
}

static void acceptance_reasons(const struct acceptance *a, struct tree *page)
{
	const struct verdicts *v = a->result->judgement;
	struct tree *items = tree_list(page, "reasons"), *headlines = tree_list(page, "headlines");
	size_t shown = v->reason_count < MOST_REASONS ? v->reason_count : MOST_REASONS;
	const char *config, *limits;
	uint64_t hash;

	for (size_t i = 0; i < shown && i < MOST_HEADLINES && !v->reasons[i].accepted; i++)
		view_text(tree_item(headlines), "headline", v->reasons[i].headline);
	for (size_t i = 0; i < shown; i++) {
		const struct verdict_reason *r = &v->reasons[i];
		struct tree *item = tree_item(items);

		tree_text(item, "symbol", looks[r->verdict].symbol);
		tree_text(item, "word", verdict_fields_name(r->verdict));
		view_text(item, "text", r->text);
		view_text(item, "remedy", acceptance_remedy_was_given(v, i) ? "" : r->remedy);
		tree_text(item, "cause", cause_name(r->cause));
		tree_textf(item, "more", r->checks > 1 ? "%zu checks" : "", r->checks);
	}
	tree_textf(page, "more_reasons",
		   v->reason_count > shown ? "%zu more reason%s: gpuproof check --all" : "",
		   v->reason_count - shown, text_plural(v->reason_count - shown));
	/* Identifies configuration and limits on paper, where they are not printed. */
	config = view_string(a->result->config_text);
	limits = view_string(a->result->judgement->limits_text);
	hash = text_hash(TEXT_HASH_START, config, strlen(config));
	hash = text_hash(hash, limits, strlen(limits));
	tree_textf(page, "fingerprint", "%016" PRIx64, hash);
}

/* The four stages of an acceptance: what each found, and those that were not run. */

struct stage_sum {
	size_t cases, ran, verified, passed;
	size_t findings; /* of sanity */
	double seconds;
	const char *skipped; /* reason of the first case that did not run; NULL: all ran */
	enum verdict worst;  /* of the checks that are not accepted; VERDICT_PASS: none */
	bool warned;
};

static enum run_stage acceptance_stage_of_check(const struct result *r,
						const struct verdict_check *c)
{
	for (size_t i = 0; *c->case_id && i < r->case_count; i++)
		if (strcmp(view_string(r->cases[i].id), c->case_id) == 0)
			return r->cases[i].stage;
	/* Findings about a device, without a case. */
	return *c->devices && c->comparison == NO_COMPARISON && c->aspect == ASPECT_CONDITION
		       ? RUN_STAGE_SANITY
		       : RUN_STAGE_NONE;
}

static void acceptance_stage_add_check(struct stage_sum *s, const struct verdict_check *c)
{
	static const int rank[VERDICT_COUNT] = { [VERDICT_FAIL] = 4,
						 [VERDICT_ERROR] = 3,
						 [VERDICT_INCONCLUSIVE] = 2,
						 [VERDICT_SKIP] = 1 };

	s->passed += c->verdict == VERDICT_PASS;
	s->warned = s->warned || (c->accepted && c->verdict == VERDICT_WARN);
	if (acceptance_is_bad(c) && rank[c->verdict] >= rank[s->worst])
		s->worst = c->verdict;
}

/* Findings decide sanity and the comparison of each result decides the soak, without a limit. */
static bool acceptance_stage_was_judged(const struct stage_sum *s, enum run_stage stage)
{
	if (stage == RUN_STAGE_SANITY)
		return s->findings > 0;
	if (stage == RUN_STAGE_SOAK)
		return s->verified == s->ran;
	return s->passed || s->warned;
}

static void acceptance_stage_add_outcome(const struct stage_sum *s, enum run_stage stage,
					 struct tree *item)
{
	static const char *const words[VERDICT_COUNT] = {
		[VERDICT_FAIL] = "rejected",
		[VERDICT_ERROR] = "could not be judged",
		[VERDICT_INCONCLUSIVE] = "inconclusive",
		[VERDICT_SKIP] = "not measured",
		[VERDICT_WARN] = "rejected",
	};

	if (stage != RUN_STAGE_SANITY && !s->ran)
		acceptance_set_words(item, "skipped", "○", "not run");
	else if (s->worst != VERDICT_PASS)
		acceptance_set_words(item, acceptance_kind(s->worst), acceptance_symbol(s->worst),
				     words[s->worst]);
	else if (!acceptance_stage_was_judged(s, stage))
		acceptance_set_words(item, "skipped", "○", "not judged");
	else
		acceptance_set_words(item, s->warned ? "noisy" : "ok", s->warned ? "~" : "✓",
				     s->warned ? "passed with warnings" : "passed");
	if (stage == RUN_STAGE_SANITY)
		tree_text(item, "detail", "findings about the GPUs before and after the run");
	else if (!s->ran)
		view_text(item, "detail", s->skipped ? s->skipped : "");
	else
		tree_textf(item, "detail", "%zu of %zu cases in %s%s%s", s->ran, s->cases,
			   format_quantity(s->seconds, "s").text, s->skipped ? "; " : "",
			   s->skipped ? s->skipped : "");
}

static void acceptance_stages(const struct acceptance *a, struct tree *page)
{
	const struct result *r = a->result;
	struct tree *list = tree_list(page, "stages");
	struct stage_sum sums[RUN_STAGE_COUNT] = { 0 };

	if (!result_outcome_plans_stage(r, RUN_STAGE_SANITY))
		return;
	for (int i = 0; i < RUN_STAGE_COUNT; i++)
		sums[i].worst = VERDICT_PASS;
	sums[RUN_STAGE_SANITY].findings = r->preflight_count;
	for (size_t i = 0; i < r->case_count; i++) {
		struct stage_sum *s = &sums[r->cases[i].stage];

		s->cases++;
		if (r->cases[i].status == CASE_SKIPPED && !s->skipped)
			s->skipped = r->cases[i].reason;
		s->ran += r->cases[i].status != CASE_SKIPPED;
		s->verified += r->cases[i].status != CASE_SKIPPED && r->cases[i].verification.done;
		s->seconds += r->cases[i].seconds;
	}
	for (size_t i = 0; i < r->judgement->count; i++)
		acceptance_stage_add_check(
			&sums[acceptance_stage_of_check(r, &r->judgement->checks[i])],
			&r->judgement->checks[i]);
	for (int i = RUN_STAGE_SANITY; i < RUN_STAGE_COUNT; i++) {
		struct tree *item;

		if (!result_outcome_plans_stage(r, (enum run_stage)i))
			continue;
		item = tree_item(list);
		tree_text(item, "name", run_stage_names[i]);
		acceptance_stage_add_outcome(&sums[i], (enum run_stage)i, item);
	}
}

static bool acceptance_stage_has_suite(const struct result *r, enum run_stage stage,
				       const char *suite)
{
	for (size_t i = 0; i < r->case_count; i++)
		if (r->cases[i].stage == stage && r->cases[i].status != CASE_SKIPPED &&
		    strcmp(view_string(r->cases[i].suite), suite) == 0)
			return true;
	return false;
}

void acceptance_soak(const struct view *view, struct tree *page)
{
	struct tree *answers = tree_list(page, "soak_answers"),
		    *tables = tree_list(page, "soak_tables");
	struct text terms = TEXT_EMPTY;

	for (size_t i = 0; i < view->suite_count; i++) {
		struct suite_page suite = presented_suite_page_of(view->suites[i]);

		if (suite.answer &&
		    acceptance_stage_has_suite(view->results, RUN_STAGE_SOAK, view->suites[i]))
			suite.answer(view, view->suites[i], answers, tables, &terms);
	}
	text_release(&terms);
	tree_flag(page, "has_soak", answers->count || tables->count);
}

static struct tree *acceptance_page_tree(const struct acceptance *a, const struct view *view,
					 const char *own_title)
{
	struct tree *page = tree_new(TREE_MAP);
	const struct verdicts *v = a->result->judgement;

	view_text_owned(page, "title",
			own_title ? xstrdup(own_title) : acceptance_default_title(a->result));
	view_environment_runs(view, page);
	/* The word at the top, which is all that some readers read. */
	acceptance_set_answer(v, page);
	tree_flag(page, "inconclusive", strcmp(verdicts_word(v), "INCONCLUSIVE") == 0);
	acceptance_stages(a, page);
	acceptance_soak(view, page);
	acceptance_reasons(a, page);
	acceptance_count_checks(a, page);
	view_warnings(view, page);
	view_text(page, "limits_source", v->limits);
	view_text(page, "host", result_fact(a->result, "hostname"));
	tree_text(page, "run_page", a->run_page ? a->run_page : "");
	acceptance_tables_aspects(a, page);
	acceptance_checks(a, page);
	acceptance_charts(a, page);
	acceptance_checks_limits(a, page);
	acceptance_set_flight(a, page);
	acceptance_set_topology(view, page);
	view_problems_skipped(view, page);
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

	acceptance_render(a, options, &html, err);
	return html_publish(options, &html, err);
}
