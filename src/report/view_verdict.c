/* The answer: verdict, counts, warnings, and what went wrong. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/format.h"
#include "report/view.h"

struct counts {
	size_t of[4]; /* by case status */
	size_t total, noisy, verified, no_interval, unreached;
	bool stopped; /* a run that did not get to its end */
};

static void count_case(struct counts *n, const struct case_result *c)
{
	const struct metric_value *m = view_headline(c);

	n->of[c->status]++;
	n->total++;
	if (c->status != CASE_OK)
		return;
	n->noisy += view_noisy(c);
	n->verified += c->verification.done;
	n->no_interval += m && view_series(c, m) && isnan(m->low);
}

static void count_all(const struct view *view, struct counts *n)
{
	*n = (struct counts){ 0 };
	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];

		for (size_t i = 0; i < result->case_count; i++)
			count_case(n, &result->cases[i]);
		if (result->planned > result->case_count)
			n->unreached += result->planned - result->case_count;
		if (strcmp(view_string(result->state), "complete") != 0)
			n->stopped = true;
	}
}

static void count_suite(const struct view *view, const char *suite, struct counts *n)
{
	*n = (struct counts){ 0 };
	for (size_t r = 0; r < view->count; r++)
		for (size_t i = 0; i < view->results[r].case_count; i++)
			if (strcmp(view_string(view->results[r].cases[i].suite), suite) == 0)
				count_case(n, &view->results[r].cases[i]);
}

static const char *cases(size_t n)
{
	return n == 1 ? "case" : "cases";
}

/* "2 wrong results, 1 error" */
static void say_bad(struct text *out, const struct counts *n)
{
	if (n->of[CASE_FAILED])
		text_addf(out, "%zu wrong %s", n->of[CASE_FAILED], n->of[CASE_FAILED] == 1 ? "result" : "results");
	if (n->of[CASE_ERROR])
		text_addf(out, "%s%zu %s", out->length ? " and " : "", n->of[CASE_ERROR],
			  n->of[CASE_ERROR] == 1 ? "error" : "errors");
}

static char *verdict_sentence(const struct counts *n)
{
	size_t not_run = n->of[CASE_SKIPPED] + n->unreached, planned = n->total + n->unreached;
	struct text out = TEXT_EMPTY;

	if (!n->total)
		return xstrdup(n->unreached ? "Nothing was measured: the run stopped before its first case ended." :
					      "Nothing was measured: the result holds no case.");
	say_bad(&out, n);
	if (out.length)
		text_addf(&out, " in %zu %s.", planned, cases(planned));
	else if (n->stopped || n->unreached)
		text_addf(&out, "Not finished: %zu of %zu %s ran, without an error.", n->of[CASE_OK], planned,
			  cases(planned));
	else if (not_run)
		text_addf(&out, "%zu of %zu %s ran, all without an error.", n->of[CASE_OK], planned, cases(planned));
	else
		text_addf(&out, "All %zu %s ran without an error.", planned, cases(planned));
	if (not_run)
		text_addf(&out, " %zu %s not run.", not_run, not_run == 1 ? "was" : "were");
	if (n->of[CASE_OK] && n->verified == n->of[CASE_OK])
		text_add(&out, " Every result that is shown was checked against a reference.");
	else if (n->of[CASE_OK])
		text_addf(&out, " %zu of the %zu results were checked against a reference.", n->verified,
			  n->of[CASE_OK]);
	return text_detach(&out);
}

/* Words of the verdict's class in report.css, its symbol and its heading. */
static void verdict_kind(const struct counts *n, const char **kind, const char **symbol, const char **word)
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
	} else {
		*kind = "ok";
		*word = n->of[CASE_SKIPPED] ? "No errors in what ran" : "No errors";
		*symbol = format_status_symbol(CASE_OK);
	}
}

static void add_tile(struct tree *tiles, const char *kind, const char *symbol, size_t count, const char *words)
{
	struct tree *tile = tree_item(tiles);

	tree_text(tile, "kind", count ? kind : "none");
	tree_text(tile, "symbol", symbol);
	tree_textf(tile, "count", "%zu", count);
	tree_text(tile, "words", words);
}

void view_verdict(const struct view *view, struct tree *page)
{
	const char *kind, *symbol, *word;
	struct counts n;
	struct tree *tiles;

	count_all(view, &n);
	verdict_kind(&n, &kind, &symbol, &word);
	tree_text(page, "verdict_kind", kind);
	tree_text(page, "verdict_symbol", symbol);
	tree_text(page, "verdict_word", word);
	tree_text_owned(page, "verdict", verdict_sentence(&n));
	tiles = tree_list(page, "tiles");
	add_tile(tiles, "failed", format_status_symbol(CASE_FAILED), n.of[CASE_FAILED], "wrong result");
	add_tile(tiles, "error", format_status_symbol(CASE_ERROR), n.of[CASE_ERROR], "error");
	add_tile(tiles, "skipped", format_status_symbol(CASE_SKIPPED), n.of[CASE_SKIPPED] + n.unreached, "not run");
	add_tile(tiles, "noisy", "~", n.noisy, "noisy, of those OK");
	add_tile(tiles, "ok", format_status_symbol(CASE_OK), n.of[CASE_OK], "OK");
}

void view_run_counts(const struct view *view, size_t run, struct tree *map)
{
	const struct result *result = &view->results[run];
	struct counts n = { 0 };

	for (size_t i = 0; i < result->case_count; i++)
		count_case(&n, &result->cases[i]);
	if (result->planned > result->case_count)
		n.unreached = result->planned - result->case_count;
	tree_textf(map, "ok", "%zu", n.of[CASE_OK]);
	tree_textf(map, "failed", "%zu", n.of[CASE_FAILED]);
	tree_textf(map, "errors", "%zu", n.of[CASE_ERROR]);
	tree_textf(map, "not_run", "%zu", n.of[CASE_SKIPPED] + n.unreached);
}

/* "220 cases: 1 wrong result, 4 not run, 12 noisy": a suite's own answer. */
void view_suite_counts(const struct view *view, const char *suite, struct tree *map)
{
	struct text out = TEXT_EMPTY, bad = TEXT_EMPTY;
	struct counts n;

	count_suite(view, suite, &n);
	say_bad(&bad, &n);
	text_addf(&out, "%zu %s", n.total, cases(n.total));
	if (bad.length)
		text_addf(&out, ": %s", bad.data);
	else
		text_add(&out, n.of[CASE_OK] ? ", no errors" : "");
	if (n.of[CASE_SKIPPED])
		text_addf(&out, ", %zu not run", n.of[CASE_SKIPPED]);
	if (n.noisy)
		text_addf(&out, ", %zu noisy", n.noisy);
	text_add_char(&out, '.');
	tree_text_owned(map, "counts", text_detach(&out));
	text_release(&bad);
}

/* NVML's throttle reasons that cost speed; idle, application clocks and display clocks do not count. */
static const struct {
	int64_t bit;
	const char *words;
} throttles[] = {
	{ 0x04, "power cap" },
	{ 0x08, "hardware slowdown" },
	{ 0x20, "temperature, by software" },
	{ 0x40, "temperature, by hardware" },
	{ 0x80, "power brake" },
};

static int64_t throttle_bits(const struct telemetry *t)
{
	int64_t bits = 0;

	for (size_t i = 0; t->throttle_reasons > 0 && i < ARRAY_SIZE(throttles); i++)
		bits |= t->throttle_reasons & throttles[i].bit;
	return bits;
}

static void warn(struct tree *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct tree *list, const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	tree_item_text(list, text);
}

static void warn_telemetry(const struct view *view, size_t s, struct tree *list)
{
	const struct view_source *source = &view->sources[s];
	size_t throttled = 0;
	int64_t bits = 0, ecc = 0, replays = 0;
	struct text reasons = TEXT_EMPTY;

	for (size_t i = 0; i < source->result->case_count; i++) {
		const struct case_result *c = &source->result->cases[i];
		int64_t own;

		if (strcmp(view_string(c->device), source->device) != 0)
			continue;
		own = throttle_bits(&c->after);
		throttled += own != 0;
		bits |= own;
		if (c->before.ecc_uncorrected >= 0 && c->after.ecc_uncorrected > c->before.ecc_uncorrected)
			ecc += c->after.ecc_uncorrected - c->before.ecc_uncorrected;
		if (c->before.pcie_replays >= 0 && c->after.pcie_replays > c->before.pcie_replays)
			replays += c->after.pcie_replays - c->before.pcie_replays;
	}
	for (size_t i = 0; i < ARRAY_SIZE(throttles); i++)
		if (bits & throttles[i].bit)
			text_addf(&reasons, "%s%s", reasons.length ? ", " : "", throttles[i].words);
	if (ecc)
		warn(list, "%s: %lld uncorrected memory errors (ECC) while the run went on.", source->label, (long long)ecc);
	if (throttled)
		warn(list, "%s was throttled in %zu %s (%s): its clock was lower than it could be.", source->label,
		     throttled, cases(throttled), reasons.data);
	if (replays)
		warn(list, "%s: %lld PCIe replays while the run went on.", source->label, (long long)replays);
	text_release(&reasons);
}

static void warn_device(const struct view_source *source, struct tree *list)
{
	const struct device_info *d = source->info;

	if (!d)
		return;
	if (d->ecc == 0)
		warn(list, "%s: ECC is off.", source->label);
	if (d->pcie_width && d->pcie_width < d->pcie_width_max)
		warn(list, "%s: PCIe link x%d, the device can do x%d.", source->label, d->pcie_width, d->pcie_width_max);
}

/* One line for all of them: a CPU cut into eight shares is one fact. */
static void warn_host(const struct view *view, struct tree *list)
{
	struct text labels = TEXT_EMPTY;
	size_t count = 0;

	for (size_t s = 0; s < view->source_count; s++) {
		const struct view_source *source = &view->sources[s];

		if (source->info && strcmp(source->info->backend, "host") == 0)
			text_addf(&labels, "%s%s", count++ ? ", " : "", source->label);
	}
	if (count == 1)
		warn(list, "%s is a CPU: its numbers are the CPU's, not a GPU's.", labels.data);
	else if (count)
		warn(list, "%s are shares of a CPU: their numbers are the CPU's, not a GPU's.", labels.data);
	text_release(&labels);
}

static void warn_unfinished(const struct view *view, struct tree *list)
{
	char letter[4];

	for (size_t r = 0; r < view->count; r++) {
		const char *state = view_string(view->results[r].state);

		if (strcmp(state, "complete") == 0)
			continue;
		warn(list, "The run%s%s %s before its end: cases may be missing.", view->count > 1 ? " " : "",
		     view->count > 1 ? view_letter(r, letter) : "",
		     strcmp(state, "interrupted") == 0 ? "was interrupted" : "stopped");
	}
}

void view_warnings(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "warnings");
	struct counts n;

	count_all(view, &n);
	warn_unfinished(view, list);
	warn_host(view, list);
	for (size_t s = 0; s < view->source_count; s++) {
		warn_telemetry(view, s, list);
		warn_device(&view->sources[s], list);
	}
	if (n.noisy)
		warn(list, "%zu of %zu %s are noisy: their samples scatter or drift more than the limits allow. They are "
		     "marked with ~.", n.noisy, n.of[CASE_OK], cases(n.of[CASE_OK]));
	if (n.no_interval)
		warn(list, "%zu %s no interval: fewer than six independent samples.", n.no_interval,
		     n.no_interval == 1 ? "case has" : "cases have");
}

static void add_problem(const struct view *view, size_t run, const struct case_result *c, struct tree *list)
{
	struct tree *problem = tree_item(list);
	char error[FORMAT_SIZE], tolerance[FORMAT_SIZE], seconds[FORMAT_SIZE];
	char *devices = view_devices(c);

	tree_text(problem, "kind", c->status == CASE_FAILED ? "failed" : "error");
	tree_text(problem, "symbol", format_status_symbol(c->status));
	tree_text(problem, "word", format_status_word(c->status));
	view_text(problem, "id", c->id);
	view_text(problem, "where", view->count > 1 ? view->sources[view_source_of(view, run, c)].label : devices);
	view_text(problem, "reason", *view_string(c->reason) ? c->reason : "no reason was recorded");
	view_text(problem, "method", c->verification.done ? c->verification.method : "");
	if (isfinite(c->verification.error))
		tree_textf(problem, "error", "error %s, allowed %s",
			   format_scaled(c->verification.error, 1, error, sizeof(error)),
			   format_scaled(c->verification.tolerance, 1, tolerance, sizeof(tolerance)));
	else
		tree_text(problem, "error", "");
	view_text(problem, "notes", c->notes);
	tree_text(problem, "after", format_seconds(c->seconds, seconds, sizeof(seconds)));
	free(devices);
}

void view_problems(const struct view *view, struct tree *page)
{
	static const enum case_status order[] = { CASE_FAILED, CASE_ERROR };
	struct tree *list = tree_list(page, "problems");

	for (size_t s = 0; s < ARRAY_SIZE(order); s++)
		for (size_t r = 0; r < view->count; r++)
			for (size_t i = 0; i < view->results[r].case_count; i++)
				if (view->results[r].cases[i].status == order[s])
					add_problem(view, r, &view->results[r].cases[i], list);
	tree_flag(page, "has_problems", list->count != 0);
}

struct skip_group {
	const char *reason, *suite;
	struct tree *ids;
	size_t count;
};

void view_skipped(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "skipped");
	struct skip_group *groups = NULL;
	size_t count = 0, capacity = 0, unreached = 0;

	for (size_t r = 0; r < view->count; r++) {
		const struct result *result = &view->results[r];

		if (result->planned > result->case_count)
			unreached += result->planned - result->case_count;
		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];
			size_t g = 0;

			if (c->status != CASE_SKIPPED)
				continue;
			while (g < count && (strcmp(groups[g].reason, view_string(c->reason)) != 0 ||
					     strcmp(groups[g].suite, view_string(c->suite)) != 0))
				g++;
			if (g == count) {
				struct tree *map = tree_item(list);

				ARRAY_GROW(groups, count, capacity);
				groups[count++] = (struct skip_group){ view_string(c->reason), view_string(c->suite), NULL, 0 };
				view_text(map, "suite", c->suite);
				view_text(map, "reason", *view_string(c->reason) ? c->reason : "no reason was recorded");
				groups[g].ids = tree_list(map, "ids");
			}
			groups[g].count++;
			{
				char *id = format_cut(view_string(c->id), FORMAT_LONGEST);

				tree_item_text(groups[g].ids, id);
				free(id);
			}
		}
	}
	for (size_t g = 0; g < count; g++)
		tree_textf(list->children[g], "count", "%zu", groups[g].count);
	free(groups);
	if (unreached)
		tree_textf(page, "unreached", "%zu more %s planned and never reached.", unreached,
			   unreached == 1 ? "case was" : "cases were");
	else
		tree_text(page, "unreached", "");
	tree_flag(page, "has_skipped", count || unreached);
}
