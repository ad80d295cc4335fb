/*
 * The suites that a config knows: the built-in ones, those of the libraries that its sections name,
 * and for sections that declare axes and metrics of their own (plan/suites/adapt.h) a copy each.
 */
#ifndef GPUPROOF_PLAN_SUITES_SUITE_SET_H
#define GPUPROOF_PLAN_SUITES_SUITE_SET_H

#include "plan/ini/document.h"
#include "plan/suite.h"

struct suite_set;

/*
 * Finds the suite of every section of the document: section->suite is set where it is not the
 * built-in one, and sections without a suite are taken out, which is a problem of the document.
 * Libraries are loaded unless the document's are `known` without.
 */
struct suite_set *suite_set_make(struct document *d);
/*
 * NULL-terminated; a suite with copies is there once, with the axes and metrics of all of them.
 * `set` may be NULL: the built-in ones.
 */
const struct suite *const *suite_set_all(const struct suite_set *set);

/* Shared by the config and what borrows suites and metrics from it; NULL is allowed. */
struct suite_set *suite_set_hold(struct suite_set *set);
void suite_set_drop(struct suite_set *set);

#endif
