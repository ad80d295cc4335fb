/* Loads a suite from a shared object (plan/suites/plugin.h). */
#ifndef GPUPROOF_PLAN_SUITES_LIBRARY_H
#define GPUPROOF_PLAN_SUITES_LIBRARY_H

#include "base/error.h"
#include "plan/suite.h"

/*
 * Loads the suite `name` of the shared object `path`, which stays loaded until the process ends.
 * STATUS_USAGE, with the reason: it cannot be loaded, was built for another interface, or its suite
 * has another name or violates plan/suite.h.
 */
enum status library_suite(const char *path, const char *name, const struct suite **out,
			  struct error *err);

#endif
