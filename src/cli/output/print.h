/* Prints verdicts, comparisons, trends and fleets as text and, the last two, as JSON. */
#ifndef GPUPROOF_CLI_OUTPUT_PRINT_H
#define GPUPROOF_CLI_OUTPUT_PRINT_H

#include "compare/compare.h"
#include "history/fleet/fleet.h"
#include "history/trend_news.h"
#include "result/verdict.h"

/*
 * Prints every check that did not pass, worst last (with `all` preceded by those that passed), the
 * counts, what each device fails, the judged aspects of each, the remedy for each cause, and in the
 * last line the sentence. The least important part scrolls away.
 */
void print_verdicts(const struct verdicts *verdicts, bool all);

/*
 * Prints the counts, then the changes, then differences of the environment; with `all` also
 * unchanged cases.
 */
void print_comparison(const struct comparison *comparison, bool all);

struct json_writer;
/* Prints the text that was written, and releases it. */
void print_json(struct json_writer *w);
/* "2026-11-20" */
void print_date_member(struct json_writer *w, const char *name, int64_t day);

void print_fleet(const struct fleet *fleet, bool json);
/* A node or a device night by night next to the others. */
void print_fleet_node(const struct fleet *fleet, const struct fleet_subject *subject, bool json);

struct trend_options {
	struct history_filter filter;
	bool all; /* also series without news */
	bool json;
};

/* Prints notes of whole nights, and of a series unless that is 0: "note 2026-11-20: text". */
void print_trend_notes(const struct history_notes *notes, int64_t series);

enum status print_trend(struct store *history, const struct trend_options *options,
			struct trend_summary *summary, struct error *err);

#endif
