/* gpuproof run: config -> probe -> plan -> conductor -> result and report. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/print_comparison.h"
#include "cli/print_verdicts.h"
#include "cli/run_against.h"
#include "cli/run_check.h"
#include "cli/run_launches.h"
#include "cli/run_plan.h"
#include "cli/run_setup.h"
#include "cli/run_summary.h"
#include "report/report.h"

extern const struct command command_run;

static const struct option_row rows[] = {
	{ 'o', "output", true },   { 0, "resume", true },   { 0, "dry-run", false },
	{ 0, "backend", true },    { 0, "devices", true },  { 0, "set", true },
	{ 0, "seed", true },       { 0, "label", true },    { 'q', "quiet", false },
	{ 0, "no-report", false }, { 0, "launches", true }, { 0, "check", false },
	{ 0, "limits", true },     { 0, "baseline", true }, { 0, "strict", false },
	{ 0, "against", true },    { 0, NULL, false },
};

struct run_arguments {
	const char *source;    /* the config; NULL with --resume */
	const char *directory; /* NULL: a new one in gpuproof-results/ */
	bool resume, dry_run, quiet, no_report;
	struct override *overrides;
	char **owned; /* texts of overrides made here */
	size_t override_count, owned_count;
	struct run_check check;
	const char *against; /* NULL: nothing */
	struct error err;    /* of an option */
};

static void arguments_release(struct run_arguments *a)
{
	run_check_release(&a->check);
	for (size_t i = 0; i < a->owned_count; i++)
		free(a->owned[i]);
	free(a->owned);
	free(a->overrides);
}

static void add_override(struct run_arguments *a, char *text)
{
	a->owned[a->owned_count++] = text;
	a->overrides[a->override_count++].text = text;
}

static void take_option(struct run_arguments *a, const char *name, const char *value)
{
	if (strcmp(name, "output") == 0) {
		a->directory = value;
	} else if (strcmp(name, "resume") == 0) {
		a->directory = value;
		a->resume = true;
	} else if (strcmp(name, "dry-run") == 0) {
		a->dry_run = true;
	} else if (strcmp(name, "quiet") == 0) {
		a->quiet = true;
	} else if (strcmp(name, "no-report") == 0) {
		a->no_report = true;
	} else if (strcmp(name, "set") == 0) {
		add_override(a, xstrdup(value));
	} else if (strcmp(name, "check") == 0) {
		a->check.wanted = true;
	} else if (strcmp(name, "strict") == 0) {
		a->check.strict = true;
	} else if (strcmp(name, "limits") == 0) {
		a->check.limits_source = value;
	} else if (strcmp(name, "baseline") == 0) {
		result_list_add(&a->check.baseline, value, &a->err);
	} else if (strcmp(name, "against") == 0) {
		a->against = value;
	} else {
		/* backend, devices, launches, seed, label: keys of [run] under the same names */
		add_override(a, xasprintf("run.%s=%s", name, value));
	}
}

static int parse_arguments(struct run_arguments *a, int argc, char **argv)
{
	struct options o = options_begin(&command_run, rows, argc, argv);
	const struct option_row *row;
	bool output = false;
	int code = EXIT_ACCEPTED;

	a->overrides = xcalloc((size_t)argc, sizeof(*a->overrides));
	a->owned = xcalloc((size_t)argc, sizeof(*a->owned));
	while ((row = options_next(&o))) {
		output = output || row->letter == 'o';
		take_option(a, row->name, o.value);
	}
	a->source = o.operand_count ? o.operands[0] : NULL;
	if (o.failed)
		code = EXIT_USAGE;
	else if (o.operand_count > 1)
		code = command_usage(&command_run, "one CONFIG at a time, not '%s' as well",
				     o.operands[1]);
	else if (a->resume && (a->source || a->override_count || output || a->dry_run))
		code = command_usage(
			&command_run,
			"--resume goes on with the config and the directory of the run");
	else if (a->err.status != STATUS_OK)
		code = command_fail(&a->err);
	else if (!a->check.wanted &&
		 (a->check.strict || a->check.limits_source || a->check.baseline.count))
		code = command_usage(&command_run,
				     "--limits, --baseline and --strict go with --check");
	else if (a->against && (a->check.wanted || a->resume))
		code = command_usage(
			&command_run,
			"--against compares: neither --check nor --resume goes with it");
	else if (!a->resume && !a->source)
		code = command_usage(&command_run,
				     "which CONFIG? A file, or the name of an embedded one: quick");
	options_end(&o);
	return code;
}

/* The command line as one can paste it into a shell. */
static char *command_line(int argc, char **argv)
{
	struct text line = TEXT_EMPTY;

	text_add(&line, "gpuproof");
	for (int i = 0; i < argc; i++) {
		bool plain = argv[i][0] &&
			     strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789-_=.,:/@%+") == strlen(argv[i]);

		text_add(&line, plain ? " " : " '");
		for (const char *s = argv[i]; *s; s++) {
			if (*s == '\'')
				text_add(&line, "'\\''");
			else
				text_add_char(&line, *s);
		}
		text_add(&line, plain ? "" : "'");
	}
	return text_detach(&line);
}

/* gpuproof-results/20261120-140359-quick; with a number behind it when that is there already. */
static char *new_directory(const char *config_name)
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

/* Writes the report; prints its path, the last line of stdout. */
static enum status publish(const struct result *results, size_t count,
			   const struct run_arguments *a, const char *directory, struct error *err)
{
	char *path = xasprintf("%s/report.html", directory);
	struct report_options options = { .output = path, .separate_css = true };
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

static int finish(const struct result *result, enum status status, int stopped_by,
		  struct error *err)
{
	int code = run_exit_code(result);

	if (status == STATUS_INTERRUPTED)
		return stopped_by == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
	if (status != STATUS_OK)
		return command_fail(err);
	return code;
}

/* Of two exit codes the one that says more: 5, then 1, then 4. */
static int graver(int a, int b)
{
	static const int order[] = { EXIT_WRONG_RESULT, EXIT_GATE_FAILED, EXIT_INCOMPLETE };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a ? a : b;
}

static size_t launches_of(const struct plan *plan)
{
	return (size_t)section_integer(config_section(plan->config, "run", ""), "launches");
}

static void announce(const struct plan *plan, const char *directory)
{
	double seconds = 0;
	char time[32];

	for (size_t i = 0; i < plan->case_count; i++)
		seconds += plan->cases[i].skip_reason ? 0 : plan->cases[i].estimate_seconds;
	fprintf(stderr, "gpuproof: %zu cases on %zu device%s, about %s%s, into %s\n",
		plan->case_count, plan->device_count, plan->device_count == 1 ? "" : "s",
		units_format(seconds, "s", time, sizeof(time)),
		launches_of(plan) > 1 ? " a launch" : "", directory);
}

/* Judges, prints the verdicts, and gives the exit code of both. */
static int judge_run(struct run_arguments *a, const struct run_setup *setup,
		     const struct conduct_options *options, struct result *result, int code)
{
	struct error err = ERROR_NONE;
	struct verdicts verdicts;
	enum status status = run_check_judge(&a->check, &setup->plan, &setup->probe, options,
					     result, &verdicts, &err);

	if (status == STATUS_OK || status == STATUS_INTERRUPTED)
		print_verdicts(&verdicts, a->check.limits.source, false);
	if (status != STATUS_OK)
		code = finish(result, status, *options->stopped_by, &err);
	else
		code = graver(verdicts_exit_code(&verdicts), code);
	verdicts_release(&verdicts);
	return code;
}

static int measure(struct run_arguments *a, const struct run_setup *setup,
		   const struct conduct_options *options)
{
	struct error err = ERROR_NONE, report_error = ERROR_NONE;
	struct launches launches = { 0 };
	struct result result;
	enum status status = launches_run(&launches, &setup->plan, &setup->probe, options,
					  launches_of(&setup->plan), &err);
	enum status pooled = launches_pool(&launches, options->directory, &result, &report_error);
	int code = finish(&result, status, *options->stopped_by, &err);

	if (pooled != STATUS_OK && code == EXIT_ACCEPTED)
		code = command_fail(&report_error);
	if (result.gpuproof_version) { /* else nothing was begun: there is nothing to show */
		if (!a->quiet)
			run_print_summary(&result);
		if (a->check.wanted && status == STATUS_OK)
			code = judge_run(a, setup, options, &result, code);
		error_clear(&report_error);
		if (publish(&result, 1, a, options->directory, &report_error) != STATUS_OK) {
			int report_code = command_fail(&report_error);

			code = code == EXIT_ACCEPTED ? report_code : code;
		}
		if (status != STATUS_OK)
			fprintf(stderr,
				"gpuproof: finished cases are kept; go on with: "
				"gpuproof run --resume %s\n",
				options->directory);
	}
	launches_release(&launches);
	result_release(&result);
	return code;
}

/* Two configs or builds in turns. */
static int measure_against(struct run_arguments *a, const struct run_setup *setup,
			   const struct conduct_options *options)
{
	const struct against against = { .other = a->against,
					 .source = a->source,
					 .overrides = a->overrides,
					 .override_count = a->override_count,
					 .launches = launches_of(&setup->plan) };
	struct error err = ERROR_NONE, report_error = ERROR_NONE;
	struct result results[2];
	enum status status = run_against(&against, &setup->plan, &setup->probe, options,
					 &results[0], &results[1], &err);
	int code;

	if (status != STATUS_OK) {
		code = err.message[0] ? finish(&results[0], status, *options->stopped_by, &err)
				      : EXIT_USAGE;
	} else {
		code = graver(run_exit_code(&results[0]), run_exit_code(&results[1]));
		print_compared(&results[0], &results[1]);
		if (publish(results, 2, a, options->directory, &report_error) != STATUS_OK)
			code = code == EXIT_ACCEPTED ? command_fail(&report_error) : code;
	}
	result_release(&results[0]);
	result_release(&results[1]);
	return code;
}

static int carry_out(struct run_arguments *a, const struct run_setup *setup, const char *command)
{
	char *directory = a->directory ? xstrdup(a->directory) : new_directory(setup->config.name);
	int stopped_by = 0, code;
	const struct conduct_options options = { .directory = directory,
						 .resume = a->resume,
						 .quiet = a->quiet,
						 .command = command,
						 .stopped_by = &stopped_by };

	/* The exit code must tell how the run went, whoever still reads. */
	signal(SIGPIPE, SIG_IGN);
	if (!a->quiet)
		announce(&setup->plan, directory);
	code = a->against ? measure_against(a, setup, &options) : measure(a, setup, &options);
	free(directory);
	return code;
}

static int run_config(struct run_arguments *a, const char *command)
{
	struct error err = ERROR_NONE;
	struct run_setup setup;
	enum status status = a->resume ? run_setup_resume(&setup, a->directory, &err)
				       : run_setup_load(&setup, a->source, a->overrides,
							a->override_count, &err);
	int code = EXIT_ACCEPTED;

	if (status != STATUS_OK)
		code = err.message[0] ? command_fail(&err) : EXIT_USAGE;
	else if (a->check.wanted && run_check_prepare(&a->check, &setup.plan) != STATUS_OK)
		code = EXIT_USAGE;
	else if (a->dry_run)
		run_print_plan(&setup.plan);
	else
		code = carry_out(a, &setup, command);
	run_setup_release(&setup);
	return code;
}

static int run_run(int argc, char **argv)
{
	struct run_arguments arguments = { 0 };
	int code = parse_arguments(&arguments, argc, argv);

	if (code == EXIT_ACCEPTED) {
		char *command = command_line(argc, argv);

		code = run_config(&arguments, command);
		free(command);
	}
	arguments_release(&arguments);
	return code;
}

const struct command command_run = {
	.name = "run",
	.summary = "measure what a config asks for, and report it",
	.usage =
		"run CONFIG [OPTIONS]       CONFIG: a file, or an embedded config such as quick\n"
		"       gpuproof run --resume DIR           continue a run that was interrupted\n\n"
		"  -o, --output DIR         where the results go (else gpuproof-results/...)\n"
		"      --dry-run            print the cases, their memory and time; run nothing\n"
		"      --backend NAME       as [run] backend: auto, cuda, host\n"
		"      --devices LIST       as [run] devices: all, or 0,1 or cuda:0,cuda:1\n"
		"      --set SECTION.KEY=VALUE   overrides the config; repeatable\n"
		"      --launches N         as [run] launches: everything N times, by new "
		"processes\n"
		"      --check              judge afterwards, by the config's limits or the GPU "
		"model's;\n"
		"                           what is inconclusive is measured again, once\n"
		"      --limits FILE, --baseline RESULT, --strict   with --check, as in gpuproof "
		"check\n"
		"      --against OTHER      a config, or the path of another gpuproof: both in "
		"turns into\n"
		"                           DIR/a and DIR/b, compared\n"
		"      --seed N             as [run] seed\n"
		"      --label TEXT         as [run] label\n"
		"  -q, --quiet              errors and the report's path only\n"
		"      --no-report          result.json only",
	.run = run_run,
};
