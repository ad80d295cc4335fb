/*
 * The trend page: changes in a history, night after night, as one HTML page. News first: new
 * regressions by size, warnings, improvements. Then one row per series with its last nights.
 */
#ifndef GPUPROOF_REPORT_TREND_TREND_PAGE_H
#define GPUPROOF_REPORT_TREND_TREND_PAGE_H

#include "history/trend_news.h"
#include "report/page/report.h"

/*
 * Fills `summary` and writes the page to options->output, with report.css in the same folder for
 * separate_css. Of `options` the title, template_dir and separate_css count.
 */
enum status trend_page_write(struct store *history, const struct history_filter *filter,
			     const struct report_options *options, struct trend_summary *summary,
			     struct error *err);

#endif
