/* gpuproof history add and merge: adds nights of results and of other histories. */
#include <stdio.h>
#include <stdlib.h>

#include "base/input.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/commands/history_actions.h"
#include "cli/input/history_file.h"
#include "history/history.h"

/* Nights per transaction: writers wait for each other while one is open. */
#define NIGHTS_AT_ONCE 256
#define MOST_TOLD 40 /* maximum results listed by name; of more only the number */

/* Nights that were read and wait for their transaction. */
struct batch {
	struct store_night nights[NIGHTS_AT_ONCE];
	char *paths[NIGHTS_AT_ONCE];
	size_t count;
};

static enum status add_night(struct history_arguments *a, struct store *store,
			     const struct store_night *night, const char *path,
			     struct history_tally *tally, struct error *err)
{
	const struct history_tally before = *tally;

	if (history_tally(store, night, path, tally, err) == STATUS_OK &&
	    a->paths.count <= MOST_TOLD && tally->refused <= before.refused) {
		fprintf(stderr, "gpuproof: %s is %s%s%s\n", path,
			tally->present > before.present ? "in " : "now in ", a->db,
			tally->present > before.present ? " already"
			: tally->replaced > before.replaced
				? ", replacing an earlier version of its run"
				: "");
	}
	return err->status;
}

static enum status night_batch_flush(struct history_arguments *a, struct store *store,
				     struct batch *batch, struct history_tally *tally,
				     struct error *err)
{
	bool open = store && err->status == STATUS_OK && store_begin(store, err) == STATUS_OK;

	for (size_t i = 0; i < batch->count; i++) {
		if (err->status == STATUS_OK)
			add_night(a, store, &batch->nights[i], batch->paths[i], tally, err);
		store_night_release(&batch->nights[i]);
		free(batch->paths[i]);
	}
	batch->count = 0;
	return open ? store_end(store, true, err) : err->status;
}

/* An unreadable result does not prevent the others from being added. */
static enum status history_add_path(struct history_arguments *a, struct store *store,
				    const char *path, struct batch *batch,
				    struct history_tally *tally, struct error *err)
{
	struct result_list results = { 0 };

	result_list_add(&results, path, err);
	for (size_t i = 0; i < results.count && err->status == STATUS_OK; i++) {
		struct store_night *night = &batch->nights[batch->count];

		if (night_of_result(&results.items[i], night, err) != STATUS_OK) {
			error_prefix(err, "%s", results.paths[i]);
			break;
		}
		batch->paths[batch->count++] = xstrdup(results.paths[i]);
		if (batch->count == NIGHTS_AT_ONCE)
			night_batch_flush(a, store, batch, tally, err);
	}
	result_list_release(&results);
	if (a->paths.count > 1 && err->status == STATUS_USAGE) {
		tally->refused++;
		history_file_complain(err);
		error_clear(err);
	}
	return err->status;
}

static int tell_tally(const struct history_arguments *a, const struct history_tally *t,
		      bool several)
{
	if (several)
		fprintf(stderr,
			"gpuproof: %s: %zu added, %zu replaced, %zu already stored, %zu "
			"rejected\n",
			a->db, t->added, t->replaced, t->present, t->refused);
	return t->refused ? EXIT_USAGE : EXIT_ACCEPTED;
}

int history_add_results(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct history_tally tally = { .complain = history_file_complain };
	struct error err = ERROR_NONE;
	struct store *store = NULL;
	struct batch *batch;

	for (int i = 0; i < call->count && err.status == STATUS_OK; i++)
		result_paths_add(&a->paths, call->operands[i], &err);
	if (err.status == STATUS_OK)
		store_open(&store, a->db, STORE_CREATE, &err);
	batch = xcalloc(1, sizeof(*batch));
	for (size_t i = 0; i < a->paths.count && err.status == STATUS_OK; i++)
		history_add_path(a, store, a->paths.items[i], batch, &tally, &err);
	night_batch_flush(a, store, batch, &tally, &err);
	store_close(store);
	free(batch);
	return err.status == STATUS_OK ? tell_tally(a, &tally, a->paths.count > 1)
				       : command_fail(&err);
}

int history_merge_nights(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	struct history_tally tally = { .complain = history_file_complain };
	struct error err = ERROR_NONE;
	struct store *store = NULL;

	for (int i = 0; i < call->count; i++)
		input_note(call->operands[i]);
	if (input_refuse_output(a->db, &err) == STATUS_OK)
		store_open(&store, a->db, STORE_CREATE, &err);
	for (int i = 0; i < call->count && err.status == STATUS_OK; i++) {
		struct store *from;

		if (store_open(&from, call->operands[i], STORE_READ, &err) == STATUS_OK)
			history_merge(store, from, call->operands[i], &tally, &err);
		store_close(from);
	}
	store_close(store);
	return err.status == STATUS_OK ? tell_tally(a, &tally, true) : command_fail(&err);
}
