/* Reads tables in text: columns named by a heading, fields, numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/reading.h"

/*
 * Reads one field (RFC 4180) at *at and unquotes it in place. Sets *at to the text after the
 * separator, or to NULL at the end.
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
	while (to > start && to[-1] == ' ')
		to--;
	*to = '\0';
	return start + strspn(start, " ");
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

void import_heading(struct import_table *table, const char *line, char separator)
{
	snprintf(table->heading, sizeof(table->heading), "%s", line);
	table->count = import_fields(table->heading, separator, table->names, IMPORT_COLUMNS);
}

int import_column(const struct import_table *table, const char *name, int nth)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->names[i], name) == 0 && nth-- == 0)
			return (int)i;
	return -1;
}

bool import_real(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value);
}

double import_half_digit(const char *text)
{
	const char *exponent = strpbrk(text, "eE"), *point = strchr(text, '.');
	double half = 0.5;

	if (point)
		half *= pow(10, -(double)strspn(point + 1, "0123456789"));
	return exponent ? half * pow(10, atoi(exponent + 1)) : half;
}
