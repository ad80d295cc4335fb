/*
 * Why a check did not pass: one stable word per check, which terminal, pages, JUnit, Prometheus,
 * OCP and `check --as` share, with what to do about it. The judge sets it and the result keeps it.
 *
 * Adding a cause: one row of causes.def; a check whose members do not tell it is given it where the
 * judge adds it.
 */
#ifndef GPUPROOF_RESULT_CAUSES_CAUSE_H
#define GPUPROOF_RESULT_CAUSES_CAUSE_H

#include <stdbool.h>

enum cause {
	CAUSE_NONE, /* of a check that passed */
#define CAUSE(symbol, name, meaning, action) CAUSE_##symbol,
#include "result/causes/causes.def"
#undef CAUSE
	CAUSE_COUNT
};

struct verdict_check;

const char *cause_name(enum cause cause);    /* "gpu-slow-memory"; "" for CAUSE_NONE */
const char *cause_meaning(enum cause cause); /* a clause; "" */
const char *cause_action(enum cause cause);  /* sentences; "" */
/* False: there is no cause of that name. */
bool cause_named(const char *name, enum cause *cause);

/*
 * The cause of a check as far as its members tell it: CAUSE_NONE where it passed. For checks that
 * were given none, and those of results of earlier versions.
 */
enum cause cause_of_check(const struct verdict_check *check);

#endif
