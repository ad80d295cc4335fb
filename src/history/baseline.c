#include "history/baseline.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

#define LONGEST_NAME 100

static enum status baseline_check_name(const char *name, struct error *err)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			length = 0;
	if (!length || length > LONGEST_NAME)
		return error_set(err, STATUS_USAGE,
				 "'%.120s' is not a valid name of a baseline; use at most %d "
				 "letters, digits, '.', '_' and '-'",
				 name, LONGEST_NAME);
	return STATUS_OK;
}

/* Serialises the result without samples. The caller frees the string; NULL on failure. */
static char *baseline_slim_document(const struct result *result, struct error *err)
{
	char *json = result_to_json(result);
	struct result copy;

	if (result_from_json(&copy, json, strlen(json), err) == STATUS_OK) {
		free(json);
		result_leave_samples(&copy);
		json = result_to_json(&copy);
		result_release(&copy);
		return json;
	}
	free(json);
	return NULL;
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

enum status baseline_save(struct store *store, const char *name, const struct result *results,
			  size_t count, bool replace, struct error *err)
{
	struct baseline_list list;
	bool was_there;
	char now[32];

	clock_iso8601(now, sizeof(now));
	if (baseline_check_name(name, err) != STATUS_OK ||
	    sqlite_store_begin(store, err) != STATUS_OK)
		return err->status;
	store_notes_baselines(store, &list, err);
	for (size_t i = 0; i < list.count && !replace; i++)
		if (strcmp(list.items[i].name, name) == 0)
			error_set(err, STATUS_USAGE,
				  "baseline '%s' exists; add --replace or choose another name",
				  name);
	baseline_list_release(&list);
	if (replace)
		store_notes_remove_baseline(store, name, &was_there, err);
	for (size_t i = 0; err->status == STATUS_OK && i < count; i++) {
		char *document = baseline_slim_document(&results[i], err);

		if (document)
			store_notes_add_document(store, name, i, now, document, err);
		free(document);
	}
	return sqlite_store_end(store, true, err);
}

static enum status baseline_unknown(struct store *store, const char *name, struct error *err)
{
	struct baseline_list list;
	const char **names;
	const char *near;

	if (store_notes_baselines(store, &list, err) == STATUS_OK) {
		names = xcalloc(list.count + 1, sizeof(*names));
		for (size_t i = 0; i < list.count; i++)
			names[i] = list.items[i].name;
		near = text_nearest(name, names);
		error_set(err, STATUS_USAGE, "no baseline '%.120s'%s%s%s", name,
			  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		free(names);
	}
	baseline_list_release(&list);
	return err->status;
}

struct loading {
	const char *name;
	struct result *results;
	size_t count, capacity;
};

static enum status baseline_take_document(void *context, const char *document, struct error *err)
{
	struct loading *l = context;

	ARRAY_GROW(l->results, l->count, l->capacity);
	if (result_from_json(&l->results[l->count], document, strlen(document), err) == STATUS_OK)
		l->count++;
	else
		error_prefix(err, "baseline '%s'", l->name);
	return err->status;
}

enum status baseline_load(struct store *store, const char *name, struct result **results,
			  size_t *count, struct error *err)
{
	struct loading l = { .name = name };

	store_notes_each_document(store, name, baseline_take_document, &l, err);
	if (err->status == STATUS_OK && !l.count)
		baseline_unknown(store, name, err);
	if (err->status != STATUS_OK) {
		for (size_t i = 0; i < l.count; i++)
			result_release(&l.results[i]);
		free(l.results);
		l = (struct loading){ 0 };
	}
	*results = l.results;
	*count = l.count;
	return err->status;
}

enum status baseline_delete(struct store *store, const char *name, struct error *err)
{
	bool was_there;

	if (store_notes_remove_baseline(store, name, &was_there, err) == STATUS_OK && !was_there)
		baseline_unknown(store, name, err);
	return err->status;
}
