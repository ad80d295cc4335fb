/*
 * Names of earlier versions that INI files, populations and histories may still hold.
 * Readers replace them by the current name, so that nothing else of the program knows them.
 *
 * A retired key is one that has no effect any more and no successor; it is read, ignored and noted.
 *
 * Adding one: a row in former_names.c; the word itself goes into docs/glossary.md.
 */
#ifndef GPUPROOF_BASE_FORMER_NAMES_H
#define GPUPROOF_BASE_FORMER_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum name_kind {
	NAME_OTHER,  /* no kind that the table has rows of */
	NAME_KEY,    /* an INI key; scope: the kind of its section, "limit" or "suite" */
	NAME_METRIC, /* "trainmem.takes" */
	NAME_ASPECT  /* an aspect in [run] promises */
};

struct former_name {
	enum name_kind kind;
	const char *scope; /* "" for all kinds but NAME_KEY */
	const char *former, *current;
};

extern const struct former_name former_names[]; /* ends with a row whose `former` is NULL */

/* The current name; `name` itself, unless it is a former one. */
const char *former_name_current(enum name_kind kind, const char *scope, const char *name);

/* True for a key that suite `suite` once had; NULL: that any suite had. */
bool former_key_is_retired(const char *suite, const char *key);

#endif
