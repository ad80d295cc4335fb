/* User data in a history: notes with decisions. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/sqlite/sqlite.h"

/* A note is displayed on one line. */
static char *store_notes_one_line(const char *text)
{
	char *line = text_harmless(text);

	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	return line;
}

static const char *const triage_words[TRIAGE_STATES + 1] = { "",         "open",        "fixed",
							     "expected", "false-alarm", "tracked",
							     "wontfix",  NULL };

const char *store_notes_triage_word(enum triage state)
{
	return triage_words[state];
}

/* TRIAGE_NONE for an unknown word, such as one of a newer version; it closes nothing. */
static enum triage store_notes_triage_of_word(const char *word)
{
	for (int i = 0; i < TRIAGE_STATES; i++)
		if (strcmp(triage_words[i], word) == 0)
			return (enum triage)i;
	return TRIAGE_NONE;
}

enum status store_notes(struct store *s, struct history_notes *out, struct error *err)
{
	struct db_query *q = sqlite_select(s, err,
					   "SELECT id, day, series, acknowledges, text, written, "
					   "state, person, ticket, until, host, machine, case_id, "
					   "metric FROM note ORDER BY day, id",
					   "");

	memset(out, 0, sizeof(*out));
	while (sqlite_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] = (struct history_note){
			.id = sqlite_integer(q, 0),
			.day = sqlite_store_day(q, 1, "the day of a note"),
			.series = sqlite_integer(q, 2),
			.acknowledges = sqlite_integer(q, 3) != 0,
			.text = store_notes_one_line(sqlite_string(q, 4)),
			.written = sqlite_store_text(q, 5),
			.state = store_notes_triage_of_word(sqlite_string(q, 6)),
			.by = store_notes_one_line(sqlite_string(q, 7)),
			.ticket = store_notes_one_line(sqlite_string(q, 8)),
			.until = sqlite_store_day(q, 9, "the end of a decision"),
			.host = sqlite_store_text(q, 10),
			.machine = sqlite_store_text(q, 11),
			.case_id = sqlite_store_text(q, 12),
			.metric = sqlite_store_text(q, 13)
		};
	}
	return sqlite_end(q);
}

enum status store_add_note(struct store *s, const struct history_note *n, struct error *err)
{
	if (n->series &&
	    !sqlite_id(sqlite_select(s, err, "SELECT id FROM series WHERE id = ?", "i", n->series)))
		return error_set(err, STATUS_USAGE, "no series %" PRId64, n->series);
	return sqlite_run(
		s, err,
		"INSERT INTO note (day, series, acknowledges, text, written, state, person, "
		"ticket, until, host, machine, case_id, metric) VALUES (?, ?, ?, ?, ?, ?, ?, "
		"?, ?, ?, ?, ?, ?)",
		"iiisssssissss", n->day, n->series, (int64_t)n->acknowledges, n->text, n->written,
		store_notes_triage_word(n->state), n->by, n->ticket, n->until, n->host, n->machine,
		n->case_id, n->metric);
}
