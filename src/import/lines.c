/* Text as lines and fields. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

struct import_lines import_lines(const struct import *import)
{
	return (struct import_lines){ .at = import->text, .end = import->text + import->length };
}

bool import_next(struct import_lines *lines)
{
	const char *stop;
	size_t length;

	free(lines->line);
	lines->line = NULL;
	if (lines->at == lines->end)
		return false;
	stop = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
	length = (size_t)((stop ? stop : lines->end) - lines->at);
	lines->line = xstrndup(lines->at, length);
	while (length && (lines->line[length - 1] == '\r' || lines->line[length - 1] == ' '))
		lines->line[--length] = '\0';
	lines->at = stop ? stop + 1 : lines->end;
	lines->number++;
	return true;
}

void import_lines_end(struct import_lines *lines)
{
	free(lines->line);
	lines->line = NULL;
}

/*
 * One field of RFC 4180 from *at on, unquoted in place; *at is then after its separator, or NULL at
 * the end.
 */
static char *quoted_field(char **at, char separator)
{
	char *start = *at, *to = *at, *p = *at;
	bool quoted = *p == '"';

	if (quoted)
		p++;
	for (; *p && (quoted || *p != separator); p++) {
		if (quoted && *p == '"' && p[1] == '"')
			*to++ = *p++;
		else if (quoted && *p == '"')
			quoted = false;
		else
			*to++ = *p;
	}
	*at = *p ? p + 1 : NULL;
	*to = '\0';
	return start;
}

size_t import_fields(char *line, char separator, char **fields, size_t most)
{
	size_t count = 0;
	char *at = line;

	if (separator == ' ') {
		for (char *p = strtok_r(line, " \t", &at); p && count < most;
		     p = strtok_r(NULL, " \t", &at))
			fields[count++] = p;
		return count;
	}
	while (at && count < most)
		fields[count++] = quoted_field(&at, separator);
	return count;
}

bool import_real(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value);
}
