/* Adds, reads, lists and removes nights; lists the places of machines. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/sqlite/sqlite.h"
#include "base/hash/siphash.h"
#include "result/result.h"

int64_t store_find_night(struct store *s, const char *run_id, struct error *err)
{
	return sqlite_id(sqlite_select(s, err, "SELECT id FROM night WHERE run = ?", "s", run_id));
}

static void store_nights_read_devices(struct store *s, int64_t id, struct store_night *out,
				      struct error *err)
{
	struct db_query *q =
		sqlite_select(s, err,
			      "SELECT id, machine, model, serial, slot FROM device WHERE "
			      "night = ? ORDER BY id",
			      "i", id);

	while (sqlite_next(q)) {
		out->devices = xrealloc(out->devices, out->device_count + 1, sizeof(*out->devices));
		out->devices[out->device_count++] =
			(struct store_device){ .id = sqlite_store_text(q, 0),
					       .machine = sqlite_store_text(q, 1),
					       .model = sqlite_store_text(q, 2),
					       .serial = sqlite_store_text(q, 3),
					       .slot = sqlite_store_text(q, 4) };
	}
	sqlite_end(q);
}

/* Index of the epoch in the night; adds the epoch to the night and to `ids` if it is new. */
static size_t store_nights_epoch_index(struct store_night *out, int64_t **ids, int64_t id,
				       const char *facts)
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

static void store_nights_read_figures(struct store *s, int64_t id, struct store_night *out,
				      struct error *err)
{
	struct db_query *q =
		sqlite_select(s, err,
			      "SELECT s.metric, s.case_id, s.section, s.point, s.model, "
			      "s.machine, s.unit, s.better, s.headline, p.value, p.low, "
			      "p.high, e.id, e.facts, s.kind FROM point p JOIN series s ON s.id = "
			      "p.series JOIN epoch e ON e.id = p.epoch WHERE p.night = ? "
			      "ORDER BY s.case_id, s.metric, s.model, s.machine",
			      "i", id);
	int64_t *ids = NULL;

	while (sqlite_next(q)) {
		struct store_figure *f;

		ARRAY_GROW(out->figures, out->figure_count, out->figure_capacity);
		f = &out->figures[out->figure_count++];
		*f = (struct store_figure){
			.metric = sqlite_store_metric(q, 0),
			.case_id = sqlite_store_text(q, 1),
			.model = sqlite_store_text(q, 4),
			.machine = sqlite_store_text(q, 5),
			.unit = sqlite_store_text(q, 6),
			.kind = sqlite_store_text(q, 14),
			.better = (enum better)sqlite_integer(q, 7),
			.headline = sqlite_integer(q, 8) != 0,
			.value = sqlite_real(q, 9),
			.low = sqlite_real(q, 10),
			.high = sqlite_real(q, 11),
			.epoch = store_nights_epoch_index(out, &ids, sqlite_integer(q, 12),
							  sqlite_string(q, 13))
		};
		sqlite_store_section_and_point(q, 2, 1, &f->section, &f->point);
	}
	free(ids);
	sqlite_end(q);
}

enum status store_read_night(struct store *s, int64_t id, struct store_night *out,
			     struct error *err)
{
	struct db_query *q = sqlite_select(s, err,
					   "SELECT run, started, day, host, label, state, verdict, "
					   "facts, tags FROM night WHERE id = ?",
					   "i", id);

	memset(out, 0, sizeof(*out));
	if (sqlite_next(q))
		*out = (struct store_night){ .run_id = sqlite_store_text(q, 0),
					     .started = sqlite_store_text(q, 1),
					     .day = sqlite_store_day(q, 2, "the day"),
					     .host = sqlite_store_text(q, 3),
					     .label = sqlite_store_text(q, 4),
					     .state = sqlite_store_text(q, 5),
					     .verdict = sqlite_store_text(q, 6),
					     .facts = sqlite_store_text(q, 7),
					     .tags = sqlite_store_text(q, 8) };
	if (sqlite_end(q) == STATUS_OK && !out->run_id)
		error_set(err, STATUS_USAGE, "no night %" PRId64, id);
	if (err->status == STATUS_OK)
		store_nights_read_devices(s, id, out, err);
	if (err->status == STATUS_OK)
		store_nights_read_figures(s, id, out, err);
	if (err->status != STATUS_OK)
		store_night_release(out);
	return err->status;
}

static int64_t store_nights_series_of_figure(struct store *s, const struct store_figure *f,
					     struct error *err)
{
	struct db_query *q =
		sqlite_select(s, err,
			      "SELECT id, unit, kind FROM series WHERE case_id = ? AND metric = "
			      "? AND model = ? AND machine = ?",
			      "ssss", f->case_id, f->metric, f->model, f->machine);
	int64_t id = sqlite_next(q) ? sqlite_integer(q, 0) : 0;
	bool other_kind = id && f->kind && *f->kind && strcmp(sqlite_string(q, 2), f->kind) != 0;

	/* A value in another unit would look like a change by a factor of a thousand. */
	if (id && strcmp(sqlite_string(q, 1), f->unit) != 0)
		error_set(err, STATUS_USAGE,
			  "%.200s: metric %.80s has unit '%.30s', but unit '%.30s' in this "
			  "history; use another history (--db)",
			  f->case_id, f->metric, f->unit, sqlite_string(q, 1));
	sqlite_end(q);
	if (other_kind)
		sqlite_run(s, err, "UPDATE series SET kind = ? WHERE id = ?", "si", f->kind, id);
	if (id)
		return id;
	sqlite_run(s, err,
		   "INSERT INTO series (case_id, metric, section, point, model, machine, unit, "
		   "better, "
		   "headline, kind) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		   "sssssssiis", f->case_id, f->metric, f->section, f->point, f->model, f->machine,
		   f->unit, (int64_t)f->better, (int64_t)f->headline, f->kind);
	return sqlite_last_id(s);
}

static void store_nights_add_figure(struct store *s, int64_t night, int64_t epoch,
				    const struct store_figure *f, struct error *err)
{
	if (f->only_gap)
		sqlite_run(s, err,
			   "INSERT OR IGNORE INTO point (series, night, epoch, value) SELECT id, "
			   "?, ?, "
			   "NULL FROM series WHERE case_id = ? AND (? = '' OR metric = ?) AND "
			   "model = "
			   "? AND machine = ?",
			   "iisssss", night, epoch, f->case_id, f->metric, f->metric, f->model,
			   f->machine);
	else
		sqlite_run(s, err,
			   "INSERT OR REPLACE INTO point (series, night, epoch, value, low, high) "
			   "VALUES (?, ?, ?, ?, ?, ?)",
			   "iiiddd", store_nights_series_of_figure(s, f, err), night, epoch,
			   f->value, f->low, f->high);
}

enum status store_add_night(struct store *s, const struct store_night *n, struct error *err)
{
	static const struct siphash_key key = { 0, 0 };
	int64_t *epochs, night;
	char hash[17];

	if (sqlite_store_begin(s, err) != STATUS_OK)
		return err->status;
	sqlite_run(s, err,
		   "INSERT INTO night (run, started, day, host, label, state, facts, verdict, "
		   "tags) "
		   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		   "ssissssss", n->run_id, n->started, n->day, n->host, n->label, n->state,
		   n->facts, n->verdict, n->tags);
	night = sqlite_last_id(s);
	epochs = xcalloc(n->epoch_count + 1, sizeof(*epochs));
	for (size_t i = 0; err->status == STATUS_OK && i < n->epoch_count; i++) {
		snprintf(hash, sizeof(hash), "%016" PRIx64,
			 siphash(&key, n->epochs[i], strlen(n->epochs[i])));
		sqlite_run(s, err, "INSERT OR IGNORE INTO epoch (hash, facts) VALUES (?, ?)", "ss",
			   hash, n->epochs[i]);
		epochs[i] = sqlite_id(
			sqlite_select(s, err, "SELECT id FROM epoch WHERE hash = ?", "s", hash));
	}
	for (size_t i = 0; err->status == STATUS_OK && i < n->device_count; i++) {
		const struct store_device *d = &n->devices[i];

		sqlite_run(s, err,
			   "INSERT OR REPLACE INTO device (night, id, machine, model, serial, "
			   "slot) "
			   "VALUES (?, ?, ?, ?, ?, ?)",
			   "isssss", night, d->id, d->machine, d->model, d->serial, d->slot);
	}
	for (size_t i = 0; err->status == STATUS_OK && i < n->figure_count; i++)
		store_nights_add_figure(s, night, epochs[n->figures[i].epoch], &n->figures[i], err);
	free(epochs);
	return sqlite_store_end(s, true, err);
}

enum status store_remove_night(struct store *s, int64_t id, struct error *err)
{
	if (sqlite_store_begin(s, err) != STATUS_OK)
		return err->status;
	sqlite_run(s, err, "DELETE FROM point WHERE night = ?", "i", id);
	sqlite_run(s, err, "DELETE FROM device WHERE night = ?", "i", id);
	sqlite_run(s, err, "DELETE FROM night WHERE id = ?", "i", id);
	return sqlite_store_end(s, true, err);
}

enum status store_nights_prune(struct store *s, int64_t day, size_t *removed, struct error *err)
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
	if (sqlite_store_begin(s, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ARRAY_SIZE(of_nights); i++)
		sqlite_run(s, err, of_nights[i], "i", day);
	*removed = sqlite_changes(s);
	for (size_t i = 0; i < ARRAY_SIZE(orphans); i++)
		sqlite_run(s, err, orphans[i], "");
	if (sqlite_store_end(s, true, err) == STATUS_OK)
		sqlite_run(s, err, "VACUUM", "");
	return err->status;
}

char *store_nights_facts(struct store *s, int64_t night, struct error *err)
{
	return sqlite_text(
		sqlite_select(s, err, "SELECT facts FROM night WHERE id = ?", "i", night));
}

enum status store_nights(struct store *s, struct history_nights *out, struct error *err)
{
	struct db_query *q =
		sqlite_select(s, err,
			      "SELECT id, day, run, started, host, label, state, verdict, "
			      "tags, EXISTS (SELECT 1 FROM device d WHERE d.night = "
			      "night.id AND instr(d.id, '/')) FROM night ORDER BY "
			      "started, id",
			      "");

	memset(out, 0, sizeof(*out));
	while (sqlite_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct history_night){ .id = sqlite_integer(q, 0),
						.day = sqlite_store_day(q, 1, "the day"),
						.run_id = sqlite_store_text(q, 2),
						.started = sqlite_store_text(q, 3),
						.host = sqlite_store_text(q, 4),
						.label = sqlite_store_text(q, 5),
						.state = sqlite_store_text(q, 6),
						.verdict = sqlite_store_text(q, 7),
						.tags = sqlite_store_text(q, 8),
						.on_nodes = sqlite_integer(q, 9) != 0 };
	}
	return sqlite_end(q);
}

/* "n1" from the device "n1/cuda:0" of a multi-node run; else the host of the night. */
static char *store_nights_device_row_host(struct db_query *q)
{
	const char *id = sqlite_string(q, 2);
	size_t length = device_node_length(id);
	char *node = xstrndup(id, length),
	     *host = text_harmless(length ? node : sqlite_string(q, 1));

	free(node);
	return host;
}

enum status store_nights_places(struct store *s, struct history_places *out, struct error *err)
{
	struct db_query *q = sqlite_select(
		s, err,
		"SELECT d.machine, n.host, d.id, d.slot, d.serial, n.day, n.tags FROM device d "
		"JOIN night n ON n.id = d.night ORDER BY d.machine, n.started, n.id, d.id",
		"");

	memset(out, 0, sizeof(*out));
	while (sqlite_next(q)) {
		struct history_place *p = out->count ? &out->items[out->count - 1] : NULL;

		if (p && strcmp(p->machine, sqlite_string(q, 0)) == 0) {
			/* A later night of the same machine. */
			char *host = store_nights_device_row_host(q);

			if (strcmp(p->host, host) != 0) {
				free(p->host_before);
				p->host_before = p->host;
				p->host = host;
			} else {
				free(host);
			}
			free(p->device);
			free(p->slot);
			free(p->serial);
			free(p->tags);
		} else {
			ARRAY_GROW(out->items, out->count, out->capacity);
			p = &out->items[out->count++];
			*p = (struct history_place){ .machine = sqlite_store_text(q, 0),
						     .host = store_nights_device_row_host(q),
						     .host_before = xstrdup("") };
		}
		p->device = text_harmless(device_id_on_node(sqlite_string(q, 2)));
		p->slot = sqlite_store_text(q, 3);
		p->serial = sqlite_store_text(q, 4);
		p->day = sqlite_store_day(q, 5, "the day");
		p->tags = sqlite_store_text(q, 6);
	}
	return sqlite_end(q);
}
