/* The value of a claim's measurement in one result or in several (claims.h). */
#ifndef GPUPROOF_REPORT_CLAIMS_CLAIMS_VALUE_H
#define GPUPROOF_REPORT_CLAIMS_CLAIMS_VALUE_H

#include "report/claims/claims.h"

/* Appends every reading that the results allow, without a verdict. */
void claim_read(const struct result *results, size_t count, const struct claim *claim,
		const struct claim_measure *measure, struct claim_evidence *evidence);

#endif
