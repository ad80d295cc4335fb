/* A result: an error, or a result that is written and read back to the same bytes. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "result/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result result, again;
	struct error err = ERROR_NONE;
	char *first, *second;

	if (result_from_json(&result, (const char *)data, size, &err) != STATUS_OK) {
		if (!err.message[0])
			abort();
		return 0;
	}
	first = result_to_json(&result);
	if (result_from_json(&again, first, strlen(first), &err) != STATUS_OK)
		abort();
	second = result_to_json(&again);
	if (strcmp(first, second) != 0)
		abort();
	free(first);
	free(second);
	result_release(&result);
	result_release(&again);
	return 0;
}
