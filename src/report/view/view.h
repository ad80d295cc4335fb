/*
 * From results to the tree that the page's templates show. All formatting of numbers happens here
 * and in chart; no markup does. One result gives a run page, several a comparison; charts and
 * sections are the same for both.
 *
 * A source is the subject of a column or a line: one device of one result.
 */
#ifndef GPUPROOF_REPORT_VIEW_VIEW_H
#define GPUPROOF_REPORT_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "report/template/tree.h"
#include "report/view/format.h"
#include "report/view/text_index.h"
#include "result/result.h"

struct memory_limit; /* report/view/memory_limit.h */

struct view_source {
	const struct result *result;
	size_t run;                     /* index of the result */
	const char *device;             /* id; borrowed */
	const struct device_info *info; /* NULL: the result does not describe it */
	char label[48];                 /* "cuda:0"; of several results: "A cuda:0" */
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
	bool *binary; /* of each suite: sizes are shown in powers of two (presented_unit()) */
	/* Data tables of charts have every n-th row, which bounds a page of many cases. */
	size_t table_step;
	/* view_style() by name and text of a parameter; by name and "": how many texts it has */
	struct text_index colours, colour_counts;
	/* For which the best strategy is named; borrowed. */
	const struct memory_limit *memory_limits;
	size_t memory_limit_count;
};

void view_init(struct view *view, const struct result *results, size_t count);
void view_release(struct view *view);

/* The source of a case of result `run`; its index. */
size_t view_source_of(const struct view *view, size_t run, const struct case_result *c);
/* That of a device's id; the number of sources if it is none. */
size_t view_source_named(const struct view *view, size_t run, const char *device);

#define VIEW_STYLES 12    /* colours that things have: CHART_STYLES of report/chart/chart.h */
#define VIEW_STYLE_NONE 7 /* the grey one, which no thing has */
/*
 * The colour of a parameter's value in every chart of the page: its index among the parameter's
 * values, in the results' order. SIZE_MAX: the value is a number, or no case has it.
 */
size_t view_style(const struct view *view, const char *name, const char *text);
/* The colour of the `place`th of several things. */
size_t view_style_at(size_t place);

/*
 * Number of a suite, from 1. Used in ids, because names come from outside and are not safe as ids.
 */
size_t view_suite_number(const struct view *view, const char *suite);

/* NULL is "" in results made by hand. */
const char *view_string(const char *s);
/* A text from outside: cut at FORMAT_LONGEST characters. */
void view_text(struct tree *map, const char *name, const char *text);
/* The same of a malloc'ed text, which it frees. */
void view_text_owned(struct tree *map, const char *name, char *text);
/* True if the list (NULL-terminated; NULL: empty) has the name. */
bool view_listed(const char *name, const char *const *names);
/* "A", "B", ...: the name of a run in a comparison. */
struct formatted view_letter(size_t run);
/* The label of a run, or its name if labels are not distinct; "" if it has neither. */
const char *view_run_name(const struct view *view, size_t run);
/* "H200" of "NVIDIA H200"; cut. */
struct formatted view_device_name(const char *name);

/*
 * Appends the models of the devices, each with its number: "2 × NVIDIA H200, Tesla T4", "AMD EPYC
 * (CPU)", "AMD EPYC (CPU) in 2 parts", "no device".
 */
void view_add_devices(struct text *out, const struct result *result);

/*
 * "pinned, 64 MiB": the case's parameters, those in `without` (may be NULL, NULL-terminated) left
 * out. malloc'ed.
 */
char *view_parameters(const struct view *view, const struct case_result *c,
		      const char *const *without);
/* The same without parameters that have their usual value. */
char *view_named_parameters(const struct view *view, const struct case_result *c,
			    const char *const *without);
/* The label of the case's section; "" if a parameter says the same. */
const char *view_section(const struct case_result *c);
/* "cuda:0 → cuda:1", "cuda:0 + cuda:1 + …". malloc'ed. */
char *view_all_devices(const struct view *view, const struct case_result *c);
/* The first metric to show of a case: the headline, else the first; NULL: no metrics. */
const struct metric_value *view_headline(const struct case_result *c);
/* A sample of the series as the metric that is made of it, in the metric's unit. */
double view_sample(const struct series *series, const struct metric_value *m, double sample);
/* All samples of the series so; malloc'ed. */
double *view_samples(const struct series *series, const struct metric_value *m);
/* The series of a metric; NULL: none. */
const struct series *view_series(const struct case_result *c, const struct metric_value *m);
/* True if the level of any of the case's series still changed when its time was over. */
bool view_unsettled(const struct case_result *c);
/* True if any of the case's series is noisy. */
bool view_noisy(const struct case_result *c);
/* True if the samples that the metric rests on are noisy; false for a metric without samples. */
bool view_metric_noisy(const struct case_result *c, const struct metric_value *m);

/* Cases of all results by what became of them. */
struct view_counts {
	size_t of[4]; /* by case status */
	size_t total, noisy, unsettled, verified, no_interval, unreached;
	bool stopped; /* a run that did not get to its end */
};

/* Counts one case more. */
void view_count_case(struct view_counts *counts, const struct case_result *c);
void view_count(const struct view *view, struct view_counts *counts);
/*
 * True if faults were injected (how many: *injected), all were found, and nothing else was wrong.
 */
bool view_is_selftest(const struct result *result, double *injected);

/*
 * The headline of a page that looks for something bad in many things: green only where all of them
 * were compared and nothing was found.
 */
/* Texts are borrowed. */
struct page_answer {
	size_t found, warned;   /* the first that is not 0 is the headline, in red or amber */
	size_t compared, total; /* things; some not compared: neither red nor green */
	const char *found_word, *warned_word;
	const char *good;    /* "No slow device": alone in green, else "... in 18 of 41 devices" */
	const char *things;  /* "devices"; NULL: `good` has the numbers itself */
	const char *nothing; /* nothing was compared */
};

/* Members "verdict_kind" (a class of report.css), "verdict_symbol" and "verdict_word". */
void view_answer_show(const struct page_answer *answer, struct tree *map);

/*
 * A cell of a heat map of nodes: members "kind", "symbol" and "offset". `deficit`: 0.5 is half as
 * fast as the others; NaN: not compared. `device`: the slow one, if the node as a whole is not; "".
 */
void view_heat_cell(double deficit, bool failed, const char *device, struct tree *cell);

#endif
