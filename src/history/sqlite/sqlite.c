/*
 * The store as one SQLite file, safe with two writers: tables, opening, transactions, queries.
 *
 * Adding a table or column: append an entry to `store_migrations`; never change an existing one.
 */
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
#include "base/former_names.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/result.h"

/* Cache of prepared statements: a night runs the same few a thousand times. */
#define CHECKED_PAGES 16384 /* 64 MiB take a tenth of a second: writers open the file every time */
#define KEPT_STATEMENTS 8
#define BUSY_SECONDS 20
#define APPLICATION 0x67707266 /* "gprf" */

/*
 * Migrations of the tables. Days are counted from 1970-01-01. `better`: enum better. Another
 * hardware, driver or config starts a new epoch.
 */
static const char tables[] =
	"CREATE TABLE night (id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, started TEXT NOT "
	"NULL, day INTEGER NOT NULL, host TEXT NOT NULL, label TEXT NOT NULL, state TEXT NOT NULL, "
	"facts TEXT NOT NULL);CREATE INDEX night_day ON night (day);CREATE TABLE epoch (id INTEGER "
	"PRIMARY KEY, hash TEXT NOT NULL UNIQUE, facts TEXT NOT NULL);CREATE TABLE series (id "
	"INTEGER PRIMARY KEY, metric TEXT NOT NULL, case_id TEXT NOT NULL, model TEXT NOT NULL, "
	"machine TEXT NOT NULL, unit TEXT NOT NULL, better INTEGER NOT NULL, headline INTEGER NOT "
	"NULL, UNIQUE (case_id, metric, model, machine));CREATE TABLE point (series INTEGER NOT "
	"NULL REFERENCES series, night INTEGER NOT NULL REFERENCES night, epoch INTEGER NOT NULL "
	"REFERENCES epoch, value REAL, low REAL, high REAL, PRIMARY KEY (series, night)) WITHOUT "
	"ROWID;";

/* The table baseline is no longer used. A migration that exists is never changed. */
static const char baselines_and_notes[] =
	"CREATE TABLE note (id INTEGER PRIMARY KEY, day INTEGER NOT NULL, series INTEGER NOT NULL, "
	"acknowledges INTEGER NOT NULL, text TEXT NOT NULL, written TEXT NOT NULL);CREATE TABLE "
	"baseline (name TEXT NOT NULL, position INTEGER NOT NULL, saved TEXT NOT NULL, document "
	"TEXT NOT NULL, PRIMARY KEY (name, position));";

/*
 * Verdict of the run, such as "ACCEPTED". Empty: the run has none, or the version of gpuproof that
 * added it did not store verdicts.
 */
static const char verdicts[] = "ALTER TABLE night ADD COLUMN verdict TEXT NOT NULL DEFAULT '';";

/* Series of earlier versions have no section and point: both are derived from their case. */
static const char places[] =
	"ALTER TABLE series ADD COLUMN section TEXT NOT NULL DEFAULT '';ALTER TABLE series ADD "
	"COLUMN point TEXT NOT NULL DEFAULT '';CREATE TABLE device (night INTEGER NOT NULL "
	"REFERENCES night, id TEXT NOT NULL, machine TEXT NOT NULL, model TEXT NOT NULL, serial "
	"TEXT NOT NULL, slot TEXT NOT NULL, PRIMARY KEY (night, id)) WITHOUT ROWID;";

/* Exports and merges read nights one by one. */
static const char by_night[] = "CREATE INDEX point_night ON point (night);";

/* User decisions: enum triage as a word, and the subject of each. */
static const char tags_and_triage[] =
	"ALTER TABLE night ADD COLUMN tags TEXT NOT NULL DEFAULT '';ALTER TABLE note ADD COLUMN "
	"state TEXT NOT NULL DEFAULT '';ALTER TABLE note ADD COLUMN person TEXT NOT NULL DEFAULT "
	"'';ALTER TABLE note ADD COLUMN ticket TEXT NOT NULL DEFAULT '';ALTER TABLE note ADD "
	"COLUMN until INTEGER NOT NULL DEFAULT 0;ALTER TABLE note ADD COLUMN host TEXT NOT NULL "
	"DEFAULT '';ALTER TABLE note ADD COLUMN machine TEXT NOT NULL DEFAULT '';ALTER TABLE note "
	"ADD COLUMN case_id TEXT NOT NULL DEFAULT '';ALTER TABLE note ADD COLUMN metric TEXT NOT "
	"NULL DEFAULT '';";

/* enum figure_kind by name; it determines the variation assumed for few nights. */
static const char kinds[] = "ALTER TABLE series ADD COLUMN kind TEXT NOT NULL DEFAULT '';";

const char *const store_migrations[] = { tables,   baselines_and_notes, verdicts, places,
					 by_night, tags_and_triage,     kinds,    NULL };

size_t sqlite_store_version(void)
{
	return ARRAY_SIZE(store_migrations) - 1;
}

struct store {
	sqlite3 *handle;
	char *path;
	sqlite3_stmt *kept[KEPT_STATEMENTS]; /* reset statements; NULL: empty */
	unsigned next;                       /* the slot to replace */
	unsigned depth;                      /* nesting depth of transactions */
};

struct db_query {
	struct store *store;
	sqlite3_stmt *statement;
	struct error *err;
	enum status status;
};

static enum status sqlite_fail(const struct store *s, struct error *err)
{
	int code = sqlite3_errcode(s->handle);

	if (code == SQLITE_BUSY)
		return error_set(err, STATUS_IO,
				 "%s: another program has locked the history for %d s; try again "
				 "later",
				 s->path, BUSY_SECONDS);
	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
		return error_set(err, STATUS_IO,
				 "%s: the file is not a history, or it is damaged (%s)", s->path,
				 sqlite3_errmsg(s->handle));
	return error_set(err, STATUS_IO, "%s: %s", s->path, sqlite3_errmsg(s->handle));
}

static void sqlite_bind(sqlite3_stmt *statement, const char *types, va_list arguments)
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
			const char *text = va_arg(arguments, const char *);

			sqlite3_bind_text(statement, i, text ? text : "", -1, SQLITE_TRANSIENT);
		}
	}
}

static struct db_query *sqlite_prepare(struct store *s, struct error *err, const char *sql,
				       const char *types, va_list arguments)
{
	struct db_query *q = xcalloc(1, sizeof(*q));

	*q = (struct db_query){ .store = s, .err = err };
	for (size_t i = 0; i < KEPT_STATEMENTS && !q->statement; i++)
		if (s->kept[i] && strcmp(sqlite3_sql(s->kept[i]), sql) == 0) {
			q->statement = s->kept[i];
			s->kept[i] = NULL;
		}
	if (!q->statement &&
	    sqlite3_prepare_v2(s->handle, sql, -1, &q->statement, NULL) != SQLITE_OK)
		q->status = sqlite_fail(s, err);
	else
		sqlite_bind(q->statement, types, arguments);
	return q;
}

struct db_query *sqlite_select(struct store *s, struct error *err, const char *sql,
			       const char *types, ...)
{
	struct db_query *q;
	va_list arguments;

	va_start(arguments, types);
	q = sqlite_prepare(s, err, sql, types, arguments);
	va_end(arguments);
	return q;
}

bool sqlite_next(struct db_query *q)
{
	int code;

	if (q->status != STATUS_OK)
		return false;
	code = sqlite3_step(q->statement);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		q->status = sqlite_fail(q->store, q->err);
	return code == SQLITE_ROW;
}

int64_t sqlite_integer(const struct db_query *q, int column)
{
	return sqlite3_column_int64(q->statement, column);
}

int64_t sqlite_store_day(struct db_query *q, int column, const char *what)
{
	int64_t day = sqlite_integer(q, column);

	if (day >= FIRST_DAY && day <= LAST_DAY)
		return day;
	if (q->status == STATUS_OK)
		q->status = error_set(q->err, STATUS_IO,
				      "%s: the history is damaged: %s %" PRId64
				      " is not within %" PRId64 " and %" PRId64,
				      q->store->path, what, day, FIRST_DAY, LAST_DAY);
	return FIRST_DAY;
}

double sqlite_real(const struct db_query *q, int column)
{
	return sqlite3_column_type(q->statement, column) == SQLITE_NULL
		       ? (double)NAN
		       : sqlite3_column_double(q->statement, column);
}

const char *sqlite_string(const struct db_query *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q->statement, column);

	return text ? text : "";
}

char *sqlite_store_text(const struct db_query *q, int column)
{
	return text_harmless(sqlite_string(q, column));
}

char *sqlite_store_metric(const struct db_query *q, int column)
{
	return text_harmless(former_name_current(NAME_METRIC, "", sqlite_string(q, column)));
}

void sqlite_store_section_and_point(const struct db_query *q, int section, int case_id,
				    char **out_section, char **out_point)
{
	if (*sqlite_string(q, section)) {
		*out_section = sqlite_store_text(q, section);
		*out_point = sqlite_store_text(q, section + 1);
		return;
	}
	series_point_of_id(sqlite_string(q, case_id), out_section, out_point);
}

enum status sqlite_end(struct db_query *q)
{
	enum status status = q->status;
	sqlite3_stmt **slot;

	/* A failed statement is not reused: sqlite3_reset() would return its error again. */
	if (status != STATUS_OK || !q->statement) {
		sqlite3_finalize(q->statement);
	} else {
		/* The oldest kept one is finalised if no place is free. */
		slot = &q->store->kept[q->store->next++ % KEPT_STATEMENTS];
		for (size_t i = 0; i < KEPT_STATEMENTS; i++)
			if (!q->store->kept[i])
				slot = &q->store->kept[i];
		sqlite3_finalize(*slot);
		sqlite3_reset(q->statement);
		sqlite3_clear_bindings(q->statement);
		*slot = q->statement;
	}
	free(q);
	return status;
}

int64_t sqlite_id(struct db_query *q)
{
	int64_t id = sqlite_next(q) ? sqlite_integer(q, 0) : 0;

	sqlite_end(q);
	return id;
}

char *sqlite_text(struct db_query *q)
{
	char *text = text_harmless(sqlite_next(q) ? sqlite_string(q, 0) : "");

	sqlite_end(q);
	return text;
}

enum status sqlite_run(struct store *s, struct error *err, const char *sql, const char *types, ...)
{
	struct db_query *q;
	va_list arguments;

	va_start(arguments, types);
	q = sqlite_prepare(s, err, sql, types, arguments);
	va_end(arguments);
	while (sqlite_next(q))
		;
	return sqlite_end(q);
}

size_t sqlite_changes(const struct store *s)
{
	return (size_t)sqlite3_changes(s->handle);
}

int64_t sqlite_last_id(const struct store *s)
{
	return sqlite3_last_insert_rowid(s->handle);
}

enum status sqlite_store_begin(struct store *s, struct error *err)
{
	enum status status =
		sqlite_run(s, err, s->depth ? "SAVEPOINT inner" : "BEGIN IMMEDIATE", "");

	s->depth += status == STATUS_OK;
	return status;
}

static void sqlite_rollback(struct store *s)
{
	struct error ignored = ERROR_NONE;

	/* A severe error ends all transactions. */
	if (sqlite3_get_autocommit(s->handle)) {
		s->depth = 0;
	} else if (s->depth > 1) {
		sqlite_run(s, &ignored, "ROLLBACK TO inner", "");
		sqlite_run(s, &ignored, "RELEASE inner", "");
		s->depth--;
	} else {
		sqlite_run(s, &ignored, "ROLLBACK", "");
		s->depth = 0;
	}
}

enum status sqlite_store_end(struct store *s, bool keep, struct error *err)
{
	if (!keep || err->status != STATUS_OK) {
		sqlite_rollback(s);
	} else if (s->depth > 1) {
		s->depth--;
		sqlite_run(s, err, "RELEASE inner", "");
	} else {
		sqlite_run(s, err, "COMMIT", "");
		/* A statement that failed for lack of space is still open. */
		if (err->status != STATUS_OK)
			sqlite_rollback(s);
		s->depth = 0;
	}
	return err->status;
}

static int64_t sqlite_pragma(struct store *s, const char *sql, struct error *err)
{
	struct db_query *q = sqlite_select(s, err, sql, "");
	int64_t value = sqlite_next(q) ? sqlite_integer(q, 0) : -1;

	sqlite_end(q);
	return value;
}

/*
 * Checks the whole file, up to CHECKED_PAGES; damage in a larger file is detected when it is read.
 */
static enum status sqlite_check_intact(struct store *s, struct error *err)
{
	struct db_query *q;
	enum status status;
	char *said;

	if (sqlite_pragma(s, "PRAGMA page_count", err) > CHECKED_PAGES)
		return err->status;
	q = sqlite_select(s, err, "PRAGMA quick_check(1)", "");
	said = xstrdup(sqlite_next(q) ? sqlite_string(q, 0) : "");
	status = sqlite_end(q);
	if (status == STATUS_OK && strcmp(said, "ok") != 0)
		status = error_set(err, STATUS_IO, "%s: the history is damaged (%.200s)", s->path,
				   said);
	free(said);
	return status;
}

/* Runs all statements of a migration; sqlite3_prepare_v2() handles one at a time. */
static enum status sqlite_run_script(struct store *s, const char *sql, struct error *err)
{
	while (*sql) {
		sqlite3_stmt *statement;
		int code;

		if (sqlite3_prepare_v2(s->handle, sql, -1, &statement, &sql) != SQLITE_OK)
			return sqlite_fail(s, err);
		code = statement ? sqlite3_step(statement) : SQLITE_DONE;
		sqlite3_finalize(statement);
		if (code != SQLITE_DONE)
			return sqlite_fail(s, err);
	}
	return STATUS_OK;
}

static enum status sqlite_migrate(struct store *s, struct error *err)
{
	char *sql;
	enum status status = sqlite_store_begin(s, err);
	/* Read again under the lock: another program may have migrated it. */
	int64_t version = status == STATUS_OK ? sqlite_pragma(s, "PRAGMA user_version", err) : 0;

	if (status == STATUS_OK && (version < 0 || version > (int64_t)sqlite_store_version()))
		status = error_set(err, STATUS_IO,
				   "%s: the history has version %d; this gpuproof reads versions 0 "
				   "to %zu",
				   s->path, (int)version, sqlite_store_version());
	for (; status == STATUS_OK && err->status == STATUS_OK && store_migrations[version];
	     version++)
		status = sqlite_run_script(s, store_migrations[version], err);
	if (status == STATUS_OK) {
		/* A pragma takes no parameters; both values are constants. */
		sql = xasprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;",
				APPLICATION, (int)version);
		status = sqlite_run_script(s, sql, err);
		free(sql);
	}
	return sqlite_store_end(s, status == STATUS_OK, err);
}

/* Checks that the file is a history and intact, and migrates it to the newest version. */
static enum status sqlite_check_version(struct store *s, enum store_mode mode, struct error *err)
{
	int newest = (int)sqlite_store_version(), version;
	int64_t application;
	bool is_empty;

	/* In one transaction: another program may be creating the same file. */
	if (sqlite_run(s, err, "BEGIN", "") != STATUS_OK)
		return err->status;
	version = (int)sqlite_pragma(s, "PRAGMA user_version", err);
	application = sqlite_pragma(s, "PRAGMA application_id", err);
	is_empty = sqlite_pragma(s, "SELECT count(*) FROM sqlite_master", err) == 0;
	sqlite_rollback(s);
	if (err->status != STATUS_OK)
		return err->status;
	if (application != APPLICATION && (version || application || !is_empty))
		return error_set(err, STATUS_USAGE,
				 "%s: the file is a database of another program, not a history",
				 s->path);
	/* In a damaged file the version can be any number, even a negative one. */
	if (version < 0 || version > newest)
		return error_set(err, STATUS_USAGE,
				 "%s: the history has version %d; this gpuproof reads versions up "
				 "to %d",
				 s->path, version, newest);
	if (version == newest)
		return sqlite_check_intact(s, err);
	if (mode == STORE_READ && access(s->path, W_OK) != 0)
		return error_set(err, STATUS_USAGE,
				 "%s: the history must be upgraded from version %d to version %d, "
				 "but the file is read-only",
				 s->path, version, newest);
	return sqlite_migrate(s, err);
}

/*
 * Renames metrics of earlier versions to their current names, unless such a series exists already.
 */
static enum status sqlite_rename_metrics(struct store *s, struct error *err)
{
	for (const struct former_name *f = former_names; f->former && err->status == STATUS_OK;
	     f++) {
		if (f->kind != NAME_METRIC ||
		    !sqlite_id(sqlite_select(s, err,
					     "SELECT id FROM series WHERE metric = ? LIMIT 1", "s",
					     f->former)))
			continue;
		sqlite_run(s, err, "UPDATE OR IGNORE series SET metric = ? WHERE metric = ?", "ss",
			   f->current, f->former);
	}
	return err->status;
}

/*
 * Selects the VFS for `path`; NULL: SQLite's default, which treats missing lock support as a lock
 * held by another program, and waits. Creates the file: locks cannot be tested without it.
 */
static const char *sqlite_choose_vfs(const char *path, enum store_mode mode)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = open(path,
		      O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
			      (mode == STORE_CREATE ? O_RDWR | O_CREAT : O_RDONLY),
		      0644);
	bool without = fd >= 0 && fcntl(fd, F_GETLK, &lock) != 0 && file_has_no_locks(path);

	if (fd >= 0)
		close(fd);
	return without ? "unix-none" : NULL;
}

enum status sqlite_store_open(struct store **out, const char *path, enum store_mode mode,
			      struct error *err)
{
	struct store *s = xcalloc(1, sizeof(*s));
	bool writable = mode != STORE_READ || access(path, W_OK) == 0;
	int flags = writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;

	*out = NULL;
	s->path = xstrdup(path);
	if (mode == STORE_READ)
		input_note(path);
	if (mode == STORE_CREATE)
		flags |= SQLITE_OPEN_CREATE;
	if (mode != STORE_CREATE && access(path, F_OK) != 0)
		error_errno(err, "%s", path);
	else if (sqlite3_open_v2(path, &s->handle, flags, sqlite_choose_vfs(path, mode)) !=
		 SQLITE_OK)
		sqlite_fail(s, err);
	if (err->status == STATUS_OK) {
		sqlite3_extended_result_codes(s->handle, 0);
		sqlite3_busy_timeout(s->handle, BUSY_SECONDS * 1000);
		sqlite_run(s, err, "PRAGMA trusted_schema = OFF", "");
	}
	if (err->status == STATUS_OK)
		sqlite_check_version(s, mode, err);
	/* Leaves write-ahead mode, which needs shared memory, if another program has set it. */
	if (err->status == STATUS_OK && writable)
		sqlite_run(s, err, "PRAGMA journal_mode = DELETE", "");
	/*
	 * In a read-only file, series are read under current names, but filters match the stored
	 * ones.
	 */
	if (err->status == STATUS_OK && writable)
		sqlite_rename_metrics(s, err);
	if (err->status == STATUS_OK)
		*out = s;
	else
		sqlite_store_close(s);
	return err->status;
}

void sqlite_store_close(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < KEPT_STATEMENTS; i++)
		sqlite3_finalize(s->kept[i]);
	sqlite3_close(s->handle);
	free(s->path);
	free(s);
}
