/*
 * Results as one HTML page: one result gives a run page, several a comparison with the first as the
 * baseline. Same results, same bytes. The page needs no other file and, but for sorting,
 * searching and copying, no script.
 */
#ifndef GPUPROOF_REPORT_PAGE_REPORT_H
#define GPUPROOF_REPORT_PAGE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "result/result.h"

struct report_options {
	/* path of the HTML file; written atomically. "-": standard output */
	const char *output;
	const char *template_dir; /* templates that override the embedded ones, or NULL */
	const char *title;        /* NULL: from the result */
	/* of the results, where several are compared: their folders; NULL: letters name them */
	const char *const *names;
	/*
	 * Ids of GPUs (gpuproof list gpus) to compare with, or "all", and the one that is 1x. NULL:
	 * use the first result's [report] section; "": none.
	 */
	const char *reference, *baseline;
	/*
	 * Memory limits for which to name the best strategy (report/view/memory_limit.h); NULL: use
	 * [report].
	 */
	const char *memory_limits;
	/*
	 * Claims to show (report/claims/claims.h): "" for the shipped ones, else a file. NULL: use
	 * [report] of a single result.
	 */
	const char *claims;
	bool no_claims; /* overrides the [report] section and `claims` */
	/*
	 * --layout=dir: also write report.css next to the page and link it, for servers whose
	 * Content-Security-Policy blocks inline style (Jenkins). It is inlined as well, so that the
	 * page can still be moved alone.
	 */
	bool separate_css;
	/*
	 * Also writes the SVG and the CSV of each chart into a folder next to the page and links
	 * them: "report-charts" of report.html.
	 */
	bool chart_files;
	/* The id of a chart: its SVG alone is written, not the page. NULL: the page. */
	const char *chart;
	/* Leaves out the script that sorts, searches and copies; the page is whole without. */
	bool no_script;
	/*
	 * Link to the acceptance page of the same result (report/acceptance/acceptance.h); NULL:
	 * none.
	 */
	const char *acceptance_page;
	/* Link to the page of the run, from a page about architectures or claims; NULL: none. */
	const char *run_page;
};

/*
 * A page about architectures (options->reference) or claims has the page of its run next to it:
 * "page-run.html" of "page.html".
 */
enum status html_write_report(const struct result *results, size_t count,
			      const struct report_options *options, struct error *err);
/* True if the page itself goes there: nothing else must. */
bool html_report_on_stdout(const struct report_options *options);
/* The page as text, appended to `html`; options->output is used for chart_files alone. */
enum status html_render_report(const struct result *results, size_t count,
			       const struct report_options *options, struct text *html,
			       struct error *err);
/*
 * Writes the embedded templates into `directory`. If a file there differs, it was edited:
 * STATUS_USAGE, and nothing is written, unless `force`.
 */
enum status html_dump_templates(const char *directory, bool force, struct error *err);

#endif
