/* Private declarations of the store: conversion between database rows and the types of store.h. */
#ifndef GPUPROOF_HISTORY_SQLITE_ROWS_H
#define GPUPROOF_HISTORY_SQLITE_ROWS_H

#include "history/sqlite/sqlite.h"
#include "history/store.h"

struct store {
	struct db *db;
};

/* Text of a column, without control characters; the caller frees it. */
char *store_text(const struct db_query *query, int column);
/* Name of a metric under its current name; the caller frees it. */
char *store_metric(const struct db_query *query, int column);
/*
 * A day within the calendar. Other values are damage, reported as `what`, because loops run from
 * day to day.
 */
int64_t store_day(struct db_query *query, int column, const char *what);
/*
 * Section and point from these columns; derived from the case in the third column if they are
 * empty.
 */
void store_section_and_point(const struct db_query *query, int section, int case_id,
			     char **out_section, char **out_point);
const char *store_text_or_empty(const char *text); /* NULL becomes "" */

#endif
