/*
 * The part of a result known before the first case: the result without cases, which is also the
 * first line of the journal.
 */
#ifndef GPUPROOF_RUN_HEADER_H
#define GPUPROOF_RUN_HEADER_H

#include "run/conductor.h"

/* Fills the zeroed `result`. */
void header_fill(struct result *result, const struct plan *plan, const struct probe *probe,
		 const char *command);

/*
 * STATUS_OK if the run with header `then` may continue on this host. A CPU has no UUID, so for
 * devices without one the host names must match, if both are known. Otherwise STATUS_USAGE.
 */
enum status header_same_host(const struct result *then, const struct probe *now, struct error *err);

#endif
