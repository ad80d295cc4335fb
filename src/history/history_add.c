/* A result's figures as one night of the history. */
#include "history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "history/history_epoch.h"
#include "result/verdict.h"

static const char *text_or(const char *s)
{
	return s ? s : "";
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
		db_id(db_select(a->db, a->err, "SELECT id FROM epoch WHERE hash = ?", "s", hash));
	return a->epoch;
}

/* A figure in another unit would be a change by a factor of a thousand that never was. */
static void refuse_unit(struct adding *a, const struct case_result *c, const struct metric_value *m,
			const char *before)
{
	error_set(a->err, STATUS_USAGE,
		  "%.200s: %.80s is in '%.30s', in this history so far in '%.30s': it belongs into "
		  "another one (--db)",
		  text_or(c->id), m->name, m->unit, before);
}

static int64_t find_series(struct adding *a, const struct case_result *c,
			   const struct metric_value *m, const struct device_info *d)
{
	const char *model = d ? d->name : "", *machine = d && *d->uuid ? d->uuid : a->host;
	struct db_query *q = db_select(
		a->db, a->err,
		"SELECT id, unit FROM series WHERE case_id = ? AND metric = ? AND model = ?"
		" AND machine = ?",
		"ssss", text_or(c->id), m->name, model, machine);
	int64_t id = db_next(q) ? db_integer(q, 0) : 0;

	if (id && strcmp(db_string(q, 1), m->unit) != 0)
		refuse_unit(a, c, m, db_string(q, 1));
	db_end(q);
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
	const struct device_info *device = result_device(a->result, c->device);
	int64_t epoch = find_epoch(a, device);

	db_run(a->db, a->err,
	       "INSERT OR REPLACE INTO point (series, night, epoch, value, low, high) VALUES (?, "
	       "?, ?, ?, ?, ?)",
	       "iiiddd", find_series(a, c, m, device), a->night, epoch,
	       c->status == CASE_OK && isfinite(m->value) ? m->value : (double)NAN,
	       isfinite(m->low) ? m->low : (double)NAN, isfinite(m->high) ? m->high : (double)NAN);
}

/*
 * An unsettled value is a gap in an existing series and does not start a new one, whose metric would be no headline.
 */
static void add_unsettled(struct adding *a, const struct case_result *c, const struct metric_value *m)
{
	const struct device_info *device = result_device(a->result, c->device);

	db_run(a->db, a->err,
	       "INSERT OR IGNORE INTO point (series, night, epoch, value) SELECT id, ?, ?, NULL "
	       "FROM series"
	       " WHERE case_id = ? AND metric = ? AND model = ? AND machine = ?",
	       "iissss", a->night, find_epoch(a, device), text_or(c->id), m->name,
	       device ? device->name : "", device && *device->uuid ? device->uuid : a->host);
}

/* A case that measured nothing leaves a gap in the series that it has, where one can see it. */
static void add_gap(struct adding *a, const struct case_result *c)
{
	const struct device_info *device = result_device(a->result, c->device);

	db_run(a->db, a->err,
	       "INSERT OR IGNORE INTO point (series, night, epoch, value) SELECT id, ?, ?, NULL "
	       "FROM series"
	       " WHERE case_id = ? AND model = ? AND machine = ?",
	       "iisss", a->night, find_epoch(a, device), text_or(c->id), device ? device->name : "",
	       device && *device->uuid ? device->uuid : a->host);
}

/* "" when nothing was judged. */
static const char *verdict_of(const struct result *r)
{
	return r->judgement ? verdicts_word(r->judgement) : "";
}

static enum status add_night(struct adding *a, int64_t day)
{
	const struct result *r = a->result;
	char *facts = night_facts(r);

	db_run(a->db, a->err,
	       "INSERT INTO night (run, started, day, host, label, state, facts, verdict)"
	       " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	       "ssisssss", r->run_id, r->started, day, a->host, text_or(r->label), text_or(r->state),
	       facts, verdict_of(r));
	free(facts);
	a->night = db_last_id(a->db);
	for (size_t i = 0; a->err->status == STATUS_OK && i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		for (size_t j = 0; j < c->metric_count; j++) {
			if (case_is_unsettled(c, &c->metrics[j]))
				add_unsettled(a, c, &c->metrics[j]);
			else
				add_metric(a, c, &c->metrics[j]);
		}
		if (!c->metric_count)
			add_gap(a, c);
	}
	return a->err->status;
}

/* Compares the measurements of a stored run with those of the same run as it is added now. */
struct versions {
	int64_t old; /* night; 0: the run is new */
	bool completed, judged; /* the new one is complete, or has a verdict, that the old one was or had not */
	size_t old_figures, figures, missing,
		changed; /* of the old ones: not there now; another value now */
};

static size_t count_figures(struct adding *a, int64_t night)
{
	return (size_t)db_id(db_select(
		a->db, a->err, "SELECT count(value) FROM point WHERE night = ?", "i", night));
}

static void compare_versions(struct adding *a, struct versions *v)
{
	v->old_figures = count_figures(a, v->old);
	v->figures = count_figures(a, a->night);
	v->missing = (size_t)db_id(
		db_select(a->db, a->err,
			  "SELECT count(*) FROM point o LEFT JOIN point n ON n.series = o.series "
			  "AND n.night = ?"
			  " WHERE o.night = ? AND o.value IS NOT NULL AND n.value IS NULL",
			  "ii", a->night, v->old));
	v->changed = (size_t)db_id(db_select(
		a->db, a->err,
		"SELECT count(*) FROM point o JOIN point n ON n.series = o.series AND n.night = ?"
		" WHERE o.night = ? AND n.value <> o.value",
		"ii", a->night, v->old));
}

/* The old version gives up its name until one of both is dropped. */
static void set_old_aside(struct adding *a, struct versions *v)
{
	struct db_query *q =
		db_select(a->db, a->err, "SELECT id, state, verdict FROM night WHERE run = ?", "s",
			  a->result->run_id);

	if (db_next(q)) {
		v->old = db_integer(q, 0);
		v->completed = strcmp(db_string(q, 1), "complete") != 0 &&
			       strcmp(text_or(a->result->state), "complete") == 0;
		v->judged = *verdict_of(a->result) &&
			    strcmp(db_string(q, 2), verdict_of(a->result)) != 0;
	}
	db_end(q);
	if (v->old)
		db_run(a->db, a->err,
		       "UPDATE night SET run = run || char(10) || 'replaced' WHERE id = ?", "i",
		       v->old);
}

static enum history_added choose(const struct adding *a, const struct versions *v)
{
	const char *run = a->result->run_id;

	if (v->missing)
		error_set(a->err, STATUS_USAGE,
			  "run %.80s is in the history with %zu figures, %zu of which this result "
			  "lacks: not replaced",
			  run, v->old_figures, v->missing);
	else if (v->figures > v->old_figures || v->completed)
		return HISTORY_REPLACED;
	else if (v->changed)
		error_set(
			a->err, STATUS_USAGE,
			"run %.80s is in the history, and %zu of its %zu figures have other values "
			"there: not replaced; a run of its own has an id of its own",
			run, v->changed, v->old_figures);
	else if (v->judged)
		return HISTORY_REPLACED;
	return HISTORY_PRESENT;
}

static enum history_added settle(struct adding *a, struct versions *v)
{
	enum history_added how;

	if (!v->old)
		return HISTORY_ADDED;
	compare_versions(a, v);
	how = choose(a, v);
	if (how == HISTORY_REPLACED) {
		db_run(a->db, a->err, "DELETE FROM point WHERE night = ?", "i", v->old);
		db_run(a->db, a->err, "DELETE FROM night WHERE id = ?", "i", v->old);
	}
	return how;
}

enum status history_add(struct history *h, const struct result *r, enum history_added *added,
			struct error *err)
{
	struct adding a = { .db = history_db(h),
			    .result = r,
			    .host = text_or(result_fact(r, "hostname")),
			    .err = err };
	struct versions versions = { 0 };
	int64_t day;

	*added = HISTORY_PRESENT;
	if (!history_day(r->started, &day) || !*text_or(r->run_id))
		return error_set(err, STATUS_USAGE,
				 "a result without a run id and a time of its start");
	if (db_begin(history_db(h), err) != STATUS_OK)
		return err->status;
	set_old_aside(&a, &versions);
	if (err->status == STATUS_OK && add_night(&a, day) == STATUS_OK)
		*added = settle(&a, &versions);
	if (err->status == STATUS_OK && *added != HISTORY_PRESENT)
		db_commit(history_db(h), err);
	db_rollback(history_db(h));
	return err->status;
}
