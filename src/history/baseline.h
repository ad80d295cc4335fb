/*
 * Baselines: named sets of results, stored in the history file without samples. `* baseline` and
 * compare need only values, intervals and environments.
 */
#ifndef GPUPROOF_HISTORY_BASELINE_H
#define GPUPROOF_HISTORY_BASELINE_H

#include <stddef.h>

#include "history/store.h"
#include "result/result.h"

/*
 * Stores a set; replaces an existing one only if `replace` is set. Names consist of letters,
 * digits, '.', '_' and '-'.
 */
enum status baseline_save(struct store *history, const char *name, const struct result *results,
			  size_t count, bool replace, struct error *err);

void baseline_list_release(struct baseline_list *list);

/*
 * Loads the results of a set; the caller releases each and frees the array. STATUS_USAGE if the
 * name is unknown.
 */
enum status baseline_load(struct store *history, const char *name, struct result **results,
			  size_t *count, struct error *err);
enum status baseline_delete(struct store *history, const char *name, struct error *err);

#endif
