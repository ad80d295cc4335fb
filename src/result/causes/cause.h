/*
 * Causes: why a check did not pass, as one stable word per check, with a remedy. Terminal, pages,
 * JUnit, Prometheus, OCP and `check --as` share them. The judge sets the cause and the result
 * stores it.
 *
 * Adding a cause: add a row to causes.def. If the members of a check do not imply it, the judge
 * sets it where it adds the check.
 */
#ifndef GPUPROOF_RESULT_CAUSES_CAUSE_H
#define GPUPROOF_RESULT_CAUSES_CAUSE_H

enum cause {
	CAUSE_NONE, /* the check passed */
#define CAUSE(symbol, name, meaning, action) CAUSE_##symbol,
#include "result/causes/causes.def"
#undef CAUSE
	CAUSE_COUNT
};

struct verdict_check;
struct verdicts;

const char *cause_name(enum cause cause);    /* "gpu-slow-memory"; "" for CAUSE_NONE */
const char *cause_meaning(enum cause cause); /* a clause, or "" */
const char *cause_action(enum cause cause);  /* sentences; "" */
extern const char *const cause_words[];      /* all names, NULL-terminated */

/*
 * Derives the cause of a check from its members; CAUSE_NONE if it passed. For checks without a
 * cause, including those of earlier versions.
 */
enum cause cause_of_check(const struct verdict_check *check);
/* Sets the cause of each check that has none: cause_of_check(). */
void verdicts_find_causes(struct verdicts *v);

#endif
