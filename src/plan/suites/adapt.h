/*
 * A suite whose sections declare what they measure: suite->adapt() sees one section before its
 * values are typed, and adds axes and metrics to that section's copy of the suite.
 */
#ifndef GPUPROOF_PLAN_SUITES_ADAPT_H
#define GPUPROOF_PLAN_SUITES_ADAPT_H

#include <stdbool.h>

#include "plan/key.h"
#include "result/metric.h"

struct adaption;

/* The entry as written, or the key's default; NULL: there is neither. Lasts until it is set. */
const char *adapt_text(const struct adaption *a, const char *key);
/* True if the section, or [defaults], has the key. */
bool adapt_has(const struct adaption *a, const char *key);
/* True if its value was reported already: nothing follows from it. */
bool adapt_is_broken(const struct adaption *a, const char *key);
/* The value in place of what is written, or of the default. */
void adapt_set(struct adaption *a, const char *key, const char *text);
/*
 * `path` from the folder of the file that has the entry `key`; from the working directory where the
 * command line or no file has it. malloc'ed.
 */
char *adapt_path(const struct adaption *a, const char *key, const char *path);
/* "[suite command] regex = ...: <message>", at the place of the key, or of the section. */
void adapt_problem(struct adaption *a, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * The list of that name, which the section has, becomes an axis: of sizes or of whole numbers if
 * all its values are such, else of words; returns which. `help`: of its values; static.
 */
enum key_type adapt_axis(struct adaption *a, const char *name, const char *help);
/*
 * A metric; its texts are copied. Sections with a metric of the same name must agree on it: false
 * with a problem where an earlier one does not.
 */
bool adapt_metric(struct adaption *a, const char *key, const struct metric *metric);

#endif
