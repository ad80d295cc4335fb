#include "cli/input/history_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "history/exchange/exchange.h"

const char *history_file(const char *option)
{
	const char *variable = getenv("GPUPROOF_DB");

	if (option)
		return option;
	return variable && *variable ? variable : "gpuproof-history.db";
}

void history_file_complain(const struct error *refusal)
{
	fprintf(stderr, "gpuproof: not taken: %s\n", refusal->message);
}

static enum status take_spool(struct store *store, const char *path, struct error *err)
{
	struct history_tally tally = { .complain = history_file_complain };
	size_t half_written = spool_clean(path);

	if (half_written)
		fprintf(stderr,
			"gpuproof: %s.spool: %zu half-written night%s of writers that were killed "
			"removed: add --spool their results again\n",
			path, half_written, half_written == 1 ? "" : "s");
	if (spool_take(store, path, &tally, err) == STATUS_OK &&
	    tally.added + tally.replaced + tally.refused)
		fprintf(stderr, "gpuproof: %s.spool: %zu taken in, %zu refused\n", path,
			tally.added + tally.replaced, tally.refused);
	return err->status;
}

enum status history_file_open(struct store **out, const char *path, enum store_mode mode,
			      struct error *err)
{
	bool waits = spool_waits(path), there = access(path, F_OK) == 0;

	/* The first night of all may be in the spool. */
	if (waits && (!there || access(path, W_OK) == 0))
		mode = there ? STORE_WRITE : STORE_CREATE;
	else if (waits)
		fprintf(stderr, "gpuproof: %s.spool: nights wait that this user cannot take in\n",
			path);
	if (store_open(out, path, mode, err) != STATUS_OK)
		return err->status;
	if (waits && mode != STORE_READ && take_spool(*out, path, err) != STATUS_OK) {
		store_close(*out);
		*out = NULL;
	}
	return err->status;
}
