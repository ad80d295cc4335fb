#include "report/view/memory_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "reference/gpu.h"
#include "report/view/format.h"

static enum status memory_limit_parse_one(const char *word, struct memory_limit *limit,
					  struct error *err)
{
	struct error no_size = ERROR_NONE;
	const struct gpu *gpus;
	uint64_t bytes;
	size_t count;

	if (units_parse_size(word, &bytes, &no_size) == STATUS_OK && bytes > 0) {
		limit->bytes = (double)bytes;
		snprintf(limit->name, sizeof(limit->name), "%s", word);
		return STATUS_OK;
	}
	gpus = gpus_all(&count);
	for (size_t i = 0; i < count; i++) {
		const struct sheet_entry *memory = gpu_entry(&gpus[i], "memory");

		if (strcmp(gpus[i].id, word) != 0 || !memory)
			continue;
		limit->bytes = memory->value;
		snprintf(limit->name, sizeof(limit->name), "%s, %s", gpus[i].label,
			 format_quantity(memory->value, "B").text);
		return STATUS_OK;
	}
	return error_set(err, STATUS_USAGE,
			 "memory limit '%.40s' is not valid; use a size, such as 8GiB, or an id "
			 "from `gpuproof list gpus` whose memory is known",
			 word);
}

enum status memory_limits_parse(const char *text, struct memory_limit limits[LIMITS_MOST],
				size_t *count, struct error *err)
{
	char *words = xstrdup(text), *rest = words, *word;

	*count = 0;
	while ((word = strsep(&rest, ",")) && err->status == STATUS_OK) {
		char *trimmed = text_trimmed(word, strlen(word));

		if (*trimmed && *count == LIMITS_MOST)
			error_set(err, STATUS_USAGE, "more than %d memory limits", LIMITS_MOST);
		else if (*trimmed &&
			 memory_limit_parse_one(trimmed, &limits[*count], err) == STATUS_OK)
			++*count;
		free(trimmed);
	}
	free(words);
	return err->status;
}
