/*
 * The schema of a config: the suites and the keys of each section. The program has
 * one, schema_program; tests bring their own, so that they don't depend on the real suites' keys.
 */
#ifndef GPUPROOF_PLAN_SCHEMA_H
#define GPUPROOF_PLAN_SCHEMA_H

#include <stdbool.h>

#include "plan/config.h"
#include "plan/suite.h"

/* A kind of section, of a file that is no config. */
struct section_kind {
	const char *name;
	bool named;             /* [kind NAME], else [kind] */
	const struct key *keys; /* NULL: names of the file's own */
};

struct schema {
	const struct suite *const *suites; /* NULL-terminated */
	const struct key *sampling;        /* keys of every suite; ends with { 0 } */
	bool limits_only;                 /* a file of limits: it needs a [limit], and no [suite] */
	const struct section_kind *kinds; /* end with { 0 }; NULL: those of configs */
};

/*
 * Launches of everything with launches = auto: they tell how many each case needs. Of 4 of a figure
 * that scatters by 1 %, some happen to agree, and intervals cover 88 % in place of 95; of 6, 93 %
 * (test_judge_simulation).
 */
#define LAUNCHES_AUTO_LEAST 6

extern const struct schema schema_program;
extern const struct schema schema_limits; /* the same for a file of limits */

/* keys.c; each ends with { 0 }. */
extern const struct key run_keys[];
/* report/page/settings.c, which knows what a page can show */
extern const struct key report_keys[];
extern const struct key limit_keys[];
extern const struct key fleet_keys[];
extern const struct key
	suite_keys[]; /* of every [suite], in addition to its own and the sampling keys */

/* Walks the keys of a section in the order in which they are shown. */
struct key_walk {
	/* NULL: none; a key of a later one that an earlier one names as well is left out */
	const struct key *tables[3];
	size_t table, at;
};
/* `suite`: for kind "suite", else NULL. */
struct key_walk schema_keys(const struct schema *schema, const char *kind,
			    const struct suite *suite);
const struct key *key_next(struct key_walk *walk); /* NULL at the end */
const struct key *schema_key(const struct schema *schema, const char *kind,
			     const struct suite *suite, const char *name);
const struct suite *schema_suite(const struct schema *schema, const char *name);
/* The one of that name in a NULL-terminated list; NULL: there is none. */
const struct suite *schema_named(const struct suite *const *list, const char *name);
/* True when `key` spans the suite's sweep. */
bool schema_is_axis(const struct suite *suite, const struct key *key);

/* config_load() and config_parse() for any schema. */
enum status config_load_with(struct config *config, const struct schema *schema, const char *source,
			     const struct override *overrides, size_t override_count,
			     struct text *errors);
enum status config_parse_with(struct config *config, const struct schema *schema, const char *name,
			      const char *text, size_t length, const struct override *overrides,
			      size_t override_count, struct text *errors);

#endif
