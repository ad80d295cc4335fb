#include "history/history.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/history_schema.h"

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

/* Loops run from day to day: one that no calendar has would make them endless. */
static int64_t day_of(struct db_query *q, int column)
{
	return db_integer_within(q, column, FIRST_DAY, LAST_DAY, "the day");
}

static const char *text_or(const char *s)
{
	return s ? s : "";
}

enum status history_nights(struct history *h, struct history_nights *out, struct error *err)
{
	struct db_query *q = db_select(h->db, err,
				       "SELECT id, day, run, started, host, label, state, verdict"
				       " FROM night"
				       " ORDER BY started, id",
				       "");

	memset(out, 0, sizeof(*out));
	while (db_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct history_night){ .id = db_integer(q, 0),
						.day = day_of(q, 1),
						.run_id = text_harmless(db_string(q, 2)),
						.started = text_harmless(db_string(q, 3)),
						.host = text_harmless(db_string(q, 4)),
						.label = text_harmless(db_string(q, 5)),
						.state = text_harmless(db_string(q, 6)),
						.verdict = text_harmless(db_string(q, 7)) };
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
		free(nights->items[i].verdict);
	}
	free(nights->items);
	memset(nights, 0, sizeof(*nights));
}

char *history_facts(struct history *h, int64_t night, struct error *err)
{
	struct db_query *q =
		db_select(h->db, err, "SELECT facts FROM night WHERE id = ?", "i", night);
	char *facts = text_harmless(db_next(q) ? db_string(q, 0) : "");

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
							.day = day_of(q, 8),
							.epoch = db_integer(q, 9),
							.value = db_real(q, 10),
							.low = db_real(q, 11),
							.high = db_real(q, 12) };
}

static void begin_series(struct db_query *q, struct history_series *s)
{
	series_release(s);
	*s = (struct history_series){ .id = db_integer(q, 0),
				      .metric = text_harmless(db_string(q, 1)),
				      .case_id = text_harmless(db_string(q, 2)),
				      .model = text_harmless(db_string(q, 3)),
				      .machine = text_harmless(db_string(q, 4)),
				      .unit = text_harmless(db_string(q, 5)),
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
	day = db_next(q) ? day_of(q, 0) : INT64_MIN;
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
			  " WHERE (s.headline OR ?) AND (? = 0 OR s.id = ?)"
			  " AND CASE WHEN ? THEN s.metric = ? AND s.case_id = ?"
			  " ELSE instr(s.metric, ?) AND instr(s.case_id, ?) END"
			  " AND n.day >= ? ORDER BY s.id, n.started, n.id",
			  "iiiissssi", (int64_t)(f->all_metrics || f->series || f->metric), f->series, f->series,
			  (int64_t)f->exact, text_or(f->metric), text_or(f->case_id),
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
	db_end(q);
	return err->status;
}
