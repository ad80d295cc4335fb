/* Starts the program of a case: command line, verification of each start, values. */
#ifndef GPUPROOF_SUITES_COMMAND_START_H
#define GPUPROOF_SUITES_COMMAND_START_H

#include "measure/processes/program.h"
#include "measure/run.h"
#include "plan/config.h"
#include "plan/suites/adapt.h"
#include "suites/command/patterns.h"

/* Axes and metric of a [suite command], and checks of combinations of its keys. */
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

void command_declare_adapt(struct adaption *a);

enum source command_declare_source(const struct section *section);
/* "command.bandwidth"; malloc'ed. */
char *command_declare_metric(const struct section *section);
/* Unit in the result, and the factor from the program's unit. */
const char *command_declare_unit(const struct section *section, double *factor);

/* Checks of single keys. */
enum status command_declare_check_command(const char *text, struct error *err);
enum status command_declare_check_environment(const char *text, struct error *err);
enum status command_declare_check_regex(const char *text, struct error *err);
enum status command_declare_check_expect(const char *text, struct error *err);
enum status command_declare_check_json(const char *text, struct error *err);
enum status command_declare_check_unit(const char *text, struct error *err);
enum status command_declare_check_metric(const char *text, struct error *err);
enum status command_declare_check_sha256(const char *text, struct error *err);

/* Words of the case's command line. */
void command_start_words(const struct plan_case *c, const struct device_info *device,
			 struct words *out);

struct starts {
	struct run *run;
	enum source source;
	struct words arguments, environment;
	char *directory, *pattern, *expect, *output; /* of the case, with placeholders filled in */
	struct program program;
	struct program_guard *guard;
	double factor; /* from the program's unit to the result's unit */
	bool all;      /* matches = all */
	size_t count;  /* number of verified starts */
};

enum status command_start_open(struct starts *s, struct run *run, struct error *err);
void command_start_close(struct starts *s);
/* One start: report() of a reporter whose state is `starts`. */
enum status command_start_report(void *starts, struct reported *out, struct error *err);
/* Text about the verification: "exit code 0, of 12 starts"; the caller frees it. */
char *command_start_verified(const struct starts *s);

#endif
