/* An export of a history: importing it, and exporting what it made. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "history/exchange/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char input[] = "/dev/shm/gpuproof_fuzz.XXXXXX", db[64], journal[80];
	struct history_tally tally = { 0 };
	struct error err = ERROR_NONE;
	struct store *store;
	FILE *out = fopen("/dev/null", "w");
	int fd = mkstemp(input);

	if (fd < 0 || !out || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	snprintf(db, sizeof(db), "%s.db", input);
	snprintf(journal, sizeof(journal), "%s-journal", db);
	if (store_open(&store, db, STORE_CREATE, &err) != STATUS_OK)
		abort();
	history_import(store, input, &tally, &err);
	error_clear(&err);
	if (history_export(store, out, &err) != STATUS_OK)
		abort();
	store_close(store);
	fclose(out);
	unlink(input);
	unlink(db);
	unlink(journal);
	return 0;
}
