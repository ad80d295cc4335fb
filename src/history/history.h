/*
 * Measurements of earlier nights, in a store (store.h).
 *
 * A series is one metric of one case on one device: metric x case id x device model x machine,
 * which is the device's UUID, or the host where it has none. Its points carry a hash of hardware,
 * driver and config: points of another hash are another epoch, and never compared with those
 * before.
 */
#ifndef GPUPROOF_HISTORY_HISTORY_H
#define GPUPROOF_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history/store.h"
#include "result/result.h"

enum history_added {
	HISTORY_PRESENT, /* the run is there already with the same figures: nothing has changed */
	HISTORY_ADDED,
	/* the run was there with fewer figures, was not complete, or was judged otherwise */
	HISTORY_REPLACED
};

/*
 * Adds a night. A run that is there already is refused (STATUS_USAGE) when the night lacks figures
 * that it has, or has other values for as many.
 */
enum status history_add_night(struct store *store, const struct store_night *night,
			      enum history_added *added, struct error *err);
/*
 * The night of a result, which must have a run id and a time of its start. The caller releases it.
 */
enum status night_of_result(const struct result *result, struct store_night *out,
			    struct error *err);
/* Both. */
enum status history_add(struct store *store, const struct result *result, enum history_added *added,
			struct error *err);

/* Outcome of adding many nights. */
struct history_tally {
	size_t added, replaced, present, refused;
	/* for each that is refused; NULL: not told */
	void (*complain)(const struct error *refusal);
};

/*
 * history_add_night() for one of many, in a transaction that the caller holds: a refusal is counted
 * and told, with `name` before its message, and is no error. Also when `err` is STATUS_USAGE on
 * entry, which is the refusal of a night that could not be read (`night` NULL).
 */
enum status history_tally(struct store *store, const struct store_night *night, const char *name,
			  struct history_tally *tally, struct error *err);

/*
 * Adds all nights and notes of another history; `name` is its file, for messages. All or, after an
 * error, nothing.
 */
enum status history_merge(struct store *store, struct store *from, const char *name,
			  struct history_tally *tally, struct error *err);

void history_places_release(struct history_places *places);
/*
 * NULL: no night of this version has the machine. A CPU's machine is its host, which may have
 * several devices: NULL as well.
 */
const struct history_place *history_place(const struct history_places *places, const char *machine);
/* Place by UUID, serial number or "node7/cuda:3"; NULL: in no night. */
const struct history_place *history_place_named(const struct history_places *places,
						const char *word);
/*
 * "GPU-5f..: node7, cuda:3, 00000000:19:00.0, serial 1653, before in node5"; the machine where no
 * more is known. malloc'ed.
 */
char *history_machine_words(const struct history_places *places, const char *machine);

void history_nights_release(struct history_nights *nights);
void history_notes_release(struct history_notes *notes);

/*
 * `series` 0: all. An acknowledgement closes changes of that day and up to five nights around it. A
 * day without a night is STATUS_USAGE, with the nearest days that have one.
 */
enum status history_annotate(struct store *store, int64_t day, int64_t series, bool acknowledges,
			     const char *text, struct error *err);

/* The tags of a night hold the word `tag`; NULL: true. */
bool history_has_tag(const char *tags, const char *tag);

/* "2026-11-20..." -> days since 1970-01-01; false: no date. */
bool history_day(const char *date, int64_t *day);
void history_date(int64_t day, char out[16]);

#endif
