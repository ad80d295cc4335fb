/* The tables of the history file, version by version. */
#ifndef GPUPROOF_HISTORY_HISTORY_SCHEMA_H
#define GPUPROOF_HISTORY_HISTORY_SCHEMA_H

#define HISTORY_APPLICATION 0x67707266 /* "gprf" */

extern const char *const history_migrations[]; /* ends with NULL */

#endif
