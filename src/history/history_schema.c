/*
 * The tables of the history, as migrations from version to version.
 *
 * Adding a table or column: one more entry in history_migrations, never a change of an old one.
 */
#include "history/history_schema.h"

#include <stddef.h>

/* Days are counted from 1970-01-01. `better`: enum better. */
static const char nights[] =
	"CREATE TABLE night (id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, started TEXT NOT "
	"NULL,"
	" day INTEGER NOT NULL, host TEXT NOT NULL, label TEXT NOT NULL, state TEXT NOT NULL,"
	" facts TEXT NOT NULL);"
	"CREATE INDEX night_day ON night (day);"
	/* Epochs: a new one begins with another hardware, driver or config. */
	"CREATE TABLE epoch (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, facts TEXT NOT "
	"NULL);"
	"CREATE TABLE series (id INTEGER PRIMARY KEY, metric TEXT NOT NULL, case_id TEXT NOT NULL,"
	" model TEXT NOT NULL, machine TEXT NOT NULL, unit TEXT NOT NULL, better INTEGER NOT NULL,"
	" headline INTEGER NOT NULL, UNIQUE (case_id, metric, model, machine));"
	"CREATE TABLE point (series INTEGER NOT NULL REFERENCES series, night INTEGER NOT NULL "
	"REFERENCES night,"
	" epoch INTEGER NOT NULL REFERENCES epoch, value REAL, low REAL, high REAL,"
	" PRIMARY KEY (series, night)) WITHOUT ROWID;";

static const char baselines_and_notes[] =
	"CREATE TABLE note (id INTEGER PRIMARY KEY, day INTEGER NOT NULL, series INTEGER NOT NULL,"
	" acknowledges INTEGER NOT NULL, text TEXT NOT NULL, written TEXT NOT NULL);"
	"CREATE TABLE baseline (name TEXT NOT NULL, position INTEGER NOT NULL, saved TEXT NOT NULL,"
	" document TEXT NOT NULL, PRIMARY KEY (name, position));";

/* The verdict on the run: "ACCEPTED"; empty when nothing was judged, or by a version that did not keep it. */
static const char verdicts[] = "ALTER TABLE night ADD COLUMN verdict TEXT NOT NULL DEFAULT '';";

const char *const history_migrations[] = { nights, baselines_and_notes, verdicts, NULL };
