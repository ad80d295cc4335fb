/* gpuproof history add, export, import, merge: nights in and out. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/commands/history_actions.h"
#include "cli/input/history_file.h"
#include "cli/input/page_options.h"
#include "history/exchange/exchange.h"

/*
 * Nights of many results are added a few hundred at a time: writers wait for each other while a
 * transaction is open.
 */
#define NIGHTS_AT_ONCE 256
#define MOST_TOLD 40 /* results by name; of more only how many */

/* Nights that were read and wait for their transaction. */
struct batch {
	struct store_night nights[NIGHTS_AT_ONCE];
	char *paths[NIGHTS_AT_ONCE];
	size_t count;
};

static void tell(const struct history_arguments *a, const char *path,
		 const struct history_tally *before, const struct history_tally *after)
{
	if (a->paths.count > MOST_TOLD || after->refused > before->refused)
		return;
	fprintf(stderr, "gpuproof: %s is %s%s%s%s\n", path,
		after->present > before->present ? "in " : "now in ", a->db,
		a->spool ? ".spool" : "",
		after->present > before->present     ? " already"
		: after->replaced > before->replaced ? ", in place of an earlier version of its run"
						     : "");
}

static enum status add_night(struct history_arguments *a, struct store *store,
			     const struct store_night *night, const char *path,
			     struct history_tally *tally, struct error *err)
{
	const struct history_tally before = *tally;

	if (!a->spool)
		history_tally(store, night, path, tally, err);
	else if (spool_drop(a->db, night, err) == STATUS_OK)
		tally->added++;
	if (err->status == STATUS_OK)
		tell(a, path, &before, tally);
	return err->status;
}

static enum status flush(struct history_arguments *a, struct store *store, struct batch *batch,
			 struct history_tally *tally, struct error *err)
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

/* One result that cannot be read does not keep the others out. */
static enum status add_path(struct history_arguments *a, struct store *store, const char *path,
			    struct batch *batch, struct history_tally *tally, struct error *err)
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
			flush(a, store, batch, tally, err);
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
			"gpuproof: %s%s: %zu added, %zu replaced, %zu there already, %zu refused\n",
			a->db, a->spool ? ".spool" : "", t->added, t->replaced, t->present,
			t->refused);
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
	if (err.status == STATUS_OK && !a->spool)
		history_file_open(&store, a->db, STORE_CREATE, &err);
	batch = xcalloc(1, sizeof(*batch));
	for (size_t i = 0; i < a->paths.count && err.status == STATUS_OK; i++)
		add_path(a, store, a->paths.items[i], batch, &tally, &err);
	flush(a, store, batch, &tally, &err);
	store_close(store);
	free(batch);
	return err.status == STATUS_OK ? tell_tally(a, &tally, a->paths.count > 1)
				       : command_fail(&err);
}

int history_export_nights(const struct action_call *call)
{
	struct history_arguments *a = history_arguments_of(call);
	const char *output = a->page.output && !report_on_stdout(&a->page) ? a->page.output : NULL;
	struct error err = ERROR_NONE;
	struct store *store = NULL;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (history_file_open(&store, a->db, STORE_READ, &err) == STATUS_OK)
		history_export(store, out, &err);
	store_close(store);
	fclose(out);
	if (err.status == STATUS_OK)
		file_publish(output ? output : "/dev/stdout", text, length, &err);
	free(text);
	return history_finish(&err);
}

static enum status take_one(struct store *store, const char *path, bool merge,
			    struct history_tally *tally, struct error *err)
{
	struct store *from;

	if (!merge)
		return history_import(store, path, tally, err);
	if (history_file_open(&from, path, STORE_READ, err) == STATUS_OK)
		history_merge(store, from, path, tally, err);
	store_close(from);
	return err->status;
}

/* Nights of exports, or of other histories. */
static int take(const struct action_call *call, bool merge)
{
	struct history_arguments *a = history_arguments_of(call);
	struct history_tally tally = { .complain = history_file_complain };
	struct error err = ERROR_NONE;
	struct store *store = NULL;

	for (int i = 0; i < call->count; i++)
		input_note(call->operands[i]);
	if (input_refuse_output(history_file(a->db), &err) == STATUS_OK)
		history_file_open(&store, a->db, STORE_CREATE, &err);
	for (int i = 0; i < call->count && err.status == STATUS_OK; i++)
		take_one(store, call->operands[i], merge, &tally, &err);
	store_close(store);
	return err.status == STATUS_OK ? tell_tally(a, &tally, true) : command_fail(&err);
}

int history_import_nights(const struct action_call *call)
{
	return take(call, false);
}

int history_merge_nights(const struct action_call *call)
{
	return take(call, true);
}
