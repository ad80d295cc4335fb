/*
 * A run's main figures as 8 to 15 lines of text, for a terminal: the headline table (headline.h) in
 * brief. A line has one or two devices with the wider half of their intervals, of more the middle
 * and the worst one; and the share of the data sheet where that is known. The best row of each
 * metric first, then those with a share, in the order of the run.
 */
#ifndef GPUPROOF_REPORT_RUN_HEADLINE_LINES_H
#define GPUPROOF_REPORT_RUN_HEADLINE_LINES_H

#include "base/text.h"
#include "result/result.h"

#define HEADLINE_LINES 15

/*
 * Appends the lines, at most 80 characters wide except for long device names; nothing if nothing
 * was measured. Sentences of any length go to `answers`: on how many lines devices are not
 * distinguishable, and the short answers of the page.
 */
void headline_lines(const struct result *result, struct text *out, struct text *answers);

#endif
