/* A population: an error with its place, or cards whose text is read as the same cards. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/population.h"

static void reads_as_the_same(const struct population *p)
{
	char *first = population_to_text(p), *second;
	struct error err = ERROR_NONE;
	struct population again = { 0 };

	if (population_read(&again, "again.ini", first, strlen(first), false, &err) != STATUS_OK) {
		fprintf(stderr, "%s\n%s\n", first, err.message);
		abort();
	}
	second = population_to_text(&again);
	if (strcmp(first, second) != 0) {
		fprintf(stderr, "%s\n----\n%s", first, second);
		abort();
	}
	population_release(&again);
	free(first);
	free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = ERROR_NONE;
	struct population p = { 0 };

	if (population_read(&p, "fuzz.ini", (const char *)data, size, false, &err) == STATUS_OK)
		reads_as_the_same(&p);
	else if (strncmp(err.message, "fuzz.ini:", 9) != 0)
		abort();
	population_release(&p);
	return 0;
}
