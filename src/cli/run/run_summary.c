#include "cli/run/run_summary.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/fold.h"
#include "cli/output/table.h"
#include "judge/judge.h"
#include "plan/suite.h"
#include "report/run/run_figures.h"
#include "result/outcome.h"
#include "result/status/soak_rows.h"
#include "result/verdict.h"

#define MOST_SHOWN 20

static void run_summary_print_bad(const struct result *result, enum case_status status)
{
	const char *on = table_is_coloured() ? "\033[31m" : "", *off = *on ? "\033[0m" : "";
	size_t shown = 0;

	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];

		if (c->status == status && shown++ < MOST_SHOWN)
			printf("%s%s%s %s: %s\n", on, case_status_name(status), off, c->id,
			       c->reason);
	}
	if (shown > MOST_SHOWN)
		printf("and %zu more\n", shown - MOST_SHOWN);
}

/* Prints impossible values that no limit has rejected. */
static void run_summary_print_impossible(const struct result *result)
{
	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		char *words = impossible_figure(result_device(result, c->device), c);

		if (words)
			printf("impossible: %s: %s\n", c->id, words);
		free(words);
	}
}

/* Their comparisons and checks are as uncertain as their samples. */
static size_t run_summary_count_noisy(const struct result *result)
{
	size_t count = 0;

	for (size_t i = 0; i < result->case_count; i++) {
		const struct case_result *c = &result->cases[i];
		bool noisy = false;

		for (size_t s = 0; s < c->series_count; s++)
			noisy |= c->series[s].statistics.noisy;
		count += noisy && c->status == CASE_OK;
	}
	return count;
}

/* Counts cases ended by a stop request. */
static size_t run_summary_count_stopped(const struct result *result)
{
	size_t count = 0;

	for (size_t i = 0; i < result->case_count; i++)
		count += result->cases[i].end == CASE_END_INTERRUPTED;
	return count;
}

/* Folds lines at word breaks to the width of the terminal; in a pipe a line stays a line. */
static void summary_print_folded(const struct text *lines)
{
	struct text folded = TEXT_EMPTY;

	if (isatty(STDOUT_FILENO))
		fold_text(&folded, lines->data ? lines->data : "", table_terminal_columns(stdout));
	else
		text_add(&folded, lines->data ? lines->data : "");
	fputs(folded.data ? folded.data : "", stdout);
	text_release(&folded);
}

static void run_summary_print_headlines(const struct result *result)
{
	struct text lines = TEXT_EMPTY, answers = TEXT_EMPTY;

	headline_lines(result, &lines, &answers);
	fputs(lines.data ? lines.data : "", stdout);
	summary_print_folded(&answers);
	text_release(&lines);
	text_release(&answers);
}

/* Cases skipped for the same reason, on any devices. */
struct skipped {
	char *reason;
	const struct case_result *first;
	size_t count;
};

/* On a terminal, a line per reason; in a pipe progress has printed them. */
static void run_summary_print_skipped(const struct result *result)
{
	struct skipped *groups = xcalloc(result->case_count + 1, sizeof(*groups));
	struct text lines = TEXT_EMPTY;
	size_t count = 0;

	for (size_t i = 0; i < result->case_count && isatty(STDOUT_FILENO); i++)
		if (result->cases[i].status == CASE_SKIPPED) {
			char *reason = result_outcome_case_common_reason(&result->cases[i]);
			size_t at = 0;

			while (at < count && strcmp(groups[at].reason, reason) != 0)
				at++;
			if (groups[at].count++ == 0) {
				groups[at].reason = reason;
				groups[at].first = &result->cases[i];
				++count;
			} else {
				free(reason);
			}
		}
	for (size_t g = 0; g < count; g++) {
		const struct case_result *c = groups[g].first;

		if (g < MOST_SHOWN && groups[g].count > 1)
			text_addf(&lines, "SKIPPED %zu cases, the first %s: %s\n", groups[g].count,
				  c->id, groups[g].reason);
		else if (g < MOST_SHOWN)
			text_addf(&lines, "SKIPPED %s: %s\n", c->id, c->reason);
		free(groups[g].reason);
	}
	if (count > MOST_SHOWN)
		text_addf(&lines, "and %zu more reasons\n", count - MOST_SHOWN);
	summary_print_folded(&lines);
	text_release(&lines);
	free(groups);
}

/* Prints a row per device of a soak. */
static void run_summary_print_soak(const struct result *result)
{
	struct soak_rows rows = { 0 };
	struct text lines = TEXT_EMPTY;

	for (size_t i = 0; i < result->case_count; i++)
		soak_rows_add(&rows, &result->cases[i]);
	soak_rows_print(&rows, &lines);
	fputs(lines.data ? lines.data : "", stdout);
	text_release(&lines);
	soak_rows_release(&rows);
}

void run_print_summary(const struct result *result)
{
	static const enum case_status order[] = { CASE_OK, CASE_SKIPPED, CASE_FAILED, CASE_ERROR };
	const char *separator = ": ";
	char time[32];

	run_summary_print_skipped(result);
	run_summary_print_headlines(result);
	run_summary_print_soak(result);
	printf("%zu case%s", result->planned, text_plural(result->planned));
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		size_t n = result_outcome_count(result, order[i]);

		if (n == 0)
			continue;
		printf("%s%zu %s", separator, n, case_status_name(order[i]));
		if (order[i] == CASE_SKIPPED && run_summary_count_stopped(result))
			printf(" (%zu interrupted)", run_summary_count_stopped(result));
		separator = ", ";
	}
	if (result_outcome_not_run(result))
		printf("%s%zu not run", separator, result_outcome_not_run(result));
	printf("; %s, %s", result->state, units_format(result->seconds, "s", time, sizeof(time)));
	if (result_outcome_measured_nothing(result))
		printf("; no case was measured");
	if (run_summary_count_noisy(result))
		printf("; %zu noisy%s", run_summary_count_noisy(result),
		       isatty(STDOUT_FILENO) ? " (~)" : "");
	printf("\n");
	run_summary_print_bad(result, CASE_FAILED);
	run_summary_print_bad(result, CASE_ERROR);
	run_summary_print_impossible(result);
	for (size_t i = 0; i < result->preflight_count; i++)
		if (strcmp(result->preflight[i].topic, FINDING_LOST) == 0)
			printf("%s\n", result->preflight[i].text);
	for (size_t i = 0; i < result->case_count; i++)
		for (size_t l = 0; l < result->cases[i].lost_count; l++)
			printf("A worker died: %s\n", result->cases[i].lost[l].reason);
	if (result_outcome_memory_errors(result))
		printf("%" PRIu64 " uncorrected memory errors (ECC)\n",
		       result_outcome_memory_errors(result));
}

void run_summary_print_judgement(const struct result *result, const char *directory)
{
	struct text line = TEXT_EMPTY;

	if (result->judgement) {
		text_addf(&line, "%s\n", result->judgement->sentence);
	} else {
		text_add(&line, "No limits applied. For a verdict: gpuproof check ");
		text_add_shell_word(&line, directory);
		text_add(&line, "\n");
	}
	summary_print_folded(&line);
	text_release(&line);
}

void run_summary_print_resume(const char *directory)
{
	struct text word = TEXT_EMPTY;

	text_add_shell_word(&word, directory);
	fprintf(stderr,
		"gpuproof: finished cases are saved. To continue: gpuproof run --resume %s\n",
		word.data);
	text_release(&word);
}
