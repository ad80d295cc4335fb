/* Nights that wait in a folder until a reader takes them in. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "history/exchange/exchange.h"

#define NIGHT_ENDING ".jsonl"
#define HALF_WRITTEN_SECONDS 86400 /* no writer takes so long */

static char *folder_of(const char *history)
{
	return xasprintf("%s.spool", history);
}

/*
 * The name is the hash of what is in it: the same night dropped twice is one file, and two versions
 * of a run are two, of which neither is lost.
 */
enum status spool_drop(const char *history, const struct store_night *night, struct error *err)
{
	char *folder = folder_of(history), *lines = night_to_export(night), *path;
	size_t length = strlen(lines);

	path = xasprintf("%s/%016" PRIx64 NIGHT_ENDING, folder,
			 text_hash(TEXT_HASH_START, lines, length));
	if (mkdir(folder, 0777) != 0 && errno != EEXIST)
		error_errno(err, "%s", folder);
	else
		file_write(path, lines, length, err);
	free(folder);
	free(lines);
	free(path);
	return err->status;
}

static int is_night(const struct dirent *entry)
{
	return *entry->d_name != '.' && text_ends_with(entry->d_name, NIGHT_ENDING);
}

bool spool_waits(const char *history)
{
	char *folder = folder_of(history);
	struct dirent *entry;
	DIR *open = opendir(folder);
	bool waits = false;

	free(folder);
	while (open && !waits && (entry = readdir(open)))
		waits = is_night(entry);
	if (open)
		closedir(open);
	return waits;
}

/* NAME.jsonl.aB3xYz: what file_write() renames to NAME.jsonl when it is whole. */
static bool is_half_written(const char *path, const char *name)
{
	const char *ending = strstr(name, NIGHT_ENDING ".");
	struct stat st;

	return ending && strlen(ending) == strlen(NIGHT_ENDING ".XXXXXX") &&
	       lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       time(NULL) - st.st_mtime > HALF_WRITTEN_SECONDS;
}

size_t spool_clean(const char *history)
{
	char *folder = folder_of(history);
	struct dirent *entry;
	DIR *open = opendir(folder);
	size_t removed = 0;

	while (open && (entry = readdir(open))) {
		char *path = xasprintf("%s/%s", folder, entry->d_name);

		removed += is_half_written(path, entry->d_name) && unlink(path) == 0;
		free(path);
	}
	if (open)
		closedir(open);
	free(folder);
	return removed;
}

/* Damaged files and refused nights stay, under a name that no reader takes again. */
static void set_aside(const char *path)
{
	char *aside = xasprintf("%s.refused", path);

	rename(path, aside);
	free(aside);
}

/* A file that is gone was taken by another reader. */
static enum status take_file(struct store *store, const char *path, struct history_tally *tally,
			     bool *refused, struct error *err)
{
	size_t before = tally->refused;

	if (access(path, F_OK) == 0)
		history_import(store, path, tally, err);
	if (err->status == STATUS_IO && access(path, F_OK) != 0)
		error_clear(err);
	if (err->status == STATUS_USAGE) {
		tally->refused++;
		if (tally->complain)
			tally->complain(err);
		error_clear(err);
	}
	*refused = tally->refused > before;
	return err->status;
}

/*
 * Files are removed after the transaction that holds their nights: a reader that is killed between
 * both leaves files whose nights the next one finds in the history.
 */
enum status spool_take(struct store *store, const char *history, struct history_tally *tally,
		       struct error *err)
{
	char *folder = folder_of(history);
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_night, alphasort);
	bool *refused = xcalloc(count > 0 ? (size_t)count : 1, sizeof(*refused));
	char **paths = xcalloc(count > 0 ? (size_t)count : 1, sizeof(*paths));

	for (int i = 0; i < count; i++) {
		paths[i] = xasprintf("%s/%s", folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (count > 0 && store_begin(store, err) == STATUS_OK) {
		for (int i = 0; i < count && err->status == STATUS_OK; i++)
			take_file(store, paths[i], tally, &refused[i], err);
		store_end(store, true, err);
	}
	for (int i = 0; i < count; i++) {
		if (err->status == STATUS_OK && refused[i])
			set_aside(paths[i]);
		else if (err->status == STATUS_OK)
			unlink(paths[i]);
		free(paths[i]);
	}
	free(paths);
	free(refused);
	free(folder);
	return err->status;
}
