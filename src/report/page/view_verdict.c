/* The answer: verdict, counts, warnings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"
#include "result/verdict.h"

/* "2 wrong results, 1 error" */
static void view_verdict_say_bad(struct text *out, const struct view_counts *n)
{
	if (n->of[CASE_FAILED])
		text_addf(out, "%zu wrong %s", n->of[CASE_FAILED],
			  n->of[CASE_FAILED] == 1 ? "result" : "results");
	if (n->of[CASE_ERROR])
		text_addf(out, "%s%zu %s", out->length ? " and " : "", n->of[CASE_ERROR],
			  n->of[CASE_ERROR] == 1 ? "error" : "errors");
}

static char *view_verdict_sentence(const struct view_counts *n)
{
	size_t not_run = n->of[CASE_SKIPPED] + n->unreached, planned = n->total + n->unreached;
	struct text out = TEXT_EMPTY;

	if (!n->total)
		return xstrdup(n->unreached ? "Nothing was measured: the run stopped before its "
					      "first case ended."
					    : "Nothing was measured: the result has no case.");
	view_verdict_say_bad(&out, n);
	if (out.length)
		text_addf(&out, " in %zu %s.", planned, format_cases(planned));
	else if (n->stopped || n->unreached)
		text_addf(&out, "Not finished: %zu of %zu %s ran, without an error.",
			  n->of[CASE_OK], planned, format_cases(planned));
	else if (not_run)
		text_addf(&out, "%zu of %zu %s ran, all without an error.", n->of[CASE_OK], planned,
			  format_cases(planned));
	else
		text_addf(&out, "All %zu %s ran without an error.", planned, format_cases(planned));
	if (not_run)
		text_addf(&out, " %zu %s not run.", not_run, not_run == 1 ? "was" : "were");
	if (n->of[CASE_OK] && n->verified == n->of[CASE_OK])
		text_add(&out, " Every result that is shown was checked against a reference.");
	else if (n->of[CASE_OK])
		text_addf(&out, " %zu of the %zu results were checked against a reference.",
			  n->verified, n->of[CASE_OK]);
	return text_detach(&out);
}

/* Most of it did not happen: what ran without an error is no reason for a green box. */
static bool view_verdict_mostly_not_run(const struct view_counts *n)
{
	return 2 * n->of[CASE_SKIPPED] > n->total;
}

static size_t view_verdict_count_reason(const struct view *view, const char *reason)
{
	size_t n = 0;

	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];

			n += c->status == CASE_SKIPPED &&
			     strcmp(view_string(c->reason), reason) == 0;
		}
	return n;
}

/* The most common reason of skipped cases; "" without any. */
static const char *view_verdict_common_reason(const struct view *view, size_t *count)
{
	const char *common = "", *last = "";

	*count = 0;
	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++) {
			const struct case_result *c = &view->results[r].cases[i];
			size_t n;

			if (c->status != CASE_SKIPPED || strcmp(view_string(c->reason), last) == 0)
				continue;
			last = view_string(c->reason);
			n = view_verdict_count_reason(view, last);
			if (n > *count) {
				*count = n;
				common = last;
			}
		}
	return common;
}

/* The judgement that the page shows, if it shows one run; several are compared, not judged. */
static const struct verdicts *view_verdict_judgement_of(const struct view *view)
{
	return view->count == 1 ? view->results[0].judgement : NULL;
}

/* Words of the verdict's class in report.css, its symbol and its heading. */
static void view_verdict_kind(const struct view_counts *n, const char **kind, const char **symbol,
			      const char **word)
{
	if (n->of[CASE_FAILED]) {
		*kind = "failed";
		*word = "Wrong results";
		*symbol = format_status_symbol(CASE_FAILED);
	} else if (n->of[CASE_ERROR]) {
		*kind = "error";
		*word = "Errors";
		*symbol = format_status_symbol(CASE_ERROR);
	} else if (n->stopped || n->unreached || !n->of[CASE_OK]) {
		*kind = "skipped";
		*word = n->of[CASE_OK] ? "Not finished" : "Nothing measured";
		*symbol = format_status_symbol(CASE_SKIPPED);
	} else if (view_verdict_mostly_not_run(n)) {
		*kind = "skipped";
		*word = "Most cases were not run";
		*symbol = format_status_symbol(CASE_SKIPPED);
	} else {
		/* No limit was applied: the page says only that, and not in green. */
		*kind = "neutral";
		*word = n->of[CASE_SKIPPED] ? "No errors in the cases that ran; not judged"
					    : "No errors; not judged";
		*symbol = "\u2022";
	}
}

const char *view_verdict_kind_of(const struct verdicts *v)
{
	if (verdicts_accepted(v))
		return v->counts[VERDICT_WARN] ? "noisy" : "ok";
	if (verdicts_exit_code(v) == 0)
		return "neutral";
	return v->wrong || v->overall == VERDICT_FAIL ? "failed" : "error";
}

const char *view_verdict_symbol(const struct verdicts *v)
{
	if (verdicts_accepted(v))
		return v->counts[VERDICT_WARN] ? "~" : "✓";
	if (verdicts_exit_code(v) == 0)
		return "•";
	return v->wrong || v->overall == VERDICT_FAIL ? "✗" : "?";
}

/* Each cause of a check that is not accepted, with its number of checks and what to do. */
static void view_verdict_set_causes(const struct verdicts *v, struct tree *page)
{
	struct tree *list = tree_list(page, "causes");
	size_t counts[CAUSE_COUNT] = { 0 };

	for (size_t i = 0; v && i < v->count; i++)
		counts[v->checks[i].cause] += !v->checks[i].accepted;
	for (int cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
		struct tree *item;

		if (!counts[cause])
			continue;
		item = tree_item(list);
		tree_text(item, "cause", cause_name((enum cause)cause));
		tree_textf(item, "count", "%zu check%s", counts[cause], text_plural(counts[cause]));
		tree_text(item, "action", cause_action((enum cause)cause));
	}
}

/* The same words as on the acceptance page. */
static void view_verdict_set_judgement(const struct verdicts *v, struct tree *page)
{
	tree_flag(page, "judged", v && (verdicts_accepted(v) || verdicts_exit_code(v)));
	view_text(page, "judgement", v ? v->sentence : "");
	view_text(page, "limits_source", v ? v->limits : "");
	view_verdict_set_causes(v, page);
}

static void view_verdict_set_box(const struct verdicts *v, const struct view_counts *n,
				 bool selftest, struct tree *page)
{
	const char *kind, *symbol, *word;

	view_verdict_kind(n, &kind, &symbol, &word);
	if (v) {
		kind = view_verdict_kind_of(v);
		symbol = view_verdict_symbol(v);
		word = verdicts_word(v);
	}
	if (selftest) {
		kind = "neutral";
		word = "Self-test, not judged";
	}
	tree_text(page, "verdict_kind", kind);
	tree_text(page, "verdict_symbol", symbol);
	tree_text(page, "verdict_word", word);
	tree_flag(page, "plain_verdict", (!v || selftest) && strcmp(kind, "neutral") == 0);
}

/* A run that injected faults and found them all does not judge the device. */
static void view_verdict_set_selftest(const struct view_counts *n, double injected,
				      struct tree *page)
{
	tree_textf(page, "verdict",
		   "All %.0f injected errors were found in %zu %s, and nothing else was wrong. "
		   "This is no verdict on the GPU.",
		   injected, n->of[CASE_FAILED], format_cases(n->of[CASE_FAILED]));
}

static void view_verdict_set_sentence(const struct view *view, const struct view_counts *n,
				      struct tree *page)
{
	struct text out = TEXT_EMPTY;
	char *sentence = view_verdict_sentence(n);
	const char *reason;
	size_t count;

	text_add(&out, sentence);
	reason = view_verdict_common_reason(view, &count);
	if (view_verdict_mostly_not_run(n) && *reason)
		text_addf(&out, " Most common reason (%zu %s): %s.", count, format_cases(count),
			  reason);
	view_text_owned(page, "verdict", text_detach(&out));
	free(sentence);
}

void view_verdict(const struct view *view, struct tree *page)
{
	struct view_counts n;
	double injected;
	bool selftest;

	view_count(view, &n);
	selftest = view->count == 1 && !view_verdict_judgement_of(view) &&
		   view_is_selftest(view->results, &injected);
	view_verdict_set_box(view_verdict_judgement_of(view), &n, selftest, page);
	view_verdict_set_judgement(view_verdict_judgement_of(view), page);
	if (selftest)
		view_verdict_set_selftest(&n, injected, page);
	else
		view_verdict_set_sentence(view, &n, page);
}

void view_verdict_run_counts(const struct view *view, size_t run, struct tree *map)
{
	const struct result *result = &view->results[run];
	struct view_counts n = { 0 };

	for (size_t i = 0; i < result->case_count; i++)
		view_count_case(&n, &result->cases[i]);
	if (result->planned > result->case_count)
		n.unreached = result->planned - result->case_count;
	tree_textf(map, "ok", "%zu", n.of[CASE_OK]);
	tree_textf(map, "failed", "%zu", n.of[CASE_FAILED]);
	tree_textf(map, "errors", "%zu", n.of[CASE_ERROR]);
	tree_textf(map, "not_run", "%zu", n.of[CASE_SKIPPED] + n.unreached);
}

/* "220 cases: 1 wrong result, 4 not run, 12 noisy": a suite's own answer. */
void view_verdict_suite_counts(const struct view *view, const char *suite, struct tree *map)
{
	struct text out = TEXT_EMPTY, bad = TEXT_EMPTY;
	struct view_counts n;
	double injected;

	n = (struct view_counts){ 0 };
	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++)
			if (strcmp(view_string(view->results[r].cases[i].suite), suite) == 0)
				view_count_case(&n, &view->results[r].cases[i]);
	if (view->count == 1 && view_is_selftest(view->results, &injected))
		text_add(&bad, n.of[CASE_FAILED] ? "all injected errors found" : "");
	else
		view_verdict_say_bad(&bad, &n);
	text_addf(&out, "%zu %s", n.total, format_cases(n.total));
	if (bad.length)
		text_addf(&out, ": %s", bad.data);
	else
		text_add(&out, n.of[CASE_OK] ? ", no errors" : "");
	if (n.of[CASE_SKIPPED])
		text_addf(&out, ", %zu not run", n.of[CASE_SKIPPED]);
	text_add_char(&out, '.');
	tree_text_owned(map, "counts", text_detach(&out));
	text_release(&bad);
}
