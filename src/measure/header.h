/* What is known about a run before its first case: the result without cases, and the journal's first line. */
#ifndef GPUPROOF_MEASURE_HEADER_H
#define GPUPROOF_MEASURE_HEADER_H

#include "measure/conductor.h"

/* Fills the zeroed `result`. */
void header_fill(struct result *result, const struct plan *plan, const struct probe *probe,
		 const char *command);

#endif
