/* Notes and acknowledgements on nights, and pruning of nights. */
#include "history/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

/* The date of the night that is nearest on one side; "" when there is none. */
static void nearest(struct history *h, const char *sql, int64_t day, char date[16], struct error *err)
{
	struct db_query *q = db_select(history_db(h), err, sql, "i", day);

	date[0] = '\0';
	if (db_next(q))
		history_date(db_integer_within(q, 0, FIRST_DAY, LAST_DAY, "the day"), date);
	db_end(q);
}

/* A note of a day without a night would be shown nowhere that one looks for it. */
static enum status check_day(struct history *h, int64_t day, struct error *err)
{
	char date[16], before[16], after[16];

	if (db_id(db_select(history_db(h), err, "SELECT id FROM night WHERE day = ?", "i", day)) ||
	    err->status != STATUS_OK)
		return err->status;
	history_date(day, date);
	nearest(h, "SELECT day FROM night WHERE day < ? ORDER BY day DESC LIMIT 1", day, before, err);
	nearest(h, "SELECT day FROM night WHERE day > ? ORDER BY day LIMIT 1", day, after, err);
	if (err->status != STATUS_OK)
		return err->status;
	if (!*before && !*after)
		return error_set(err, STATUS_USAGE, "the history has no nights");
	return error_set(err, STATUS_USAGE, "there is no night of %s; the nearest: %s%s%s", date,
			 before, *before && *after ? " and " : "", after);
}

enum status history_annotate(struct history *h, int64_t day, int64_t series, bool acknowledges,
			     const char *text, struct error *err)
{
	char now[32];

	if (series && !db_id(db_select(history_db(h), err, "SELECT id FROM series WHERE id = ?",
				       "i", series)))
		return error_set(err, STATUS_USAGE, "there is no series %" PRId64, series);
	if (check_day(h, day, err) != STATUS_OK)
		return err->status;
	clock_iso8601(now, sizeof(now));
	return db_run(history_db(h), err,
		      "INSERT INTO note (day, series, acknowledges, text, written) VALUES (?, ?, "
		      "?, ?, ?)",
		      "iiiss", day, series, (int64_t)acknowledges, text, now);
}

/* A note is one line wherever it is shown. */
static char *one_line(const char *text)
{
	char *line = text_harmless(text);

	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	return line;
}

enum status history_notes(struct history *h, struct history_notes *out, struct error *err)
{
	struct db_query *q =
		db_select(history_db(h), err,
			  "SELECT id, day, series, acknowledges, text, written FROM note"
			  " ORDER BY day, id",
			  "");

	memset(out, 0, sizeof(*out));
	while (db_next(q)) {
		ARRAY_GROW(out->items, out->count, out->capacity);
		out->items[out->count++] =
			(struct history_note){ .id = db_integer(q, 0),
					       .day = db_integer_within(q, 1, FIRST_DAY, LAST_DAY, "the day of a note"),
					       .series = db_integer(q, 2),
					       .acknowledges = db_integer(q, 3) != 0,
					       .text = one_line(db_string(q, 4)),
					       .written = text_harmless(db_string(q, 5)) };
	}
	return db_end(q);
}

void history_notes_release(struct history_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		free(notes->items[i].text);
		free(notes->items[i].written);
	}
	free(notes->items);
	memset(notes, 0, sizeof(*notes));
}

enum status history_prune(struct history *h, int64_t day, size_t *removed, struct error *err)
{
	static const char *const orphans[] = {
		"DELETE FROM series WHERE id NOT IN (SELECT series FROM point)",
		"DELETE FROM epoch WHERE id NOT IN (SELECT epoch FROM point)",
	};

	*removed = 0;
	if (db_begin(history_db(h), err) != STATUS_OK)
		return err->status;
	db_run(history_db(h), err,
	       "DELETE FROM point WHERE night IN (SELECT id FROM night WHERE day < ?)", "i", day);
	if (db_run(history_db(h), err, "DELETE FROM night WHERE day < ?", "i", day) == STATUS_OK)
		*removed = db_changes(history_db(h));
	db_run(history_db(h), err, "DELETE FROM note WHERE day < ?", "i", day);
	for (size_t i = 0; i < ARRAY_SIZE(orphans); i++)
		db_run(history_db(h), err, orphans[i], "");
	if (err->status == STATUS_OK)
		db_commit(history_db(h), err);
	db_rollback(history_db(h));
	/* The file gets smaller, too. */
	if (err->status == STATUS_OK)
		db_run(history_db(h), err, "VACUUM", "");
	return err->status;
}
