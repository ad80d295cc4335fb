/*
 * The INI text of a config with all its includes, as sections and entries with their locations,
 * before typing. A later entry overrides an earlier one of another file; within one file, a
 * repeated section or key is an error. `$VAR` in values is replaced here.
 *
 * Reading never stops at a problem: all are collected, sorted by file and line.
 */
#ifndef GPUPROOF_PLAN_INI_DOCUMENT_H
#define GPUPROOF_PLAN_INI_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

struct presentation;
struct section_kind;
struct suite;

/* A location: an index into document->files, and a line (0: the whole file). */
struct ini_place {
	size_t file;
	size_t line;
};

struct document_file {
	char *name; /* name in messages: "nightly.ini", "--set run.seed=1" */
	bool embedded;
	bool command_line; /* a --set */
	bool included;
	struct ini_place parent; /* location of the include */
	uint64_t device, inode;  /* 0 for text that is not a file */
};

struct entry {
	char *key, *value;
	struct ini_place place;
	bool broken; /* reported already: has no value and causes no further error */
};

struct document_section {
	char *kind, *name, *label; /* as in struct section */
	struct ini_place place;
	/* the section's own copy of its suite (plan/suites/suite_set.h); NULL: none */
	const struct suite *suite;
	struct entry *entries;
	size_t count, capacity;
	bool full; /* further keys are dropped, which is reported */
};

struct problem {
	struct ini_place place;
	size_t sequence;
	char *message;
};

/*
 * Far above any handwritten config, so that the time to read something else, or a hostile file,
 * does not grow with the square of its size: keys per section, sections, stored problems.
 */
#define DOCUMENT_MOST_KEYS 1000
#define DOCUMENT_MOST_SECTIONS 4000
#define DOCUMENT_MOST_PROBLEMS 4000

struct document {
	const struct suite *const *suites; /* known suites, NULL-terminated */
	/* kinds of sections (plan/schema.h); NULL: those of configs */
	const struct section_kind *kinds;
	struct document_file *files;
	size_t file_count, file_capacity;
	struct document_section *sections;
	size_t section_count, section_capacity;
	bool full; /* further sections are dropped, which is reported */
	struct problem *problems;
	size_t problem_count, problem_capacity;
	struct text notes;         /* former names of keys, one note each: "nightly.ini:3: ...\n" */
	size_t uncounted_problems; /* beyond DOCUMENT_MOST_PROBLEMS: only counted */
	/* from config_write(), in a result: must not read environment or files */
	bool written;
	/* loads no library: drops sections of unknown suites without a problem */
	bool loads_nothing;
	const struct presentation *presented; /* with `loads_nothing`: further known suites */
	size_t presented_count;
	bool reading; /* sections may belong to suites of libraries that their keys name */
	/* an unreadable line or file may have contained a suite's header */
	bool suite_maybe;
};

void document_init(struct document *d, const struct suite *const *suites);
void document_release(struct document *d);

/* Reads `source`: a path, or the name of an embedded config. */
void document_read(struct document *d, const char *source);
void document_read_text(struct document *d, const char *name, const char *text, size_t length);

/*
 * Resolves `path` relative to the file at that location; unchanged for the command line, a shipped
 * config or a result's. The caller frees it.
 */
char *document_path(const struct document *d, struct ini_place place, const char *path);
void document_section_release(struct document_section *section);

struct document_section *document_find(const struct document *d, const char *kind, const char *name,
				       const char *label);
struct entry *document_section_entry(const struct document_section *section, const char *key);
struct document_section *document_add_section(struct document *d, const char *kind,
					      const char *name, const char *label,
					      struct ini_place place);
/* Current name of a key; adds a note if it is a former one. `kind`: of the section. */
const char *document_key(struct document *d, const char *kind, const char *key,
			 struct ini_place place);
/*
 * True for a key that `suite` (NULL: any suite) had in an earlier version and that no longer has an
 * effect; adds a note.
 */
bool document_retired_key(struct document *d, const char *suite, const char *key,
			  struct ini_place place);
/* Takes ownership of `value`. Replaces an entry of another file. */
void document_section_add_entry(struct document_section *section, const char *key, char *value,
				bool broken, struct ini_place place);
size_t document_add_file(struct document *d, const char *name);
/* Copies a file name, with '?' for bytes that a line of UTF-8 text cannot contain. */
char *document_printable(const char *name);

/* Reports a problem of any length; line 0 for a whole file. */
void document_problem(struct document *d, struct ini_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* True if further problems are only counted, so that callers need not format them. */
bool document_is_full(const struct document *d);
/* Writes all problems as "file:line: message\n", sorted. */
void document_problems(struct document *d, struct text *out);
/* "nightly.ini:12", "--set": location for messages and origins; the caller frees it. */
char *document_place(const struct document *d, struct ini_place place);

/*
 * Replaces $NAME and ${NAME} in `value` from the environment, and $$ by a dollar; the
 * caller frees the result. NULL and `err` for an unset variable, or text that INI cannot represent.
 * Without `environment`, every variable is an error.
 */
char *document_read_replace_variables(const char *value, bool environment, struct error *err);
/* Inverse for writing: doubles every dollar. */
void document_read_quote(const char *value, struct text *out);

/* Maximum size of a config file in bytes; a larger file is not a config. */
#define SOURCE_MAX_BYTES (4 << 20)

struct ini_source {
	char *name; /* name in messages */
	char *data;
	size_t length;
	bool embedded;
	uint64_t device, inode; /* of the file; 0 if embedded */
};

/*
 * Opens a config. `name`: an embedded config ("quick", or "quick.ini" within another embedded one),
 * else a path relative to the folder of `includer` (NULL: the working directory). A file with the
 * name of an embedded config is reached as ./quick. An include may also name shipped limits:
 * "limits/generic". Sets `source->name` even on errors; messages do not repeat it.
 */
enum status document_read_source_open(struct ini_source *source, const char *name,
				      const struct ini_source *includer, struct error *err);
void document_read_source_close(struct ini_source *source);

#endif
