/*
 * From results to the tree that the page's templates show. All formatting of numbers happens here
 * and in chart; no markup does. One result gives a run page, several a comparison; charts and
 * sections are the same for both.
 *
 * A source is the subject of a column or a line: one device of one result.
 *
 * Adding a section: a function here that fills a member of the page, section_<name>.mustache, and a
 * line in run.mustache or compare.mustache.
 */
#ifndef GPUPROOF_REPORT_VIEW_VIEW_H
#define GPUPROOF_REPORT_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "report/template/tree.h"
#include "result/result.h"

/* A value of a parameter that is a word, and its colour. */
struct view_colour {
	const char *name, *text; /* "precision", "fp16"; borrowed */
	size_t style;            /* of chart_style() */
};

struct memory_limit; /* report/strategies/strategies_limit.h */

struct view_source {
	const struct result *result;
	size_t run;                     /* index of the result */
	const char *device;             /* id; borrowed */
	const struct device_info *info; /* NULL: the result does not describe it */
	char label[48];                 /* "cuda:0"; comparison: "A H200 cuda:0", "A" */
};

struct view {
	const struct result *results;
	size_t count;
	/* of the results, for people: the folders that they are from; NULL: letters; borrowed */
	const char *const *names;
	struct view_source *sources;
	size_t source_count, source_capacity;
	const char **suites; /* in order of appearance; borrowed */
	size_t suite_count, suite_capacity;
	bool *binary; /* of each suite: sizes are shown in powers of two (view_unit()) */
	struct view_colour *colours; /* view_style() */
	size_t colour_count, colour_capacity;
	/* For which the best strategy is named; borrowed. */
	const struct memory_limit *memory_limits;
	size_t memory_limit_count;
};

void view_init(struct view *view, const struct result *results, size_t count);
void view_release(struct view *view);

/* The source of a case of result `run`; its index. */
size_t view_source_of(const struct view *view, size_t run, const struct case_result *c);

#define VIEW_STYLES 12    /* colours that things have: CHART_STYLES of report/chart/chart.h */
#define VIEW_STYLE_NONE 7 /* the grey one, which no thing has */
/*
 * The colour that a value of a parameter has in every chart of the page: by its place among those
 * of the parameter, in the results' order. SIZE_MAX: the value is a number, or no case has it.
 */
size_t view_style(const struct view *view, const char *name, const char *text);
/* The colour of the `place`th of several things. */
size_t view_style_at(size_t place);

/* NULL is "" in results made by hand. */
const char *view_string(const char *s);
/* A text from outside: cut at FORMAT_LONGEST characters. */
void view_text(struct tree *map, const char *name, const char *text);
/* True if the list (NULL-terminated; NULL: empty) has the name. */
bool view_listed(const char *name, const char *const *names);
/* "A", "B", ...: the name of a run in a comparison. */
const char *view_letter(size_t run, char out[4]);
/*
 * The label of a run, else its name where labels do not tell runs apart; "" where it has neither.
 */
const char *view_run_name(const struct view *view, size_t run);
/* "H200" of "NVIDIA H200"; cut. */
void view_device_name(const char *name, char *out, size_t size);

/*
 * "pinned, 64 MiB": the case's parameters, those in `without` (may be NULL, NULL-terminated) left
 * out. malloc'ed.
 */
char *view_parameters(const struct view *view, const struct case_result *c,
		      const char *const *without);
/* The same without those that have their usual value. */
char *view_named_parameters(const struct view *view, const struct case_result *c,
			    const char *const *without);
/* The label of the case's section; "" where a parameter says the same. */
const char *view_section(const struct case_result *c);
/* "cuda:0 → cuda:1", "cuda:0 + cuda:1 + …". malloc'ed. */
char *view_devices(const struct view *view, const struct case_result *c);
/* The metric of a case that is shown first: the headline, else the first; NULL when it has none. */
const struct metric_value *view_headline(const struct case_result *c);
/* The series of a metric; NULL if there is none. */
const struct series *view_series(const struct case_result *c, const struct metric_value *m);
/* True if the level of any of the case's series still changed when its time was over. */
bool view_unsettled(const struct case_result *c);
/* True if any of the case's series is noisy. */
bool view_noisy(const struct case_result *c);

/* Cases of all results by what became of them. */
struct view_counts {
	size_t of[4]; /* by case status */
	size_t total, noisy, unsettled, verified, no_interval, unreached;
	bool stopped; /* a run that did not get to its end */
};

void view_count(const struct view *view, struct view_counts *counts);

/* The look of a judgement: its class in report.css, and its symbol. */
const char *verdicts_kind(const struct verdicts *verdicts);
const char *verdicts_symbol(const struct verdicts *verdicts);
/* Appends a tile of a verdict: a count in words; one that counts nothing is drawn quiet. */
void view_tile(struct tree *tiles, const char *kind, const char *symbol, size_t count,
	       const char *words);

/* Members "case_count" and "case_words": "All 5 cases". */
void view_case_count(struct tree *map, size_t count);

/* Parts of a page; each sets its members on `page` or `map`. */
void view_verdict(const struct view *view, struct tree *page);
void view_suite_counts(const struct view *view, const char *suite, struct tree *map);
/* "ok", "failed", "errors", "not_run" of one run. */
void view_run_counts(const struct view *view, size_t run, struct tree *map);
void view_warnings(const struct view *view, struct tree *page);
/* The smallest number of launches over the results. */
void view_launches(const struct view *view, struct tree *page);
void view_problems(const struct view *view, struct tree *page);
/* Returns the list of charts that the page begins with. */
struct tree *view_headlines(const struct view *view, struct tree *page);
void view_figures(const struct view *view, const char *suite, struct tree *charts);
/* The roofline of the first device of one result whose cases have its roles; else nothing. */
void view_roofline(const struct view *view, struct tree *charts);
/* True if the suite has maps of pairs of devices. */
bool view_has_map(const struct view *view, const char *suite);
/* The best strategy for a training step, in words and tables; nothing for other suites. */
void view_split_answer(const struct view *view, const char *suite, struct tree *map,
		       struct tree *answers);
/* For cases about the memory of a training step: memory over batch, in words. */
void view_memory_answer(const struct view *view, const char *suite, struct tree *answers);
/* For the same cases: the winning strategy over batch and width; drawn first, with a sentence. */
void view_split_maps(const struct view *view, const char *suite, struct tree *charts,
		     struct tree *answers);
/* For the same cases: breakdown of time, time against memory, and recorded steps. */
void view_strategy_figures(const struct view *view, const char *suite, struct tree *charts);
/* For the same cases: a table of the best strategy for each of the view's memory limits. */
void view_split_limits(const struct view *view, const char *suite, struct tree *tables);
/* Curves over the time of a suite's cases that have them. */
void view_watches(const struct view *view, const char *suite, struct tree *charts);
/* Tables of metrics that belong together, as the suite declares them. */
void view_tables(const struct view *view, const char *suite, struct tree *map);
void view_cases(const struct view *view, const char *suite, struct tree *map);
void view_skipped(const struct view *view, struct tree *page);
/* How each node ended, of a run on several. */
void view_nodes(const struct view *view, struct tree *page);
void view_devices_table(const struct view *view, struct tree *page);
void view_environment(const struct view *view, struct tree *page);
/*
 * How to cite a run in a line: version, id, time, configuration with the FNV-1a hash of its
 * effective INI text. malloc'ed.
 */
char *view_citation(const struct result *result);
void view_runs(const struct view *view, struct tree *page);
void view_differences(const struct view *view, struct tree *page);
/* For several results: the outcome of compare (judge/compare/compare.h) with the first. */
void view_changes(const struct view *view, struct tree *page);
void view_compared_cases(const struct view *view, const char *suite, struct tree *map);
/*
 * The claims of the set (claims.h) and what the results say of them; an empty set: no such section.
 */
struct claim_set;
void view_claims(const struct view *view, const struct claim_set *set, struct tree *page);
void view_data(const struct view *view, struct tree *page);

/*
 * The whole page, for run.mustache (one result) or compare.mustache. `title` NULL: from the
 * results.
 */
struct tree *view_page(const struct view *view, const char *title);

#endif
