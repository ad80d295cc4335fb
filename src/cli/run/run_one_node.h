/*
 * `run` on one node: from a plan to a directory with result and report, and to an exit code.
 */
#ifndef GPUPROOF_CLI_RUN_RUN_ONE_NODE_H
#define GPUPROOF_CLI_RUN_RUN_ONE_NODE_H

#include "cli/run/run_check.h"
#include "cli/run/run_setup.h"

struct run_request {
	const char *source;    /* the config; NULL when continuing */
	const char *directory; /* where everything goes */
	const char *command;   /* how to repeat it */
	bool resume, quiet, no_report;
	bool accepted_page; /* set when it is written: there is an acceptance page to link */
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
 * Makes gpuproof-results/20261120-140359Z-NAME, of a config's name or path; with a number appended
 * when that exists already. Malloc'ed.
 */
char *run_new_directory(const char *config_name);
/* Replaces DIR/status.json while the run is `doing` something that is no measuring. */
void run_tell_status(struct run_status *status, const char *directory, const char *doing);
/* The last document: how the run has ended. */
void run_end_status(struct run_status *status, const char *directory, const struct result *result,
		    int code);

/* Measures, judges when asked to, publishes; messages and verdicts are printed. */
int run_one_node(struct run_request *request, const struct run_setup *setup);

#endif
