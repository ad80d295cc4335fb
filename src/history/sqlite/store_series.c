/* Series: the values of one metric of a case on one machine, night by night. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/sqlite/sqlite.h"

static void store_series_release(struct history_series *s)
{
	char *texts[] = { s->metric, s->case_id, s->section, s->point,
			  s->model,  s->machine, s->unit,    s->kind };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	free(s->points);
	memset(s, 0, sizeof(*s));
}

static void store_series_take_row(struct db_query *q, struct history_series *s)
{
	ARRAY_GROW(s->points, s->count, s->capacity);
	/* The line "config=.." is the last of epoch_facts() (night.c). */
	s->points[s->count++] =
		(struct history_point){ .night = sqlite_integer(q, 10),
					.day = sqlite_store_day(q, 11, "the day"),
					.epoch = sqlite_integer(q, 12),
					.minute = (int)sqlite_integer(q, 17),
					.config = strtoull(sqlite_string(q, 16), NULL, 16),
					.value = sqlite_real(q, 13),
					.low = sqlite_real(q, 14),
					.high = sqlite_real(q, 15) };
}

static void store_series_begin(struct db_query *q, struct history_series *s)
{
	store_series_release(s);
	*s = (struct history_series){ .id = sqlite_integer(q, 0),
				      .metric = sqlite_store_metric(q, 1),
				      .case_id = sqlite_store_text(q, 2),
				      .model = sqlite_store_text(q, 5),
				      .machine = sqlite_store_text(q, 6),
				      .unit = sqlite_store_text(q, 7),
				      .better = (enum better)sqlite_integer(q, 8),
				      .kind = sqlite_store_text(q, 9) };
	sqlite_store_section_and_point(q, 3, 2, &s->section, &s->point);
}

/* Day of the night that is `nights` before the last. */
static int64_t store_series_first_day(struct store *s, size_t nights, struct error *err)
{
	struct db_query *q;
	int64_t day;

	if (!nights)
		return INT64_MIN;
	q = sqlite_select(s, err,
			  "SELECT day FROM night GROUP BY day ORDER BY day DESC LIMIT 1 OFFSET ?",
			  "i", (int64_t)nights - 1);
	day = sqlite_next(q) ? sqlite_store_day(q, 0, "the day") : INT64_MIN;
	sqlite_end(q);
	return day;
}

/* Conditions of a filter on series, with the parameters "iiiissss". */
#define SELECTED                                                                           \
	"(s.headline OR ?) AND (? = 0 OR s.id = ?) AND CASE WHEN ? THEN s.metric = ? AND " \
	"s.case_id = ? ELSE instr(s.metric, ?) AND instr(s.case_id, ?) END"

enum status store_each_series(struct store *s, const struct history_filter *f,
			      history_series_fn *visit, void *context, struct error *err)
{
	struct history_series series = { 0 };
	struct db_query *q = sqlite_select(
		s, err,
		"SELECT s.id, s.metric, s.case_id, s.section, s.point, s.model, s.machine, s.unit, "
		"s.better, s.kind, n.id, n.day, p.epoch, p.value, p.low, p.high, "
		"substr(e.facts, instr(e.facts, 'config=') + 7, 16), 60 * substr(n.started, 12, "
		"2) + substr(n.started, 15, 2) FROM series s CROSS JOIN point "
		"p ON p.series = s.id CROSS JOIN night n ON n.id = p.night CROSS JOIN epoch e ON "
		"e.id = p.epoch WHERE " SELECTED
		" AND n.day >= ? AND (? = '' OR instr(' ' || n.tags || ' ', ' ' || ? || ' ')) "
		"ORDER BY s.id, n.started, n.id",
		"iiiissssiss", (int64_t)(f->all_metrics || f->series || f->metric), f->series,
		f->series, (int64_t)f->exact, f->metric, f->case_id, f->metric, f->case_id,
		store_series_first_day(s, f->nights, err), f->tag, f->tag);

	while (sqlite_next(q)) {
		if (sqlite_integer(q, 0) != series.id) {
			if (series.count)
				visit(context, &series);
			store_series_begin(q, &series);
		}
		store_series_take_row(q, &series);
	}
	if (series.count)
		visit(context, &series);
	store_series_release(&series);
	sqlite_end(q);
	return err->status;
}

static struct db_query *store_series_select(struct store *s, const struct history_filter *f,
					    const char *sql, struct error *err)
{
	return sqlite_select(s, err, sql, "iiiissss",
			     (int64_t)(f->all_metrics || f->series || f->metric), f->series,
			     f->series, (int64_t)f->exact, f->metric, f->case_id, f->metric,
			     f->case_id);
}

enum status store_series_each_name(struct store *s, const struct history_filter *f,
				   history_series_fn *visit, void *context, struct error *err)
{
	struct history_series series = { 0 };
	struct db_query *q = store_series_select(
		s, f,
		"SELECT s.id, s.metric, s.case_id, s.section, s.point, s.model, "
		"s.machine, s.unit, s.better, s.kind FROM series s WHERE " SELECTED
		" ORDER BY s.id",
		err);

	while (sqlite_next(q)) {
		store_series_begin(q, &series);
		visit(context, &series);
	}
	store_series_release(&series);
	return sqlite_end(q);
}

enum status store_series_each_point(struct store *s, const struct history_filter *f,
				    store_point_fn *visit, void *context, struct error *err)
{
	struct db_query *q =
		store_series_select(s, f,
				    "SELECT p.series, p.night, p.epoch, p.value FROM series "
				    "s CROSS JOIN point p ON "
				    "p.series = s.id WHERE " SELECTED
				    " AND p.value IS NOT NULL ORDER BY s.id",
				    err);

	while (sqlite_next(q))
		visit(context, sqlite_integer(q, 0), sqlite_integer(q, 1), sqlite_integer(q, 2),
		      sqlite_real(q, 3));
	return sqlite_end(q);
}

int64_t store_find_series(struct store *s, struct store *from, int64_t id, struct error *err)
{
	struct db_query *q =
		sqlite_select(from, err,
			      "SELECT metric, case_id, model, machine FROM series WHERE id = ?",
			      "i", id);
	char *metric = NULL;
	int64_t found = 0;

	if (sqlite_next(q)) {
		metric = sqlite_store_metric(q, 0);
		found = sqlite_id(
			sqlite_select(s, err,
				      "SELECT id FROM series WHERE metric = ? AND case_id = ? AND "
				      "model = ? AND machine = ?",
				      "ssss", metric, sqlite_string(q, 1), sqlite_string(q, 2),
				      sqlite_string(q, 3)));
	}
	free(metric);
	sqlite_end(q);
	return found;
}

char *store_series_epoch_facts(struct store *s, int64_t epoch, struct error *err)
{
	return sqlite_text(
		sqlite_select(s, err, "SELECT facts FROM epoch WHERE id = ?", "i", epoch));
}
