/*
 * The part of a result that is known before the first case: the result without cases, and the
 * journal's first line.
 */
#ifndef GPUPROOF_RUN_HEADER_H
#define GPUPROOF_RUN_HEADER_H

#include "run/conductor.h"

/* Fills the zeroed `result`. */
void run_header_fill(struct result *result, const struct plan *plan, const struct probe *probe,
		     const char *command);

/*
 * STATUS_OK if the run that began with the header `then` may continue on this host: a CPU has no
 * UUID to identify it, so where a device has none the host's name must be the same, as far as both
 * are known. STATUS_USAGE.
 */
enum status run_header_same_host(const struct result *then, const struct probe *now,
				 struct error *err);

#endif
