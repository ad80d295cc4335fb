/* gpuproof history show: nights, or the values of series, with what people noted about them. */
#ifndef GPUPROOF_CLI_OUTPUT_SHOW_HISTORY_H
#define GPUPROOF_CLI_OUTPUT_SHOW_HISTORY_H

#include "base/text.h"
#include "history/history.h"

/*
 * The series of a filter that names a metric, a case or a series, else the nights; `shown`: how
 * many series.
 */
enum status show_history(struct store *history, const struct history_filter *filter, size_t *shown,
			 struct error *err);

/* "note 2026-11-20: text", a line. */
void note_text(struct text *out, const struct history_note *note);

#endif
