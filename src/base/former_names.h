/*
 * Former names: names of earlier versions in INI files, populations and histories. Readers replace
 * them by the current name, so that no other code knows them.
 *
 * A retired key has no effect any more and no successor; it is read, ignored and noted.
 *
 * Adding one: add a row to former_names.c; the word itself belongs in docs/glossary.md.
 */
#ifndef GPUPROOF_BASE_FORMER_NAMES_H
#define GPUPROOF_BASE_FORMER_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum name_kind {
	NAME_OTHER,  /* has no rows in the table */
	NAME_KEY,    /* an INI key; scope: kind of its section, "limit" or "suite" */
	NAME_METRIC, /* "trainmem.takes" */
	NAME_ASPECT  /* an aspect in [run] promises */
};

struct former_name {
	enum name_kind kind;
	const char *scope; /* "" for all kinds except NAME_KEY */
	const char *former, *current;
};

extern const struct former_name former_names[]; /* terminated by a row whose `former` is NULL */

/* The current name; `name` itself if it is not a former one. */
const char *former_name_current(enum name_kind kind, const char *scope, const char *name);

/* True for a key that `suite` once had; NULL: that any suite had. */
bool former_names_key_is_retired(const char *suite, const char *key);

#endif
