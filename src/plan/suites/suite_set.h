/*
 * The suites that a config knows: the built-in ones, those of the libraries that its sections name,
 * and a copy for each section that declares axes and metrics (plan/suites/adapt.h).
 */
#ifndef GPUPROOF_PLAN_SUITES_SUITE_SET_H
#define GPUPROOF_PLAN_SUITES_SUITE_SET_H

#include "plan/ini/document.h"
#include "plan/suite.h"

struct suite_set;

/*
 * Finds the suite of every section of the document. Sets section->suite unless it is built in;
 * removes sections without a suite, which is a problem of the document. Loads libraries unless the
 * document is `known` without.
 */
struct suite_set *suite_set_make(struct document *d);
/*
 * NULL-terminated; contains a suite with copies once, with the axes and metrics of all. `set` NULL:
 * the built-in ones.
 */
const struct suite *const *suite_set_all(const struct suite_set *set);

/*
 * Reference counting: shared by the config and whatever borrows suites and metrics from it; accepts
 * NULL.
 */
struct suite_set *suite_set_hold(struct suite_set *set);
void suite_set_drop(struct suite_set *set);

#endif
