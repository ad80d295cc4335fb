/*
 * Named sets of results, kept in the history file. The documents are kept without their samples:
 * values, intervals and environments are what `* baseline` and compare need.
 */
#ifndef GPUPROOF_HISTORY_BASELINE_H
#define GPUPROOF_HISTORY_BASELINE_H

#include <stddef.h>

#include "history/store.h"
#include "result/result.h"

/*
 * Replaces a set of the same name only when `replace`. Names are letters, digits, '.', '_' and '-'.
 */
enum status baseline_save(struct store *history, const char *name, const struct result *results,
			  size_t count, bool replace, struct error *err);

void baseline_list_release(struct baseline_list *list);

/*
 * The results of a set, malloc'ed; the caller releases each and frees the array. An unknown name is
 * STATUS_USAGE.
 */
enum status baseline_load(struct store *history, const char *name, struct result **results,
			  size_t *count, struct error *err);
enum status baseline_delete(struct store *history, const char *name, struct error *err);

#endif
