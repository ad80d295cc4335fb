/* Writing pages of every kind to files. */
#ifndef GPUPROOF_REPORT_PAGE_HTML_H
#define GPUPROOF_REPORT_PAGE_HTML_H

#include "report/page/report.h"
#include "report/template/tree.h"
#include "result/result.h"

/*
 * Writes the page to options->output and, for separate_css, first report.css in the same folder;
 * nothing where `err` is set. Releases `html`.
 */
enum status html_publish(const struct report_options *options, struct text *html,
			 struct error *err);
/* html_render() and html_publish(); nothing where `err` is set. Frees `page`. */
enum status html_write(const char *name, const struct report_options *options, struct tree *page,
		       struct error *err);
/*
 * Appends the page `name` to `html`: the template with what `page` holds, the style and, unless
 * options->no_script, the script, which the page's policy admits by its hash alone. Edited
 * templates do not replace the script: its hash is of the build.
 */
enum status html_render(const char *name, const struct report_options *options, struct tree *page,
			struct text *html, struct error *err);

/*
 * The value of a key of [report] in the run's config; "": not set. The table of the keys is
 * report_keys (plan/schema.h), so that wrong values are found before anything is measured.
 */
const char *report_setting(const struct result *result, const char *key);

#endif
