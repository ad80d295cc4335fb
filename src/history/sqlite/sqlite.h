/*
 * The only access to SQLite. Each history is one file with a rollback journal (it works on network
 * file systems, unlike a shared-memory log). Every value is bound to a prepared statement. Writers
 * wait for each other up to 20 s.
 *
 *	struct db_query *q = sqlite_select(store, err, "SELECT id FROM t WHERE day > ?", "i", d);
 *	while (sqlite_next(q))
 *		... sqlite_integer(q, 0) ...
 *	return sqlite_end(q);
 *
 * Private to this folder. Types of parameters: 'i' int64_t, 'd' double (NaN is NULL), 's' const
 * char * (NULL is "").
 */
#ifndef GPUPROOF_HISTORY_SQLITE_SQLITE_H
#define GPUPROOF_HISTORY_SQLITE_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "history/store.h"

/* Scripts that lead from each version of the tables to the next; NULL-terminated. */
extern const char *const store_migrations[];

struct db_query;

enum status sqlite_run(struct store *store, struct error *err, const char *sql, const char *types,
		       ...);
size_t sqlite_changes(const struct store *store);  /* rows changed by the last sqlite_run() */
int64_t sqlite_last_id(const struct store *store); /* id of the last inserted row */

/* Never NULL; sqlite_end() reports errors. */
struct db_query *sqlite_select(struct store *store, struct error *err, const char *sql,
			       const char *types, ...);
bool sqlite_next(struct db_query *query);
int64_t sqlite_integer(const struct db_query *query, int column);
double sqlite_real(const struct db_query *query, int column); /* NULL becomes NaN */
const char *sqlite_string(const struct db_query *query,
			  int column);          /* NULL becomes ""; valid until the next row */
enum status sqlite_end(struct db_query *query); /* frees it */
/* The integer in the first row, usually an id; 0: no row. Ends the query. */
int64_t sqlite_id(struct db_query *query);
/* The text in the first row, as sqlite_store_text(); "" if there is no row. Ends the query. */
char *sqlite_text(struct db_query *query);

/* Text of a column, without control characters; the caller frees it. */
char *sqlite_store_text(const struct db_query *query, int column);
/* The current name of a metric that may be given by a former name; the caller frees it. */
char *sqlite_store_metric(const struct db_query *query, int column);
/*
 * A day within the calendar. Other values are damage (STATUS_IO), reported as `what`, and end the
 * query, because loops run from day to day.
 */
int64_t sqlite_store_day(struct db_query *query, int column, const char *what);
/*
 * Section and point from these columns; derived from the case in the third column if they are
 * empty.
 */
void sqlite_store_section_and_point(const struct db_query *query, int section, int case_id,
				    char **out_section, char **out_point);

#endif
