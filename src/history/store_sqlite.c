/*
 * The store as one SQLite file (sqlite.h), safe with two writers.
 *
 * Adding a table or column: one more entry in `migrations`, never a change of an old one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/text.h"
#include "history/sqlite.h"
#include "history/store.h"
#include "result/anonymise/pseudonym.h"
#include "result/result.h"

/*
 * Days are counted from 1970-01-01. `better`: enum better. An epoch begins with another hardware,
 * driver or config.
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

/*
 * The verdict on the run: "ACCEPTED"; empty when nothing was judged, or by a version that did not
 * keep it.
 */
static const char verdicts[] = "ALTER TABLE night ADD COLUMN verdict TEXT NOT NULL DEFAULT '';";

/* Series of earlier versions have no section and point: both are derived of their case. */
static const char places[] =
	"ALTER TABLE series ADD COLUMN section TEXT NOT NULL DEFAULT '';ALTER TABLE series ADD "
	"COLUMN point TEXT NOT NULL DEFAULT '';CREATE TABLE device (night INTEGER NOT NULL "
	"REFERENCES night, id TEXT NOT NULL, machine TEXT NOT NULL, model TEXT NOT NULL, serial "
	"TEXT NOT NULL, slot TEXT NOT NULL, PRIMARY KEY (night, id)) WITHOUT ROWID;";

/* Nights are read one by one, as exports and merges do. */
static const char by_night[] = "CREATE INDEX point_night ON point (night);";

/* Decisions of people: enum triage as its word, and what each is about. */
static const char tags_and_triage[] =
	"ALTER TABLE night ADD COLUMN tags TEXT NOT NULL DEFAULT '';ALTER TABLE note ADD COLUMN "
	"state TEXT NOT NULL DEFAULT '';ALTER TABLE note ADD COLUMN person TEXT NOT NULL DEFAULT "
	"'';ALTER TABLE note ADD COLUMN ticket TEXT NOT NULL DEFAULT '';ALTER TABLE note ADD "
	"COLUMN until INTEGER NOT NULL DEFAULT 0;ALTER TABLE note ADD COLUMN host TEXT NOT NULL "
	"DEFAULT '';ALTER TABLE note ADD COLUMN machine TEXT NOT NULL DEFAULT '';ALTER TABLE note "
	"ADD COLUMN case_id TEXT NOT NULL DEFAULT '';ALTER TABLE note ADD COLUMN metric TEXT NOT "
	"NULL DEFAULT '';";

/* A thinned night has no figures any more: the run, its devices and its verdict stay. */
static const char thinned_nights[] =
	"ALTER TABLE night ADD COLUMN thinned INTEGER NOT NULL DEFAULT 0;";

const char *const store_migrations[] = { tables,   baselines_and_notes, verdicts,       places,
					 by_night, tags_and_triage,     thinned_nights, NULL };

struct store {
	struct db *db;
};

size_t store_version(void)
{
	return ARRAY_SIZE(store_migrations) - 1;
}

static const char *text_or(const char *s)
{
	return s ? s : "";
}

/*
 * Series of earlier versions get their metrics' current names, unless they have a series already.
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
	 * In a read-only file series are read under the current names, but filters know the stored
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

/* Loops run from day to day: one that no calendar has would make them endless. */
static int64_t day_of(struct db_query *q, int column, const char *what)
{
	return db_integer_within(q, column, FIRST_DAY, LAST_DAY, what);
}

static char *text_of(const struct db_query *q, int column)
{
	return text_harmless(db_string(q, column));
}

static char *metric_of(const struct db_query *q, int column)
{
	return text_harmless(current_name(NAME_METRIC, "", db_string(q, column)));
}

/* section and point of a row that has them in these two columns, and the case in the third. */
static void place_of(const struct db_query *q, int section, int case_id, char **out_section,
		     char **out_point)
{
	if (*db_string(q, section)) {
		*out_section = text_of(q, section);
		*out_point = text_of(q, section + 1);
		return;
	}
	series_point_of_id(db_string(q, case_id), out_section, out_point);
}

int64_t store_find_night(struct store *s, const char *run_id, struct error *err)
{
	return db_id(db_select(s->db, err, "SELECT id FROM night WHERE run = ?", "s", run_id));
}

static void read_devices(struct store *s, int64_t id, struct store_night *out, struct error *err)
{
	struct db_query *q = db_select(s->db, err,
				       "SELECT id, machine, model, serial, slot FROM device WHERE "
				       "night = ? ORDER BY id",
				       "i", id);

	while (db_next(q)) {
		out->devices = xrealloc(out->devices, out->device_count + 1, sizeof(*out->devices));
		out->devices[out->device_count++] = (struct store_device){ .id = text_of(q, 0),
									   .machine = text_of(q, 1),
									   .model = text_of(q, 2),
									   .serial = text_of(q, 3),
									   .slot = text_of(q, 4) };
	}
	db_end(q);
}

/* The index of the epoch in the night; `ids` grows with the night's epochs. */
static size_t epoch_index(struct store_night *out, int64_t **ids, int64_t id, const char *facts)
{
	for (size_t i = out->epoch_count; i-- > 0;)
		if ((*ids)[i] == id)
			return i;
	*ids = xrealloc(*ids, out->epoch_count + 1, sizeof(**ids));
	out->epochs = xrealloc(out->epochs, out->epoch_count + 1, sizeof(*out->epochs));
	(*ids)[out->epoch_count] = id;
	out->epochs[out->epoch_count] = xstrdup(facts);
	return out->epoch_count++;
}

static void read_figures(struct store *s, int64_t id, struct store_night *out, struct error *err)
{
	struct db_query *q = db_select(s->db, err,
				       "SELECT s.metric, s.case_id, s.section, s.point, s.model, "
				       "s.machine, s.unit, s.better, s.headline, p.value, p.low, "
				       "p.high, e.id, e.facts FROM point p JOIN series s ON s.id = "
				       "p.series JOIN epoch e ON e.id = p.epoch WHERE p.night = ? "
				       "ORDER BY s.case_id, s.metric, s.model, s.machine",
				       "i", id);
	int64_t *ids = NULL;

	while (db_next(q)) {
		struct store_figure *f;

		ARRAY_GROW(out->figures, out->figure_count, out->figure_capacity);
		f = &out->figures[out->figure_count++];
		*f = (struct store_figure){ .metric = metric_of(q, 0),
					    .case_id = text_of(q, 1),
					    .model = text_of(q, 4),
					    .machine = text_of(q, 5),
					    .unit = text_of(q, 6),
					    .better = (enum better)db_integer(q, 7),
					    .headline = db_integer(q, 8) != 0,
					    .value = db_real(q, 9),
					    .low = db_real(q, 10),
					    .high = db_real(q, 11),
					    .epoch = epoch_index(out, &ids, db_integer(q, 12),
								 db_string(q, 13)) };
		place_of(q, 2, 1, &f->section, &f->point);
	}
	free(ids);
	db_end(q);
}

enum status store_read_night(struct store *s, int64_t id, struct store_night *out,
			     struct error *err)
{
	struct db_query *q = db_select(s->db, err,
				       "SELECT run, started, day, host, label, state, verdict, "
				       "facts, tags, thinned FROM night WHERE id = ?",
				       "i", id);

	memset(out, 0, sizeof(*out));
	if (db_next(q))
		*out = (struct store_night){ .run_id = text_of(q, 0),
					     .started = text_of(q, 1),
					     .day = day_of(q, 2, "the day"),
					     .host = text_of(q, 3),
					     .label = text_of(q, 4),
					     .state = text_of(q, 5),
					     .verdict = text_of(q, 6),
					     .facts = text_of(q, 7),
					     .tags = text_of(q, 8),
					     .thinned = db_integer(q, 9) != 0 };
	if (db_end(q) == STATUS_OK && !out->run_id)
		error_set(err, STATUS_USAGE, "there is no night %" PRId64, id);
	if (err->status == STATUS_OK)
		read_devices(s, id, out, err);
	if (err->status == STATUS_OK)
		read_figures(s, id, out, err);
	if (err->status != STATUS_OK)
		store_night_release(out);
	return err->status;
}

/* State of adding a night's figures. */
struct adding {
	struct db *db;
	const struct store_night *night;
	int64_t id;
	int64_t *epochs;
	struct error *err;
};

static int64_t add_epoch(struct db *db, const char *facts, struct error *err)
{
	static const struct pseudonym_key key = { 0, 0 };
	char hash[17];

	snprintf(hash, sizeof(hash), "%016" PRIx64, pseudonym_hash(&key, facts, strlen(facts)));
	db_run(db, err, "INSERT OR IGNORE INTO epoch (hash, facts) VALUES (?, ?)", "ss", hash,
	       facts);
	return db_id(db_select(db, err, "SELECT id FROM epoch WHERE hash = ?", "s", hash));
}

/* A figure in another unit would be a change by a factor of a thousand that never was. */
static void refuse_unit(struct adding *a, const struct store_figure *f, const char *before)
{
	error_set(a->err, STATUS_USAGE,
		  "%.200s: %.80s is in '%.30s', in this history so far in '%.30s': it belongs into "
		  "another one (--db)",
		  f->case_id, f->metric, f->unit, before);
}

static int64_t find_series(struct adding *a, const struct store_figure *f)
{
	struct db_query *q = db_select(a->db, a->err,
				       "SELECT id, unit FROM series WHERE case_id = ? AND metric = "
				       "? AND model = ? AND machine = ?",
				       "ssss", f->case_id, f->metric, f->model, f->machine);
	int64_t id = db_next(q) ? db_integer(q, 0) : 0;

	if (id && strcmp(db_string(q, 1), f->unit) != 0)
		refuse_unit(a, f, db_string(q, 1));
	db_end(q);
	if (id)
		return id;
	db_run(a->db, a->err,
	       "INSERT INTO series (case_id, metric, section, point, model, machine, unit, better, "
	       "headline) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	       "sssssssii", f->case_id, f->metric, f->section, f->point, f->model, f->machine,
	       f->unit, (int64_t)f->better, (int64_t)f->headline);
	return db_last_id(a->db);
}

static void add_figure(struct adding *a, const struct store_figure *f)
{
	int64_t epoch = a->epochs[f->epoch];

	if (f->only_gap)
		db_run(a->db, a->err,
		       "INSERT OR IGNORE INTO point (series, night, epoch, value) SELECT id, ?, ?, "
		       "NULL FROM series WHERE case_id = ? AND (? = '' OR metric = ?) AND model = "
		       "? AND machine = ?",
		       "iisssss", a->id, epoch, f->case_id, f->metric, f->metric, f->model,
		       f->machine);
	else
		db_run(a->db, a->err,
		       "INSERT OR REPLACE INTO point (series, night, epoch, value, low, high) "
		       "VALUES (?, ?, ?, ?, ?, ?)",
		       "iiiddd", find_series(a, f), a->id, epoch, f->value, f->low, f->high);
}

static void add_devices(struct adding *a)
{
	for (size_t i = 0; a->err->status == STATUS_OK && i < a->night->device_count; i++) {
		const struct store_device *d = &a->night->devices[i];

		db_run(a->db, a->err,
		       "INSERT OR REPLACE INTO device (night, id, machine, model, serial, slot) "
		       "VALUES (?, ?, ?, ?, ?, ?)",
		       "isssss", a->id, d->id, d->machine, d->model, d->serial, d->slot);
	}
}

enum status store_add_night(struct store *s, const struct store_night *n, struct error *err)
{
	struct adding a = { .db = s->db, .night = n, .err = err };

	if (store_begin(s, err) != STATUS_OK)
		return err->status;
	db_run(s->db, err,
	       "INSERT INTO night (run, started, day, host, label, state, facts, verdict, tags, "
	       "thinned) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	       "ssissssssi", n->run_id, n->started, n->day, n->host, n->label, n->state, n->facts,
	       n->verdict, text_or(n->tags), (int64_t)n->thinned);
	a.id = db_last_id(s->db);
	a.epochs = xcalloc(n->epoch_count + 1, sizeof(*a.epochs));
	for (size_t i = 0; err->status == STATUS_OK && i < n->epoch_count; i++)
		a.epochs[i] = add_epoch(s->db, n->epochs[i], err);
	add_devices(&a);
	for (size_t i = 0; err->status == STATUS_OK && i < n->figure_count; i++)
		add_figure(&a, &n->figures[i]);
	free(a.epochs);
	return store_end(s, true, err);
}

enum status store_remove_night(struct store *s, int64_t id, struct error *err)
{
	if (store_begin(s, err) != STATUS_OK)
		return err->status;
	db_run(s->db, err, "DELETE FROM point WHERE night = ?", "i", id);
	db_run(s->db, err, "DELETE FROM device WHERE night = ?", "i", id);
	db_run(s->db, err, "DELETE FROM night WHERE id = ?", "i", id);
	return store_end(s, true, err);
}

char *store_facts(struct store *s, int64_t night, struct error *err)
{
	struct db_query *q =
		db_select(s->db, err, "SELECT facts FROM night WHERE id = ?", "i", night);
	char *facts = text_harmless(db_next(q) ? db_string(q, 0) : "");

	db_end(q);
	return facts;
}

enum status store_nights(struct store *s, struct history_nights *out, struct error *err)
{
	struct db_query *q = db_select(s->db, err,
				       "SELECT id, day, run, started, host, label, state, verdict, "
				       "tags, thinned FROM night ORDER BY started, id",
				       "");

	memset(out, 0, sizeof(*out));
	while (db_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct history_night){ .id = db_integer(q, 0),
						.day = day_of(q, 1, "the day"),
						.run_id = text_of(q, 2),
						.started = text_of(q, 3),
						.host = text_of(q, 4),
						.label = text_of(q, 5),
						.state = text_of(q, 6),
						.verdict = text_of(q, 7),
						.tags = text_of(q, 8),
						.thinned = db_integer(q, 9) != 0 };
	}
	return db_end(q);
}

/* A later night of the same machine. */
static void move_place(struct history_place *p, struct db_query *q)
{
	if (strcmp(p->host, db_string(q, 1)) != 0) {
		free(p->host_before);
		p->host_before = p->host;
		p->host = text_of(q, 1);
	}
	free(p->device);
	free(p->slot);
	free(p->serial);
	p->device = text_of(q, 2);
	p->slot = text_of(q, 3);
	p->serial = text_of(q, 4);
	p->day = day_of(q, 5, "the day");
}

enum status store_places(struct store *s, struct history_places *out, struct error *err)
{
	struct db_query *q =
		db_select(s->db, err,
			  "SELECT d.machine, n.host, d.id, d.slot, d.serial, n.day FROM device d "
			  "JOIN "
			  "night n ON n.id = d.night ORDER BY d.machine, n.started, n.id, d.id",
			  "");

	memset(out, 0, sizeof(*out));
	while (db_next(q)) {
		if (out->count &&
		    strcmp(out->items[out->count - 1].machine, db_string(q, 0)) == 0) {
			move_place(&out->items[out->count - 1], q);
			continue;
		}
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] = (struct history_place){ .machine = text_of(q, 0),
								   .host = text_of(q, 1),
								   .device = text_of(q, 2),
								   .slot = text_of(q, 3),
								   .serial = text_of(q, 4),
								   .host_before = xstrdup(""),
								   .day = day_of(q, 5, "the day") };
	}
	return db_end(q);
}

static void series_release(struct history_series *s)
{
	char *texts[] = {
		s->metric, s->case_id, s->section, s->point, s->model, s->machine, s->unit
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	free(s->points);
	memset(s, 0, sizeof(*s));
}

static void take_row(struct db_query *q, struct history_series *s)
{
	ARRAY_GROW(s->points, s->count, s->capacity);
	s->points[s->count++] = (struct history_point){ .night = db_integer(q, 9),
							.day = day_of(q, 10, "the day"),
							.epoch = db_integer(q, 11),
							.value = db_real(q, 12),
							.low = db_real(q, 13),
							.high = db_real(q, 14) };
}

static void begin_series(struct db_query *q, struct history_series *s)
{
	series_release(s);
	*s = (struct history_series){ .id = db_integer(q, 0),
				      .metric = metric_of(q, 1),
				      .case_id = text_of(q, 2),
				      .model = text_of(q, 5),
				      .machine = text_of(q, 6),
				      .unit = text_of(q, 7),
				      .better = (enum better)db_integer(q, 8) };
	place_of(q, 3, 2, &s->section, &s->point);
}

/* The day of the night that is `nights` from the last. */
static int64_t first_day(struct store *s, size_t nights, struct error *err)
{
	struct db_query *q;
	int64_t day;

	if (!nights)
		return INT64_MIN;
	q = db_select(s->db, err,
		      "SELECT day FROM night GROUP BY day ORDER BY day DESC LIMIT 1 OFFSET ?", "i",
		      (int64_t)nights - 1);
	day = db_next(q) ? day_of(q, 0, "the day") : INT64_MIN;
	db_end(q);
	return day;
}

/* Which series a filter selects, with the parameters "iiiissss". */
#define SELECTED                                                                           \
	"(s.headline OR ?) AND (? = 0 OR s.id = ?) AND CASE WHEN ? THEN s.metric = ? AND " \
	"s.case_id = ? ELSE instr(s.metric, ?) AND instr(s.case_id, ?) END"

enum status store_each_series(struct store *s, const struct history_filter *f,
			      history_series_fn *visit, void *context, struct error *err)
{
	struct history_series series = { 0 };
	int64_t thinned = db_id(
		db_select(s->db, err,
			  "SELECT day FROM night WHERE thinned ORDER BY day DESC LIMIT 1", ""));
	struct db_query *q = db_select(
		s->db, err,
		"SELECT s.id, s.metric, s.case_id, s.section, s.point, s.model, s.machine, s.unit, "
		"s.better, n.id, n.day, p.epoch, p.value, p.low, p.high FROM series s CROSS JOIN "
		"point p ON p.series = s.id CROSS JOIN night n ON n.id = p.night WHERE " SELECTED
		" AND n.day >= ? AND (? = '' OR instr(' ' || n.tags || ' ', ' ' || ? || ' ')) "
		"ORDER BY s.id, n.started, n.id",
		"iiiissssiss", (int64_t)(f->all_metrics || f->series || f->metric), f->series,
		f->series, (int64_t)f->exact, text_or(f->metric), text_or(f->case_id),
		text_or(f->metric), text_or(f->case_id), first_day(s, f->nights, err),
		text_or(f->tag), text_or(f->tag));

	while (db_next(q)) {
		if (db_integer(q, 0) != series.id) {
			if (series.count)
				visit(context, &series);
			begin_series(q, &series);
			series.thinned = thinned;
		}
		take_row(q, &series);
	}
	if (series.count)
		visit(context, &series);
	series_release(&series);
	db_end(q);
	return err->status;
}

static struct db_query *select_series(struct store *s, const struct history_filter *f,
				      const char *sql, struct error *err)
{
	return db_select(s->db, err, sql, "iiiissss",
			 (int64_t)(f->all_metrics || f->series || f->metric), f->series, f->series,
			 (int64_t)f->exact, text_or(f->metric), text_or(f->case_id),
			 text_or(f->metric), text_or(f->case_id));
}

enum status store_each_name(struct store *s, const struct history_filter *f,
			    history_series_fn *visit, void *context, struct error *err)
{
	struct history_series series = { 0 };
	struct db_query *q =
		select_series(s, f,
			      "SELECT s.id, s.metric, s.case_id, s.section, s.point, s.model, "
			      "s.machine, s.unit, s.better FROM series s WHERE " SELECTED
			      " ORDER BY s.id",
			      err);

	while (db_next(q)) {
		begin_series(q, &series);
		visit(context, &series);
	}
	series_release(&series);
	return db_end(q);
}

enum status store_each_point(struct store *s, const struct history_filter *f, store_point_fn *visit,
			     void *context, struct error *err)
{
	struct db_query *q = select_series(s, f,
					   "SELECT p.series, p.night, p.epoch, p.value FROM series "
					   "s CROSS JOIN point p ON "
					   "p.series = s.id WHERE " SELECTED
					   " AND p.value IS NOT NULL ORDER BY s.id",
					   err);

	while (db_next(q))
		visit(context, db_integer(q, 0), db_integer(q, 1), db_integer(q, 2), db_real(q, 3));
	return db_end(q);
}

char *store_epoch_facts(struct store *s, int64_t epoch, struct error *err)
{
	struct db_query *q =
		db_select(s->db, err, "SELECT facts FROM epoch WHERE id = ?", "i", epoch);
	char *facts = text_harmless(db_next(q) ? db_string(q, 0) : "");

	db_end(q);
	return facts;
}

/* A note is one line wherever it is shown. */
static char *one_line(const char *text)
{
	char *line = text_harmless(text);

	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	return line;
}

static const char *const triage_words[TRIAGE_STATES + 1] = { "",         "open",        "fixed",
							     "expected", "false-alarm", "tracked",
							     "wontfix",  NULL };

const char *triage_word(enum triage state)
{
	return triage_words[state];
}

enum triage triage_of_word(const char *word)
{
	for (int i = 0; i < TRIAGE_STATES; i++)
		if (strcmp(triage_words[i], word) == 0)
			return (enum triage)i;
	return TRIAGE_NONE;
}

enum status store_notes(struct store *s, struct history_notes *out, struct error *err)
{
	struct db_query *q = db_select(s->db, err,
				       "SELECT id, day, series, acknowledges, text, written, "
				       "state, person, ticket, until, host, machine, case_id, "
				       "metric FROM note ORDER BY day, id",
				       "");

	memset(out, 0, sizeof(*out));
	while (db_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct history_note){ .id = db_integer(q, 0),
					       .day = day_of(q, 1, "the day of a note"),
					       .series = db_integer(q, 2),
					       .acknowledges = db_integer(q, 3) != 0,
					       .text = one_line(db_string(q, 4)),
					       .written = text_of(q, 5),
					       .state = triage_of_word(db_string(q, 6)),
					       .by = one_line(db_string(q, 7)),
					       .ticket = one_line(db_string(q, 8)),
					       .until = day_of(q, 9, "the end of a decision"),
					       .host = text_of(q, 10),
					       .machine = text_of(q, 11),
					       .case_id = text_of(q, 12),
					       .metric = text_of(q, 13) };
	}
	return db_end(q);
}

enum status store_add_note(struct store *s, const struct history_note *n, struct error *err)
{
	if (n->series &&
	    !db_id(db_select(s->db, err, "SELECT id FROM series WHERE id = ?", "i", n->series)))
		return error_set(err, STATUS_USAGE, "there is no series %" PRId64, n->series);
	return db_run(s->db, err,
		      "INSERT INTO note (day, series, acknowledges, text, written, state, person, "
		      "ticket, until, host, machine, case_id, metric) VALUES (?, ?, ?, ?, ?, ?, ?, "
		      "?, ?, ?, ?, ?, ?)",
		      "iiisssssissss", n->day, n->series, (int64_t)n->acknowledges, n->text,
		      n->written, triage_word(n->state), text_or(n->by), text_or(n->ticket),
		      n->until, text_or(n->host), text_or(n->machine), text_or(n->case_id),
		      text_or(n->metric));
}

enum status store_prune(struct store *s, int64_t day, size_t *removed, struct error *err)
{
	static const char *const of_nights[] = {
		"DELETE FROM point WHERE night IN (SELECT id FROM night WHERE day < ?)",
		"DELETE FROM device WHERE night IN (SELECT id FROM night WHERE day < ?)",
		"DELETE FROM note WHERE day < ? AND state IN ('', 'open', 'fixed')",
		"DELETE FROM night WHERE day < ?",
	};
	static const char *const orphans[] = {
		"DELETE FROM series WHERE id NOT IN (SELECT series FROM point)",
		"DELETE FROM epoch WHERE id NOT IN (SELECT epoch FROM point)",
	};

	*removed = 0;
	if (store_begin(s, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ARRAY_SIZE(of_nights); i++)
		db_run(s->db, err, of_nights[i], "i", day);
	*removed = db_changes(s->db);
	for (size_t i = 0; i < ARRAY_SIZE(orphans); i++)
		db_run(s->db, err, orphans[i], "");
	if (store_end(s, true, err) == STATUS_OK)
		store_compact(s, err);
	return err->status;
}

enum status store_compact(struct store *s, struct error *err)
{
	return db_run(s->db, err, "VACUUM", "");
}

enum status store_thin(struct store *s, int64_t before, int64_t every, const int64_t *keep,
		       size_t keep_count, size_t *thinned, struct error *err)
{
	/* min() takes the other columns of a group from its first night. */
	static const char first_nights[] =
		"INSERT OR IGNORE INTO stays SELECT night FROM (SELECT p.night AS night, "
		"min(n.started) FROM point p JOIN night n ON n.id = p.night WHERE n.day < ? AND "
		"p.value IS NOT NULL GROUP BY p.series, p.epoch, (n.day - ?) / ?)";
	static const char *const steps[] = {
		"INSERT OR IGNORE INTO stays SELECT id FROM night WHERE state <> 'complete' OR "
		"verdict NOT IN ('', 'ACCEPTED') OR day IN (SELECT day FROM note)",
		"DELETE FROM point WHERE night IN (SELECT id FROM night WHERE day < (SELECT day "
		"FROM thinning) AND id NOT IN stays)",
		"UPDATE night SET thinned = 1, facts = '' WHERE NOT thinned AND day < (SELECT day "
		"FROM thinning) AND id NOT IN stays",
	};

	*thinned = 0;
	if (store_begin(s, err) != STATUS_OK)
		return err->status;
	db_run(s->db, err, "CREATE TEMP TABLE stays (id INTEGER PRIMARY KEY)", "");
	db_run(s->db, err, "CREATE TEMP TABLE thinning AS SELECT ? AS day", "i", before);
	db_run(s->db, err, first_nights, "iii", before, FIRST_DAY, every);
	for (size_t i = 0; i < keep_count && err->status == STATUS_OK; i++)
		db_run(s->db, err, "INSERT OR IGNORE INTO stays VALUES (?)", "i", keep[i]);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && err->status == STATUS_OK; i++)
		db_run(s->db, err, steps[i], "");
	*thinned = db_changes(s->db);
	db_run(s->db, err, "DROP TABLE stays", "");
	db_run(s->db, err, "DROP TABLE thinning", "");
	db_run(s->db, err, "DELETE FROM epoch WHERE id NOT IN (SELECT epoch FROM point)", "");
	return store_end(s, true, err);
}

enum status store_baselines(struct store *s, struct baseline_list *out, struct error *err)
{
	struct db_query *q = db_select(s->db, err,
				       "SELECT name, max(saved), count(*) FROM baseline GROUP BY "
				       "name ORDER BY name",
				       "");

	memset(out, 0, sizeof(*out));
	while (db_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct baseline_info){ .name = xstrdup(db_string(q, 0)),
						.saved = xstrdup(db_string(q, 1)),
						.results = (size_t)db_integer(q, 2) };
	}
	return db_end(q);
}

enum status store_add_document(struct store *s, const char *baseline, size_t position,
			       const char *saved, const char *document, struct error *err)
{
	return db_run(s->db, err,
		      "INSERT INTO baseline (name, position, saved, document) VALUES (?, ?, ?, ?)",
		      "siss", baseline, (int64_t)position, saved, document);
}

enum status store_each_document(struct store *s, const char *baseline, store_document_fn *visit,
				void *context, struct error *err)
{
	struct db_query *q =
		db_select(s->db, err,
			  "SELECT document FROM baseline WHERE name = ? ORDER BY position", "s",
			  baseline);

	while (err->status == STATUS_OK && db_next(q))
		visit(context, db_string(q, 0), err);
	db_end(q);
	return err->status;
}

enum status store_remove_baseline(struct store *s, const char *baseline, bool *was_there,
				  struct error *err)
{
	*was_there = false;
	if (db_run(s->db, err, "DELETE FROM baseline WHERE name = ?", "s", baseline) == STATUS_OK)
		*was_there = db_changes(s->db) > 0;
	return err->status;
}
