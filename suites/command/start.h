/* Starts the program of a case: command line, verification of each start, values. */
#ifndef GPUPROOF_SUITES_COMMAND_START_H
#define GPUPROOF_SUITES_COMMAND_START_H

#include "measure/processes/program.h"
#include "measure/run.h"
#include "plan/config.h"
#include "suites/command/patterns.h"

/* Source of a start's values. */
enum source { SOURCE_TIME, SOURCE_REGEX, SOURCE_JSON };

enum source command_start_source(const struct section *section);
/* Unit in the result, and the factor from the program's unit. */
const char *command_start_unit(const struct section *section, double *factor);
/* Check of the key `json`. */
enum status command_start_check_json(const char *text, struct error *err);

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
