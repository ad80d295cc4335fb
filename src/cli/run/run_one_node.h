/* Single-node `run`: from a plan to a directory with result and report, and to an exit code. */
#ifndef GPUPROOF_CLI_RUN_RUN_ONE_NODE_H
#define GPUPROOF_CLI_RUN_RUN_ONE_NODE_H

#include "cli/input/overrides.h"
#include "cli/run/run_check.h"
#include "cli/run/run_setup.h"

struct run_request {
	const char *source;    /* the config; NULL when resuming */
	const char *directory; /* directory of all files of the run */
	const char *command;   /* command that repeats the run */
	bool resume, quiet, no_report;
	bool accepted_page; /* set after the acceptance page was written, so that it is linked */
	struct overrides overrides;
	struct run_check check; /* prepared if requested */
	const char *events;     /* file for the stream of OCP lines; NULL: none */
	const char *against;    /* the other side of an interleaved comparison; NULL: none */
};

/*
 * Writes the pages of a multi-node run, the page of its nodes last; prints their paths. If there
 * are too many cases for a page, writes only the last one.
 */
enum status one_node_publish_nodes(struct run_request *request, const struct result *result,
				   struct error *err);

/* The first exit code that is not 0. */
int one_node_first_code(int a, int b);
/* The more severe of two exit codes: 5, then 1, then 4. */
int one_node_graver_code(int a, int b);

/*
 * Creates gpuproof-results/20261120-140359Z-NAME from a config's name or path; appends a number if
 * it exists. The caller frees the path.
 */
char *one_node_new_directory(const char *config_name);
/* Replaces DIR/status.json while the run is `doing` something other than measuring. */
void one_node_tell_status(struct run_status *status, const char *directory, const char *doing);
/* Writes the last document, with the outcome of the run. */
void one_node_end_status(struct run_status *status, const char *directory,
			 const struct result *result, int code);

/* Measures, judges if requested, publishes; prints messages and verdicts. */
int run_one_node(struct run_request *request, const struct run_setup *setup);

#endif
