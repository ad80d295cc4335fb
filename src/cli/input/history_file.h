/*
 * Path of the history for the commands that use it: --db, else GPUPROOF_DB, else
 * gpuproof-history.db in the working directory.
 */
#ifndef GPUPROOF_CLI_INPUT_HISTORY_FILE_H
#define GPUPROOF_CLI_INPUT_HISTORY_FILE_H

#include "cli/options.h"
#include "history/store.h"

/*
 * The row of --db for the option table of a command whose arguments are struct ARGUMENTS, with a
 * member `const char *db`.
 */
#define HISTORY_OPTION(ARGUMENTS)                                                              \
	{                                                                                      \
		.name = "db", .letter = 'd', TEXT_AT(ARGUMENTS, db), .value = "FILE",          \
		.file = OPTION_FILE_KEPT,                                                      \
		.help = "file of the history (default: GPUPROOF_DB, else gpuproof-history.db)" \
	}

const char *history_file(const char *option); /* NULL: option not given */

/* Reports that a night was rejected, and why; callback of struct history_tally. */
void history_file_complain(const struct error *refusal);

#endif
