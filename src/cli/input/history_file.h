/* Where the history is, for the commands that use it: --db, else GPUPROOF_DB, else gpuproof-history.db here. */
#ifndef GPUPROOF_CLI_INPUT_HISTORY_FILE_H
#define GPUPROOF_CLI_INPUT_HISTORY_FILE_H

#define HISTORY_USAGE                                                                              \
	"  -d, --db FILE            the history; without it GPUPROOF_DB, else gpuproof-history.db"

const char *history_file(const char *option); /* NULL: the option was not given */

#endif
