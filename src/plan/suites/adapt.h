/*
 * Suites whose sections declare what they measure: suite->adapt() receives a section before its
 * values are typed, and adds axes and metrics to that section's copy of the suite.
 */
#ifndef GPUPROOF_PLAN_SUITES_ADAPT_H
#define GPUPROOF_PLAN_SUITES_ADAPT_H

#include <stdbool.h>

#include "plan/key.h"
#include "result/metric.h"

struct adaption;

/* The entry as written, or the key's default; NULL: neither. Valid until it is set. */
const char *suite_set_adapt_text(const struct adaption *a, const char *key);
/* True if the section or [defaults] has the key. */
bool suite_set_adapt_has(const struct adaption *a, const char *key);
/* True if its value was reported as invalid and must not be used. */
bool suite_set_adapt_is_broken(const struct adaption *a, const char *key);
/* Replaces the entry or default. */
void suite_set_adapt_set(struct adaption *a, const char *key, const char *text);
/*
 * Resolves `path` relative to the file with the entry `key`, or to the working directory if it
 * comes from the command line or no file. The caller frees it.
 */
char *suite_set_adapt_path(const struct adaption *a, const char *key, const char *path);
/*
 * Reports "[suite command] regex = ...: <message>" at the location of the key, or of the section.
 */
void suite_set_adapt_problem(struct adaption *a, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Makes the list of that name in the section an axis: of sizes or integers if all its values are
 * such, else of words; returns the type. `help`: of its values; static.
 */
enum key_type suite_set_adapt_axis(struct adaption *a, const char *name, const char *help);
/*
 * Adds a metric; copies its texts. Sections with a metric of the same name must agree on it: false,
 * with a problem, if an earlier one differs.
 */
bool suite_set_adapt_metric(struct adaption *a, const char *key, const struct metric *metric);

#endif
