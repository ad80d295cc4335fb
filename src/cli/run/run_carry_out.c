#include "cli/run/run_carry_out.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output/print_comparison.h"
#include "cli/output/print_verdicts.h"
#include "cli/run/run_against.h"
#include "cli/run/run_events.h"
#include "cli/run/run_health.h"
#include "cli/run/run_launches.h"
#include "cli/run/run_left.h"
#include "cli/run/run_summary.h"
#include "measure/processes/signals.h"
#include "report/acceptance/acceptance.h"
#include "report/fleet/fleet_page.h"
#include "report/report.h"
#include "result/outcome.h"
#include "result/verdict.h"
#include "run/journal.h"

#define REPORT_PAGE "report.html"
#define ACCEPTANCE_PAGE "acceptance.html"
#define FLEET_PAGE "fleet.html"
/* A page that shows more than these is nobody's to read; each node's result has its own. */
#define CASES_OF_A_PAGE 20000

/* The page with the verdict, next to the report and linked with it. */
static enum status publish_verdict(struct run_request *a, const struct result *result,
				   const char *directory, struct error *err)
{
	const struct acceptance acceptance = { .result = result, .run_page = REPORT_PAGE };
	char *path = xasprintf("%s/" ACCEPTANCE_PAGE, directory);
	struct report_options options = { .output = path, .separate_css = true };
	enum status status = STATUS_OK;

	if (!a->no_report) {
		status = acceptance_write(&acceptance, &options, err);
		a->accepted_page = status == STATUS_OK;
		if (status == STATUS_OK)
			printf("%s\n", path);
	}
	free(path);
	return status;
}

/* Writes the report; prints its path, the last line of stdout. */
static enum status publish(const struct result *results, size_t count, const struct run_request *a,
			   const char *directory, struct error *err)
{
	char *path = xasprintf("%s/" REPORT_PAGE, directory);
	struct report_options options = { .output = path,
					  .separate_css = true,
					  .acceptance_page =
						  a->accepted_page ? ACCEPTANCE_PAGE : NULL };
	enum status status = STATUS_OK;

	if (a->no_report) {
		printf("%s%s\n", directory, count == 1 ? "/result.json" : "");
	} else {
		status = report_write(results, count, &options, err);
		if (status == STATUS_OK)
			printf("%s\n", path);
	}
	free(path);
	return status;
}

enum status run_publish_nodes(struct run_request *a, const struct result *result, struct error *err)
{
	bool all = result->case_count <= CASES_OF_A_PAGE;
	struct fleet_page fleet = { .result = result,
				    .run_page = all ? REPORT_PAGE : NULL,
				    .acceptance_page =
					    all && result->judgement ? ACCEPTANCE_PAGE : NULL };
	char *path = xasprintf("%s/" FLEET_PAGE, a->directory);
	struct report_options options = { .output = path, .separate_css = true };
	enum status status = STATUS_OK;

	if (all && result->judgement)
		status = publish_verdict(a, result, a->directory, err);
	if (status == STATUS_OK && (all || a->no_report))
		status = publish(result, 1, a, a->directory, err);
	if (status == STATUS_OK && !a->no_report)
		status = fleet_page_write(&fleet, &options, err);
	if (status == STATUS_OK && !a->no_report)
		printf("%s\n", path);
	if (status == STATUS_OK && !all && !a->no_report)
		fprintf(stderr,
			"gpuproof: %zu cases are too many for one page: gpuproof report "
			"%s/nodes/NAME "
			"shows those of a node\n",
			result->case_count, a->directory);
	free(path);
	return status;
}

static int finish(const struct result *result, enum status status, int stopped_by,
		  struct error *err)
{
	int code = result_exit_code(result);

	if (status == STATUS_INTERRUPTED)
		return stopped_by == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
	if (status != STATUS_OK)
		return command_fail(err);
	return code;
}

char *run_new_directory(const char *config_name)
{
	const char *slash = strrchr(config_name, '/');
	char *name = xstrdup(slash ? slash + 1 : config_name), *dot = strrchr(name, '.');
	char stamp[32], *path;
	time_t now = time(NULL);
	struct tm local;

	if (dot && strcmp(dot, ".ini") == 0)
		*dot = '\0';
	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	path = xasprintf("gpuproof-results/%s-%s", stamp, name);
	mkdir("gpuproof-results", 0777);
	for (int n = 2; mkdir(path, 0777) != 0 && errno == EEXIST; n++) {
		free(path);
		path = xasprintf("gpuproof-results/%s-%s-%d", stamp, name, n);
	}
	free(name);
	return path;
}

int run_graver_code(int a, int b)
{
	static const int order[] = { EXIT_WRONG_RESULT, EXIT_GATE_FAILED, EXIT_INCOMPLETE };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a ? a : b;
}

/* Judges, prints the verdicts, and gives the exit code of both. */
static int judge_run(struct run_request *a, const struct run_setup *setup,
		     const struct conduct_options *options, struct result *result, int code)
{
	struct error err = ERROR_NONE;
	enum status status =
		run_check_judge(&a->check, &setup->plan, &setup->probe, options, result, &err);

	if (status == STATUS_OK || status == STATUS_INTERRUPTED)
		print_verdicts(result->judgement, false);
	if (status != STATUS_OK)
		code = finish(result, status, *options->stopped_by, &err);
	else
		code = run_graver_code(result_exit_code(result), code);
	error_clear(&err);
	if ((status == STATUS_OK || status == STATUS_INTERRUPTED) &&
	    publish_verdict(a, result, options->directory, &err) != STATUS_OK)
		code = run_graver_code(code, command_fail(&err));
	return code;
}

/* Nothing where no case was begun: the document may be another process's. */
static void tell_status(const struct conduct_options *options, const char *doing)
{
	struct error err = ERROR_NONE; /* the run has its result all the same */

	if (!options->status->pid)
		return;
	snprintf(options->status->doing, sizeof(options->status->doing), "%s", doing);
	memset(&options->status->current, 0, sizeof(options->status->current));
	options->status->current.seconds = options->status->current.median =
		options->status->current.half_width = (double)NAN;
	options->status->seconds_left = (double)NAN;
	run_status_write(options->status, options->status_directory, &err);
}

/* The last document: how the run has ended. */
static void end_status(const struct conduct_options *options, const struct result *result, int code)
{
	struct run_status *status = options->status;

	snprintf(status->state, sizeof(status->state), "%s",
		 result->state ? result->state : "failed");
	snprintf(status->sentence, sizeof(status->sentence), "%s",
		 result->judgement ? result->judgement->sentence : "");
	status->seconds = result->seconds;
	status->exit_code = code;
	tell_status(options, "");
}

/* Measures what is left. `result` stays empty when nothing was begun. */
static enum status measure_left(const struct run_request *a, const struct run_setup *setup,
				const struct conduct_options *options, struct result *result,
				int *code)
{
	struct error err = ERROR_NONE, pool_error = ERROR_NONE;
	struct launches launches = { 0 };
	struct finding *before = NULL;
	size_t before_count = 0;
	enum status status, pooled;

	if (a->check.wanted)
		health_collect(&setup->probe, &before, &before_count);
	status = launches_run(&launches, &setup->plan, &setup->probe, options, &err);
	pooled = launches_pool(&launches, options->directory, result, &pool_error);
	*code = finish(result, status, *options->stopped_by, &err);
	if (a->check.wanted && pooled == STATUS_OK && result->gpuproof_version)
		pooled = health_add(result, before, before_count, &setup->config,
				    options->directory, &pool_error);
	else
		free(before);
	if (pooled != STATUS_OK && *code == EXIT_ACCEPTED)
		*code = command_fail(&pool_error);
	launches_release(&launches);
	return status;
}

static int publish_all(struct run_request *a, const struct result *result, const char *directory,
		       int code)
{
	struct error err = ERROR_NONE;
	int report_code;

	if (publish(result, 1, a, directory, &err) == STATUS_OK)
		return code;
	report_code = command_fail(&err);
	return code == EXIT_ACCEPTED ? report_code : code;
}

static int measure(struct run_request *a, const struct run_setup *setup,
		   const struct run_left *left, const struct conduct_options *options,
		   struct run_events *events)
{
	struct result result;
	/*
	 * A finished run is not written again: its result may hold more launches, and the machine's
	 * state at that time.
	 */
	bool finished = a->resume && run_left_nothing(left, options->directory, &result);
	enum status status = STATUS_OK;
	int code;

	if (finished)
		code = result_exit_code(&result);
	else
		status = measure_left(a, setup, options, &result, &code);
	if (result.gpuproof_version) { /* else nothing was begun: there is nothing to show */
		if (!a->quiet)
			run_print_summary(&result);
		tell_status(options, a->check.wanted ? "judging" : "writing the report");
		if (a->check.wanted && status == STATUS_OK)
			code = judge_run(a, setup, options, &result, code);
		else if (!a->quiet)
			run_print_judgement(&result, options->directory);
		run_events_finish(events, &result);
		if (finished && !a->check.wanted && !a->no_report &&
		    run_left_reported(options->directory))
			printf("%s/" REPORT_PAGE "\n", options->directory);
		else
			code = publish_all(a, &result, options->directory, code);
		end_status(options, &result, code);
		if (status != STATUS_OK)
			run_print_resume(options->directory);
	} else if (status == STATUS_INTERRUPTED) {
		fprintf(stderr, "gpuproof: stopped before anything was measured\n");
	}
	result_release(&result);
	return code;
}

/*
 * Its two sides are runs of their own, which cannot be continued: their turns would no longer
 * alternate.
 */
static enum status vacant_for_both(const char *directory, struct error *err)
{
	static const char *const sides[] = { "a", "b" };
	enum status status = STATUS_OK;

	for (size_t i = 0; i < ARRAY_SIZE(sides) && status == STATUS_OK; i++) {
		char *path = xasprintf("%s/%s", directory, sides[i]);
		struct error taken = ERROR_NONE;

		if (journal_vacant(path, &taken) != STATUS_OK)
			status =
				error_set(err, STATUS_USAGE,
					  "%s holds a comparison already; choose another directory",
					  directory);
		free(path);
	}
	return status;
}

/* Two configs or builds in turns. */
static int measure_against(struct run_request *a, const struct run_setup *setup,
			   const struct conduct_options *options)
{
	const struct against against = { .other = a->against,
					 .source = a->source,
					 .overrides = a->overrides,
					 .override_count = a->override_count,
					 .launches = launches_least(&setup->plan) };
	struct error err = ERROR_NONE, report_error = ERROR_NONE;
	struct result results[2];
	enum status status = run_against(&against, &setup->plan, &setup->probe, options,
					 &results[0], &results[1], &err);
	int code;

	if (status != STATUS_OK) {
		*options->stopped_by = signals_last_stop();
		code = err.message[0] ? finish(&results[0], status, *options->stopped_by, &err)
				      : EXIT_USAGE;
		if (status == STATUS_INTERRUPTED)
			fprintf(stderr,
				"gpuproof: the comparison is not finished and cannot be continued; "
				"what was measured is in %s/a and %s/b\n",
				options->directory, options->directory);
	} else {
		code = run_graver_code(result_exit_code(&results[0]),
				       result_exit_code(&results[1]));
		if (print_compared(&results[0], &results[1], &report_error) != STATUS_OK)
			code = command_fail(&report_error);
		error_clear(&report_error);
		if (publish(results, 2, a, options->directory, &report_error) != STATUS_OK)
			code = code == EXIT_ACCEPTED ? command_fail(&report_error) : code;
		end_status(options, &results[0], code);
	}
	result_release(&results[0]);
	result_release(&results[1]);
	return code;
}

int run_carry_out(struct run_request *a, const struct run_setup *setup)
{
	struct run_status run_status = { .exit_code = -1 };
	int stopped_by = 0, code;
	struct run_events events;
	struct conduct_options options = { .directory = a->directory,
					   .resume = a->resume,
					   .quiet = a->quiet,
					   .command = a->command,
					   .status = &run_status,
					   .status_directory = a->directory,
					   .stopped_by = &stopped_by };
	struct error err = ERROR_NONE;
	struct run_left left;
	enum status status;

	/* The exit code must tell how the run went, even if standard output is closed. */
	signal(SIGPIPE, SIG_IGN);
	/* One log of both outputs has lines in the order in which they were said. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	status = a->resume ? run_left_of(&left, &setup->plan, a->directory, &err)
			   : run_left_new(&left, &setup->plan, a->directory, &err);
	if (status == STATUS_OK && a->against && launches_auto(&setup->plan))
		status = error_set(&err, STATUS_USAGE,
				   "launches = auto cannot be compared in turns: both sides take "
				   "as many "
				   "launches; --launches N says how many");
	if (status == STATUS_OK && a->against) {
		left.seconds *= 2; /* as if the other side took as long */
		status = vacant_for_both(a->directory, &err);
	}
	if (status == STATUS_OK)
		status = run_events_open(&events, a->events, a->directory, &err);
	if (status != STATUS_OK || signals_begin(&err) != STATUS_OK)
		return command_fail(&err);
	options.events = events.hooks;
	if (!a->quiet)
		run_left_announce(&left, &setup->plan, a->directory);
	code = a->against ? measure_against(a, setup, &options)
			  : measure(a, setup, &left, &options, &events);
	if (run_events_close(&events, &err) != STATUS_OK) {
		int failed = command_fail(&err);

		code = code == EXIT_ACCEPTED ? failed : code;
	}
	signals_end();
	run_status_release(&run_status);
	return code;
}
