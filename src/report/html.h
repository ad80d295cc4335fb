/* What pages of every kind share: the style sheet beside the page. */
#ifndef GPUPROOF_REPORT_HTML_H
#define GPUPROOF_REPORT_HTML_H

#include "report/report.h"

#define REPORT_STYLE_FILE "report.css"

/* Writes report.css beside options->output. */
enum status html_write_css(const struct report_options *options, struct error *err);

#endif
