/*
 * The gallery of a folder: one row for each result in it, by GPU and newest first, with verdict,
 * best figures and a link to its page. It filters by GPU and by year without a script. Results are
 * taken one at a time, so that a folder of thousands needs the memory of one.
 */
#ifndef GPUPROOF_REPORT_GALLERY_GALLERY_H
#define GPUPROOF_REPORT_GALLERY_GALLERY_H

#include "report/report.h"

#define GALLERY_PAGE "index.html"

struct gallery;

struct gallery *gallery_new(void);
void gallery_free(struct gallery *gallery);
/* A result; `link`: the path of its page, relative to the gallery's. */
void gallery_add(struct gallery *gallery, const struct result *result, const char *link);
/* A file that is no result, with the reason: the page names it. */
void gallery_refuse(struct gallery *gallery, const char *path, const char *reason);
/*
 * Writes options->output, with report.css in the same folder for separate_css. Without any result
 * STATUS_USAGE.
 */
enum status gallery_write(struct gallery *gallery, const struct report_options *options,
			  struct error *err);

#endif
