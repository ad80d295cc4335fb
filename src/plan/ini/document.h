/*
 * The INI text of a config and everything it includes, as sections and entries with their places;
 * nothing is typed yet. A later entry overrides an earlier one of another file; within one
 * file a second section or key of the same name is an error. `$VAR` in values is replaced here.
 *
 * Problems never stop the reading: all of them are collected, in the order of the files and lines.
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

/* A location: an index into document->files and a line (0: the file as a whole). */
struct ini_place {
	size_t file;
	size_t line;
};

struct document_file {
	char *name; /* as people see it: "nightly.ini", "--set run.seed=1" */
	bool embedded;
	bool command_line; /* a --set */
	bool included;
	struct ini_place parent; /* location of the include */
	uint64_t device, inode;  /* 0 for text that is no file */
};

struct entry {
	char *key, *value;
	struct ini_place place;
	bool broken; /* reported already: no value, no further complaint */
};

struct document_section {
	char *kind, *name, *label; /* see struct section */
	struct ini_place place;
	/* a copy of its suite that it alone has (plan/suites/suite_set.h); NULL: there is none */
	const struct suite *suite;
	struct entry *entries;
	size_t count, capacity;
	bool full; /* further keys are dropped; reported */
};

struct problem {
	struct ini_place place;
	size_t sequence;
	char *message;
};

/*
 * Far beyond what anyone writes by hand, so that the time for what is no config, or a hostile one,
 * does not grow with the square of its size: keys of a section, sections, problems that are kept.
 */
#define DOCUMENT_MOST_KEYS 1000
#define DOCUMENT_MOST_SECTIONS 4000
#define DOCUMENT_MOST_PROBLEMS 4000

struct document {
	const struct suite *const *suites; /* those that exist, NULL-terminated */
	const struct section_kind *kinds;  /* of its sections (plan/schema.h); NULL: of configs */
	struct document_file *files;
	size_t file_count, file_capacity;
	struct document_section *sections;
	size_t section_count, section_capacity;
	bool full; /* further sections are dropped; reported */
	struct problem *problems;
	size_t problem_count, problem_capacity;
	struct text notes;         /* former names of keys, each once: "nightly.ini:3: ...\n" */
	size_t uncounted_problems; /* beyond DOCUMENT_MOST_PROBLEMS: only their number is kept */
	/* by config_write(), into a result: reads neither environment nor files */
	bool written;
	/*
	 * no library is loaded: sections whose suite is not among `suites` are left out, and are no
	 * problem
	 */
	bool loads_nothing;
	const struct presentation *presented; /* then known from these as well */
	size_t presented_count;
	bool reading; /* sections may be of suites that the keys below them name a library for */
	/* something unreadable, a line or a whole file, may have been or had a suite's header */
	bool suite_maybe;
};

void document_init(struct document *d, const struct suite *const *suites);
void document_release(struct document *d);

/* `source` is a path or the name of an embedded config. */
void document_read(struct document *d, const char *source);
void document_read_text(struct document *d, const char *name, const char *text, size_t length);

/*
 * `path` from the folder of the file at that place; as it is where that is the command line, a
 * shipped config or a result's. malloc'ed.
 */
char *document_path(const struct document *d, struct ini_place place, const char *path);
void document_section_release(struct document_section *section);

struct document_section *document_find(const struct document *d, const char *kind, const char *name,
				       const char *label);
struct entry *section_entry(const struct document_section *section, const char *key);
struct document_section *document_add_section(struct document *d, const char *kind,
					      const char *name, const char *label,
					      struct ini_place place);
/*
 * The current name of a key, which a file of an earlier version may give by a former one: then with
 * a note. `kind` is that of the section.
 */
const char *document_key(struct document *d, const char *kind, const char *key,
			 struct ini_place place);
/*
 * True for a key that `suite` (NULL: any suite) had in an earlier version and that has no effect
 * any more: then with a note.
 */
bool document_retired_key(struct document *d, const char *suite, const char *key,
			  struct ini_place place);
/* Takes `value` over. An entry of another file is replaced. */
void section_add_entry(struct document_section *section, const char *key, char *value, bool broken,
		       struct ini_place place);
size_t document_add_file(struct document *d, const char *name);
/* A copy of a file's name, with '?' for what a line of UTF-8 text cannot hold. */
char *document_printable(const char *name);

/* Messages of any length; a problem with the place as a whole has line 0. */
void document_problem(struct document *d, struct ini_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* True if further problems are only counted, so that callers can skip building their messages. */
bool document_is_full(const struct document *d);
/* Every problem as "file:line: message\n", sorted. */
void document_problems(struct document *d, struct text *out);
/* "nightly.ini:12", "--set": for messages and origins; the caller frees it. */
char *document_place(const struct document *d, struct ini_place place);

/*
 * `value` with $NAME and ${NAME} replaced from the environment and $$ by a dollar (variables.c);
 * the caller frees it. NULL and `err` for an unset variable, and for what the INI could not hold
 * again. Without `environment` every variable is an error.
 */
char *variables_replace(const char *value, bool environment, struct error *err);
/* The reverse for writing: every dollar doubled. */
void variables_quote(const char *value, struct text *out);

#endif
