/* A file of claims: an error with its place, or claims that are judged against an empty result. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "report/claims/claims.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = ERROR_NONE;
	struct result result = { 0 };
	struct claim_group group;

	/* Other files are not part of the input. */
	if (memmem(data, size, "include", 7))
		return 0;
	if (claims_read(&group, &schema_program, "fuzz.ini", (const char *)data, size, &err) !=
		    STATUS_OK &&
	    strncmp(err.message, "fuzz.ini:", 9) != 0)
		abort();
	for (size_t i = 0; i < group.count; i++) {
		struct claim_evidence evidence[CLAIM_MEASURES];

		if (claim_judge(&result, 1, &group.claims[i], evidence) != CLAIM_UNTESTED)
			abort();
		claim_evidence_release(evidence);
	}
	claims_read_group_release(&group);
	return 0;
}
