/*
 * Other tools' files. A first byte below the number of formats chooses one; else the text itself
 * decides. FUZZ_FORMAT=NAME in the environment fuzzes one reader alone. Each import must survive
 * writing and reading as a result.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"

static size_t count_formats(void)
{
	size_t count = 0;

	while (import_formats[count])
		count++;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct import_options options = { .device = "a GPU",
						       .collective = "all_reduce" };
	struct result result, again;
	struct error err = ERROR_NONE;
	const char *format = getenv("FUZZ_FORMAT");
	bool chosen = !format && size && data[0] < count_formats();
	char *json;

	if (chosen)
		format = import_formats[data[0]]->name;
	if (import_text(&result, format, "fuzz", (const char *)data + chosen, size - chosen,
			&options, &err) != STATUS_OK) {
		if (!err.message[0])
			abort();
		return 0;
	}
	json = result_to_json(&result);
	if (result_from_json(&again, json, strlen(json), &err) != STATUS_OK) {
		fprintf(stderr, "%s\n", err.message);
		abort();
	}
	free(json);
	result_release(&result);
	result_release(&again);
	return 0;
}
