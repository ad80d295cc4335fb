/* The trend page's words about a series. All are malloc'ed. */
#ifndef GPUPROOF_REPORT_TREND_TREND_WORDS_H
#define GPUPROOF_REPORT_TREND_TREND_WORDS_H

#include "report/trend/trend_rows.h"

/* "NEW since 2026-02-01: 10.0 µs → 10.5 µs, 5.0 % worse, p = 0.0003" */
char *trend_change_words(const struct trend_row *row, const struct trend_change *change);
/* The row's state in a few words. */
char *trend_state_words(const struct trend_row *row);

/* "matmul: 8 series" of one incident; of one row: its case and metric. */
char *trend_incident_name(const struct trend_row *const *rows, size_t count);
/* "NEW: 9.8 % to 10.2 % worse since 2026-02-01" */
char *trend_incident_words(const struct trend_row *const *rows, size_t count);

#endif
