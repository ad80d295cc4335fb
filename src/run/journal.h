/*
 * DIR/run.jsonl: what a run has found out so far, safe against being killed at any moment.
 *
 * First line: {"journal":1,"plan":"<fingerprint>","header":{...}}, the result without its cases.
 * Then a line per finished case, as its worker sent it, and per lost worker (message.h). A line
 * counts once it is complete and fsync'ed. A torn last line is cut away when the run is resumed; a
 * damaged line before it is left out, so its case is done again. Lost workers are reported by the
 * next finished case; in journals of earlier versions that case's line has them as well.
 */
#ifndef GPUPROOF_RUN_JOURNAL_H
#define GPUPROOF_RUN_JOURNAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"
#include "plan/plan.h"
#include "result/result.h"
#include "run/workers/message.h"

/* Workers that were lost, in their order, until a case reports them. The owner releases them. */
struct losses {
	struct lost_worker *items;
	size_t count, capacity;
};

void journal_losses_add(struct losses *losses, struct lost_worker *lost); /* empties `lost` */
void journal_losses_attach(struct losses *losses,
			   struct case_result *c); /* moves all of them into the case */
void journal_losses_release(struct losses *losses);

#define JOURNAL_NAME "run.jsonl"

struct journal {
	int fd; /* holds the lock: one process at a time writes into a directory */
	char *path;
	off_t size; /* bytes of complete lines */
};

/*
 * Starts a run in `directory` (made with its parents when missing). STATUS_USAGE when a run is
 * there already, STATUS_IO naming the process when one is going on there.
 */
enum status journal_create(struct journal *journal, const char *directory,
			   const struct result *header, const struct plan *plan, struct error *err);

/* STATUS_USAGE when a run is in `directory` already. Nothing is made or changed. */
enum status journal_vacant(const char *directory, struct error *err);

/*
 * True if a run has begun in `directory`: its journal has a first line. One that was killed or met
 * a full disk before has measured nothing, and begins anew.
 */
bool journal_begun(const char *directory);

/*
 * Sets done[i] for each case of `plan` that the run in `directory` has finished; as
 * journal_resume(), without changes. cases[i], which the caller releases, becomes its result;
 * `cases` NULL: results are not needed.
 */
enum status journal_read(const char *directory, const struct plan *plan, struct case_result *cases,
			 bool *done, struct error *err);

/* The header of the run in `directory`, for its config. */
enum status journal_read_header(const char *directory, struct result *header, struct error *err);

/*
 * Opens the run in `directory` to continue it. `header` becomes its header, `cases` (released by
 * the caller, one per case of the plan) its finished cases, done[i] is true for each of these;
 * `lost` (released by the caller) the workers lost after the last of them. STATUS_USAGE when `plan`
 * is another one.
 */
enum status journal_resume(struct journal *journal, const char *directory, const struct plan *plan,
			   struct result *header, struct case_result *cases, bool *done,
			   struct losses *lost, struct error *err);

/*
 * Appends a case: the worker's message with it (`sent`: MESSAGE_CASE or MESSAGE_PARTIAL, accepted
 * by case_result_check()) byte by byte, or, if that is NULL, `c`, which the conductor made. It
 * counts when this returns STATUS_OK. On failure what was there before is untouched.
 */
enum status journal_append(struct journal *journal, bool partial, const struct case_result *c,
			   const struct message *sent, struct error *err);

/* The same for a worker that was lost. */
enum status journal_append_lost(struct journal *journal, const struct lost_worker *lost,
				struct error *err);

/* A journal that could not be opened is allowed. */
void journal_close(struct journal *journal);

#endif
