/* A config: an error with its place, or a config whose text loads to the same config. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/config.h"

static void loads_to_the_same(const struct config *config)
{
	struct text first = TEXT_EMPTY, second = TEXT_EMPTY, errors = TEXT_EMPTY;
	struct config again;

	config_write(config, 0, &first);
	if (config_parse(&again, "again.ini", first.data ? first.data : "", first.length, NULL, 0,
			 &errors) != STATUS_OK) {
		fprintf(stderr, "%s\n%s", first.data, errors.data);
		abort();
	}
	config_write(&again, 0, &second);
	if (first.length != second.length || memcmp(first.data, second.data, first.length) != 0) {
		fprintf(stderr, "%s\n----\n%s", first.data, second.data);
		abort();
	}
	config_release(&again);
	text_release(&first);
	text_release(&second);
	text_release(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text errors = TEXT_EMPTY;
	struct config config;

	/* Other files are not part of the input. */
	if (memmem(data, size, "include", 7))
		return 0;
	if (config_parse(&config, "fuzz.ini", (const char *)data, size, NULL, 0, &errors) ==
	    STATUS_OK) {
		loads_to_the_same(&config);
		config_release(&config);
	} else if (!errors.length) {
		abort();
	}
	text_release(&errors);
	return 0;
}
