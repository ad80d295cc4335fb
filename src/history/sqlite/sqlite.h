/*
 * The one door to SQLite: one file, a rollback journal (works on network file systems, where a
 * shared-memory log does not), every value bound to a prepared statement. Writers wait for each
 * other up to DB_BUSY_SECONDS.
 *
 *	struct db_query *q = db_select(db, err, "SELECT id, name FROM t WHERE day > ?", "i", day);
 *	while (db_next(q))
 *		... db_integer(q, 0), db_string(q, 1) ...
 *	return db_end(q);
 *
 * For this folder alone. Types of parameters: 'i' int64_t, 'd' double (NaN is NULL), 's' const
 * char * (NULL is NULL).
 */
#ifndef GPUPROOF_HISTORY_SQLITE_SQLITE_H
#define GPUPROOF_HISTORY_SQLITE_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DB_BUSY_SECONDS 20

#define STORE_APPLICATION 0x67707266 /* "gprf" */
/* of the history's tables (store.c); ends with NULL */
extern const char *const store_migrations[];

enum db_mode {
	DB_READ,  /* must exist */
	DB_WRITE, /* must exist */
	DB_CREATE /* is made when there is none */
};

struct db;
struct db_query;

/*
 * Checks that the file is one of ours (`application`) and intact, and brings it from its version to
 * the newest by `migrations` (SQL; the first makes version 1; ends with NULL). A newer version is
 * refused.
 */
enum status db_open(struct db **db, const char *path, enum db_mode mode, int application,
		    const char *const *migrations, struct error *err);
void db_close(struct db *db);

/*
 * A transaction that holds the file's write lock from the start, or one within it that can be
 * undone alone; each is ended by db_commit() or db_rollback(). A commit that fails undoes it.
 */
enum status db_begin(struct db *db, struct error *err);
enum status db_commit(struct db *db, struct error *err);
void db_rollback(struct db *db);

enum status db_run(struct db *db, struct error *err, const char *sql, const char *types, ...);
size_t db_changes(const struct db *db);  /* rows that the last db_run() changed */
int64_t db_last_id(const struct db *db); /* of the last row inserted */

/* Never NULL; an error is found by db_end(). */
struct db_query *db_select(struct db *db, struct error *err, const char *sql, const char *types,
			   ...);
bool db_next(struct db_query *query);
int64_t db_integer(const struct db_query *query, int column);
double db_real(const struct db_query *query, int column); /* NULL is NaN */
/*
 * As db_integer(), but what is outside of [least, most] is damage (STATUS_IO), named `what`, and
 * ends the query.
 */
int64_t db_integer_within(struct db_query *query, int column, int64_t least, int64_t most,
			  const char *what);
const char *db_string(const struct db_query *query,
		      int column);          /* NULL is ""; valid until the next row */
enum status db_end(struct db_query *query); /* frees it */
/* The integer in the first row, usually an id; 0: there is none. Ends the query. */
int64_t db_id(struct db_query *query);

#endif
