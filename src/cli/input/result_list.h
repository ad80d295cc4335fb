/* Results named on the command line. */
#ifndef GPUPROOF_CLI_INPUT_RESULT_LIST_H
#define GPUPROOF_CLI_INPUT_RESULT_LIST_H

#include <stdbool.h>

#include "base/error.h"
#include "result/result.h"

struct result_list {
	struct result *items;
	char **paths;
	char **names; /* result_list_names() */
	size_t count, capacity;
};

/* Appends a result: a result file, or a run directory (its result.json). */
enum status result_list_add(struct result_list *list, const char *path, struct error *err);
/*
 * Appends launches of one measurement or of several, read by all cores. Rejects a run that is in
 * the list already: counted twice it would look like two processes that agree exactly.
 */
enum status result_list_add_launches(struct result_list *list, const char **paths, size_t count,
				     struct error *err);
/* Appends one launch, as the `take` function of an option (cli/options.h). */
enum status result_list_take(void *list, const char *name, const char *path, struct error *err);
/*
 * Shortest path suffixes that distinguish the results: "monday", "tuesday" for
 * nights/monday/result.json; NULL if a path occurs twice. The list owns them.
 */
const char *const *result_list_names(struct result_list *list);
/* The last component of such a name: "monday". The caller frees it. */
char *result_list_short_name(const char *path);
void result_list_release(struct result_list *list);

/* Options --anonymise and --anonymise-key of the commands that publish results. */
struct anonymise_option {
	bool wanted;
	const char *key_file; /* NULL: a random key; a key file implies --anonymise */
};

/* Rows for a command whose struct ARGUMENTS has a member `struct anonymise_option anonymise`. */
#define ANONYMISE_ROWS(ARGUMENTS)                                                   \
	FLAG_ROW(0, "anonymise", ARGUMENTS, anonymise.wanted),                      \
		TEXT_ROW(0, "anonymise-key", "FILE", ARGUMENTS, anonymise.key_file, \
			 .file = OPTION_FILE_READ)

/* Anonymises the results and their judgements if requested. */
enum status result_list_anonymise(struct result_list *list, const struct anonymise_option *option,
				  struct error *err);

/* Paths of results, in order. */
struct result_paths {
	char **items;
	size_t count, capacity;
};

/*
 * Appends the path of a result. For a folder that is not a run directory, appends the results in it
 * and its subfolders, by name: *.json files and run directories. STATUS_USAGE if there are none.
 */
enum status result_list_paths_add(struct result_paths *paths, const char *path, struct error *err);
void result_list_paths_release(struct result_paths *paths);

#endif
