/* Selects the limits that a result is judged by, for the commands that judge. */
#ifndef GPUPROOF_CLI_INPUT_RESULT_LIMITS_H
#define GPUPROOF_CLI_INPUT_RESULT_LIMITS_H

#include "cli/options.h"
#include "cli/words.h"
#include "judge/limits.h"
#include "result/result.h"

/* The row of --limits for an option table; MEMBER: a const char * of struct ARGUMENTS. */
#define LIMITS_OPTION(ARGUMENTS, MEMBER)                                                        \
	{                                                                                       \
		.name = "limits", .letter = 'l', TEXT_AT(ARGUMENTS, MEMBER), .value = "FILE",   \
		.words = words_limits, .or_file = true, .file = OPTION_FILE_READ,               \
		.help = "INI file with [limit NAME] sections, or shipped limits: h200, generic" \
	}

/*
 * Limits of `named` (--limits); if NULL, those of the result, or with `shipped` those of its model;
 * count 0: none. Prints errors to stderr; STATUS_USAGE.
 */
enum status result_limits(const char *named, const struct result *result, bool shipped,
			  struct limits *limits);

/* False, with a message, if the limits contradict the result (limits_make_sense()). */
bool limits_fit(const struct limits *limits, const struct result *result);

/*
 * True if the stored judgement is the answer: it exists, and no other limits or baselines were
 * given. Applies `strict`.
 */
bool result_keeps_judgement(struct result *result, const char *limits, size_t baselines,
			    bool strict);

#endif
