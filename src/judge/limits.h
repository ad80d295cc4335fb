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
	char *source;             /* "nightly.ini", "h200" (shipped): for people */
	char *text;               /* all of them as INI */
	bool shipped;             /* with the program, not a user's own */
	struct suite_set *suites; /* of which suites and metrics of the items are */
};

/* The [limit] sections of a valid config; count 0 when it has none. */
void limits_of_config(struct limits *limits, const struct config *config);

/* A file, or the name of shipped limits ("h200", "generic"). On errors as config_load(). */
enum status limits_load(struct limits *limits, const char *source, struct text *errors);

/*
 * The default limits for a result: those of its own config, with the places that the run
 * recorded; else the shipped ones of its first device's model, else the generic ones.
 */
enum status limits_of_result(struct limits *limits, const struct result *result,
			     struct text *errors);

/* The shipped limits for devices of this name: "h200" or "generic". */
enum status limits_of_model(struct limits *limits, const char *device_name, struct text *errors);

/*
 * Limits that make no sense for the cases they would judge: below 1 % of what the device's data
 * sheet promises, or above twice of it. One line per problem ("file:line: message\n"); false when
 * there was one. The cases need no metrics yet.
 */
bool limits_make_sense(const struct limits *limits, const struct result *result,
		       struct text *errors);

void limits_release(struct limits *limits);

/* True if a device matches `where = model:TEXT|TEXT`: a GB200 is no B200. */
bool condition_is_about(const struct condition *condition, const char *device_name);

/* True if a limit's conditions on devices (device, model, backend) match this one, for any case. */
bool limit_admits(const struct limit *limit, const struct device_info *device);

/* True if a limit applies to this case. */
bool limit_selects(const struct limit *limit, const struct case_result *c, const char *model);

#endif
