/* Private declarations: strings of a result that may be published. */
#ifndef GPUPROOF_RESULT_ANONYMISE_ANONYMISE_RULES_H
#define GPUPROOF_RESULT_ANONYMISE_ANONYMISE_RULES_H

#include <stdbool.h>

enum treatment {
	TREAT_DROP,    /* becomes "" */
	TREAT_ABSENT,  /* leave the member out, even a list */
	TREAT_TEXT,    /* a sentence: replaced by ANONYMISE_LEFT_OUT */
	TREAT_KEEP,    /* text of the program, a data sheet or a driver; times */
	TREAT_WHOLE,   /* keep the member with its content */
	TREAT_NAME,    /* replace by a pseudonym of `kind` */
	TREAT_PLAIN,   /* keep unless it looks like a path, an address or an id */
	TREAT_LABEL,   /* keep if a shipped config has this label or limit, by `kind` */
	TREAT_CASE,    /* id of a case; its label as TREAT_LABEL */
	TREAT_FILE,    /* a config, limits, or a place in them: keep if gpuproof ships it */
	TREAT_SECTION, /* "suite transfer big" */
	TREAT_VALUE,   /* value of a setting, by its key */
	TREAT_INI,     /* keep sections and settings, leave out the rest */
	TREAT_FACT     /* fact of the environment, by its name */
};

/* Rule for members of objects at a path: "cases[].metrics.*"; * matches any key. */
struct anonymise_rule {
	const char *path, *members; /* "unit, series"; "*": all */
	enum treatment treatment;
	const char *kind;
};
extern const struct anonymise_rule anonymise_rules[]; /* terminated by { 0 } */
/* NULL: no rule, so the string is left out. */
const struct anonymise_rule *anonymise_rule_of(const char *path, const char *member);

/* Facts that may be kept, and keys with user-defined values: "os, kernel". */
extern const char anonymise_facts[], anonymise_named_keys[];
/* True if the list contains the name or "*". */
bool anonymise_rules_listed(const char *list, const char *name);

#endif
