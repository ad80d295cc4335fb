/* Sources of limits: a run's own config, a file of limits, or those shipped for the GPU model. */
#ifndef GPUPROOF_JUDGE_LIMITS_H
#define GPUPROOF_JUDGE_LIMITS_H

#include "base/text.h"
#include "plan/config.h"
#include "plan/limits/limit.h"
#include "result/result.h"

struct limits {
	struct limit *items;
	size_t count;
	char *source;             /* "nightly.ini" or "h200" (shipped), for messages */
	char *text;               /* all limits as INI */
	bool shipped;             /* shipped with the program */
	struct suite_set *suites; /* owns the suites and metrics that the items refer to */
};

/* Reads the [limit] sections of a valid config; count 0 if it has none. */
void judge_limits_of_config(struct limits *limits, const struct config *config);

/* Loads a file, or shipped limits by name ("h200", "generic"). Errors as in config_load(). */
enum status judge_limits_load(struct limits *limits, const char *source, struct text *errors);

/*
 * Default limits of a result: those of its own config, with the places that the run recorded; else
 * the shipped ones for the model of its first device; else the generic ones.
 */
enum status judge_limits_of_result(struct limits *limits, const struct result *result,
				   struct text *errors);

/* Shipped limits for this device name: "h200" or "generic". */
enum status judge_limits_of_model(struct limits *limits, const char *device_name,
				  struct text *errors);

/*
 * Checks limits against the cases they select: a limit below 1 % or above twice the data sheet is
 * rejected. Adds one line per problem ("file:line: message\n") and returns false if there is one.
 * The cases need no metrics yet.
 */
bool judge_limits_make_sense(const struct limits *limits, const struct result *result,
			     struct text *errors);

void judge_limits_release(struct limits *limits);

/* True if a device name matches `where = model:TEXT|TEXT` by whole words: a GB200 is not a B200. */
bool judge_limits_condition_is_about(const struct condition *condition, const char *device_name);

/* True if the limit's conditions on devices (device, model, backend) match this one. */
bool judge_limits_admits(const struct limit *limit, const struct device_info *device);

/* True if a limit applies to this case. */
bool judge_limits_selects(const struct limit *limit, const struct case_result *c,
			  const char *model);
/*
 * "host_copy": what the case chose by itself, and only for that reason the limit does not apply to
 * it: transport:nccl, but the collective fell back. NULL: the limit applies, or other conditions do
 * not hold.
 */
const char *judge_limits_missed_path(const struct limit *limit, const struct case_result *c,
				     const char *model);

#endif
