/*
 * The keys of [report], a table as that of a suite (plan/key.h): report_keys, declared in
 * plan/schema.h. What is wrong in their values is so found before anything is measured.
 */
#ifndef GPUPROOF_REPORT_PAGE_SETTINGS_H
#define GPUPROOF_REPORT_PAGE_SETTINGS_H

#include "result/result.h"

/* A key of [report] as the run had it; "": it had none. */
const char *report_setting(const struct result *result, const char *key);

#endif
