/*
 * Claims of one guide as INI text: configs/claims/NAME.ini, compiled in, or a file of a user.
 *
 *	[guide A]                       ; exactly one in a file; the id is what the page shows
 *	title = Three cards             ; heading of its table
 *	about = memory allocation on a GTX 1080 Ti, a Tesla K80 and a Tesla V100
 *
 *      [points]                        ; names for cases: NAME = conditions as in limits, each with
 *                                      one value
 *      small_64 = label:small, precision:fp32, batch:64
 *
 *	[claim A1]
 *	text = Memory grows with the batch.
 *	source = on batches from 32 to 256: memory grows with the batch
 *	prediction = In proportion to the batch.
 *	devices = gpu                   ; any (default), gpu, nvlink: where it can be decided
 *	untestable = REASON             ; for a claim without measures
 *
 *      [measure A1.1]                  ; a claim's id, a dot, anything
 *      what = memory of a step at batch 16,384 / 64
 *      value = trainmem.memory at small_16384 / trainmem.memory at small_64
 *      min = 1.05                      ; the claim holds from min to max; with neither the value is
 *                                      shown, and decides nothing
 *      max = 300
 *      across = models                 ; one (default), models, versions or machines: enum
 *                                      claim_across
 *      count_failed = yes              ; the first term counts also of a case that failed
 *      optional = yes                  ; a machine without the devices for it lacks nothing
 *
 * A value is METRIC [at POINT], a quotient of two or three of them, or 1 - such a quotient. Bounds
 * of a single metric have its unit ("8 GB"), those of a quotient none.
 */
#ifndef GPUPROOF_REPORT_CLAIMS_CLAIMS_READ_H
#define GPUPROOF_REPORT_CLAIMS_CLAIMS_READ_H

#include "base/error.h"
#include "plan/schema.h"
#include "report/claims/claims.h"

/*
 * `group` is empty after an error, which begins with "NAME:LINE: ". Metrics and parameters are
 * those of the schema.
 */
enum status claims_read(struct claim_group *group, const struct schema *schema, const char *name,
			const char *text, size_t length, struct error *err);
void claim_group_release(struct claim_group *group);

/* The shipped guides in the order of their ids; with `file` those of the file instead. */
enum status claims_load(struct claim_set *set, const char *file, struct error *err);
void claims_release(struct claim_set *set);

#endif
