/* Starts of the program of a case: command line, verification of each start, figures. */
#ifndef GPUPROOF_SUITES_COMMAND_START_H
#define GPUPROOF_SUITES_COMMAND_START_H

#include "measure/processes/program.h"
#include "measure/run.h"
#include "suites/command/declare.h"
#include "suites/command/words.h"

/* The words of the case's command line. */
void command_words(const struct plan_case *c, const struct device_info *device, struct words *out);

struct starts {
	struct run *run;
	enum source source;
	struct words arguments, environment;
	char *directory, *pattern, *expect, *output; /* of the case: without placeholders */
	struct program program;
	struct program_guard *guard;
	double factor; /* from the program's unit to the result's */
	bool all;      /* matches = all */
	size_t count;  /* that were verified */
};

enum status starts_open(struct starts *s, struct run *run, struct error *err);
void starts_close(struct starts *s);
/* One start: the report() of a reporter whose state is `starts`. */
enum status starts_report(void *starts, struct reported *out, struct error *err);
/* The verification in words: "exit code 0, of 12 starts"; malloc'ed. */
char *starts_verified(const struct starts *s);

#endif
