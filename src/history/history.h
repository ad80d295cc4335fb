/*
 * History: measurements of earlier nights, in a store (store.h).
 *
 * A series is one metric of one case on one device: metric x case id x device model x machine,
 * which is the device's UUID, or the host if it has none. Each point has a hash of hardware, driver
 * and config. Points with another hash belong to another epoch and are never compared directly.
 */
#ifndef GPUPROOF_HISTORY_HISTORY_H
#define GPUPROOF_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history/store.h"
#include "result/result.h"

enum history_added {
	HISTORY_PRESENT, /* the run is stored with the same values: nothing changed */
	HISTORY_ADDED,
	/* the stored run had fewer values, was incomplete, or had another verdict */
	HISTORY_REPLACED
};

/*
 * Adds a night. STATUS_USAGE if the run is stored already and the new night lacks values or differs
 * in as many.
 */
enum status history_add_night(struct store *store, const struct store_night *night,
			      enum history_added *added, struct error *err);
/*
 * Converts a result, which must have a run id and a start time, to a night. The caller releases it.
 */
enum status night_of_result(const struct result *result, struct store_night *out,
			    struct error *err);
/* Both. */
enum status history_add(struct store *store, const struct result *result, enum history_added *added,
			struct error *err);

/* Counts of a bulk import. */
struct history_tally {
	size_t added, replaced, present, refused;
	/* called for each refused night; may be NULL */
	void (*complain)(const struct error *refusal);
};

/*
 * Adds one of many nights, within a transaction of the caller. A refusal is counted and reported
 * with the prefix `name`, and is not an error. `err` with STATUS_USAGE on entry counts as the
 * refusal of a night that could not be read (`night` NULL).
 */
enum status history_tally(struct store *store, const struct store_night *night, const char *name,
			  struct history_tally *tally, struct error *err);

/*
 * Adds all nights and notes of another history; `name` is its file, for messages. After an error
 * nothing is added.
 */
enum status history_merge(struct store *store, struct store *from, const char *name,
			  struct history_tally *tally, struct error *err);

void history_places_release(struct history_places *places);
/*
 * NULL: no night has the machine, or it is a CPU, whose machine is a host that may have several
 * devices.
 */
const struct history_place *history_place(const struct history_places *places, const char *machine);
/* Finds a place by UUID, serial number or "node7/cuda:3"; NULL: in no night. */
const struct history_place *history_place_named(const struct history_places *places,
						const char *word);
/*
 * "GPU-5f..: node7, cuda:3, 00000000:19:00.0, serial 1653, previously in node5"; the machine if
 * nothing else is known. The caller frees the string.
 */
char *history_machine_words(const struct history_places *places, const char *machine);

void history_nights_release(struct history_nights *nights);
void history_notes_release(struct history_notes *notes);

/*
 * Adds a note. `series` 0: all series. An acknowledgement closes changes on that day and up to five
 * nights around it. STATUS_USAGE, with the nearest nights, if the day has no night.
 */
enum status history_annotate(struct store *store, int64_t day, int64_t series, bool acknowledges,
			     const char *text, struct error *err);

/* True if the tags of a night contain the word `tag`, or `tag` is NULL. */
bool history_has_tag(const char *tags, const char *tag);

/* "2026-11-20..." to days since 1970-01-01; false: not a date. */
bool history_day(const char *date, int64_t *day);
void history_date(int64_t day, char out[16]);
/* "2026-11-20", or "2026-11-20 07:33" if `minute` of the day is not negative. */
void history_moment(int64_t day, int minute, char out[32]);

#endif
