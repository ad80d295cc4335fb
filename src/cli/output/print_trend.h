/* Prints the trend of a history as text and as JSON. */
#ifndef GPUPROOF_CLI_OUTPUT_PRINT_TREND_H
#define GPUPROOF_CLI_OUTPUT_PRINT_TREND_H

#include <stdbool.h>
#include <stdio.h>

#include "base/text.h"
#include "history/trend_news.h"

struct trend_options {
	struct history_filter filter;
	bool all; /* also series without news */
	bool json;
};

/* Appends "note 2026-11-20: text", a line. */
void print_trend_note(struct text *out, const struct history_note *note);

enum status print_trend(struct store *history, const struct trend_options *options,
			struct trend_summary *summary, struct error *err);

#endif
