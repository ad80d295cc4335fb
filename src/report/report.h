/* Results as one HTML page: one result gives a run page, several a comparison. */
#ifndef GPUPROOF_REPORT_REPORT_H
#define GPUPROOF_REPORT_REPORT_H

#include "base/error.h"
#include "result/result.h"

struct report_options {
	const char *output;       /* path of the HTML file; written atomically */
	const char *template_dir; /* templates that override the embedded ones, or NULL */
	const char *title;        /* NULL: from the result */
	bool separate_css;        /* --layout=dir: link report.css instead of inlining it as well */
};

enum status report_write(const struct result *results, size_t count,
			 const struct report_options *options, struct error *err);
/* Writes the embedded templates into `directory`. */
enum status report_dump_templates(const char *directory, struct error *err);

#endif
