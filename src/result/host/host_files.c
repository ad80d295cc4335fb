#include "result/host/host_files.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

static FILE *host_files_open_below(const char *root, const char *path)
{
	char *whole = xasprintf("%s%s", root, path);
	FILE *file = fopen(whole, "re");

	free(whole);
	return file;
}

static void host_files_trim_trailing_space(char *s)
{
	size_t length = strlen(s);

	while (length && isspace((unsigned char)s[length - 1]))
		s[--length] = '\0';
}

bool host_files_has(const char *root, const char *path)
{
	char *whole = xasprintf("%s%s", root, path);
	bool found = access(whole, F_OK) == 0;

	free(whole);
	return found;
}

bool host_files_first_line(const char *root, const char *path, char *out, int size)
{
	FILE *file = host_files_open_below(root, path);
	bool found = file && fgets(out, size, file);

	if (file)
		fclose(file);
	if (found)
		host_files_trim_trailing_space(out);
	return found;
}

void host_files_value(const char *root, const char *path, const char *key, char separator,
		      char *out, size_t size)
{
	FILE *file = host_files_open_below(root, path);
	char line[4096];

	out[0] = '\0';
	while (file && !out[0] && fgets(line, sizeof(line), file)) {
		char *value = strchr(line, separator);

		if (!value)
			continue;
		*value++ = '\0';
		host_files_trim_trailing_space(line);
		if (strcmp(line, key) != 0)
			continue;
		host_files_trim_trailing_space(value);
		value += strspn(value, " \t\"");
		snprintf(out, size, "%s", value);
		if (text_ends_with(out, "\""))
			out[strlen(out) - 1] = '\0';
	}
	if (file)
		fclose(file);
}

size_t host_files_matches(const char *root, const char *pattern,
			  void (*visit)(void *state, const char *path), void *state)
{
	char *whole = xasprintf("%s%s", root, pattern);
	glob_t matches = { 0 };
	size_t count = 0;

	if (glob(whole, 0, NULL, &matches) == 0)
		count = matches.gl_pathc;
	for (size_t i = 0; visit && i < count; i++)
		visit(state, matches.gl_pathv[i]);
	globfree(&matches);
	free(whole);
	return count;
}
