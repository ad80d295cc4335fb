#include "cli/run/run_against.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/run/run_launches.h"
#include "cli/run/run_setup.h"
#include "measure/processes/signals.h"

/* One side of the comparison. */
struct against_side {
	const char *name;
	struct conduct_options options;
	struct launches launches; /* setup NULL: a program measures it */
};

/*
 * One launch only: this process alternates the sides, and a program with several launches would use
 * the directories of later ones.
 */
static char **program_arguments(const struct against *against, const char *directory)
{
	char **arguments = xcalloc(against->overrides->count * 2 + 12, sizeof(*arguments));
	size_t n = 0;

	arguments[n++] = xstrdup(against->other);
	arguments[n++] = xstrdup("run");
	arguments[n++] = xstrdup(against->source);
	for (size_t i = 0; i < against->overrides->count; i++) {
		arguments[n++] = xstrdup("--set");
		arguments[n++] = xstrdup(against->overrides->items[i].text);
	}
	if (against->launches > 1) {
		arguments[n++] = xstrdup("--set");
		arguments[n++] = xstrdup("run.launches=1");
	}
	arguments[n++] = xstrdup("--no-report");
	arguments[n++] = xstrdup("--quiet");
	arguments[n++] = xstrdup("--output");
	arguments[n++] = xstrdup(directory);
	return arguments;
}

/*
 * The program's result has its failed and skipped cases; only a run without a result is an error
 * here.
 */
static enum status wait_for_program(pid_t pid, const char *name, struct error *err)
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
		return error_set(err, STATUS_IO, "%s did not run: exit code %d", name,
				 WEXITSTATUS(status));
	}
}

static enum status launch_program(const struct against *against, struct against_side *side,
				  size_t launch, struct error *err)
{
	char *directory = launch_directory(side->options.directory, launch);
	char **arguments = program_arguments(against, directory);
	enum status status = STATUS_OK;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		/* Discards its output, but not its messages. */
		if (freopen("/dev/null", "w", stdout))
			execv(arguments[0], arguments);
		fprintf(stderr, "gpuproof: %s: %s\n", arguments[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0)
		status = error_errno(err, "fork");
	else
		status = wait_for_program(pid, against->other, err);
	ARRAY_GROW(side->launches.items, side->launches.count, side->launches.capacity);
	if (status == STATUS_OK)
		status = result_read_from(&side->launches.items[side->launches.count], directory,
					  err);
	side->launches.count += status == STATUS_OK;
	for (size_t i = 0; arguments[i]; i++)
		free(arguments[i]);
	free(arguments);
	free(directory);
	return status;
}

static enum status launch_side(const struct against *against, struct against_side *side,
			       size_t launch, struct error *err)
{
	if (signals_stops())
		return error_set(err, STATUS_INTERRUPTED, "interrupted");
	if (!side->options.quiet)
		fprintf(stderr, "gpuproof: launch %zu of %zu of %s\n", launch, against->launches,
			side->name);
	if (!side->launches.setup)
		return launch_program(against, side, launch, err);
	return launches_run(&side->launches, &side->launches.setup->plan, launch, launch, err);
}

/* `other` is NULL for a program. A B, B A, A B, ...: drift affects both sides equally. */
static enum status measure_both_sides(const struct against *against, const struct run_setup *setup,
				      const struct run_setup *other,
				      const struct conduct_options *options,
				      struct result *const results[2], struct error *err)
{
	struct against_side sides[2] = { { .name = "A", .options = *options },
					 { .name = "B", .options = *options } };
	struct error pool_error = ERROR_NONE;
	enum status status = STATUS_OK, pooled = STATUS_OK;

	for (int i = 0; i < 2; i++) {
		struct against_side *side = &sides[i];

		side->options.directory = xasprintf("%s/%c", options->directory, "ab"[i]);
		side->launches.setup = i ? other : setup;
		side->launches.options = &side->options;
	}
	for (size_t launch = 1; launch <= against->launches && status == STATUS_OK; launch++) {
		status = launch_side(against, &sides[launch % 2 == 0], launch, err);
		if (status == STATUS_OK)
			status = launch_side(against, &sides[launch % 2], launch, err);
	}
	for (int i = 0; i < 2; i++) {
		if (pooled == STATUS_OK)
			pooled = launches_pool(&sides[i].launches, sides[i].options.directory,
					       results[i], &pool_error);
		launches_release(&sides[i].launches);
		free((char *)sides[i].options.directory);
	}
	if (status == STATUS_OK && pooled != STATUS_OK)
		status = error_set(err, pooled, "%s", pool_error.message);
	return status;
}

enum status run_against(const struct against *against, const struct run_setup *setup,
			const struct conduct_options *options, struct result *a, struct result *b,
			struct error *err)
{
	struct result *const results[] = { a, b };
	struct run_setup other;
	struct stat about;
	enum status status;

	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	if (strchr(against->other, '/') && stat(against->other, &about) == 0 &&
	    S_ISREG(about.st_mode) && access(against->other, X_OK) == 0)
		return measure_both_sides(against, setup, NULL, options, results, err);
	status = run_setup_config(&other, against->other, against->overrides, NULL, err);
	if (status == STATUS_OK)
		status = run_setup_plan(&other, err);
	if (status == STATUS_OK)
		status = measure_both_sides(against, setup, &other, options, results, err);
	run_setup_release(&other);
	return status;
}
