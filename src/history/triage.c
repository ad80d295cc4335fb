#include "history/triage.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

/* True if a member of the note is empty, or names the subject's: a part of it if `part`. */
static bool triage_note_names(const char *wanted, const char *is, bool part)
{
	if (!wanted || !*wanted)
		return true;
	return is && (part ? strstr(is, wanted) != NULL : strcmp(wanted, is) == 0);
}

static bool triage_is_about(const struct history_notes *notes, const struct history_note *n,
			    const struct triage_subject *s)
{
	const struct history_place *place =
		notes->places && s->machine ? history_place(notes->places, s->machine) : NULL;
	/* Present host of the subject; "" if no night has it. */
	const char *host = s->host ? s->host : place ? place->host : s->machine ? s->machine : "";

	return (!n->series || n->series == s->series) && triage_note_names(n->host, host, false) &&
	       triage_note_names(n->machine, s->machine, false) &&
	       triage_note_names(n->case_id, s->case_id, true) &&
	       triage_note_names(n->metric, s->metric, true);
}

/* True if the note closes the subject, unless a later one reverts it. */
static bool triage_note_closes(const struct history_note *n, const struct triage_subject *s)
{
	size_t nights = 0; /* after the decision */

	if (n->state == TRIAGE_NONE)
		return llabs(n->day - s->since) <= ACKNOWLEDGED_WITHIN;
	if (n->state == TRIAGE_OPEN || (n->until && n->until < s->today))
		return false;
	while (nights < s->count && s->days[s->count - 1 - nights] > n->day)
		nights++;
	return n->state != TRIAGE_FIXED || nights < TRIAGE_NIGHTS;
}

const struct history_note *triage_decision(const struct history_notes *notes,
					   const struct triage_subject *s)
{
	const struct history_note *last = NULL;

	for (size_t i = 0; notes && i < notes->count; i++) {
		const struct history_note *n = &notes->items[i];
		bool near = n->state == TRIAGE_NONE ? triage_note_closes(n, s) : s->since <= n->day;

		if (n->acknowledges && near && triage_is_about(notes, n, s) &&
		    (!last || n->id > last->id))
			last = n;
	}
	return last && triage_note_closes(last, s) ? last : NULL;
}

char *triage_words(const struct history_note *n)
{
	struct text out = TEXT_EMPTY;
	char date[16];

	text_add(&out,
		 n->state == TRIAGE_NONE ? "acknowledged" : store_notes_triage_word(n->state));
	if (*n->by)
		text_addf(&out, " by %s", n->by);
	if (n->until) {
		history_date(n->until, date);
		text_addf(&out, " until %s", date);
	}
	if (*n->text)
		text_addf(&out, ": %s", n->text);
	if (*n->ticket)
		text_addf(&out, " (%s)", n->ticket);
	return text_detach(&out);
}

char *triage_note_words(const struct history_note *n)
{
	const char *const about[] = { n->host, n->machine, n->case_id, n->metric };
	char *words = triage_words(n);
	struct text out = TEXT_EMPTY;

	text_add(&out, words);
	for (size_t i = 0; i < ARRAY_SIZE(about); i++)
		if (*about[i])
			text_addf(&out, "; %s", about[i]);
	free(words);
	return text_detach(&out);
}

static void triage_note_check(const struct history_note *n, const struct history_nights *nights,
			      const struct history_places *places, struct history_note *out,
			      struct error *err)
{
	const struct history_place *place =
		n->machine ? history_place_named(places, n->machine) : NULL;
	bool host = false;

	for (size_t i = 0; i < nights->count && n->host; i++)
		host = host || strcmp(nights->items[i].host, n->host) == 0;
	/* Also finds the nodes of multi-node runs. */
	for (size_t i = 0; i < places->count && n->host; i++)
		host = host || strcmp(places->items[i].host, n->host) == 0;
	if (!nights->count)
		error_set(err, STATUS_USAGE, "the history contains no runs");
	else if (!n->series && !n->host && !n->machine && !n->case_id && !n->metric)
		error_set(err, STATUS_USAGE,
			  "a decision needs --series, --node, --device, --case or "
			  "--metric");
	else if (n->host && !host)
		error_set(err, STATUS_USAGE,
			  "--node %.80s: the history has no run of this "
			  "host",
			  n->host);
	else if (n->machine && !place)
		error_set(err, STATUS_USAGE,
			  "--device %.80s: the history has no GPU with this UUID, serial "
			  "number or place (HOST/cuda:3)",
			  n->machine);
	if (err->status != STATUS_OK)
		return;
	if (place)
		out->machine = place->machine;
	if (!out->day)
		out->day = nights->items[nights->count - 1].day;
	if (n->until && n->until < out->day)
		error_set(err, STATUS_USAGE,
			  "--until is earlier than the run that the decision concerns");
}

enum status triage_decide(struct store *store, const struct history_note *note, struct error *err)
{
	struct history_note out = *note;
	struct history_nights nights = { 0 };
	struct history_places places = { 0 };
	char now[32];

	clock_iso8601(now, sizeof(now));
	out.written = now;
	out.acknowledges = true;
	if (store_nights(store, &nights, err) == STATUS_OK &&
	    store_nights_places(store, &places, err) == STATUS_OK)
		triage_note_check(note, &nights, &places, &out, err);
	if (err->status == STATUS_OK)
		store_add_note(store, &out, err);
	history_nights_release(&nights);
	history_places_release(&places);
	return err->status;
}
