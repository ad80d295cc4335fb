/*
 * Checks the consistency of a result that was read. The reader checks types and missing members
 * (json_fields.h); here are conditions on several members. Every message begins with the location
 * of the member: "cases[3].id: ...".
 *
 * A result: the run planned at least as many cases as it has; ids of devices and cases are present
 * and unique. A case: its devices are devices of the result. A metric: its unit is known, low <=
 * value <= high as far as they are known, it has samples, and the series that it names exists with
 * as many samples. A series: as many finite samples as its statistics state. Rows of a timeline
 * have three numbers per span; arrays of a quantity over time have equal lengths.
 */
#ifndef GPUPROOF_RESULT_RESULT_CHECK_H
#define GPUPROOF_RESULT_RESULT_CHECK_H

#include "result/result.h"

/* STATUS_OK or STATUS_USAGE. */
enum status result_check(const struct result *result, struct error *err);
/* Checks a single case, which has its samples. */
enum status case_result_check(const struct case_result *c, struct error *err);

#endif
