/* gpuproof run: config -> probe -> plan -> conductor -> result and report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/run_carry_out.h"
#include "cli/run/run_plan.h"

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
	struct run_request request;
	bool dry_run;
	char **owned; /* texts of overrides made here */
	size_t owned_count;
	struct error err; /* of an option */
};

static void arguments_release(struct run_arguments *a)
{
	run_check_release(&a->request.check);
	for (size_t i = 0; i < a->owned_count; i++)
		free(a->owned[i]);
	free(a->owned);
	free(a->request.overrides);
}

static void add_override(struct run_arguments *a, char *text)
{
	a->owned[a->owned_count++] = text;
	a->request.overrides[a->request.override_count++].text = text;
}

/* Without slashes at its end. An empty one, of a variable that is not set, would be the root of all files. */
static const char *directory_of(struct run_arguments *a, const char *name, const char *value)
{
	size_t length = strlen(value);

	if (length == 0)
		error_set(&a->err, STATUS_USAGE, "--%s: the directory's name is empty", name);
	while (length > 1 && value[length - 1] == '/')
		length--;
	return a->owned[a->owned_count++] = xstrndup(value, length);
}

static void take_option(struct run_arguments *a, const char *name, const char *value)
{
	if (strcmp(name, "output") == 0) {
		a->request.directory = directory_of(a, name, value);
	} else if (strcmp(name, "resume") == 0) {
		a->request.directory = directory_of(a, name, value);
		a->request.resume = true;
	} else if (strcmp(name, "dry-run") == 0) {
		a->dry_run = true;
	} else if (strcmp(name, "quiet") == 0) {
		a->request.quiet = true;
	} else if (strcmp(name, "no-report") == 0) {
		a->request.no_report = true;
	} else if (strcmp(name, "set") == 0) {
		add_override(a, xstrdup(value));
	} else if (strcmp(name, "check") == 0) {
		a->request.check.wanted = true;
	} else if (strcmp(name, "strict") == 0) {
		a->request.check.strict = true;
	} else if (strcmp(name, "limits") == 0) {
		a->request.check.limits_source = value;
	} else if (strcmp(name, "baseline") == 0) {
		result_list_add_launch(&a->request.check.baseline, value, &a->err);
	} else if (strcmp(name, "against") == 0) {
		a->request.against = value;
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

	a->request.overrides = xcalloc((size_t)argc, sizeof(*a->request.overrides));
	a->owned = xcalloc((size_t)argc, sizeof(*a->owned));
	while ((row = options_next(&o))) {
		output = output || row->letter == 'o';
		take_option(a, row->name, o.value);
	}
	a->request.source = o.operand_count ? o.operands[0] : NULL;
	if (o.failed)
		code = EXIT_USAGE;
	else if (o.operand_count > 1)
		code = command_usage(&command_run, "one CONFIG at a time, not '%s' as well",
				     o.operands[1]);
	else if (a->request.resume &&
		 (a->request.source || a->request.override_count || output || a->dry_run))
		code = command_usage(
			&command_run,
			"--resume goes on with the config and the directory of the run");
	else if (a->err.status != STATUS_OK)
		code = command_fail(&a->err);
	else if (!a->request.check.wanted &&
		 (a->request.check.strict || a->request.check.limits_source ||
		  a->request.check.baseline.count))
		code = command_usage(&command_run,
				     "--limits, --baseline and --strict go with --check");
	else if (a->request.against && (a->request.check.wanted || a->request.resume))
		code = command_usage(
			&command_run,
			"--against compares: neither --check nor --resume goes with it");
	else if (!a->request.resume && !a->request.source)
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
		text_add_char(&line, ' ');
		text_add_shell_word(&line, argv[i]);
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

static int carry_out(struct run_arguments *a, const struct run_setup *setup, const char *command)
{
	char *directory = a->request.directory ? xstrdup(a->request.directory)
					       : new_directory(setup->config.name);
	int code;

	a->request.directory = directory;
	a->request.command = command;
	code = run_carry_out(&a->request, setup);
	a->request.directory = NULL;
	free(directory);
	return code;
}

static int run_config(struct run_arguments *a, const char *command)
{
	struct error err = ERROR_NONE;
	struct run_setup setup;
	enum status status =
		a->request.resume ? run_setup_resume(&setup, a->request.directory, &err)
				  : run_setup_load(&setup, a->request.source, a->request.overrides,
						   a->request.override_count, &err);
	int code = EXIT_ACCEPTED;

	if (status != STATUS_OK)
		code = err.message[0] ? command_fail(&err) : EXIT_USAGE;
	else if (a->request.check.wanted &&
		 run_check_prepare(&a->request.check, &setup.plan) != STATUS_OK)
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
		"       gpuproof run --resume DIR [--check ...]   continue a run that was "
		"interrupted\n\n"
		"  -o, --output DIR         where the results go (else gpuproof-results/...)\n"
		"      --dry-run            print the cases, their memory and time; run nothing\n"
		"      --backend NAME       as [run] backend: auto, cuda, host, cuda13, cuda11\n"
		"      --devices LIST       as [run] devices: all, or 0,1 or cuda:0,cuda:1\n"
		"      --set SECTION.KEY=VALUE   overrides the config; repeatable: run.seed=2, "
		"transfer.sizes=4KiB,\n"
		"                           'suite transfer cpu.sizes=4KiB' for the one labelled "
		"cpu\n"
		"      --launches N         as [run] launches: everything N times, by new "
		"processes\n"
		"      --check              judge afterwards, by the config's limits or the GPU "
		"model's;\n"
		"                           what fails or is inconclusive is measured again\n"
		"      --limits FILE, --baseline RESULT, --strict   with --check, as in gpuproof "
		"check\n"
		"      --against OTHER      a config, or the path of another gpuproof: both in "
		"turns into\n"
		"                           DIR/a and DIR/b, compared\n"
		"      --seed N             as [run] seed\n"
		"      --label TEXT         as [run] label\n"
		"  -q, --quiet              errors and the report's path only\n"
		"      --no-report          result.json only\n\n"
		"The report's path is the last line on standard output, all else than results and "
		"verdicts goes\n"
		"to standard error. Ctrl-C ends the run after the sample in flight, and writes the "
		"report; a\n"
		"second one ends it at once. Exit code: 0 done, 4 incomplete, 5 a wrong result; "
		"with "
		"--check the\n"
		"verdict's. More: gpuproof help results, gpuproof help exit-codes",
	.run = run_run,
};
