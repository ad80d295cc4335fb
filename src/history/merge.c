/* Merges nights and notes of one history into another. */
#include <string.h>

#include "history/history.h"

/* Finds the series of a note by name, because numbers differ between histories. */
struct series_search {
	struct store *store;
	const struct history_series *wanted;
	int64_t found; /* 0: none */
	struct error *err;
};

static void history_merge_compare_machine(void *context, const struct history_series *s)
{
	struct series_search *search = context;

	if (strcmp(s->model, search->wanted->model) == 0 &&
	    strcmp(s->machine, search->wanted->machine) == 0)
		search->found = s->id;
}

static void history_merge_find_series_of_name(void *context, const struct history_series *wanted)
{
	const struct history_filter filter = { .metric = wanted->metric,
					       .case_id = wanted->case_id,
					       .exact = true,
					       .all_metrics = true };
	struct series_search *search = context;

	search->wanted = wanted;
	store_each_name(search->store, &filter, history_merge_compare_machine, search, search->err);
}

static bool history_merge_notes_are_alike(const struct history_note *a,
					  const struct history_note *b)
{
	return a->day == b->day && a->series == b->series && a->acknowledges == b->acknowledges &&
	       a->state == b->state && strcmp(a->text, b->text) == 0 &&
	       strcmp(a->written, b->written) == 0 && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->machine, b->machine) == 0;
}

/* Skips a note about a series that this history does not have. */
static enum status merge_note(struct store *store, const struct history_notes *there,
			      struct store *from, const struct history_note *note,
			      struct error *err)
{
	const struct history_filter filter = { .series = note->series };
	struct series_search search = { .store = store, .err = err };
	struct history_note copy = *note;
	bool known = false;

	if (note->series && store_each_name(from, &filter, history_merge_find_series_of_name,
					    &search, err) != STATUS_OK)
		return err->status;
	copy.series = search.found;
	for (size_t i = 0; i < there->count && !known; i++)
		known = history_merge_notes_are_alike(&there->items[i], &copy);
	return known || (note->series && !copy.series) ? err->status
						       : store_add_note(store, &copy, err);
}

enum status history_merge(struct store *store, struct store *from, const char *name,
			  struct history_tally *tally, struct error *err)
{
	struct history_nights nights;

	if (store_begin(store, err) != STATUS_OK)
		return err->status;
	store_nights(from, &nights, err);
	for (size_t i = 0; i < nights.count && err->status == STATUS_OK; i++) {
		struct store_night night;

		if (store_read_night(from, nights.items[i].id, &night, err) != STATUS_OK)
			break;
		history_tally(store, &night, name, tally, err);
		store_night_release(&night);
	}
	history_nights_release(&nights);
	if (err->status == STATUS_OK) {
		struct history_notes there = { 0 }, notes = { 0 };

		if (store_notes(store, &there, err) == STATUS_OK)
			store_notes(from, &notes, err);
		for (size_t i = 0; i < notes.count && err->status == STATUS_OK; i++)
			merge_note(store, &there, from, &notes.items[i], err);
		history_notes_release(&notes);
		history_notes_release(&there);
	}
	return store_end(store, true, err);
}
