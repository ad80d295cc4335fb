/* Every result validates against the shipped schema, and the schema refuses what is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "sample_result.h"

#define SCHEMA TESTS_DIR "/../src/result/result.schema.json"

static void write_sample(const char *path)
{
	struct result result;
	struct error err = ERROR_NONE;
	struct case_result *skipped;

	sample_result(&result);
	result.devices[0].capabilities = ~0u; /* those that have a word */
	skipped = &result.cases[1];
	skipped->reason = xstrdup("no device");
	if (result_write(&result, path, &err) != STATUS_OK) {
		fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	result_release(&result);
}

/* The first Python that has the distribution's python3-jsonschema. */
static const char *python(void)
{
	static const char *const names[] = { "/usr/bin/python3", "python3" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *command =
			xasprintf("%s -c 'from jsonschema import Draft7Validator' 2>/dev/null",
				  names[i]);
		int code = system(command);

		free(command);
		if (code == 0)
			return names[i];
	}
	return NULL;
}

int main(void)
{
	char directory[] = "/tmp/gpuproof-schema.XXXXXX";
	const char *interpreter = python();
	char *sample, *command;
	int code;

	if (!interpreter) {
		puts("skipped: python3-jsonschema is not installed; ci/install-deps installs it");
		return 77;
	}
	if (!mkdtemp(directory))
		return 1;
	sample = xasprintf("%s/sample.json", directory);
	write_sample(sample);
	command = xasprintf("%s " TESTS_DIR "/commands/result_schema.py --mutate " SCHEMA
			    " %s $(find " TESTS_DIR "/data -maxdepth 1 -name '*.json' 2>/dev/null)",
			    interpreter, sample);
	code = system(command);
	unlink(sample);
	rmdir(directory);
	free(sample);
	free(command);
	return code == 0 ? 0 : 1;
}
