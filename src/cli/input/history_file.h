/* Path of the history for the commands that use it. */
#ifndef GPUPROOF_CLI_INPUT_HISTORY_FILE_H
#define GPUPROOF_CLI_INPUT_HISTORY_FILE_H

/* The row of --db for a command whose struct ARGUMENTS has a member `const char *db`. */
#define HISTORY_ROW(ARGUMENTS) TEXT_ROW('d', "db", "FILE", ARGUMENTS, db, .file = OPTION_FILE_KEPT)

/*
 * `option`, the value of --db; if NULL, GPUPROOF_DB, else gpuproof-history.db in the working
 * directory.
 */
const char *history_file(const char *option);

#endif
