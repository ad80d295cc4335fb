/* gpuproof history show: prints nights, or the values of series, with their notes. */
#ifndef GPUPROOF_CLI_OUTPUT_SHOW_HISTORY_H
#define GPUPROOF_CLI_OUTPUT_SHOW_HISTORY_H

#include "base/text.h"
#include "history/history.h"

/*
 * Prints the series of a filter with a metric, a case or a series, else the nights; `shown`: number
 * of series.
 */
enum status show_history(struct store *history, const struct history_filter *filter, size_t *shown,
			 struct error *err);

/* Appends "note 2026-11-20: text", a line. */
void note_text(struct text *out, const struct history_note *note);

#endif
