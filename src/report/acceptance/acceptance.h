/*
 * The acceptance page: whether a machine is accepted, which GPU is to blame and why, as one HTML
 * page that is printed, signed and kept. From a result and the judge's verdicts alone.
 */
#ifndef GPUPROOF_REPORT_ACCEPTANCE_ACCEPTANCE_H
#define GPUPROOF_REPORT_ACCEPTANCE_ACCEPTANCE_H

#include "report/page/report.h"
#include "result/verdict.h"

struct acceptance {
	const struct result *result; /* launches are pooled; with its judgement */
	const char *run_page;        /* a link to the page with all measurements; NULL: none */
};

/* Appends the page to `html`. Of `options` the title, template_dir and separate_css count. */
enum status acceptance_render(const struct acceptance *acceptance,
			      const struct report_options *options, struct text *html,
			      struct error *err);
/* The same into the file options->output, with report.css in the same folder for separate_css. */
enum status acceptance_write(const struct acceptance *acceptance,
			     const struct report_options *options, struct error *err);

/* Parts: what each sets on the page; acceptance_tables.c, _checks.c and _charts.c. */
struct tree;
struct view;
/* The dose of the stage soak: what its suites searched and which defects they would have found. */
void acceptance_soak(const struct view *view, struct tree *page);
void acceptance_checks(const struct acceptance *a, struct tree *page);
void acceptance_checks_limits(const struct acceptance *a, struct tree *page);
void acceptance_tables_aspects(const struct acceptance *a, struct tree *page);
void acceptance_charts(const struct acceptance *a, struct tree *page);
/* Members "kind", "symbol" and "word" of a cell. */
void acceptance_set_words(struct tree *item, const char *kind, const char *symbol,
			  const char *word);
void acceptance_set_verdict(struct tree *item, enum verdict verdict);
/* Members "verdict_kind", "verdict_symbol", "verdict_word" and "verdict". */
void acceptance_set_answer(const struct verdicts *v, struct tree *page);
/* Appends the cell of an aspect, without its "detail"; `judgement` may be NULL. */
struct tree *acceptance_tables_add_aspect(const struct aspect_judgement *judgement,
					  enum aspect aspect, struct tree *cells);
/*
 * "ok", "failed", "error", "noisy", "skipped": the verdict's class in report.css; and its symbol.
 */
const char *acceptance_kind(enum verdict verdict);
const char *acceptance_symbol(enum verdict verdict);
/* True if the check counts against its devices. */
bool acceptance_is_bad(const struct verdict_check *check);

/*
 * The delivery page: the machines of a delivery, each with its verdict, its GPUs by serial number,
 * and room for a signature. Rejected machines come first, then inconclusive, then accepted ones.
 */
struct delivery; /* owns the contents of the page */

struct delivery *delivery_new(void);
/*
 * Adds a machine with its finished verdicts, which are copied. `path` is the path of its result,
 * used only for display.
 */
void delivery_add(struct delivery *delivery, const struct result *result, const char *path,
		  const struct verdicts *verdicts);
/* Writes the page into options->output. */
enum status delivery_write(struct delivery *delivery, const struct report_options *options,
			   struct error *err);
void delivery_free(struct delivery *delivery); /* may be NULL */

#endif
