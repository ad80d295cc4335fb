#include "judge/history.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "judge/history_epoch.h"
#include "judge/history_schema.h"

#define SECONDS_PER_DAY 86400

struct history {
	struct db *db;
};

bool history_day(const char *date, int64_t *day)
{
	struct tm tm = { 0 };
	const char *end = date ? strptime(date, "%Y-%m-%d", &tm) : NULL;
	time_t seconds;

	if (!end || (*end && *end != 'T'))
		return false;
	seconds = timegm(&tm);
	*day = seconds / SECONDS_PER_DAY;
	/* strptime() takes 31 February. */
	return gmtime_r(&seconds, &tm) && tm.tm_mday == atoi(date + 8);
}

void history_date(int64_t day, char out[16])
{
	time_t seconds = day * SECONDS_PER_DAY;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	if (!strftime(out, 16, "%Y-%m-%d", &tm))
		out[0] = '\0';
}

enum status history_open(struct history **out, const char *path, enum db_mode mode,
			 struct error *err)
{
	struct db *db;

	*out = NULL;
	if (db_open(&db, path, mode, HISTORY_APPLICATION, history_migrations, err) != STATUS_OK)
		return err->status;
	*out = xcalloc(1, sizeof(**out));
	(*out)->db = db;
	return STATUS_OK;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	db_close(h->db);
	free(h);
}

struct db *history_db(struct history *h)
{
	return h->db;
}

struct adding {
	struct db *db;
	const struct result *result;
	const char *host;
	int64_t night;
	/* The epoch of the device before: cases come device by device. */
	const struct device_info *device;
	int64_t epoch;
	struct error *err;
};

static const char *fact(const struct result *r, const char *name)
{
	for (size_t i = 0; i < r->environment_count; i++)
		if (strcmp(r->environment[i].name, name) == 0 && r->environment[i].value)
			return r->environment[i].value;
	return "";
}

static const struct device_info *device_of(const struct result *r, const char *id)
{
	for (size_t i = 0; i < r->device_count; i++)
		if (strcmp(r->devices[i].id, id ? id : "") == 0)
			return &r->devices[i];
	return NULL;
}

static const char *text_or(const char *s)
{
	return s ? s : "";
}

/* The id in the first row; 0: there is none. Ends the query. */
static int64_t found(struct db_query *q)
{
	int64_t id = db_next(q) ? db_integer(q, 0) : 0;

	db_end(q);
	return id;
}

static int64_t find_epoch(struct adding *a, const struct device_info *device)
{
	char *facts, hash[17];

	if (a->epoch && device == a->device)
		return a->epoch;
	facts = epoch_facts(a->result, device);
	epoch_hash(facts, hash);
	db_run(a->db, a->err, "INSERT OR IGNORE INTO epoch (hash, facts) VALUES (?, ?)", "ss", hash,
	       facts);
	free(facts);
	a->device = device;
	a->epoch =
		found(db_select(a->db, a->err, "SELECT id FROM epoch WHERE hash = ?", "s", hash));
	return a->epoch;
}

static int64_t find_series(struct adding *a, const struct case_result *c,
			   const struct metric_value *m, const struct device_info *d)
{
	const char *model = d ? d->name : "", *machine = d && *d->uuid ? d->uuid : a->host;
	int64_t id = found(
		db_select(a->db, a->err,
			  "SELECT id FROM series WHERE case_id = ? AND metric = ? AND model = ?"
			  " AND machine = ?",
			  "ssss", text_or(c->id), m->name, model, machine));

	if (id)
		return id;
	db_run(a->db, a->err,
	       "INSERT INTO series (case_id, metric, model, machine, unit, better, headline)"
	       " VALUES (?, ?, ?, ?, ?, ?, ?)",
	       "sssssii", text_or(c->id), m->name, model, machine, m->unit, (int64_t)m->better,
	       (int64_t)m->headline);
	return db_last_id(a->db);
}

static void add_metric(struct adding *a, const struct case_result *c, const struct metric_value *m)
{
	const struct device_info *device = device_of(a->result, c->device);
	int64_t epoch = find_epoch(a, device);

	db_run(a->db, a->err,
	       "INSERT OR REPLACE INTO point (series, night, epoch, value, low, high) VALUES (?, "
	       "?, ?, ?, ?, ?)",
	       "iiiddd", find_series(a, c, m, device), a->night, epoch,
	       c->status == CASE_OK && isfinite(m->value) ? m->value : (double)NAN,
	       isfinite(m->low) ? m->low : (double)NAN, isfinite(m->high) ? m->high : (double)NAN);
}

/* A case that measured nothing leaves a gap in the series that it has, where one can see it. */
static void add_gap(struct adding *a, const struct case_result *c)
{
	const struct device_info *device = device_of(a->result, c->device);

	db_run(a->db, a->err,
	       "INSERT OR IGNORE INTO point (series, night, epoch, value) SELECT id, ?, ?, NULL "
	       "FROM series"
	       " WHERE case_id = ? AND model = ? AND machine = ?",
	       "iisss", a->night, find_epoch(a, device), text_or(c->id), device ? device->name : "",
	       device && *device->uuid ? device->uuid : a->host);
}

static enum status add_night(struct adding *a, int64_t day)
{
	const struct result *r = a->result;
	char *facts = night_facts(r);

	db_run(a->db, a->err,
	       "INSERT INTO night (run, started, day, host, label, state, facts) VALUES (?, ?, ?, "
	       "?, ?, ?, ?)",
	       "ssissss", r->run_id, r->started, day, a->host, text_or(r->label), text_or(r->state),
	       facts);
	free(facts);
	a->night = db_last_id(a->db);
	for (size_t i = 0; a->err->status == STATUS_OK && i < r->case_count; i++) {
		for (size_t j = 0; j < r->cases[i].metric_count; j++)
			add_metric(a, &r->cases[i], &r->cases[i].metrics[j]);
		if (!r->cases[i].metric_count)
			add_gap(a, &r->cases[i]);
	}
	return a->err->status;
}

enum status history_add(struct history *h, const struct result *r, bool *added, struct error *err)
{
	struct adding a = { .db = h->db, .result = r, .host = fact(r, "hostname"), .err = err };
	int64_t day;

	*added = false;
	if (!history_day(r->started, &day) || !*text_or(r->run_id))
		return error_set(err, STATUS_USAGE,
				 "a result without a run id and a time of its start");
	if (db_begin(h->db, err) != STATUS_OK)
		return err->status;
	if (!found(db_select(h->db, err, "SELECT id FROM night WHERE run = ?", "s", r->run_id)) &&
	    err->status == STATUS_OK && add_night(&a, day) == STATUS_OK)
		*added = db_commit(h->db, err) == STATUS_OK;
	db_rollback(h->db);
	return err->status;
}

enum status history_nights(struct history *h, struct history_nights *out, struct error *err)
{
	struct db_query *q = db_select(h->db, err,
				       "SELECT id, day, run, started, host, label, state FROM night"
				       " ORDER BY started, id",
				       "");

	memset(out, 0, sizeof(*out));
	while (db_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct history_night){ .id = db_integer(q, 0),
						.day = db_integer(q, 1),
						.run_id = xstrdup(db_string(q, 2)),
						.started = xstrdup(db_string(q, 3)),
						.host = xstrdup(db_string(q, 4)),
						.label = xstrdup(db_string(q, 5)),
						.state = xstrdup(db_string(q, 6)) };
	}
	return db_end(q);
}

void history_nights_release(struct history_nights *nights)
{
	for (size_t i = 0; i < nights->count; i++) {
		free(nights->items[i].run_id);
		free(nights->items[i].started);
		free(nights->items[i].host);
		free(nights->items[i].label);
		free(nights->items[i].state);
	}
	free(nights->items);
	memset(nights, 0, sizeof(*nights));
}

char *history_facts(struct history *h, int64_t night, struct error *err)
{
	struct db_query *q =
		db_select(h->db, err, "SELECT facts FROM night WHERE id = ?", "i", night);
	char *facts = xstrdup(db_next(q) ? db_string(q, 0) : "");

	db_end(q);
	return facts;
}

static void series_release(struct history_series *s)
{
	free(s->metric);
	free(s->case_id);
	free(s->model);
	free(s->machine);
	free(s->unit);
	free(s->points);
	memset(s, 0, sizeof(*s));
}

static void take_row(struct db_query *q, struct history_series *s)
{
	ARRAY_GROW(s->points, s->count, s->capacity);
	s->points[s->count++] = (struct history_point){ .night = db_integer(q, 7),
							.day = db_integer(q, 8),
							.epoch = db_integer(q, 9),
							.value = db_real(q, 10),
							.low = db_real(q, 11),
							.high = db_real(q, 12) };
}

static void begin_series(struct db_query *q, struct history_series *s)
{
	series_release(s);
	*s = (struct history_series){ .id = db_integer(q, 0),
				      .metric = xstrdup(db_string(q, 1)),
				      .case_id = xstrdup(db_string(q, 2)),
				      .model = xstrdup(db_string(q, 3)),
				      .machine = xstrdup(db_string(q, 4)),
				      .unit = xstrdup(db_string(q, 5)),
				      .better = (enum better)db_integer(q, 6) };
}

/* The day of the night that is `nights` from the last. */
static int64_t first_day(struct history *h, size_t nights, struct error *err)
{
	struct db_query *q;
	int64_t day;

	if (!nights)
		return INT64_MIN;
	q = db_select(h->db, err,
		      "SELECT day FROM night GROUP BY day ORDER BY day DESC LIMIT 1 OFFSET ?", "i",
		      (int64_t)nights - 1);
	day = db_next(q) ? db_integer(q, 0) : INT64_MIN;
	db_end(q);
	return day;
}

enum status history_each(struct history *h, const struct history_filter *f,
			 history_series_fn *visit, void *context, struct error *err)
{
	struct history_series series = { 0 };
	struct db_query *q =
		db_select(h->db, err,
			  "SELECT s.id, s.metric, s.case_id, s.model, s.machine, s.unit, s.better,"
			  " n.id, n.day, p.epoch, p.value, p.low, p.high"
			  " FROM series s CROSS JOIN point p ON p.series = s.id CROSS JOIN night n "
			  "ON n.id = p.night"
			  " WHERE (s.headline OR ?) AND (? = 0 OR s.id = ?) AND instr(s.metric, ?) "
			  "AND instr(s.case_id, ?)"
			  " AND n.day >= ? ORDER BY s.id, n.started, n.id",
			  "iiissi", (int64_t)f->all_metrics, f->series, f->series,
			  text_or(f->metric), text_or(f->case_id), first_day(h, f->nights, err));

	while (db_next(q)) {
		if (db_integer(q, 0) != series.id) {
			if (series.count)
				visit(context, &series);
			begin_series(q, &series);
		}
		take_row(q, &series);
	}
	if (series.count)
		visit(context, &series);
	series_release(&series);
	return db_end(q);
}

enum status history_annotate(struct history *h, int64_t day, int64_t series, bool acknowledges,
			     const char *text, struct error *err)
{
	char now[32];

	if (series &&
	    !found(db_select(h->db, err, "SELECT id FROM series WHERE id = ?", "i", series)))
		return error_set(err, STATUS_USAGE, "there is no series %" PRId64, series);
	clock_iso8601(now, sizeof(now));
	return db_run(h->db, err,
		      "INSERT INTO note (day, series, acknowledges, text, written) VALUES (?, ?, "
		      "?, ?, ?)",
		      "iiiss", day, series, (int64_t)acknowledges, text, now);
}

enum status history_notes(struct history *h, struct history_notes *out, struct error *err)
{
	struct db_query *q =
		db_select(h->db, err,
			  "SELECT id, day, series, acknowledges, text, written FROM note"
			  " ORDER BY day, id",
			  "");

	memset(out, 0, sizeof(*out));
	while (db_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct history_note){ .id = db_integer(q, 0),
					       .day = db_integer(q, 1),
					       .series = db_integer(q, 2),
					       .acknowledges = db_integer(q, 3) != 0,
					       .text = xstrdup(db_string(q, 4)),
					       .written = xstrdup(db_string(q, 5)) };
	}
	return db_end(q);
}

void history_notes_release(struct history_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		free(notes->items[i].text);
		free(notes->items[i].written);
	}
	free(notes->items);
	memset(notes, 0, sizeof(*notes));
}

enum status history_prune(struct history *h, int64_t day, size_t *removed, struct error *err)
{
	static const char *const orphans[] = {
		"DELETE FROM series WHERE id NOT IN (SELECT series FROM point)",
		"DELETE FROM epoch WHERE id NOT IN (SELECT epoch FROM point)",
	};

	*removed = 0;
	if (db_begin(h->db, err) != STATUS_OK)
		return err->status;
	db_run(h->db, err, "DELETE FROM point WHERE night IN (SELECT id FROM night WHERE day < ?)",
	       "i", day);
	if (db_run(h->db, err, "DELETE FROM night WHERE day < ?", "i", day) == STATUS_OK)
		*removed = db_changes(h->db);
	db_run(h->db, err, "DELETE FROM note WHERE day < ?", "i", day);
	for (size_t i = 0; i < ARRAY_SIZE(orphans); i++)
		db_run(h->db, err, orphans[i], "");
	if (err->status == STATUS_OK)
		db_commit(h->db, err);
	db_rollback(h->db);
	/* The file gets smaller, too. */
	if (err->status == STATUS_OK)
		db_run(h->db, err, "VACUUM", "");
	return err->status;
}
