/*
 * Checks that a result that was read is consistent. Types and missing members are the reader's
 * (json_fields.h); here are conditions on several members. Every message begins with the place of
 * the member: "cases[3].id: ...".
 *
 * A result: the run planned cases and has no more than those; ids of devices and of cases are there
 * and unique. A case: its devices are devices of the result. A metric: its unit is known, low <=
 * value <= high as far as they are known, it has samples, and the series that it names is there
 * with as many. A series: as many finite samples as its statistics state. Rows of a timeline have
 * three numbers a span; parts of a quantity over time are equally long.
 */
#ifndef GPUPROOF_RESULT_RESULT_CHECK_H
#define GPUPROOF_RESULT_RESULT_CHECK_H

#include "result/json/json_fields.h"
#include "result/result.h"

/*
 * True if series may lack their samples: those of a baseline were left out, and only their
 * statistics are there.
 */
enum samples_wanted { SAMPLES_REQUIRED, SAMPLES_MAY_LACK };

/* STATUS_OK or STATUS_USAGE. */
enum status result_check(const struct result *result, enum samples_wanted samples,
			 struct error *err);
/* A case by itself; `path` is its location (NULL: no document around it). */
enum status case_result_check(const struct case_result *c, enum samples_wanted samples,
			      const struct json_path *path, struct error *err);

#endif
