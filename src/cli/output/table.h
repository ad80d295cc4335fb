/*
 * Aligned text tables. Columns are as wide as their widest cell; on a terminal the last one is
 * folded at word breaks, elsewhere (a file, grep) a row is a line.
 *
 *	struct output_table table = TABLE_EMPTY;
 *	TABLE_ROW(&table, "NAME", "SUMMARY");
 *	table_finish(&table, stdout);
 */
#ifndef GPUPROOF_CLI_OUTPUT_TABLE_H
#define GPUPROOF_CLI_OUTPUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"

#define TABLE_MAX_COLUMNS 8

struct output_table {
	char *(*rows)[TABLE_MAX_COLUMNS];
	size_t count, capacity, columns;
};

#define TABLE_EMPTY           \
	{                     \
		NULL, 0, 0, 0 \
	}

/* Adds a row of `columns` cells (copied); all rows have the same number. */
void table_row(struct output_table *table, const char *const *cells, size_t columns);
#define TABLE_ROW(TABLE, ...)                             \
	table_row(TABLE, (const char *[]){ __VA_ARGS__ }, \
		  ARRAY_SIZE(((const char *[]){ __VA_ARGS__ })))
/* Removes a column that is empty below the first row. */
void table_drop_if_empty(struct output_table *table, size_t column);
/* Prints the table and releases it. */
void table_finish(struct output_table *table, FILE *out);
void table_release(struct output_table *table);

/*
 * Columns of the terminal that `out` is connected to; SIZE_MAX (no limit) if it is not a terminal.
 */
size_t table_terminal_columns(FILE *out);
/* Prints a line folded at word breaks to `width` columns; continues at column `indent`. */
void table_print_folded(const char *s, size_t indent, size_t width, FILE *out);
/* True if stdout is a terminal and colours are wanted: https://no-color.org. */
bool table_is_coloured(void);

#endif
