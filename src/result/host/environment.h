/*
 * Facts about the host that a reader of a result needs to judge or repeat it. By allow-list:
 * nothing else of the machine or of the process's environment gets into a result. What a backend
 * knows comes from backend->facts().
 *
 * Adding a fact: one function and one line in environment_read(); an environment variable: one line
 * in its list.
 */
#ifndef GPUPROOF_RESULT_HOST_ENVIRONMENT_H
#define GPUPROOF_RESULT_HOST_ENVIRONMENT_H

#include "device/finding.h"

/* Calls `add` for each fact that is known here: "cpu" "AMD EPYC 9554", "env NCCL_ALGO" "Ring". */
void environment_collect(fact_fn *add, void *context);

/*
 * The same from the files below `root` ("" in real life, a folder with proc/, sys/ and etc/ in
 * tests).
 */
void environment_read(const char *root, fact_fn *add, void *context);

#endif
