/*
 * The store as one SQLite file, safe with two writers: tables, opening, transactions, columns.
 *
 * Adding a table or column: append an entry to `store_migrations`; never change an existing one.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/text.h"
#include "history/sqlite/rows.h"
#include "result/result.h"

/*
 * Days are counted from 1970-01-01. `better`: enum better. Another hardware, driver or config
 * starts a new epoch.
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

static const char baselines_and_notes[] =
	"CREATE TABLE note (id INTEGER PRIMARY KEY, day INTEGER NOT NULL, series INTEGER NOT NULL, "
	"acknowledges INTEGER NOT NULL, text TEXT NOT NULL, written TEXT NOT NULL);CREATE TABLE "
	"baseline (name TEXT NOT NULL, position INTEGER NOT NULL, saved TEXT NOT NULL, document "
	"TEXT NOT NULL, PRIMARY KEY (name, position));";

/* Verdict of the run: "ACCEPTED"; empty without one, or if the version did not store it. */
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

size_t store_version(void)
{
	return ARRAY_SIZE(store_migrations) - 1;
}

const char *store_text_or_empty(const char *s)
{
	return s ? s : "";
}

/*
 * Renames metrics of earlier versions to their current names, unless such a series exists already.
 */
static enum status rename_metrics(struct db *db, struct error *err)
{
	for (const struct former_name *f = former_names; f->former && err->status == STATUS_OK;
	     f++) {
		if (f->kind != NAME_METRIC ||
		    !db_id(db_select(db, err, "SELECT id FROM series WHERE metric = ? LIMIT 1", "s",
				     f->former)))
			continue;
		db_run(db, err, "UPDATE OR IGNORE series SET metric = ? WHERE metric = ?", "ss",
		       f->current, f->former);
	}
	return err->status;
}

enum status store_open(struct store **out, const char *path, enum store_mode mode,
		       struct error *err)
{
	static const enum db_mode modes[] = {
		[STORE_READ] = DB_READ, [STORE_WRITE] = DB_WRITE, [STORE_CREATE] = DB_CREATE
	};
	struct db *db;

	*out = NULL;
	if (db_open(&db, path, modes[mode], STORE_APPLICATION, store_migrations, err) != STATUS_OK)
		return err->status;
	/*
	 * In a read-only file, series are read under current names, but filters match the stored
	 * ones.
	 */
	if ((mode != STORE_READ || access(path, W_OK) == 0) &&
	    rename_metrics(db, err) != STATUS_OK) {
		db_close(db);
		return err->status;
	}
	*out = xcalloc(1, sizeof(**out));
	(*out)->db = db;
	return STATUS_OK;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	db_close(s->db);
	free(s);
}

enum status store_begin(struct store *s, struct error *err)
{
	return db_begin(s->db, err);
}

enum status store_end(struct store *s, bool keep, struct error *err)
{
	if (keep && err->status == STATUS_OK)
		db_commit(s->db, err);
	else
		db_rollback(s->db);
	return err->status;
}

int64_t store_day(struct db_query *q, int column, const char *what)
{
	return db_integer_within(q, column, FIRST_DAY, LAST_DAY, what);
}

char *store_text(const struct db_query *q, int column)
{
	return text_harmless(db_string(q, column));
}

char *store_metric(const struct db_query *q, int column)
{
	return text_harmless(former_name_current(NAME_METRIC, "", db_string(q, column)));
}

void store_section_and_point(const struct db_query *q, int section, int case_id, char **out_section,
			     char **out_point)
{
	if (*db_string(q, section)) {
		*out_section = store_text(q, section);
		*out_point = store_text(q, section + 1);
		return;
	}
	series_point_of_id(db_string(q, case_id), out_section, out_point);
}
