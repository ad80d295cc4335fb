/* How a run ended, independent of limits; every output reports the same. */
#ifndef GPUPROOF_RESULT_OUTCOME_H
#define GPUPROOF_RESULT_OUTCOME_H

#include <stdint.h>

#include "result/result.h"

/* Cases of that status. */
size_t result_count(const struct result *result, enum case_status status);
/* Processes that died; they cost no case, but are a fault of the machine or of this program. */
size_t result_lost_workers(const struct result *result);
/* Planned cases that the run did not get to. */
size_t result_not_run(const struct result *result);
/* A case is missing or ended in an error, or a device, a node or a worker was lost. */
bool result_is_incomplete(const struct result *result);

/*
 * The exit code (cli/command.h) of the result: the more severe of how the run ended and of its
 * judgement: 5 a wrong result, 1 not accepted, 4 incomplete or inconclusive, 0.
 */
int result_exit_code(const struct result *result);

/*
 * Uncorrected memory errors (ECC) that were counted while the run lasted, on all of its devices.
 * Their exit code is 5, whether the run was judged or not.
 */
uint64_t result_memory_errors(const struct result *result);

/* True if the case itself reports a wrong result: failed, or an error beyond its tolerance. */
bool case_is_wrong(const struct case_result *c);
/*
 * True if its result was compared with a reference; otherwise it is never accepted (README, "no
 * number counts").
 */
bool case_is_verified(const struct case_result *c);
/*
 * Its reason of any device, "the device has no pools" of "cuda:0 has no pools": cases of several
 * devices that were skipped for one reason have the same. The caller frees it.
 */
char *case_common_reason(const struct case_result *c);

#endif
