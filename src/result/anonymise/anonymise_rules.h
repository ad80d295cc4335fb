/* The strings of a result that may be published. Private to the anonymiser and its test. */
#ifndef GPUPROOF_RESULT_ANONYMISE_ANONYMISE_RULES_H
#define GPUPROOF_RESULT_ANONYMISE_ANONYMISE_RULES_H

#include <stdbool.h>

enum treatment {
	TREAT_DROP,    /* becomes "" */
	TREAT_ABSENT,  /* the member is left out, a list as well */
	TREAT_TEXT,    /* a sentence: ANONYMISE_LEFT_OUT */
	TREAT_KEEP,    /* words of the program, of a data sheet or of a driver, and times */
	TREAT_WHOLE,   /* the member with everything in it is kept */
	TREAT_NAME,    /* becomes a word of `kind` */
	TREAT_PLAIN,   /* kept unless its form is that of a path, an address or an id */
	TREAT_LABEL,   /* kept if a shipped config has such a label or limit, by `kind` */
	TREAT_CASE,    /* id of a case: its label as TREAT_LABEL */
	TREAT_FILE,    /* a config, limits, or a place in them: kept if gpuproof ships it */
	TREAT_SECTION, /* "suite transfer big" */
	TREAT_VALUE,   /* of a setting, by its key */
	TREAT_INI,     /* sections and settings; all else is left out */
	TREAT_FACT     /* of the environment, by its name */
};

/* Members of the objects at a path: "cases[].metrics.*", where * stands for any key. */
struct anonymise_rule {
	const char *path, *members; /* "unit, series"; "*": all */
	enum treatment treatment;
	const char *kind;
};
extern const struct anonymise_rule anonymise_rules[]; /* ends with { 0 } */
/* NULL: there is none, and the string is left out. */
const struct anonymise_rule *anonymise_rule_of(const char *path, const char *member);

/* Facts that may be kept, and keys whose values users think up: "os, kernel". */
extern const char anonymise_facts[], anonymise_named_keys[];
/* True if such a list has the name, or is "*". */
bool anonymise_listed(const char *list, const char *name);

#endif
