/*
 * Facts about the host that are needed to judge or repeat a result. An allow-list: nothing else of
 * the machine or the environment enters a result. backend->facts() adds what a backend knows.
 *
 * Adding a fact: add a function and a line in environment_read(); for an environment variable, a
 * line in its list.
 */
#ifndef GPUPROOF_RESULT_HOST_ENVIRONMENT_H
#define GPUPROOF_RESULT_HOST_ENVIRONMENT_H

#include "device/finding.h"

/* Calls `add` for each known fact: "cpu" "AMD EPYC 9554", "env NCCL_ALGO" "Ring". */
void environment_collect(fact_fn *add, void *context);

/*
 * As environment_collect(), reading the files below `root` ("" in production, a folder with proc/,
 * sys/ and etc/ in tests).
 */
void environment_read(const char *root, fact_fn *add, void *context);

#endif
