/*
 * Mustache templates. A page is `<name>.mustache`; it includes others by their names
 * (`{{>section_cases}}`). Partials are named section_* and chart_*: engines that keep partials and
 * data in one namespace would otherwise shadow a list by a partial of the same name.
 *
 * Escaping is HTML's, of & < > " and ', so {{name}} is safe in text and in quoted attributes. Bytes
 * that HTML does not allow (control characters, ill-formed UTF-8) become U+FFFD.
 */
#ifndef GPUPROOF_REPORT_TEMPLATE_TEMPLATE_H
#define GPUPROOF_REPORT_TEMPLATE_TEMPLATE_H

#include "base/error.h"
#include "base/text.h"
#include "report/template/tree.h"

#define REPORT_STYLE_FILE "report.css"

#ifdef __cplusplus
extern "C" {
#endif

struct template_text {
	const char *name; /* as in {{>name}} */
	const char *text;
	size_t length;
};

/*
 * template_mstch.cpp, the door to mstch: renders `text` with `root`; `partials` may be used by it.
 * Returns malloc'ed text of *length bytes; NULL with `err` set when the template is broken.
 */
char *template_mstch_render_text(const char *text, size_t text_length, const struct tree *root,
				 const struct template_text *partials, size_t partial_count,
				 size_t *length, struct error *err);

/*
 * Checks that every tag and every section of a template is closed; mstch itself renders half a page
 * without an error. The error names `name` and the line. `err` is clear or NULL.
 */
enum status template_check(const char *name, const char *text, size_t length, struct error *err);

/*
 * Checks that all partials that `page`, one of `items`, needs are among them, and that none
 * includes itself, also through others: mstch omits missing ones silently and crashes on recursion.
 * The error names template and line. All have passed template_check(); `err` is clear.
 */
enum status template_check_partials(const struct template_text *page,
				    const struct template_text *items, size_t count,
				    struct error *err);

/* Appends `text` escaped as {{name}} does. */
void template_escape(struct text *out, const char *bytes, size_t count);

/*
 * Renders the page `name` ("run"). Files "<name>.mustache" in `directory` (NULL: none) and in its
 * folders override the embedded ones. A directory without any is an error, since it is a typing
 * mistake; so is a name that two folders have.
 */
enum status template_render(const char *name, const char *directory, const struct tree *root,
			    struct text *out, struct error *err);

/*
 * The file `name` ("report.css") from `directory` or else embedded, as malloc'ed text. Larger than
 * TEMPLATE_MOST_BYTES, or a link to nothing, is an error.
 */
#define TEMPLATE_MOST_BYTES ((size_t)4 << 20)
enum status template_file(const char *name, const char *directory, char **out, size_t *length,
			  struct error *err);

#ifdef __cplusplus
}
#endif

#endif
