/*
 * DIR/run.jsonl: journal of a run, crash-safe at any moment.
 *
 * First line: {"journal":1,"plan":"<fingerprint>","header":{...}}, the result without its cases.
 * Then one line per finished case, as its worker sent it, and one per lost worker (message.h). A
 * line counts once it is complete and fsync'ed. --resume truncates a torn last line; it skips a
 * damaged line before it and repeats its case. The next finished case reports lost workers; in
 * journals of earlier versions that case's line contains them as well.
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

/* Queue of workers that died, in order, until a case records them. The owner releases it. */
struct losses {
	struct lost_worker *items;
	size_t count, capacity;
};

void losses_add(struct losses *losses, struct lost_worker *lost); /* empties `lost` */
void losses_attach(struct losses *losses,
		   struct case_result *c); /* moves all of them into the case */
void losses_release(struct losses *losses);

#define JOURNAL_NAME "run.jsonl"

struct journal {
	int fd; /* holds the lock: only one process writes into a directory */
	char *path;
	off_t size; /* length of the valid part */
};

/*
 * Starts a run in `directory`, created with its parents if missing. STATUS_USAGE if it contains a
 * run, STATUS_IO with the process id if one is still active there.
 */
enum status journal_create(struct journal *journal, const char *directory,
			   const struct result *header, const struct plan *plan, struct error *err);

/* STATUS_USAGE if `directory` contains a run. Creates and changes nothing. */
enum status journal_vacant(const char *directory, struct error *err);

/*
 * True if a run has started in `directory`: its journal has a header line. A run killed earlier, or
 * stopped by a full disk, has measured nothing and starts from scratch.
 */
bool journal_begun(const char *directory);

/*
 * Sets done[i] for each case of `plan` that the run in `directory` has finished; as
 * journal_resume(), but read-only.
 */
enum status journal_look(const char *directory, const struct plan *plan, bool *done,
			 struct error *err);

/*
 * As journal_look(), but also returns the finished cases, those with done[i] set. The caller
 * releases them.
 */
enum status journal_read(const char *directory, const struct plan *plan, struct case_result *cases,
			 bool *done, struct error *err);

/* Reads the header of the run in `directory`, for its config. */
enum status journal_read_header(const char *directory, struct result *header, struct error *err);

/*
 * Opens the run in `directory` to resume it. Sets `header`, `cases` (one per case of the plan) with
 * the finished cases, done[i] for each of these, and `lost`, the workers lost after the last of
 * them. The caller releases `cases` and `lost`. STATUS_USAGE if `plan` differs.
 */
enum status journal_resume(struct journal *journal, const char *directory, const struct plan *plan,
			   struct result *header, struct case_result *cases, bool *done,
			   struct losses *lost, struct error *err);

/*
 * Appends a worker's message with a case (MESSAGE_CASE or MESSAGE_PARTIAL, accepted by
 * case_result_check()) byte for byte. The case counts once this returns STATUS_OK. A failure leaves
 * earlier lines intact.
 */
enum status journal_append_sent(struct journal *journal, const struct message *sent,
				struct error *err);

/* As journal_append_sent(), for a case that the conductor created. */
enum status journal_append(struct journal *journal, bool partial, const struct case_result *c,
			   struct error *err);

/* As journal_append_sent(), for a lost worker. */
enum status journal_append_lost(struct journal *journal, const struct lost_worker *lost,
				struct error *err);

/* Also accepts a journal that could not be opened. */
void journal_close(struct journal *journal);

#endif
