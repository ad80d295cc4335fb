/* A result's figures as one night of the history. */
#include "judge/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/history_epoch.h"

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

static const struct device_info *device_of(const struct result *r, const char *id)
{
	for (size_t i = 0; i < r->device_count; i++)
		if (strcmp(r->devices[i].id, id ? id : "") == 0)
			return &r->devices[i];
	return NULL;
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
	struct adding a = {
		.db = history_db(h), .result = r, .host = text_or(result_fact(r, "hostname")), .err = err
	};
	int64_t day;

	*added = false;
	if (!history_day(r->started, &day) || !*text_or(r->run_id))
		return error_set(err, STATUS_USAGE,
				 "a result without a run id and a time of its start");
	if (db_begin(history_db(h), err) != STATUS_OK)
		return err->status;
	if (!db_id(db_select(history_db(h), err, "SELECT id FROM night WHERE run = ?", "s",
			     r->run_id)) &&
	    err->status == STATUS_OK && add_night(&a, day) == STATUS_OK)
		*added = db_commit(history_db(h), err) == STATUS_OK;
	db_rollback(history_db(h));
	return err->status;
}
