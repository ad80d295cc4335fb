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

#include "result/json/json_fields.h"
#include "result/result.h"

/* Tells if series may lack their samples: baselines store only statistics. */
enum samples_wanted { SAMPLES_REQUIRED, SAMPLES_MAY_LACK };

/* STATUS_OK or STATUS_USAGE. */
enum status result_check(const struct result *result, enum samples_wanted samples,
			 struct error *err);
/* Checks a single case; `path` is its location (NULL: no document around it). */
enum status case_result_check(const struct case_result *c, enum samples_wanted samples,
			      const struct json_path *path, struct error *err);

#endif
