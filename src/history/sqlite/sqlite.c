#include "history/sqlite/sqlite.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"

/* Cache of prepared statements: a night runs the same few a thousand times. */
#define CHECKED_PAGES 16384 /* 64 MiB take a tenth of a second: writers open the file every time */
#define KEPT_STATEMENTS 8

struct db {
	sqlite3 *handle;
	char *path;
	sqlite3_stmt *kept[KEPT_STATEMENTS]; /* reset statements; NULL: empty */
	unsigned next;                       /* the slot to replace */
	unsigned depth;                      /* nesting depth of transactions */
};

struct db_query {
	struct db *db;
	sqlite3_stmt *statement;
	struct error *err;
	enum status status;
};

static enum status db_fail(const struct db *db, struct error *err)
{
	int code = sqlite3_errcode(db->handle);

	if (code == SQLITE_BUSY)
		return error_set(err, STATUS_IO, "%s: locked by another program for %d s", db->path,
				 DB_BUSY_SECONDS);
	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
		return error_set(err, STATUS_IO, "%s: not a history, or damaged (%s)", db->path,
				 sqlite3_errmsg(db->handle));
	return error_set(err, STATUS_IO, "%s: %s", db->path, sqlite3_errmsg(db->handle));
}

static void db_bind(sqlite3_stmt *statement, const char *types, va_list arguments)
{
	for (int i = 1; *types; i++, types++) {
		if (*types == 'i') {
			sqlite3_bind_int64(statement, i, va_arg(arguments, int64_t));
		} else if (*types == 'd') {
			double value = va_arg(arguments, double);

			if (isnan(value))
				sqlite3_bind_null(statement, i);
			else
				sqlite3_bind_double(statement, i, value);
		} else {
			sqlite3_bind_text(statement, i, va_arg(arguments, const char *), -1,
					  SQLITE_TRANSIENT);
		}
	}
}

static sqlite3_stmt *db_take_kept(struct db *db, const char *sql)
{
	for (size_t i = 0; i < KEPT_STATEMENTS; i++) {
		sqlite3_stmt *statement = db->kept[i];

		if (statement && strcmp(sqlite3_sql(statement), sql) == 0) {
			db->kept[i] = NULL;
			return statement;
		}
	}
	return NULL;
}

static void db_keep_statement(struct db *db, sqlite3_stmt *statement)
{
	sqlite3_stmt **slot = &db->kept[db->next++ % KEPT_STATEMENTS];

	for (size_t i = 0; i < KEPT_STATEMENTS; i++)
		if (!db->kept[i])
			slot = &db->kept[i];
	sqlite3_finalize(*slot);
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	*slot = statement;
}

static struct db_query *db_prepare(struct db *db, struct error *err, const char *sql,
				   const char *types, va_list arguments)
{
	struct db_query *q = xcalloc(1, sizeof(*q));

	*q = (struct db_query){ .db = db, .err = err };
	q->statement = db_take_kept(db, sql);
	if (!q->statement &&
	    sqlite3_prepare_v2(db->handle, sql, -1, &q->statement, NULL) != SQLITE_OK)
		q->status = db_fail(db, err);
	else
		db_bind(q->statement, types, arguments);
	return q;
}

struct db_query *db_select(struct db *db, struct error *err, const char *sql, const char *types,
			   ...)
{
	struct db_query *q;
	va_list arguments;

	va_start(arguments, types);
	q = db_prepare(db, err, sql, types, arguments);
	va_end(arguments);
	return q;
}

bool db_next(struct db_query *q)
{
	int code;

	if (q->status != STATUS_OK)
		return false;
	code = sqlite3_step(q->statement);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		q->status = db_fail(q->db, q->err);
	return code == SQLITE_ROW;
}

int64_t db_integer(const struct db_query *q, int column)
{
	return sqlite3_column_int64(q->statement, column);
}

int64_t db_integer_within(struct db_query *q, int column, int64_t least, int64_t most,
			  const char *what)
{
	int64_t value = db_integer(q, column);

	if (value >= least && value <= most)
		return value;
	if (q->status == STATUS_OK)
		q->status = error_set(q->err, STATUS_IO,
				      "%s: the history is damaged: %s %" PRId64
				      " is not within %" PRId64 " and %" PRId64,
				      q->db->path, what, value, least, most);
	return least;
}

double db_real(const struct db_query *q, int column)
{
	return sqlite3_column_type(q->statement, column) == SQLITE_NULL
		       ? (double)NAN
		       : sqlite3_column_double(q->statement, column);
}

const char *db_string(const struct db_query *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q->statement, column);

	return text ? text : "";
}

enum status db_end(struct db_query *q)
{
	enum status status = q->status;

	/* A failed statement is not reused: sqlite3_reset() would return its error again. */
	if (status == STATUS_OK && q->statement)
		db_keep_statement(q->db, q->statement);
	else
		sqlite3_finalize(q->statement);
	free(q);
	return status;
}

int64_t db_id(struct db_query *q)
{
	int64_t id = db_next(q) ? db_integer(q, 0) : 0;

	db_end(q);
	return id;
}

enum status db_run(struct db *db, struct error *err, const char *sql, const char *types, ...)
{
	struct db_query *q;
	va_list arguments;

	va_start(arguments, types);
	q = db_prepare(db, err, sql, types, arguments);
	va_end(arguments);
	while (db_next(q))
		;
	return db_end(q);
}

size_t db_changes(const struct db *db)
{
	return (size_t)sqlite3_changes(db->handle);
}

int64_t db_last_id(const struct db *db)
{
	return sqlite3_last_insert_rowid(db->handle);
}

enum status db_begin(struct db *db, struct error *err)
{
	enum status status = db_run(db, err, db->depth ? "SAVEPOINT inner" : "BEGIN IMMEDIATE", "");

	db->depth += status == STATUS_OK;
	return status;
}

enum status db_commit(struct db *db, struct error *err)
{
	if (db->depth > 1) {
		db->depth--;
		return db_run(db, err, "RELEASE inner", "");
	}
	db_run(db, err, "COMMIT", "");
	/* A statement that failed for lack of space is still open. */
	if (err->status != STATUS_OK)
		db_rollback(db);
	db->depth = 0;
	return err->status;
}

void db_rollback(struct db *db)
{
	struct error ignored = ERROR_NONE;

	/* A severe error ends all transactions. */
	if (sqlite3_get_autocommit(db->handle)) {
		db->depth = 0;
	} else if (db->depth > 1) {
		db_run(db, &ignored, "ROLLBACK TO inner", "");
		db_run(db, &ignored, "RELEASE inner", "");
		db->depth--;
	} else {
		db_run(db, &ignored, "ROLLBACK", "");
		db->depth = 0;
	}
}

static int64_t db_pragma(struct db *db, const char *sql, struct error *err)
{
	struct db_query *q = db_select(db, err, sql, "");
	int64_t value = db_next(q) ? db_integer(q, 0) : -1;

	db_end(q);
	return value;
}

/*
 * Checks the whole file, up to CHECKED_PAGES; damage in a larger file is detected when it is read.
 */
static enum status check_intact(struct db *db, struct error *err)
{
	struct db_query *q;
	enum status status;
	char *said;

	if (db_pragma(db, "PRAGMA page_count", err) > CHECKED_PAGES)
		return err->status;
	q = db_select(db, err, "PRAGMA quick_check(1)", "");
	said = xstrdup(db_next(q) ? db_string(q, 0) : "");
	status = db_end(q);
	if (status == STATUS_OK && strcmp(said, "ok") != 0)
		status = error_set(err, STATUS_IO, "%s: the history is damaged (%.200s)", db->path,
				   said);
	free(said);
	return status;
}

/* Runs all statements of a migration; sqlite3_prepare_v2() handles one at a time. */
static enum status run_script(struct db *db, const char *sql, struct error *err)
{
	while (*sql) {
		sqlite3_stmt *statement;
		int code;

		if (sqlite3_prepare_v2(db->handle, sql, -1, &statement, &sql) != SQLITE_OK)
			return db_fail(db, err);
		code = statement ? sqlite3_step(statement) : SQLITE_DONE;
		sqlite3_finalize(statement);
		if (code != SQLITE_DONE)
			return db_fail(db, err);
	}
	return STATUS_OK;
}

static enum status db_migrate(struct db *db, int application, const char *const *migrations,
			      struct error *err)
{
	char *sql;
	enum status status = db_begin(db, err);
	/* Read again under the lock: another program may have migrated it. */
	int64_t version = status == STATUS_OK ? db_pragma(db, "PRAGMA user_version", err) : 0;

	if (status == STATUS_OK && version < 0)
		status = error_set(err, STATUS_IO, "%s: the history is damaged (version %d)",
				   db->path, (int)version);
	for (; status == STATUS_OK && err->status == STATUS_OK && migrations[version]; version++)
		status = run_script(db, migrations[version], err);
	if (status == STATUS_OK) {
		/* A pragma takes no parameters; both values are constants. */
		sql = xasprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;",
				application, (int)version);
		status = run_script(db, sql, err);
		free(sql);
	}
	if (status == STATUS_OK && err->status == STATUS_OK)
		return db_commit(db, err);
	db_rollback(db);
	return err->status;
}

/* Identification of the file. */
struct identity {
	int64_t version, application;
	bool is_empty;
};

/* In one transaction: another program may be creating the same file. */
static enum status db_identify(struct db *db, struct identity *out, struct error *err)
{
	if (db_run(db, err, "BEGIN", "") != STATUS_OK)
		return err->status;
	out->version = db_pragma(db, "PRAGMA user_version", err);
	out->application = db_pragma(db, "PRAGMA application_id", err);
	out->is_empty = db_pragma(db, "SELECT count(*) FROM sqlite_master", err) == 0;
	db_rollback(db);
	return err->status;
}

static enum status db_check_version(struct db *db, enum db_mode mode, int application,
				    const char *const *migrations, struct error *err)
{
	struct identity found = { 0 };
	int64_t newest = 0;
	bool is_new;

	while (migrations[newest])
		newest++;
	if (db_identify(db, &found, err) != STATUS_OK)
		return err->status;
	is_new = found.version == 0 && found.application == 0 && found.is_empty;
	if (!is_new && found.application != application)
		return error_set(err, STATUS_USAGE,
				 "%s: not a history, but a database of "
				 "another program",
				 db->path);
	/* A damaged file may contain any version. */
	if (found.version < 0 || found.version > newest)
		return error_set(err, STATUS_USAGE,
				 "%s: history version %d; this gpuproof reads up to version %d",
				 db->path, (int)found.version, (int)newest);
	if (found.version == newest)
		return check_intact(db, err);
	if (mode == DB_READ && access(db->path, W_OK) != 0)
		return error_set(err, STATUS_USAGE,
				 "%s: history version %d must be upgraded to version %d, but "
				 "the file is read-only",
				 db->path, (int)found.version, (int)newest);
	return db_migrate(db, application, migrations, err);
}

/*
 * Selects the VFS for `path`; NULL: SQLite's default, which treats missing lock support as a lock
 * held by another program, and waits. Creates the file: locks cannot be tested without it.
 */
static const char *choose_vfs(const char *path, enum db_mode mode)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = open(path,
		      O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
			      (mode == DB_CREATE ? O_RDWR | O_CREAT : O_RDONLY),
		      0644);
	bool without = fd >= 0 && fcntl(fd, F_GETLK, &lock) != 0 && file_has_no_locks(path);

	if (fd >= 0)
		close(fd);
	return without ? "unix-none" : NULL;
}

enum status db_open(struct db **out, const char *path, enum db_mode mode, int application,
		    const char *const *migrations, struct error *err)
{
	struct db *db = xcalloc(1, sizeof(*db));
	bool writable = mode != DB_READ || access(path, W_OK) == 0;
	int flags = writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
	enum status status = STATUS_OK;

	*out = NULL;
	db->path = xstrdup(path);
	if (mode == DB_READ)
		input_note(path);
	if (mode != DB_CREATE && access(path, F_OK) != 0)
		status = error_errno(err, "%s", path);
	else if (sqlite3_open_v2(path, &db->handle,
				 flags | (mode == DB_CREATE ? SQLITE_OPEN_CREATE : 0),
				 choose_vfs(path, mode)) != SQLITE_OK)
		status = db_fail(db, err);
	if (status == STATUS_OK) {
		sqlite3_extended_result_codes(db->handle, 0);
		sqlite3_busy_timeout(db->handle, DB_BUSY_SECONDS * 1000);
		db_run(db, err, "PRAGMA trusted_schema = OFF", "");
		status = err->status;
	}
	if (status == STATUS_OK)
		status = db_check_version(db, mode, application, migrations, err);
	/* Leaves write-ahead mode, which needs shared memory, if another program has set it. */
	if (status == STATUS_OK && writable)
		status = db_run(db, err, "PRAGMA journal_mode = DELETE", "");
	if (status != STATUS_OK) {
		db_close(db);
		return status;
	}
	*out = db;
	return STATUS_OK;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	for (size_t i = 0; i < KEPT_STATEMENTS; i++)
		sqlite3_finalize(db->kept[i]);
	sqlite3_close(db->handle);
	free(db->path);
	free(db);
}
