/* Writing pages of every kind to files. */
#ifndef GPUPROOF_REPORT_PAGE_HTML_H
#define GPUPROOF_REPORT_PAGE_HTML_H

#include "report/report.h"

/* Writes the page to options->output and, for separate_css, first report.css in the same folder. */
enum status html_publish(const struct report_options *options, const struct text *html,
			 struct error *err);

#endif
