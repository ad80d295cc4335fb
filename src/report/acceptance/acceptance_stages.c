/* The four stages of an acceptance in their order: what each found, and those that were not run. */
#include <string.h>

#include "base/text.h"
#include "report/acceptance/acceptance.h"
#include "report/view/format.h"
#include "report/view/suite_page.h"
#include "report/view/view.h"
#include "result/outcome.h"

struct stage_sum {
	size_t cases, ran, verified, passed;
	size_t findings; /* of sanity */
	double seconds;
	enum verdict worst; /* of the checks that are not accepted; VERDICT_PASS: none */
	bool warned;
};

static enum run_stage stage_of_check(const struct result *r, const struct verdict_check *c)
{
	for (size_t i = 0; *c->case_id && i < r->case_count; i++)
		if (strcmp(view_string(r->cases[i].id), c->case_id) == 0)
			return r->cases[i].stage;
	/* Findings about a device, without a case. */
	return *c->devices && c->comparison == NO_COMPARISON && c->aspect == ASPECT_CONDITION
		       ? RUN_STAGE_SANITY
		       : RUN_STAGE_NONE;
}

static void stage_add_check(struct stage_sum *s, const struct verdict_check *c)
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

static void stage_set_words(struct tree *item, const char *kind, const char *symbol,
			    const char *word)
{
	tree_text(item, "kind", kind);
	tree_text(item, "symbol", symbol);
	tree_text(item, "word", word);
}

/* Findings decide sanity and the comparison of each result decides the soak, without a limit. */
static bool stage_was_judged(const struct stage_sum *s, enum run_stage stage)
{
	if (stage == RUN_STAGE_SANITY)
		return s->findings > 0;
	if (stage == RUN_STAGE_SOAK)
		return s->verified == s->ran;
	return s->passed || s->warned;
}

static void stage_add_outcome(const struct stage_sum *s, enum run_stage stage, struct tree *item)
{
	static const char *const words[VERDICT_COUNT] = {
		[VERDICT_FAIL] = "rejected",
		[VERDICT_ERROR] = "could not be judged",
		[VERDICT_INCONCLUSIVE] = "inconclusive",
		[VERDICT_SKIP] = "not measured",
		[VERDICT_WARN] = "rejected",
	};

	if (stage != RUN_STAGE_SANITY && !s->ran)
		stage_set_words(item, "skipped", "○", "not run");
	else if (s->worst != VERDICT_PASS)
		stage_set_words(item, acceptance_kind(s->worst), acceptance_symbol(s->worst),
				words[s->worst]);
	else if (!stage_was_judged(s, stage))
		stage_set_words(item, "skipped", "○", "not judged");
	else
		stage_set_words(item, s->warned ? "noisy" : "ok", s->warned ? "~" : "✓",
				s->warned ? "passed with warnings" : "passed");
	if (stage == RUN_STAGE_SANITY)
		tree_text(item, "detail", "findings about the GPUs before and after");
	else if (!s->ran)
		tree_text(item, "detail", "");
	else
		tree_textf(item, "detail", "%zu of %zu cases in %s", s->ran, s->cases,
			   format_quantity(s->seconds, "s").text);
}

void acceptance_stages(const struct acceptance *a, struct tree *page)
{
	const struct result *r = a->result;
	struct tree *list = tree_list(page, "stages");
	struct stage_sum sums[RUN_STAGE_COUNT] = { 0 };
	bool has_stages = result_plans_stage(r, RUN_STAGE_SANITY);

	tree_flag(page, "has_stages", has_stages);
	if (!has_stages)
		return;
	for (int i = 0; i < RUN_STAGE_COUNT; i++)
		sums[i].worst = VERDICT_PASS;
	sums[RUN_STAGE_SANITY].findings = r->preflight_count;
	for (size_t i = 0; i < r->case_count; i++) {
		struct stage_sum *s = &sums[r->cases[i].stage];

		s->cases++;
		s->ran += r->cases[i].status != CASE_SKIPPED;
		s->verified += r->cases[i].verification.done;
		s->seconds += r->cases[i].seconds;
	}
	for (size_t i = 0; i < r->judgement->count; i++)
		stage_add_check(&sums[stage_of_check(r, &r->judgement->checks[i])],
				&r->judgement->checks[i]);
	for (int i = RUN_STAGE_SANITY; i < RUN_STAGE_COUNT; i++) {
		struct tree *item;

		if (!result_plans_stage(r, (enum run_stage)i))
			continue;
		item = tree_item(list);
		tree_text(item, "name", run_stage_names[i]);
		stage_add_outcome(&sums[i], (enum run_stage)i, item);
	}
}

static bool stage_has_suite(const struct result *r, enum run_stage stage, const char *suite)
{
	for (size_t i = 0; i < r->case_count; i++)
		if (r->cases[i].stage == stage && r->cases[i].status != CASE_SKIPPED &&
		    strcmp(r->cases[i].suite, suite) == 0)
			return true;
	return false;
}

void acceptance_soak(const struct view *view, struct tree *page)
{
	struct tree *answers = tree_list(page, "soak_answers"),
		    *tables = tree_list(page, "soak_tables");
	struct text terms = TEXT_EMPTY;

	for (size_t i = 0; i < view->suite_count; i++) {
		struct suite_page suite = suite_page_of(view->suites[i]);

		if (suite.answer && stage_has_suite(view->results, RUN_STAGE_SOAK, view->suites[i]))
			suite.answer(view, view->suites[i], answers, tables, &terms);
	}
	text_release(&terms);
	tree_flag(page, "has_soak", answers->count || tables->count);
}
