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
#include "cli/run_plan.h"
#include "cli/run_summary.h"
#include "measure/conductor.h"
#include "report/report.h"

extern const struct command command_run;

static const struct option_row rows[] = {
	{ 'o', "output", true },   { 0, "resume", true },  { 0, "dry-run", false },
	{ 0, "backend", true },    { 0, "devices", true }, { 0, "set", true },
	{ 0, "seed", true },       { 0, "label", true },   { 'q', "quiet", false },
	{ 0, "no-report", false }, { 0, NULL, false },
};

struct run_arguments {
	const char *source;    /* the config; NULL with --resume */
	const char *directory; /* NULL: a new one in gpuproof-results/ */
	bool resume, dry_run, quiet, no_report;
	struct override *overrides;
	char **owned; /* texts of overrides made here */
	size_t override_count, owned_count;
};

static void arguments_release(struct run_arguments *a)
{
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
	} else {
		/* backend, devices, seed, label: keys of [run] under the same names */
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

static int load_config(struct config *config, const struct run_arguments *a)
{
	struct text errors = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct result header = { 0 };
	enum status status;
	int code = EXIT_ACCEPTED;

	if (!a->resume) {
		status = config_load(config, a->source, a->overrides, a->override_count, &errors);
	} else {
		if (conduct_resume_header(a->directory, &header, &err) != STATUS_OK)
			return command_fail(&err);
		status = config_parse(config, header.config_name, header.config_text,
				      strlen(header.config_text), NULL, 0, &errors);
		result_release(&header);
	}
	if (status != STATUS_OK) {
		fputs(errors.data, stderr);
		code = EXIT_USAGE;
	}
	text_release(&errors);
	return code;
}

/* Why there is nothing to run on, as far as the backends told. */
static enum status no_devices(const struct probe *probe, struct error *err)
{
	struct text why = TEXT_EMPTY;

	for (size_t i = 0; i < probe->finding_count; i++)
		text_addf(&why, "\n  %s: %s", probe->findings[i].subject, probe->findings[i].text);
	error_set(err, STATUS_UNSUPPORTED, "there is no device to run on%s",
		  why.length ? why.data : "");
	text_release(&why);
	return err->status;
}

static enum status make_plan(struct plan *plan, const struct config *config,
			     const struct probe *probe, struct error *err)
{
	struct device_info *devices = NULL;
	size_t count = 0;
	enum status status;

	if (probe->device_count == 0)
		return no_devices(probe, err);
	status = plan_select_devices(config, probe->devices, probe->device_count, &devices, &count,
				     err);
	if (status == STATUS_OK)
		status = plan_build(plan, config, devices, count, err);
	if (status == STATUS_OK && plan->case_count == 0)
		status = error_set(err, STATUS_USAGE, "%s: no case to run", config->name);
	free(devices);
	return status;
}

/* Writes the report; prints its path, the last line of stdout. */
static enum status publish(const struct result *result, const struct run_arguments *a,
			   const char *directory, struct error *err)
{
	char *path = xasprintf("%s/report.html", directory);
	struct report_options options = { .output = path, .separate_css = true };
	enum status status = STATUS_OK;

	if (!a->quiet)
		run_print_summary(result);
	if (a->no_report) {
		printf("%s/result.json\n", directory);
	} else {
		status = report_write(result, 1, &options, err);
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

static void announce(const struct plan *plan, const char *directory)
{
	double seconds = 0;
	char time[32];

	for (size_t i = 0; i < plan->case_count; i++)
		seconds += plan->cases[i].skip_reason ? 0 : plan->cases[i].estimate_seconds;
	fprintf(stderr, "gpuproof: %zu cases on %zu device%s, about %s, into %s\n",
		plan->case_count, plan->device_count, plan->device_count == 1 ? "" : "s",
		units_format(seconds, "s", time, sizeof(time)), directory);
}

static int carry_out(const struct plan *plan, const struct probe *probe,
		     const struct run_arguments *a, const char *command)
{
	struct error err = ERROR_NONE, report_error = ERROR_NONE;
	char *directory = a->directory ? xstrdup(a->directory) : new_directory(plan->config->name);
	int stopped_by = 0, code;
	struct conduct_options options = { .directory = directory,
					   .resume = a->resume,
					   .quiet = a->quiet,
					   .command = command,
					   .stopped_by = &stopped_by };
	struct result result;
	enum status status;

	/* The exit code must tell how the run went, whoever still reads. */
	signal(SIGPIPE, SIG_IGN);
	if (!a->quiet)
		announce(plan, directory);
	status = conduct(plan, probe, &options, &result, &err);
	code = finish(&result, status, stopped_by, &err);
	if (result.gpuproof_version) { /* else nothing was begun: there is nothing to show */
		if (publish(&result, a, directory, &report_error) != STATUS_OK) {
			int report_code = command_fail(&report_error);

			code = code == EXIT_ACCEPTED ? report_code : code;
		}
		if (status != STATUS_OK)
			fprintf(stderr,
				"gpuproof: finished cases are kept; go on with: "
				"gpuproof run --resume %s\n",
				directory);
	}
	result_release(&result);
	free(directory);
	return code;
}

static int run_config(const struct run_arguments *a, const char *command)
{
	struct error err = ERROR_NONE;
	struct config config = { 0 };
	struct probe probe = { 0 };
	struct plan plan = { 0 };
	int code = load_config(&config, a);

	if (code != EXIT_ACCEPTED)
		return code;
	if (probe_devices(&probe, &config, &err) != STATUS_OK ||
	    make_plan(&plan, &config, &probe, &err) != STATUS_OK)
		code = command_fail(&err);
	else if (a->dry_run)
		run_print_plan(&plan);
	else
		code = carry_out(&plan, &probe, a, command);
	plan_release(&plan);
	probe_release(&probe);
	config_release(&config);
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
		"      --seed N             as [run] seed\n"
		"      --label TEXT         as [run] label\n"
		"  -q, --quiet              errors and the report's path only\n"
		"      --no-report          result.json only",
	.run = run_run,
};
