/*
 * Measurements of earlier nights: one SQLite file (history_db.h), safe with two writers.
 *
 * A series is one metric of one case on one device: metric x case id x device model x machine, which is the device's
 * UUID, or the host where it has none. Its points carry a hash of hardware, driver and config: points of another
 * hash are another epoch, and never compared with those before.
 *
 * Adding to the schema: one more entry in `migrations` (history_schema.c); never change an old one.
 *
 * Ownership: `char *` belong to the struct they are in. Their text may end on a terminal: text_harmless().
 */
#ifndef GPUPROOF_HISTORY_HISTORY_H
#define GPUPROOF_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history/history_db.h"
#include "result/result.h"

struct history;

/* DB_CREATE for what writes; the others need an existing file. */
enum status history_open(struct history **out, const char *path, enum db_mode mode,
			 struct error *err);
void history_close(struct history *history);
struct db *history_db(struct history *history);

enum history_added {
	HISTORY_PRESENT, /* the run is there already with the same figures: nothing has changed */
	HISTORY_ADDED,
	HISTORY_REPLACED /* the run was there with fewer figures, was not complete, or was judged otherwise */
};

/*
 * Adds a night. A run that is there already is refused (STATUS_USAGE) when the result lacks figures that it has, or has other
 * values for as many.
 */
enum status history_add(struct history *history, const struct result *result,
			enum history_added *added, struct error *err);

struct history_night {
	int64_t id, day; /* day: since 1970-01-01 */
	char *run_id, *started, *host, *label, *state;
	char *verdict; /* "ACCEPTED", "REJECTED", "INCONCLUSIVE"; "": nothing was judged */
};

struct history_nights {
	struct history_night *items; /* the oldest first */
	size_t count, capacity;
};

enum status history_nights(struct history *history, struct history_nights *out, struct error *err);
void history_nights_release(struct history_nights *nights);

/* The facts of a night as "name=value" lines, with those of the epoch. The caller frees it; "" when there is no such night. */
char *history_facts(struct history *history, int64_t night, struct error *err);

struct history_point {
	int64_t night, day, epoch;
	double value, low, high; /* value NaN: the case did not run or failed */
};

struct history_series {
	int64_t id;
	char *metric, *case_id, *model, *machine, *unit;
	enum better better;
	struct history_point *points; /* the oldest first */
	size_t count, capacity;
};

struct history_filter {
	const char *metric, *case_id; /* part of; NULL: all */
	bool exact;                   /* the whole metric and the whole case */
	int64_t series;               /* 0: all */
	bool all_metrics;             /* not only each suite's main figure, as for a metric and a series */
	size_t nights;                /* of the last n; 0: all */
};

typedef void history_series_fn(void *context, const struct history_series *series);

/* Calls `visit` for each series that has points, by case and metric. */
enum status history_each(struct history *history, const struct history_filter *filter,
			 history_series_fn *visit, void *context, struct error *err);

struct history_note {
	int64_t id, day, series; /* series 0: about the night as a whole */
	bool acknowledges;       /* the change of that day */
	char *text, *written;
};

struct history_notes {
	struct history_note *items;
	size_t count, capacity;
};

/*
 * `series` 0: all. An acknowledgement closes changes of that day and up to five nights around it. A day without a night is
 * STATUS_USAGE, with the nearest days that have one.
 */
enum status history_annotate(struct history *history, int64_t day, int64_t series,
			     bool acknowledges, const char *text, struct error *err);
enum status history_notes(struct history *history, struct history_notes *out, struct error *err);
void history_notes_release(struct history_notes *notes);

/* Removes the nights before `day`, and what has no points any more; `removed` nights. */
enum status history_prune(struct history *history, int64_t day, size_t *removed, struct error *err);

/* Days that dates of four digits have: 0001-01-01 to 9999-12-31. */
#define FIRST_DAY INT64_C(-719162)
#define LAST_DAY INT64_C(2932896)

/* "2026-11-20..." -> days since 1970-01-01; false: no date. */
bool history_day(const char *date, int64_t *day);
void history_date(int64_t day, char out[16]);

#endif
