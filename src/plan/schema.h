/*
 * Schema of a config: the suites and the keys of each section. The program has one, schema_program;
 * tests have others, to be independent of the real suites' keys.
 */
#ifndef GPUPROOF_PLAN_SCHEMA_H
#define GPUPROOF_PLAN_SCHEMA_H

#include <stdbool.h>

#include "plan/config.h"
#include "plan/suite.h"

/* A kind of section. */
struct section_kind {
	const char *name;
	bool named;             /* [kind NAME]; else [kind] */
	const struct key *keys; /* NULL: names are up to the file, or to the suites of a config */
};

struct schema {
	const struct suite *const *suites; /* NULL-terminated */
	const struct key *sampling;        /* keys of every suite; terminated by { 0 } */
	bool limits_only;                  /* a file of limits: needs a [limit] and no [suite] */
	const struct section_kind *kinds;  /* terminated by { 0 }; NULL: those of configs */
};

/*
 * Number of initial launches with launches = auto; from their variation the number that each case
 * needs is computed. Four are too few: if they agree by chance, no more follow, and for a metric
 * that varies by 1 % only 88 % of the 95 % intervals contain the true value. With six, 93 % do
 * (test_judge_simulation).
 */
#define LAUNCHES_AUTO_LEAST 6

extern const struct section_kind config_kinds[]; /* terminated by { 0 } */
extern const struct schema schema_program;
extern const struct schema schema_limits; /* schema of a file of limits */

/* keys.c; each is terminated by { 0 }. */
extern const struct key run_keys[];
/* report/page/settings.c, which knows what a page can show */
extern const struct key report_keys[];
extern const struct key limit_keys[];
extern const struct key fleet_keys[];
extern const struct key
	suite_keys[]; /* of every [suite], in addition to its own and the sampling keys */

/* Iterates over the keys of a section in display order. */
struct key_walk {
	/* NULL: none; a key that an earlier table also has is left out of later ones */
	const struct key *tables[3];
	size_t table, at;
};
/* `suite`: for kind "suite", else NULL. */
struct key_walk schema_keys(const struct schema *schema, const char *kind,
			    const struct suite *suite);
const struct key *schema_key_next(struct key_walk *walk); /* NULL at the end */
const struct key *schema_key(const struct schema *schema, const char *kind,
			     const struct suite *suite, const char *name);
/* The suite of that name in a NULL-terminated list; NULL: none. */
const struct suite *schema_named(const struct suite *const *list, const char *name);
/* True if `key` is an axis of the suite's sweep. */
bool schema_is_axis(const struct suite *suite, const struct key *key);

/* config_load() and config_parse() for any schema. */
enum status config_load_with(struct config *config, const struct schema *schema, const char *source,
			     const struct override *overrides, size_t override_count,
			     struct text *errors);
enum status config_parse_with(struct config *config, const struct schema *schema, const char *name,
			      const char *text, size_t length, const struct override *overrides,
			      size_t override_count, struct text *errors);

#endif
