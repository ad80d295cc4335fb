#include "history/baseline.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

#define LONGEST_NAME 100

static enum status check_name(const char *name, struct error *err)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			length = 0;
	if (!length || length > LONGEST_NAME)
		return error_set(err, STATUS_USAGE,
				 "'%.120s' is no name of a baseline: up to %d letters, digits, "
				 "'.', '_' and '-'",
				 name, LONGEST_NAME);
	return STATUS_OK;
}

/* The document without samples. The caller frees it; NULL on failure. */
static char *slim_document(const struct result *result, struct error *err)
{
	char *json = result_to_json(result);
	struct result copy;

	if (result_from_json_without_samples(&copy, json, strlen(json), err) == STATUS_OK) {
		free(json);
		copy.samples_left_out = true;
		for (size_t i = 0; i < copy.case_count; i++)
			for (size_t j = 0; j < copy.cases[i].series_count; j++)
				copy.cases[i].series[j].count = 0;
		json = result_to_json(&copy);
		result_release(&copy);
		return json;
	}
	free(json);
	return NULL;
}

static enum status insert(struct db *db, const char *name, size_t position,
			  const struct result *result, const char *now, struct error *err)
{
	char *document = slim_document(result, err);

	if (document)
		db_run(db, err,
		       "INSERT INTO baseline (name, position, saved, document) VALUES (?, ?, ?, ?)",
		       "siss", name, (int64_t)position, now, document);
	free(document);
	return err->status;
}

static size_t count_of(struct db *db, const char *name, struct error *err)
{
	struct db_query *q =
		db_select(db, err, "SELECT count(*) FROM baseline WHERE name = ?", "s", name);
	size_t count = db_next(q) ? (size_t)db_integer(q, 0) : 0;

	db_end(q);
	return count;
}

enum status baseline_save(struct history *h, const char *name, const struct result *results,
			  size_t count, bool replace, struct error *err)
{
	struct db *db = history_db(h);
	char now[32];

	clock_iso8601(now, sizeof(now));
	if (check_name(name, err) != STATUS_OK || db_begin(db, err) != STATUS_OK)
		return err->status;
	if (replace)
		db_run(db, err, "DELETE FROM baseline WHERE name = ?", "s", name);
	else if (count_of(db, name, err))
		error_set(err, STATUS_USAGE,
			  "there is a baseline '%s' already: --replace, or another name", name);
	for (size_t i = 0; err->status == STATUS_OK && i < count; i++)
		insert(db, name, i, &results[i], now, err);
	if (err->status == STATUS_OK)
		db_commit(db, err);
	db_rollback(db);
	return err->status;
}

enum status baseline_list(struct history *h, struct baseline_list *out, struct error *err)
{
	struct db_query *q = db_select(
		history_db(h), err,
		"SELECT name, max(saved), count(*) FROM baseline GROUP BY name ORDER BY name", "");

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

void baseline_list_release(struct baseline_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].saved);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static enum status unknown(struct history *h, const char *name, struct error *err)
{
	struct baseline_list list;
	const char **names;
	const char *near;

	if (baseline_list(h, &list, err) == STATUS_OK) {
		names = xcalloc(list.count + 1, sizeof(*names));
		for (size_t i = 0; i < list.count; i++)
			names[i] = list.items[i].name;
		near = text_nearest(name, names);
		error_set(err, STATUS_USAGE, "there is no baseline '%.120s'%s%s%s", name,
			  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		free(names);
	}
	baseline_list_release(&list);
	return err->status;
}

enum status baseline_load(struct history *h, const char *name, struct result **results,
			  size_t *count, struct error *err)
{
	struct db_query *q = db_select(
		history_db(h), err,
		"SELECT document FROM baseline WHERE name = ? ORDER BY position", "s", name);
	size_t capacity = 0;

	*results = NULL;
	*count = 0;
	while (err->status == STATUS_OK && db_next(q)) {
		const char *document = db_string(q, 0);

		ARRAY_GROW(*results, *count, capacity);
		if (result_from_json_without_samples(&(*results)[*count], document, strlen(document),
						     err) == STATUS_OK)
			(*count)++;
		else
			error_prefix(err, "baseline '%s'", name);
	}
	db_end(q);
	if (err->status == STATUS_OK && !*count)
		unknown(h, name, err);
	if (err->status != STATUS_OK) {
		for (size_t i = 0; i < *count; i++)
			result_release(&(*results)[i]);
		free(*results);
		*results = NULL;
		*count = 0;
	}
	return err->status;
}

enum status baseline_delete(struct history *h, const char *name, struct error *err)
{
	if (db_run(history_db(h), err, "DELETE FROM baseline WHERE name = ?", "s", name) ==
		    STATUS_OK &&
	    !db_changes(history_db(h)))
		unknown(h, name, err);
	return err->status;
}
