/* Limits that results are judged by, for the commands that judge. */
#ifndef GPUPROOF_CLI_INPUT_RESULT_LIMITS_H
#define GPUPROOF_CLI_INPUT_RESULT_LIMITS_H

#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/words.h"
#include "judge/limits.h"

/* The row of --limits; MEMBER: a const char * of struct ARGUMENTS. */
#define LIMITS_ROW(ARGUMENTS, MEMBER)                                                \
	TEXT_ROW('l', "limits", "FILE", ARGUMENTS, MEMBER, .file = OPTION_FILE_READ, \
		 .words = cli_words_limits, .or_file = true)

/* Pool of limits for many results: reads each set once. */
struct limits_pool {
	struct pooled_limits **items; /* pointers, so that the addresses stay valid */
	size_t count, capacity;
};

/*
 * Limits of `named` (--limits); if NULL, those in the config of the result, or else with `shipped`
 * those of its model; count 0: none. The pool owns them, and all results must have the same `named`
 * and `shipped`. Prints errors, also if the limits contradict the result
 * (judge_limits_make_sense()), and then returns NULL.
 */
const struct limits *result_limits_pool_find(struct limits_pool *pool, const char *named,
					     bool shipped, const struct result *result);
void result_limits_pool_release(struct limits_pool *pool);

/* How a command judges one result; all zero: as `check` does without options. */
struct result_judging {
	const char *limits; /* --limits; NULL: not given */
	bool strict;
	bool only_own; /* no shipped limits: without others, the result gets no judgement */
	const struct result_list *baseline; /* NULL: none */
};

/*
 * Judges the result with its own limits and these, unless its stored judgement is the answer: no
 * other limits or baselines were given. Prints errors; STATUS_USAGE.
 */
enum status result_limits_judging_apply(const struct result_judging *judging,
					struct result *result);
/* True if the stored judgement is the answer. Applies `strict`. */
bool result_limits_judging_is_stored(const struct result_judging *judging, struct result *result);

#endif
