/*
 * Nights as lines of JSON, to carry them from one history to another:
 *
 *	{"format":"gpuproof-history","version":1}
 *	{"run":"5f...","started":"2026-11-20T01:00:00Z","host":"node7",...,"figures":[...]}
 *	{"note":"new riser","day":"2026-11-20",...}
 *
 * Files may be joined by cat. The same nights make the same bytes, in whatever order they were
 * added. Baselines are not in it.
 */
#ifndef GPUPROOF_HISTORY_EXCHANGE_EXCHANGE_H
#define GPUPROOF_HISTORY_EXCHANGE_EXCHANGE_H

#include <stdio.h>

#include "history/history.h"

#define HISTORY_EXPORT_VERSION 1

/* Writes all nights, by start and run, then all notes. */
enum status history_export(struct store *store, FILE *out, struct error *err);

/* An export of one night; malloc'ed. */
char *night_to_export(const struct store_night *night);

/*
 * Adds what is in a file, or nothing when one of its lines is damaged: errors name file and line.
 */
enum status history_import(struct store *store, const char *path, struct history_tally *tally,
			   struct error *err);

/* Adds all nights and notes of another history. */
enum status history_merge(struct store *store, struct store *from, const char *name,
			  struct history_tally *tally, struct error *err);

/*
 * The spool of a history is the folder FILE.spool: programs that cannot lock a file of a shared
 * file system put their nights there, each as one file that appears by rename, and the next reader
 * that may write takes them in. A night that is taken twice is there once.
 */

/* Puts a night into the spool, which is made when there is none. */
enum status spool_drop(const char *history, const struct store_night *night, struct error *err);
/* True if nights wait. */
bool spool_waits(const char *history);
/* Takes all that wait in. A file that is no night, or refused, is renamed to NAME.refused. */
enum status spool_take(struct store *store, const char *history, struct history_tally *tally,
		       struct error *err);
/*
 * Removes half-written nights, which no reader takes in, of writers that were killed a day ago or
 * earlier. Returns how many.
 */
size_t spool_clean(const char *history);

#endif
