/* Between the files of the store: the store itself, and rows as the types of store.h. */
#ifndef GPUPROOF_HISTORY_SQLITE_ROWS_H
#define GPUPROOF_HISTORY_SQLITE_ROWS_H

#include "history/sqlite/sqlite.h"
#include "history/store.h"

struct store {
	struct db *db;
};

/* A column as text that is harmless on a terminal; the caller frees it. */
char *store_text(const struct db_query *query, int column);
/* The same of a metric, under its current name. */
char *store_metric(const struct db_query *query, int column);
/* A day that a calendar has; another one is damage, named `what`: loops run from day to day. */
int64_t store_day(struct db_query *query, int column, const char *what);
/* section and point of a row that has them in these two columns, and the case in the third. */
void store_section_and_point(const struct db_query *query, int section, int case_id,
			     char **out_section, char **out_point);
const char *store_text_or_empty(const char *text); /* NULL is "" */

#endif
