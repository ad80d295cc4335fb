/* Results named on the command line. */
#ifndef GPUPROOF_CLI_INPUT_RESULT_LIST_H
#define GPUPROOF_CLI_INPUT_RESULT_LIST_H

#include "base/error.h"
#include "result/result.h"

struct result_list {
	struct result *items;
	char **paths;
	char **names;   /* result_list_names() */
	const char *db; /* the history of baseline:NAME; NULL: GPUPROOF_DB, else the one here */
	size_t count, capacity;
};

/*
 * A result file, a directory that a run wrote (its result.json), or baseline:NAME, a set from the
 * history. Appends.
 */
enum status result_list_add(struct result_list *list, const char *path, struct error *err);
/*
 * The same for launches of one measurement, or of several, which are read by all cores: a run that
 * is in the list already is refused, for what counts twice looks like two processes that agree to
 * the last bit.
 */
enum status result_list_add_launches(struct result_list *list, const char **paths, size_t count,
				     struct error *err);
enum status result_list_add_launch(struct result_list *list, const char *path, struct error *err);
/* The same as an option's `take` (cli/options.h). */
enum status result_list_take(void *list, const char *name, const char *path, struct error *err);
/*
 * The shortest ends of the paths that tell the results apart: "monday", "tuesday" of
 * nights/monday/result.json; NULL where one is there twice. The list owns them.
 */
const char *const *result_list_names(struct result_list *list);
void result_list_release(struct result_list *list);

/* Paths of results, in order. */
struct result_paths {
	char **items;
	size_t count, capacity;
};

/*
 * Appends the path of a result; of a folder that no run wrote, those of the results in it and in
 * its folders, by name: *.json files and folders of runs. A folder without any is STATUS_USAGE.
 */
enum status result_paths_add(struct result_paths *paths, const char *path, struct error *err);
void result_paths_release(struct result_paths *paths);

#endif
