#include "cli/output/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP 2        /* blanks between columns */
#define NARROWEST 20 /* minimum width of the last column */

void table_row(struct output_table *table, const char *const *cells, size_t columns)
{
	ARRAY_GROW(table->rows, table->count, table->capacity);
	for (size_t i = 0; i < columns; i++) {
		char *copy = xstrdup(cells[i]);

		/* A row stays one line, whatever its cells contain. */
		for (char *p = copy; *p; p++)
			if (*p == '\n' || *p == '\t')
				*p = ' ';
		table->rows[table->count][i] = copy;
	}
	table->columns = columns;
	table->count++;
}

void table_drop_if_empty(struct output_table *table, size_t column)
{
	for (size_t row = 1; row < table->count; row++)
		if (*table->rows[row][column])
			return;
	table->columns--;
	for (size_t row = 0; row < table->count; row++) {
		free(table->rows[row][column]);
		memmove(&table->rows[row][column], &table->rows[row][column + 1],
			(table->columns - column) * sizeof(table->rows[row][column]));
	}
}

void table_release(struct output_table *table)
{
	for (size_t row = 0; row < table->count; row++)
		for (size_t i = 0; i < table->columns; i++)
			free(table->rows[row][i]);
	free(table->rows);
	*table = (struct output_table)TABLE_EMPTY;
}

size_t table_terminal_columns(FILE *out)
{
	struct winsize size;

	if (isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return SIZE_MAX;
}

bool table_is_coloured(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

/* Characters in the first `length` bytes: "µ" counts as one. */
static size_t table_width_of(const char *s, size_t length)
{
	size_t width = 0;

	for (size_t i = 0; i < length; i++)
		width += ((unsigned char)s[i] & 0xC0) != 0x80; /* UTF-8 continuation bytes */
	return width;
}

void table_print_folded(const char *s, size_t indent, size_t width, FILE *out)
{
	for (;;) {
		size_t end = 0, word_end = 0, length;

		/* Cuts after a word if possible; else prints a whole word. */
		while (s[end] && table_width_of(s, end + 1) <= width) {
			end++;
			if (s[end] == ' ' || !s[end])
				word_end = end;
		}
		length = word_end ? word_end : end + strcspn(s + end, " ");
		fprintf(out, "%.*s\n", (int)length, s);
		s += length;
		s += strspn(s, " ");
		if (!*s)
			return;
		fprintf(out, "%*s", (int)indent, "");
	}
}

void table_finish(struct output_table *table, FILE *out)
{
	size_t widths[TABLE_MAX_COLUMNS] = { 0 };
	size_t indent = 0, columns = table_terminal_columns(out), last;

	for (size_t row = 0; row < table->count; row++) {
		for (size_t i = 0; i < table->columns; i++) {
			size_t width =
				table_width_of(table->rows[row][i], strlen(table->rows[row][i]));

			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
	for (size_t i = 0; i + 1 < table->columns; i++)
		indent += widths[i] + GAP;
	last = columns > indent + NARROWEST ? columns - indent : NARROWEST;
	for (size_t row = 0; row < table->count; row++) {
		for (size_t i = 0; i + 1 < table->columns; i++) {
			const char *cell = table->rows[row][i];
			size_t width = table_width_of(cell, strlen(cell));

			fprintf(out, "%s%*s", cell, (int)(widths[i] - width + GAP), "");
		}
		table_print_folded(table->rows[row][table->columns - 1], indent, last, out);
	}
	table_release(table);
}
