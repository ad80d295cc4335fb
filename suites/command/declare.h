/* Axes and metric of a [suite command], and checks of combinations of its keys. */
#ifndef GPUPROOF_SUITES_COMMAND_DECLARE_H
#define GPUPROOF_SUITES_COMMAND_DECLARE_H

#include "plan/config.h"
#include "plan/suites/adapt.h"

/* Source of a start's values. */
enum source { SOURCE_TIME, SOURCE_REGEX, SOURCE_JSON };

enum command_better {
	COMMAND_BETTER_AUTO,
	COMMAND_BETTER_HIGHER,
	COMMAND_BETTER_LOWER,
	COMMAND_BETTER_NONE
};
extern const char *const command_betters[];
extern const char *const command_kinds[];

void command_adapt(struct adaption *a);

enum source command_source(const struct section *section);
/* "command.bandwidth"; malloc'ed. */
char *command_metric(const struct section *section);
/* Unit in the result, and the factor from the program's unit. */
const char *command_unit(const struct section *section, double *factor);

/* Checks of single keys. */
enum status command_check_command(const char *text, struct error *err);
enum status command_check_environment(const char *text, struct error *err);
enum status command_check_regex(const char *text, struct error *err);
enum status command_check_expect(const char *text, struct error *err);
enum status command_check_json(const char *text, struct error *err);
enum status command_check_unit(const char *text, struct error *err);
enum status command_check_metric(const char *text, struct error *err);
enum status command_check_sha256(const char *text, struct error *err);

#endif
