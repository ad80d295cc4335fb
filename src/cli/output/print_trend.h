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

/* Prints notes of whole nights, and of a series unless that is 0: "note 2026-11-20: text". */
void print_trend_notes(const struct history_notes *notes, int64_t series);

enum status print_trend(struct store *history, const struct trend_options *options,
			struct trend_summary *summary, struct error *err);

#endif
