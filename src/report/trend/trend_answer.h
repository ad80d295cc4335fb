/* The verdict of the trend page: one sentence, one word, and counts. */
#ifndef GPUPROOF_REPORT_TREND_TREND_ANSWER_H
#define GPUPROOF_REPORT_TREND_TREND_ANSWER_H

#include "report/trend/trend_rows.h"

/* Sets "verdict", "verdict_kind", "verdict_symbol", "verdict_word" and "since". */
void trend_answer(const struct trend_rows *rows, const struct history_nights *nights,
		  struct tree *tree);

#endif
