/* Cases that a claim's terms are about (claims.h), and why there are none. */
#ifndef GPUPROOF_REPORT_CLAIMS_CLAIMS_FIND_H
#define GPUPROOF_REPORT_CLAIMS_CLAIMS_FIND_H

#include "report/claims/claims.h"

/* A term in a result. */
struct claim_found {
	const struct result *result;
	const struct case_result *c; /* NULL: not found */
	const struct metric_value *metric;
};

/*
 * The term in the result, on the device with this id (NULL: any) and of a case after `after` (NULL:
 * from the first).
 * even_failed: failed cases count as well. An unsettled figure does not count.
 */
struct claim_found claim_find(const struct result *result, const struct claim_term *term,
			      enum claim_on on, bool even_failed, const char *device,
			      const struct case_result *after);

/* True if the term matches the case, with any outcome and on any device. */
bool claim_is_case(const struct result *result, const struct case_result *c,
		   const struct claim_term *term);
/* True if the claim can be decided on this device of the result. */
bool claim_is_on(const struct result *result, const char *device, enum claim_on on);
/* True if a case of the measure ended in an error or with a wrong result. (claims_why.c) */
bool claim_went_wrong(const struct result *results, size_t count,
		      const struct claim_measure *measure);
/*
 * Why the measure has no reading, for a reader: the missing case and what became of it. malloc'ed.
 * (claims_why.c)
 */
char *claim_why_missing(const struct result *results, size_t count, const struct claim *claim,
			const struct claim_measure *measure);

#endif
