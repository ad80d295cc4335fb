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

/* Indices of the entries of device `d`: items[starts[d]] up to items[starts[d + 1] - 1]. */
struct device_items {
	size_t *starts, *items;
};

struct acceptance_devices {
	struct device_items checks, cases;
};

void acceptance_devices_find(struct acceptance_devices *found, const struct acceptance *a);
void acceptance_devices_release(struct acceptance_devices *found);

/* Parts: what each sets on the page; a file each, acceptance_<part>.c. */
struct tree;
struct view;
void acceptance_stages(const struct acceptance *a, struct tree *page);
/* The dose of the stage soak: what its suites searched and which defects they would have found. */
void acceptance_soak(const struct view *view, struct tree *page);
void acceptance_reasons(const struct acceptance *a, struct tree *page);
void acceptance_checks(const struct acceptance *a, struct tree *page);
void acceptance_limits(const struct acceptance *a, struct tree *page);
void acceptance_aspects(const struct acceptance *a, struct tree *page);
void acceptance_matrix(const struct acceptance *a, const struct acceptance_devices *devices,
		       struct tree *page);
void acceptance_charts(const struct acceptance *a, struct tree *page);
/*
 * Puts `rows` (a list, taken over) on the page as the list of tables `name`: of many devices with a
 * row about all, and the others but the worst in a second table with the words of its fold. Cells
 * have `detail` next to their word.
 */
void acceptance_fold(struct tree *page, const char *name, struct tree *rows, const char *detail);
/*
 * "ok", "failed", "error", "noisy", "skipped": the verdict's class in report.css; and its symbol.
 */
const char *acceptance_kind(enum verdict verdict);
const char *acceptance_symbol(enum verdict verdict);
/* True if the check counts against its devices. */
bool acceptance_is_bad(const struct verdict_check *check);
#endif
