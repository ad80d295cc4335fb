/* Declarations shared by the parts of the anonymiser. Private to them and to their test. */
#ifndef GPUPROOF_RESULT_ANONYMISE_ANONYMISE_PARTS_H
#define GPUPROOF_RESULT_ANONYMISE_ANONYMISE_PARTS_H

#include <stdbool.h>

#include "result/anonymise/anonymise.h"

enum treatment {
	TREAT_DROP,    /* becomes "" */
	TREAT_KEEP,    /* words of the program, of a data sheet or of a driver, and times */
	TREAT_NAME,    /* becomes a word of `kind` */
	TREAT_TEXT,    /* sentences: anonymise_text() */
	TREAT_REASON,  /* TREAT_TEXT; TREAT_QUOTED of a case or a check in ERROR */
	TREAT_QUOTED,  /* of other programs: left out, also where another text quotes it */
	TREAT_LABEL,   /* of a suite's section: kept if a shipped config has it */
	TREAT_CASE,    /* id of a case: its label as TREAT_LABEL */
	TREAT_LIMIT,   /* name of a limit: kept if a shipped file has it */
	TREAT_FILE,    /* name of a config or of limits: kept if it is that of a shipped one */
	TREAT_PLACE,   /* "nightly.ini:12", "--set", "default" */
	TREAT_SECTION, /* "suite transfer big" */
	TREAT_VALUE,   /* of a setting, by its key: anonymise_setting() */
	TREAT_INI,     /* lines of an INI file: sections and settings; all else is left out */
	TREAT_FACT     /* of the environment, by its name: anonymise_fact() */
};

struct anonymise_rule {
	/*
	 * "cases[].reason", "cases[].metrics.*.unit": * is any key; TREAT_KEEP: with all that is in
	 * it
	 */
	const char *path;
	enum treatment treatment;
	const char *kind; /* TREAT_NAME */
};
extern const struct anonymise_rule anonymise_rules[]; /* ends with { 0 } */

/*
 * Facts of the environment that tell nothing, and keys whose values users think up;
 * NULL-terminated.
 */
extern const char *const anonymise_facts[];
extern const char *const anonymise_named_keys[];

/* "host-1f6c0b22d9e4"; the name is learned. The caller frees it, and all the following. */
char *anonymise_name(struct anonymiser *anonymiser, const char *kind, const char *name);
char *anonymise_label(struct anonymiser *anonymiser, const char *label);
char *anonymise_limit(struct anonymiser *anonymiser, const char *limit);
char *anonymise_file(struct anonymiser *anonymiser, const char *name);
char *anonymise_place(struct anonymiser *anonymiser, const char *place);
char *anonymise_section(struct anonymiser *anonymiser, const char *section);
char *anonymise_setting(struct anonymiser *anonymiser, const char *key, const char *value);
char *anonymise_ini(struct anonymiser *anonymiser, const char *text);
char *anonymise_quoted(struct anonymiser *anonymiser, const char *text);
char *anonymise_case(struct anonymiser *anonymiser, const char *id);
/* NULL: the fact is left out. */
char *anonymise_fact(struct anonymiser *anonymiser, const char *name, const char *value);

/*
 * True if something in the text has the form of a path, an address, a UUID or a user's name;
 * versions: "12.8.4.1" is none.
 */
bool anonymise_tells(const struct anonymiser *anonymiser, const char *text, bool versions);
/* The text with the learned names replaced. */
char *anonymise_known(const struct anonymiser *anonymiser, const char *text);

#endif
