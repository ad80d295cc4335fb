/* A history file: every reader of it, and adding a note. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "history/history.h"
#include "history/trend.h"

static void see(void *context, const struct history_series *series)
{
	const struct trend_prior *prior = context;
	struct trend *trends;
	size_t count = trend_of_series(series, NULL, prior, &trends);

	trends_release(trends, count);
}

static void read_all(struct store *h)
{
	const struct history_filter filter = { .all_metrics = true };
	struct error err = ERROR_NONE;
	struct history_nights nights;
	struct history_notes notes;
	struct trend_prior prior;

	trend_prior_learn(&prior, h, &filter, &err);
	error_clear(&err);
	store_each_series(h, &filter, see, &prior, &err);
	trend_prior_release(&prior);
	error_clear(&err);
	store_nights(h, &nights, &err);
	for (size_t i = 0; i < nights.count; i++) {
		char date[16];

		history_date(nights.items[i].day, date);
		free(store_nights_facts(h, nights.items[i].id, &err));
	}
	history_nights_release(&nights);
	error_clear(&err);
	store_notes(h, &notes, &err);
	history_notes_release(&notes);
	error_clear(&err);
	history_annotate(h, 20000, 0, true, "fuzz", &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/dev/shm/gpuproof_fuzz.XXXXXX", journal[64];
	struct error err = ERROR_NONE;
	struct store *h;
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	if (write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	if (sqlite_store_open(&h, path, STORE_WRITE, &err) == STATUS_OK)
		read_all(h);
	sqlite_store_close(h);
	unlink(path);
	snprintf(journal, sizeof(journal), "%s-journal", path);
	unlink(journal);
	return 0;
}
