/* The limits that a result is judged by, for the commands that judge one. */
#ifndef GPUPROOF_CLI_INPUT_RESULT_LIMITS_H
#define GPUPROOF_CLI_INPUT_RESULT_LIMITS_H

#include "cli/options.h"
#include "cli/words.h"
#include "judge/limits.h"
#include "result/result.h"

/*
 * The row of --limits for the table of a command; MEMBER: a const char * of its struct ARGUMENTS.
 */
#define LIMITS_OPTION(ARGUMENTS, MEMBER)                                                        \
	{                                                                                       \
		.name = "limits", .letter = 'l', TEXT_AT(ARGUMENTS, MEMBER), .value = "FILE",   \
		.words = words_limits, .or_file = true, .file = OPTION_FILE_READ,               \
		.help = "INI file with [limit NAME] sections, or shipped limits: h200, generic" \
	}

/*
 * Those of `named` (--limits), or when it is NULL the result's own, or the ones shipped for its
 * model when `shipped` and it has none; count 0: nothing is to be judged. Errors are printed to
 * stderr, and STATUS_USAGE.
 */
enum status result_limits(const char *named, const struct result *result, bool shipped,
			  struct limits *limits);

/* False: the limits make no sense for the result (limits_make_sense()), which is printed. */
bool limits_fit(const struct limits *limits, const struct result *result);

/*
 * True if the judgement that the result holds is the answer: it has one, and no other limits or
 * baselines are asked for. `strict` makes it strict.
 */
bool result_keeps_judgement(struct result *result, const char *limits, size_t baselines,
			    bool strict);

#endif
