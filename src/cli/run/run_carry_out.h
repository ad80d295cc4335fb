/*
 * From a plan to a directory with result and report, and to an exit code: what `run` does once all
 * is read.
 */
#ifndef GPUPROOF_CLI_RUN_RUN_CARRY_OUT_H
#define GPUPROOF_CLI_RUN_RUN_CARRY_OUT_H

#include "cli/run/run_check.h"
#include "cli/run/run_setup.h"

struct run_request {
	const char *source;    /* the config; NULL when continuing */
	const char *directory; /* where everything goes */
	const char *command;   /* how to repeat it */
	bool resume, quiet, no_report;
	bool accepted_page; /* set by run_carry_out(): there is an acceptance page to link */
	struct override *overrides;
	size_t override_count;
	struct run_check check; /* prepared when wanted */
	const char *events;     /* file of a stream of OCP lines; NULL: none */
	const char *against;    /* what to compare with, in turns; NULL: nothing */
};

/*
 * Writes the pages of a run on several nodes, the one of its nodes last; prints their paths. Of
 * more cases than a page can show that one alone.
 */
enum status run_publish_nodes(struct run_request *request, const struct result *result,
			      struct error *err);

/* The more severe of two exit codes: 5, then 1, then 4. */
int run_graver_code(int a, int b);

/*
 * Makes gpuproof-results/20261120-140359-NAME, of a config's name or path; with a number appended
 * when that exists already. Malloc'ed.
 */
char *run_new_directory(const char *config_name);
/* Measures, judges when asked to, publishes; messages and verdicts are printed. */
int run_carry_out(struct run_request *request, const struct run_setup *setup);

#endif
