/* Writing pages of every kind to files. */
#ifndef GPUPROOF_REPORT_PAGE_HTML_H
#define GPUPROOF_REPORT_PAGE_HTML_H

#include "report/report.h"
#include "report/template/tree.h"

/* Writes the page to options->output and, for separate_css, first report.css in the same folder. */
enum status html_publish(const struct report_options *options, const struct text *html,
			 struct error *err);
/*
 * The page's own script, which its policy admits by hash alone: "script" and "script_hash". Edited
 * templates do not replace it: its hash is of the build.
 */
void html_add_script(const struct report_options *options, struct tree *page);

#endif
