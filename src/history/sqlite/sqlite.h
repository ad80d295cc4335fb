/*
 * The only access to SQLite. Each history is one file with a rollback journal (it works on network
 * file systems, unlike a shared-memory log). Every value is bound to a prepared statement. Writers
 * wait for each other up to DB_BUSY_SECONDS.
 *
 *	struct db_query *q = db_select(db, err, "SELECT id, name FROM t WHERE day > ?", "i", day);
 *	while (db_next(q))
 *		... db_integer(q, 0), db_string(q, 1) ...
 *	return db_end(q);
 *
 * Private to this folder. Types of parameters: 'i' int64_t, 'd' double (NaN is NULL), 's' const
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
/* migrations of the history's tables (store.c), NULL-terminated */
extern const char *const store_migrations[];

enum db_mode {
	DB_READ,  /* must exist */
	DB_WRITE, /* must exist */
	DB_CREATE /* created if missing */
};

struct db;
struct db_query;

/*
 * Opens a database, checks that it has the id `application` and is intact, and migrates it to the
 * newest version by `migrations` (SQL; the first creates version 1; NULL-terminated). Refuses a
 * newer version.
 */
enum status db_open(struct db **db, const char *path, enum db_mode mode, int application,
		    const char *const *migrations, struct error *err);
void db_close(struct db *db);

/*
 * Starts a transaction that holds the write lock of the file, or a nested one that can be undone
 * alone. db_commit() or db_rollback() ends it. A failed commit undoes it.
 */
enum status db_begin(struct db *db, struct error *err);
enum status db_commit(struct db *db, struct error *err);
void db_rollback(struct db *db);

enum status db_run(struct db *db, struct error *err, const char *sql, const char *types, ...);
size_t db_changes(const struct db *db);  /* rows changed by the last db_run() */
int64_t db_last_id(const struct db *db); /* id of the last inserted row */

/* Never NULL; db_end() reports errors. */
struct db_query *db_select(struct db *db, struct error *err, const char *sql, const char *types,
			   ...);
bool db_next(struct db_query *query);
int64_t db_integer(const struct db_query *query, int column);
double db_real(const struct db_query *query, int column); /* NULL becomes NaN */
/*
 * As db_integer(); a value outside of [least, most] is damage (STATUS_IO), reported as `what`, and
 * ends the query.
 */
int64_t db_integer_within(struct db_query *query, int column, int64_t least, int64_t most,
			  const char *what);
const char *db_string(const struct db_query *query,
		      int column);          /* NULL becomes ""; valid until the next row */
enum status db_end(struct db_query *query); /* frees it */
/* The integer in the first row, usually an id; 0: no row. Ends the query. */
int64_t db_id(struct db_query *query);

#endif
