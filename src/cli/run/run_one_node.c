#include "cli/run/run_one_node.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output/print.h"
#include "cli/run/run_events.h"
#include "cli/run/run_launches.h"
#include "cli/run/run_summary.h"
#include "measure/processes/signals.h"
#include "report/acceptance/acceptance.h"
#include "report/fleet/fleet_page.h"
#include "report/page/report.h"
#include "result/outcome.h"
#include "result/verdict.h"
#include "run/journal.h"

#define REPORT_PAGE "report.html"
#define ACCEPTANCE_PAGE "acceptance.html"
#define FLEET_PAGE "fleet.html"
/* A page with more cases would not be useful; the result of each node has its own page. */
#define CASES_OF_A_PAGE 20000

/* Writes the acceptance page next to the report and links it. */
static enum status one_node_publish_verdict(struct run_request *a, const struct result *result,
					    const char *directory, struct error *err)
{
	const struct acceptance acceptance = { .result = result, .run_page = REPORT_PAGE };
	char *path = xasprintf("%s/" ACCEPTANCE_PAGE, directory);
	struct report_options options = { .output = path, .separate_css = true };

	if (!a->no_report && acceptance_write(&acceptance, &options, err) == STATUS_OK) {
		a->accepted_page = true;
		printf("%s\n", path);
	}
	free(path);
	return err->status;
}

/* Writes the report; prints its path, the last line of stdout. */
static enum status one_node_publish(const struct result *results, size_t count,
				    const struct run_request *a, const char *directory,
				    struct error *err)
{
	char *path = xasprintf("%s/" REPORT_PAGE, directory);
	struct report_options options = { .output = path,
					  .separate_css = true,
					  .acceptance_page =
						  a->accepted_page ? ACCEPTANCE_PAGE : NULL };

	if (a->no_report)
		printf("%s%s\n", directory, count == 1 ? "/result.json" : "");
	else if (html_write_report(results, count, &options, err) == STATUS_OK)
		printf("%s\n", path);
	free(path);
	return err->status;
}

enum status one_node_publish_nodes(struct run_request *a, const struct result *result,
				   struct error *err)
{
	bool all = result->case_count <= CASES_OF_A_PAGE;
	struct fleet_page fleet = { .result = result,
				    .run_page = all ? REPORT_PAGE : NULL,
				    .acceptance_page =
					    all && result->judgement ? ACCEPTANCE_PAGE : NULL };
	char *path = xasprintf("%s/" FLEET_PAGE, a->directory);
	struct report_options options = { .output = path, .separate_css = true };

	if (all && result->judgement)
		one_node_publish_verdict(a, result, a->directory, err);
	if (err->status == STATUS_OK && (all || a->no_report))
		one_node_publish(result, 1, a, a->directory, err);
	if (err->status == STATUS_OK && !a->no_report &&
	    fleet_page_write(&fleet, &options, err) == STATUS_OK)
		printf("%s\n", path);
	if (err->status == STATUS_OK && !all && !a->no_report)
		fprintf(stderr,
			"gpuproof: no page of the whole run, because it has too many cases (%zu). "
			"To write the page of one node: gpuproof report %s/nodes/NAME\n",
			result->case_count, a->directory);
	free(path);
	return err->status;
}

static int one_node_exit_code_of(const struct result *result, enum status status, int stopped_by,
				 struct error *err)
{
	if (status == STATUS_INTERRUPTED)
		return stopped_by == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
	return status == STATUS_OK ? result_outcome_exit_code(result) : cli_command_fail(err);
}

char *one_node_new_directory(const char *config_name)
{
	const char *slash = strrchr(config_name, '/');
	char *name = xstrdup(slash ? slash + 1 : config_name), *dot = strrchr(name, '.');
	char stamp[32], *path;
	time_t now = time(NULL);
	struct tm utc;

	if (dot && strcmp(dot, ".ini") == 0)
		*dot = '\0';
	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%SZ", &utc);
	path = xasprintf("gpuproof-results/%s-%s", stamp, name);
	mkdir("gpuproof-results", 0777);
	for (int n = 2; mkdir(path, 0777) != 0 && errno == EEXIST; n++) {
		free(path);
		path = xasprintf("gpuproof-results/%s-%s-%d", stamp, name, n);
	}
	free(name);
	return path;
}

int one_node_first_code(int a, int b)
{
	return a ? a : b;
}

int one_node_graver_code(int a, int b)
{
	static const int order[] = { EXIT_WRONG_RESULT, EXIT_GATE_FAILED, EXIT_INCOMPLETE };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return one_node_first_code(a, b);
}

void one_node_tell_status(struct run_status *status, const char *directory, const char *doing)
{
	struct error err = ERROR_NONE; /* the run has its result in any case */

	/* If no case started here, the document may belong to another process. */
	if (!status->pid)
		return;
	snprintf(status->doing, sizeof(status->doing), "%s", doing);
	memset(&status->current, 0, sizeof(status->current));
	status->current.seconds = status->current.median = status->current.half_width =
		status->seconds_left = (double)NAN;
	run_status_write(status, directory, &err);
}

void one_node_end_status(struct run_status *status, const char *directory,
			 const struct result *result, int code)
{
	snprintf(status->state, sizeof(status->state), "%s",
		 result->state ? result->state : "failed");
	snprintf(status->sentence, sizeof(status->sentence), "%s",
		 result->judgement ? result->judgement->sentence : "");
	status->seconds = result->seconds;
	status->exit_code = code;
	one_node_tell_status(status, directory, "");
}

/* State of one run, shared by its steps. */
struct one_node {
	struct run_request *request;
	const struct run_setup *setup;
	struct conduct_options options;
	struct run_events events;
	struct run_left left;
	struct run_status status;
	int stopped_by;
};

/* Judges, prints the verdicts, and returns the combined exit code. */
static int one_node_judge(struct one_node *n, struct result *result, int code)
{
	struct run_request *a = n->request;
	struct error err = ERROR_NONE;
	enum status status = run_check_judge(&a->check, n->setup, &n->options, result, &err);

	if (status == STATUS_OK || status == STATUS_INTERRUPTED)
		print_verdicts(result->judgement, false);
	if (status != STATUS_OK)
		code = one_node_exit_code_of(result, status, n->stopped_by, &err);
	else
		code = one_node_graver_code(result_outcome_exit_code(result), code);
	error_clear(&err);
	if ((status == STATUS_OK || status == STATUS_INTERRUPTED) &&
	    one_node_publish_verdict(a, result, n->options.directory, &err) != STATUS_OK)
		code = one_node_graver_code(code, cli_command_fail(&err));
	return code;
}

/*
 * Prints, judges if requested, and publishes. `finished`: before this process started. The result
 * is not written again then, because it may contain more launches, and the state of the machine at
 * that time.
 */
static int one_node_conclude(struct one_node *n, struct result *result, enum status status,
			     bool finished, int code)
{
	struct run_request *a = n->request;
	struct error err = ERROR_NONE;

	if (!a->quiet)
		run_print_summary(result);
	one_node_tell_status(&n->status, a->directory,
			     a->check.wanted ? "judging" : "writing the report");
	if (a->check.wanted && status == STATUS_OK)
		code = one_node_judge(n, result, code);
	else if (!a->quiet)
		run_summary_print_judgement(result, a->directory);
	run_events_finish(&n->events, result);
	if (finished && !a->check.wanted && !a->no_report &&
	    run_launches_left_reported(a->directory))
		printf("%s/" REPORT_PAGE "\n", a->directory);
	else if (one_node_publish(result, 1, a, a->directory, &err) != STATUS_OK)
		code = one_node_first_code(code, cli_command_fail(&err));
	one_node_end_status(&n->status, a->directory, result, code);
	if (status != STATUS_OK)
		run_summary_print_resume(a->directory);
	return code;
}

/* One side of the comparison. */
struct against_side {
	const char *name;
	struct conduct_options options;
	struct launches launches; /* setup NULL: a program measures it */
};

/*
 * The arguments of the other program; the caller frees the array. One launch only: this process
 * alternates the sides, and a program with several launches would use the directories of later
 * ones.
 */
static const char **one_node_program_arguments(const struct run_request *a, size_t launches,
					       const char *directory)
{
	const char **arguments = xcalloc(a->overrides.count * 2 + 12, sizeof(*arguments));
	size_t n = 0;

	arguments[n++] = a->against;
	arguments[n++] = "run";
	arguments[n++] = a->source;
	for (size_t i = 0; i < a->overrides.count; i++) {
		arguments[n++] = "--set";
		arguments[n++] = a->overrides.items[i].text;
	}
	if (launches > 1) {
		arguments[n++] = "--set";
		arguments[n++] = "run.launches=1";
	}
	arguments[n++] = "--no-report";
	arguments[n++] = "--quiet";
	arguments[n++] = "--output";
	arguments[n++] = directory;
	return arguments;
}

/*
 * The program's result has its failed and skipped cases; only a run without a result is an error
 * here.
 */
static enum status one_node_wait_for_program(pid_t pid, const char *name, struct error *err)
{
	int status = 0;
	int passed_on = 0;
	pid_t got;

	/* Passes on a stop request sent to this process only; one from a terminal reaches both. */
	signals_attend(true);
	while ((got = waitpid(pid, &status, WNOHANG)) == 0) {
		struct pollfd fd = { .fd = signals_fd(), .events = POLLIN };

		poll(&fd, 1, 250);
		signals_drain();
		for (; passed_on < signals_stops(); passed_on++)
			kill(pid, signals_last_stop());
	}
	signals_attend(false);
	if (got < 0)
		return error_errno(err, "%s", name);
	if (signals_stops())
		return error_set(err, STATUS_INTERRUPTED, "interrupted");
	if (WIFSIGNALED(status))
		return error_set(err, STATUS_IO, "%s was killed by signal %d", name,
				 WTERMSIG(status));
	if (WEXITSTATUS(status) == 130 || WEXITSTATUS(status) == 143)
		return error_set(err, STATUS_INTERRUPTED, "interrupted");
	switch (WEXITSTATUS(status)) {
	case EXIT_ACCEPTED:
	case EXIT_GATE_FAILED:
	case EXIT_INCOMPLETE:
	case EXIT_WRONG_RESULT:
		return STATUS_OK;
	default:
		return error_set(err, STATUS_IO, "%s ended without measuring: exit code %d", name,
				 WEXITSTATUS(status));
	}
}

static enum status one_node_launch_program(const struct one_node *n, struct against_side *side,
					   size_t launch, struct error *err)
{
	char *directory = run_launches_directory(side->options.directory, launch);
	const char **arguments =
		one_node_program_arguments(n->request, n->left.launches, directory);
	enum status status = STATUS_OK;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		/* Discards its output, but not its messages. */
		if (freopen("/dev/null", "w", stdout))
			execv(arguments[0], (char **)arguments);
		fprintf(stderr, "gpuproof: %s: %s\n", arguments[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0)
		status = error_errno(err, "fork");
	else
		status = one_node_wait_for_program(pid, n->request->against, err);
	ARRAY_GROW(side->launches.items, side->launches.count, side->launches.capacity);
	if (status == STATUS_OK)
		status = result_read_from(&side->launches.items[side->launches.count], directory,
					  err);
	side->launches.count += status == STATUS_OK;
	free(arguments);
	free(directory);
	return status;
}

static enum status one_node_launch_side(const struct one_node *n, struct against_side *side,
					size_t launch, struct error *err)
{
	if (signals_stops())
		return error_set(err, STATUS_INTERRUPTED, "interrupted");
	if (!side->options.quiet)
		fprintf(stderr, "gpuproof: launch %zu of %zu of %s\n", launch, n->left.launches,
			side->name);
	if (!side->launches.setup)
		return one_node_launch_program(n, side, launch, err);
	return launches_run(&side->launches, &side->launches.setup->plan, launch, launch, err);
}

/* `other` is NULL for a program. A B, B A, A B, ...: drift affects both sides equally. */
static enum status one_node_measure_both_sides(const struct one_node *n,
					       const struct run_setup *other,
					       struct result results[2], struct error *err)
{
	struct against_side sides[2] = { { .name = "A", .options = n->options },
					 { .name = "B", .options = n->options } };
	struct error pool_error = ERROR_NONE;
	enum status status = STATUS_OK, pooled = STATUS_OK;

	for (int i = 0; i < 2; i++) {
		struct against_side *side = &sides[i];

		side->options.directory = xasprintf("%s/%c", n->options.directory, "ab"[i]);
		side->launches.setup = i ? other : n->setup;
		side->launches.options = &side->options;
	}
	for (size_t launch = 1; launch <= n->left.launches && status == STATUS_OK; launch++) {
		status = one_node_launch_side(n, &sides[launch % 2 == 0], launch, err);
		if (status == STATUS_OK)
			status = one_node_launch_side(n, &sides[launch % 2], launch, err);
	}
	for (int i = 0; i < 2; i++) {
		if (pooled == STATUS_OK)
			pooled = run_launches_pool(&sides[i].launches, sides[i].options.directory,
						   &results[i], &pool_error);
		run_launches_release(&sides[i].launches);
		free((char *)sides[i].options.directory);
	}
	if (status == STATUS_OK && pooled != STATUS_OK)
		status = error_set(err, pooled, "%s", pool_error.message);
	return status;
}

/* Measures A into DIR/a and B into DIR/b, launch by launch, with alternating order. */
static enum status one_node_measure_sides(const struct one_node *n, struct result results[2],
					  struct error *err)
{
	const char *against = n->request->against;
	struct run_setup other;
	struct stat about;
	enum status status;

	if (strchr(against, '/') && stat(against, &about) == 0 && S_ISREG(about.st_mode) &&
	    access(against, X_OK) == 0)
		return one_node_measure_both_sides(n, NULL, results, err);
	status = run_setup_config(&other, against, &n->request->overrides, NULL, err);
	if (status == STATUS_OK)
		status = run_setup_plan(&other, err);
	if (status == STATUS_OK)
		status = one_node_measure_both_sides(n, &other, results, err);
	run_setup_release(&other);
	return status;
}

/* Measures two configs or builds alternately, and compares them. */
static int one_node_measure_against(struct one_node *n)
{
	struct run_request *a = n->request;
	struct error err = ERROR_NONE;
	struct result results[2] = { { 0 } };
	const struct comparison_input input = { .a = &results[0],
						.b = &results[1],
						.name_a = "a",
						.name_b = "b",
						.a_count = 1,
						.b_count = 1,
						.turns = true };
	struct comparison comparison;
	enum status status = one_node_measure_sides(n, results, &err);
	int code;

	if (status != STATUS_OK) {
		n->stopped_by = signals_last_stop();
		code = err.message[0]
			       ? one_node_exit_code_of(&results[0], status, n->stopped_by, &err)
			       : EXIT_USAGE;
		if (status == STATUS_INTERRUPTED)
			fprintf(stderr,
				"gpuproof: the comparison is incomplete and cannot be continued. "
				"The results so far are in %s/a and %s/b\n",
				a->directory, a->directory);
	} else {
		code = one_node_graver_code(result_outcome_exit_code(&results[0]),
					    result_outcome_exit_code(&results[1]));
		if (compare_results(&input, &comparison, &err) == STATUS_OK) {
			print_comparison(&comparison, false);
			compare_json_comparison_release(&comparison);
		} else {
			code = cli_command_fail(&err);
		}
		error_clear(&err);
		if (one_node_publish(results, 2, a, a->directory, &err) != STATUS_OK)
			code = code == EXIT_ACCEPTED ? cli_command_fail(&err) : code;
		one_node_end_status(&n->status, a->directory, &results[0], code);
	}
	result_release(&results[0]);
	result_release(&results[1]);
	return code;
}

/* Reads what an earlier run left in the directory, and opens the events. */
static enum status one_node_begin(struct one_node *n, struct error *err)
{
	struct run_request *a = n->request;
	const struct plan *plan = &n->setup->plan;
	enum status status = run_launches_left_find(&n->left, plan, a->directory, a->resume, err);

	if (status == STATUS_OK && a->against && run_launches_auto(plan))
		status = error_set(err, STATUS_USAGE,
				   "--against cannot use launches = auto, because both sides need "
				   "the same number; set --launches N");
	if (status == STATUS_OK && a->against) {
		char *sides[2] = { xasprintf("%s/a", a->directory),
				   xasprintf("%s/b", a->directory) };

		n->left.seconds *= 2; /* assumes that the other side takes the same time */
		/* The sides cannot be resumed, because they would no longer alternate. */
		if (journal_begun(sides[0]) || journal_begun(sides[1]))
			status = error_set(err, STATUS_USAGE,
					   "%s already contains a comparison; choose another "
					   "directory",
					   a->directory);
		free(sides[0]);
		free(sides[1]);
	}
	if (status == STATUS_OK)
		status = run_events_open(&n->events, a->events, a->directory, err);
	if (status == STATUS_OK)
		status = signals_begin(err);
	if (status == STATUS_OK && !a->quiet)
		run_launches_left_announce(&n->left, plan, a->directory);
	n->options.events = n->events.hooks;
	return status;
}

/* Measures all launches; `result` stays empty if the run never started. */
static int one_node_measure(struct one_node *n)
{
	struct run_check *check = &n->request->check;
	const struct run_setup *setup = n->setup;
	struct launches launches = { .setup = setup, .options = &n->options };
	struct error err = ERROR_NONE, unpooled = ERROR_NONE;
	struct result result = { 0 };
	struct health before = { 0 };
	enum status status, pooled;
	int code;

	if (check->wanted)
		before = run_launches_health_collect(&setup->probe);
	if (check->wanted && run_check_has_stages(&setup->plan))
		status = run_check_stages(check, &launches, &before, &err);
	else
		status = launches_run(&launches, &setup->plan, 1, n->left.launches, &err);
	if (status == STATUS_OK)
		status = launches_run_needed(&launches, &err);
	pooled = run_launches_finish(&launches, check->wanted ? &before : NULL, &result, &unpooled);
	code = one_node_exit_code_of(&result, status, n->stopped_by, &err);
	if (pooled != STATUS_OK && code == EXIT_ACCEPTED)
		code = cli_command_fail(&unpooled);
	if (result.gpuproof_version)
		code = one_node_conclude(n, &result, status, false, code);
	else if (status == STATUS_INTERRUPTED)
		fprintf(stderr, "gpuproof: stopped before the first measurement\n");
	result_release(&result);
	return code;
}

int run_one_node(struct run_request *a, const struct run_setup *setup)
{
	struct one_node n = { .request = a,
			      .setup = setup,
			      .options = { .directory = a->directory,
					   .resume = a->resume,
					   .quiet = a->quiet,
					   .command = a->command,
					   .status = &n.status,
					   .status_directory = a->directory,
					   .stopped_by = &n.stopped_by },
			      .status = { .exit_code = -1 } };
	struct error err = ERROR_NONE;
	struct result result = { 0 };
	int code;

	/* The exit code must show the outcome even if stdout is closed. */
	signal(SIGPIPE, SIG_IGN);
	/* Line buffering keeps the order of lines in a common log of stdout and stderr. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (one_node_begin(&n, &err) != STATUS_OK)
		return cli_command_fail(&err);
	if (a->against) {
		code = one_node_measure_against(&n);
	} else if (a->resume && run_launches_left_nothing(&n.left, a->directory, &result)) {
		code = one_node_conclude(&n, &result, STATUS_OK, true,
					 result_outcome_exit_code(&result));
	} else {
		code = one_node_measure(&n);
	}
	result_release(&result);
	error_clear(&err);
	if (run_events_close(&n.events, &err) != STATUS_OK)
		code = one_node_first_code(code, cli_command_fail(&err));
	signals_end();
	run_status_release(&n.status);
	return code;
}
