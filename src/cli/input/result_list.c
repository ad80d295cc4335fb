#include "cli/input/result_list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/text.h"
#include "result/anonymise/anonymise.h"
#include "result/status/run_status.h"
#include "run/journal.h"

static char *result_list_file_of(const char *path)
{
	struct stat about;
	size_t length = strlen(path);

	if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
		return xstrdup(path);
	return xasprintf("%s%sresult.json", path, length && path[length - 1] == '/' ? "" : "/");
}

static bool result_list_killed_before_result(const char *directory)
{
	char *journal = xasprintf("%s/" JOURNAL_NAME, directory);
	bool there = access(journal, F_OK) == 0;

	free(journal);
	return there;
}

/* "DIR: the run is not finished: 12 of 57 cases"; false if it is. */
static bool result_list_is_running(const char *directory, char *out, size_t size)
{
	struct error err = ERROR_NONE;
	struct run_status s;
	bool on = run_status_read(&s, directory, &err) == STATUS_OK &&
		  strcmp(s.state, "running") == 0 && !run_status_lost(&s, (double)time(NULL));

	if (on)
		snprintf(out, size,
			 "%s: the run is not finished (%s; %zu of %zu cases done). To follow it: "
			 "gpuproof watch %s",
			 directory, s.doing, s.ok + s.skipped + s.failed + s.errors, s.planned,
			 directory);
	run_status_release(&s);
	return on;
}

/* A result read in advance by one of several threads. */
struct result_reading {
	const char *path; /* as given */
	char *file;
	bool there;
	struct result result;
	struct error err;
};

static void result_list_read_range(void *context, size_t begin, size_t end)
{
	struct result_reading *readings = context;

	for (size_t i = begin; i < end; i++) {
		struct result_reading *r = &readings[i];

		r->err = (struct error)ERROR_NONE;
		r->file = result_list_file_of(r->path);
		r->there = access(r->file, F_OK) == 0 || !result_list_killed_before_result(r->path);
		if (r->there)
			result_read(&r->result, r->file, &r->err);
	}
}

/* Takes ownership of what was read. */
static enum status result_list_append(struct result_list *list, struct result_reading *r,
				      struct error *err)
{
	char running[512];

	/* A run without a result is still running, or must be resumed. */
	if (!r->there && result_list_is_running(r->path, running, sizeof(running)))
		return error_set(err, STATUS_IO, "%s", running);
	if (!r->there)
		return error_set(err, STATUS_IO,
				 "%s: the run was killed before it wrote result.json. To continue "
				 "it: gpuproof run --resume %s",
				 r->path, r->path);
	if (r->err.status != STATUS_OK) {
		*err = r->err;
		return err->status;
	}
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 8;
		list->items = xrealloc(list->items, list->capacity, sizeof(*list->items));
		list->paths = xrealloc(list->paths, list->capacity, sizeof(*list->paths));
	}
	list->items[list->count] = r->result;
	list->paths[list->count++] = r->file;
	r->file = NULL;
	memset(&r->result, 0, sizeof(r->result));
	/* The result of an earlier launch, or of all so far. */
	if (result_list_is_running(r->path, running, sizeof(running)))
		fprintf(stderr, "gpuproof: %s\n", running);
	return STATUS_OK;
}

enum status result_list_add(struct result_list *list, const char *path, struct error *err)
{
	struct result_reading reading = { .path = path };

	result_list_read_range(&reading, 0, 1);
	result_list_append(list, &reading, err);
	free(reading.file);
	return err->status;
}

enum status result_list_add_launches(struct result_list *list, const char **paths, size_t count,
				     struct error *err)
{
	struct result_reading *readings = xcalloc(count + 1, sizeof(*readings));

	for (size_t i = 0; i < count; i++)
		readings[i].path = paths[i];
	parallel_for(count, 1, result_list_read_range, readings);
	for (size_t i = 0; i < count && err->status == STATUS_OK; i++) {
		size_t before = list->count;

		result_list_append(list, &readings[i], err);
		for (size_t k = before; k < list->count && err->status == STATUS_OK; k++)
			for (size_t j = 0; j < k; j++)
				if (*list->items[k].run_id &&
				    strcmp(list->items[k].run_id, list->items[j].run_id) == 0)
					error_set(err, STATUS_USAGE,
						  "%s and %s are the same run; name each launch "
						  "only once",
						  list->paths[k], list->paths[j]);
	}
	for (size_t i = 0; i < count; i++) {
		free(readings[i].file);
		result_release(&readings[i].result);
	}
	free(readings);
	return err->status;
}

enum status result_list_take(void *list, const char *name, const char *path, struct error *err)
{
	(void)name;
	return result_list_add_launches(list, &path, 1, err);
}

static bool result_list_is_folder(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool result_list_is_run(const char *folder)
{
	char *file = result_list_file_of(folder);
	bool is = access(file, F_OK) == 0 || result_list_killed_before_result(folder);

	free(file);
	return is;
}

static void result_list_append_path(struct result_paths *paths, const char *path)
{
	ARRAY_GROW(paths->items, paths->count, paths->capacity);
	paths->items[paths->count++] = xstrdup(path);
}

static int result_list_file_is_visible(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

/* Limits the depth, because links to folders may form cycles. */
#define DEEPEST_FOLDER 16

static enum status result_list_paths_search(struct result_paths *paths, const char *folder,
					    int depth, struct error *err)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, result_list_file_is_visible, alphasort);

	if (count < 0)
		return error_errno(err, "%s", folder);
	for (int i = 0; i < count; i++) {
		char *path = xasprintf("%s/%s", folder, entries[i]->d_name);

		if (result_list_is_folder(path) && result_list_is_run(path))
			result_list_append_path(paths, path);
		else if (result_list_is_folder(path) && depth < DEEPEST_FOLDER &&
			 err->status == STATUS_OK)
			result_list_paths_search(paths, path, depth + 1, err);
		else if (!result_list_is_folder(path) && text_ends_with(path, ".json"))
			result_list_append_path(paths, path);
		free(path);
		free(entries[i]);
	}
	free(entries);
	return err->status;
}

enum status result_list_paths_add(struct result_paths *paths, const char *path, struct error *err)
{
	size_t before = paths->count;

	if (!result_list_is_folder(path) || result_list_is_run(path))
		result_list_append_path(paths, path);
	else if (result_list_paths_search(paths, path, 0, err) == STATUS_OK &&
		 paths->count == before)
		error_set(err, STATUS_USAGE,
			  "%s: no result.json in this directory; name a run directory or a result "
			  "file",
			  path);
	return err->status;
}

void result_list_paths_release(struct result_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->items[i]);
	free(paths->items);
	memset(paths, 0, sizeof(*paths));
}

/* Path without "/result.json", else without ".json"; the caller frees it. */
static char *result_list_trunk_of(const char *path)
{
	static const char *const ends[] = { "/result.json", ".json" };
	char *trunk = xstrdup(path);
	size_t length = strlen(trunk);

	for (size_t e = 0; e < ARRAY_SIZE(ends); e++) {
		size_t end = strlen(ends[e]);

		if (length > end && strcmp(trunk + length - end, ends[e]) == 0) {
			trunk[length - end] = '\0';
			break;
		}
	}
	while ((length = strlen(trunk)) > 1 && trunk[length - 1] == '/')
		trunk[length - 1] = '\0';
	return trunk;
}

/* The last `parts` components. */
static const char *result_list_end_of(const char *trunk, size_t parts)
{
	const char *end = trunk + strlen(trunk);

	while (end > trunk && (end[-1] != '/' || --parts))
		end--;
	return end;
}

char *result_list_short_name(const char *path)
{
	char *trunk = result_list_trunk_of(path), *name = xstrdup(result_list_end_of(trunk, 1));

	free(trunk);
	return name;
}

static bool result_list_all_differ(char **trunks, size_t count, size_t parts)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(result_list_end_of(trunks[i], parts),
				   result_list_end_of(trunks[j], parts)) == 0)
				return false;
	return true;
}

#define NAME_PARTS 4

static void result_list_release_names(struct result_list *list)
{
	for (size_t i = 0; list->names && i < list->count; i++)
		free(list->names[i]);
	free(list->names);
	list->names = NULL;
}

const char *const *result_list_names(struct result_list *list)
{
	size_t parts = 1;

	result_list_release_names(list);
	list->names = xcalloc(list->count + 1, sizeof(*list->names));
	for (size_t i = 0; i < list->count; i++)
		list->names[i] = result_list_trunk_of(list->paths[i]);
	while (parts <= NAME_PARTS && !result_list_all_differ(list->names, list->count, parts))
		parts++;
	for (size_t i = 0; i < list->count; i++) {
		char *trunk = list->names[i];

		list->names[i] = xstrdup(result_list_end_of(trunk, parts));
		free(trunk);
	}
	if (parts > NAME_PARTS)
		result_list_release_names(list);
	return (const char *const *)list->names;
}

enum status result_list_anonymise(struct result_list *list, const struct anonymise_option *option,
				  struct error *err)
{
	struct anonymiser anonymiser;

	if (!option->wanted && !option->key_file)
		return STATUS_OK;
	if (anonymiser_init(&anonymiser, option->key_file, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < list->count; i++)
		if (anonymise_result(&anonymiser, &list->items[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static void result_list_release_range(void *items, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		result_release((struct result *)items + i);
}

void result_list_release(struct result_list *list)
{
	result_list_release_names(list);
	parallel_for(list->count, 1, result_list_release_range, list->items);
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	free(list->items);
	free(list->paths);
	memset(list, 0, sizeof(*list));
}
