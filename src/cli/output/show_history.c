#include "cli/output/show_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "cli/output/table.h"
#include "history/triage.h"

void note_text(struct text *out, const struct history_note *n)
{
	char date[16], *words;

	history_date(n->day, date);
	if (n->state) {
		words = triage_note_words(n);
		text_addf(out, "decision %s: %s\n", date, words);
		free(words);
		return;
	}
	text_addf(out, "note %s: %s%s\n", date, n->text, n->acknowledges ? " (acknowledges)" : "");
}

static void show_nights(const struct history_nights *nights)
{
	struct output_table table = TABLE_EMPTY;

	TABLE_ROW(&table, "STARTED", "RUN", "HOST", "STATE", "VERDICT", "LABEL");
	for (size_t i = 0; i < nights->count; i++) {
		const struct history_night *n = &nights->items[i];

		TABLE_ROW(&table, n->started, n->run_id, n->host, n->state,
			  *n->verdict ? n->verdict : "not judged", n->label);
	}
	table_finish(&table, stdout);
}

struct showing {
	struct history_notes notes;
	struct history_places places;
	size_t shown; /* series */
};

/* Notes of whole nights; with `series` also those of the series. */
static void show_notes(const struct history_notes *notes, int64_t series)
{
	struct text lines = TEXT_EMPTY;

	for (size_t i = 0; i < notes->count; i++)
		if (!notes->items[i].series || notes->items[i].series == series)
			note_text(&lines, &notes->items[i]);
	fputs(lines.data ? lines.data : "", stdout);
	text_release(&lines);
}

static void show_series(void *context, const struct history_series *s)
{
	struct output_table table = TABLE_EMPTY;
	struct showing *showing = context;
	char *machine = history_machine_words(&showing->places, s->machine);

	showing->shown++;
	printf("series %" PRId64 ": %s %s, %s (%s)\n", s->id, s->case_id, s->metric, s->model,
	       machine);
	free(machine);
	TABLE_ROW(&table, "NIGHT", "VALUE", "INTERVAL", "EPOCH");
	for (size_t i = 0; i < s->count; i++) {
		const struct history_point *p = &s->points[i];
		char date[16], value[48], low[48], high[48], interval[100] = "", epoch[24];

		history_date(p->day, date);
		snprintf(epoch, sizeof(epoch), "%" PRId64, p->epoch);
		if (p->low == p->low && p->high == p->high)
			snprintf(interval, sizeof(interval), "%s to %s",
				 units_format(p->low, s->unit, low, sizeof(low)),
				 units_format(p->high, s->unit, high, sizeof(high)));
		TABLE_ROW(&table, date,
			  p->value == p->value
				  ? units_format(p->value, s->unit, value, sizeof(value))
				  : "not measured",
			  interval, epoch);
	}
	table_finish(&table, stdout);
	show_notes(&showing->notes, s->id);
	putchar('\n');
}

enum status show_history(struct store *history, const struct history_filter *f, size_t *shown,
			 struct error *err)
{
	struct showing showing = { 0 };

	if (store_notes(history, &showing.notes, err) == STATUS_OK &&
	    store_places(history, &showing.places, err) == STATUS_OK) {
		if (f->metric || f->case_id || f->series)
			store_each_series(history, f, show_series, &showing, err);
		else {
			struct history_nights nights;

			if (store_nights(history, &nights, err) == STATUS_OK) {
				show_nights(&nights);
				show_notes(&showing.notes, 0);
			}
			history_nights_release(&nights);
		}
	}
	*shown = showing.shown;
	history_notes_release(&showing.notes);
	history_places_release(&showing.places);
	return err->status;
}
