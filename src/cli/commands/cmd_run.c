/* gpuproof run: config -> probe -> plan -> conductor -> result and report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/run_carry_out.h"
#include "cli/run/nodes/run_fleet.h"
#include "cli/run/nodes/run_nodes_plan.h"
#include "cli/run/run_plan.h"
#include "cli/words.h"

extern const struct command command_run;

struct run_arguments {
	struct run_request request;
	const char *output, *resume; /* directories as given; NULL: not given */
	bool dry_run;
	struct run_places places;
	char **owned; /* texts of overrides made here */
	size_t owned_count;
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

static enum status take_override(void *arguments, const char *name, const char *value,
				 struct error *err)
{
	(void)name;
	add_override(arguments, xstrdup(value));
	return err->status;
}

/* A key of [run] under the same name. */
static enum status take_run_key(void *arguments, const char *name, const char *value,
				struct error *err)
{
	add_override(arguments, xasprintf("run.%s=%s", name, value));
	return err->status;
}

/* Each --only adds a name to [run] only, whose override is the first of them. */
static enum status take_only(void *arguments, const char *name, const char *value,
			     struct error *err)
{
	struct run_arguments *a = arguments;

	if (!*value || strpbrk(value, " \t"))
		return error_set(err, STATUS_USAGE, "--%s: '%.60s' is no case's name", name, value);
	for (size_t i = 0; i < a->request.override_count; i++)
		if (text_starts_with(a->request.overrides[i].text, "run.only=")) {
			a->owned[a->owned_count] =
				xasprintf("%s %s", a->request.overrides[i].text, value);
			a->request.overrides[i].text = a->owned[a->owned_count++];
			return STATUS_OK;
		}
	add_override(a, xasprintf("run.only=%s", value));
	return err->status;
}

#define RUN_KEY(key) .name = key, .type = OPTION_CALL, .take = take_run_key

static const struct option_row rows[] = {
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(run_arguments, output),
	  .value = "DIR",
	  .help = "where the results go (else gpuproof-results/...)" },
	{ .name = "resume",
	  TEXT_AT(run_arguments, resume),
	  .value = "DIR",
	  .help = "continue the run in DIR, which was interrupted" },
	{ .name = "dry-run",
	  FLAG_AT(run_arguments, dry_run),
	  .help = "print the cases, their memory and time; run nothing" },
	{ RUN_KEY("backend"), .value = "NAME", .words = words_backends,
	  .help = "as [run] backend: auto, cuda, host, cuda13, cuda11" },
	{ RUN_KEY("devices"), .value = "LIST",
	  .help = "as [run] devices: all, or 0,1 or cuda:0,cuda:1" },
	{ RUN_KEY("suites"), .value = "LIST", .words = words_suites,
	  .help = "as [run] suites: only these of the config" },
	{ .name = "only",
	  .type = OPTION_CALL,
	  .take = take_only,
	  .value = "CASE",
	  .help = "only this case of the config, by its id as --dry-run prints it; repeatable; "
		  "transfer/h2d, 'matmul/*/fp16*'" },
	{ .name = "set",
	  .type = OPTION_CALL,
	  .take = take_override,
	  .value = "SECTION.KEY=VALUE",
	  .words = words_settings,
	  .help = "overrides the config; repeatable: run.seed=2, transfer.sizes=4KiB, 'suite "
		  "transfer cpu.sizes=4KiB' for the one labelled cpu" },
	{ RUN_KEY("launches"), .value = "N",
	  .help = "as [run] launches: everything N times, by new processes; auto: as often as each "
		  "case's own scatter asks for" },
	{ .name = "check",
	  FLAG_AT(run_arguments, request.check.wanted),
	  .help = "judge afterwards, by the config's limits or the GPU model's; what fails, is "
		  "inconclusive or warns of an outlier is measured again" },
	{ .name = "limits",
	  TEXT_AT(run_arguments, request.check.limits_source),
	  .value = "FILE",
	  .file = OPTION_FILE_READ,
	  .words = words_limits,
	  .or_file = true,
	  .help = "with --check, as in gpuproof check" },
	{ .name = "baseline",
	  .type = OPTION_CALL,
	  OPTION_AT(run_arguments, request.check.baseline),
	  .take = result_list_take,
	  .value = "RESULT",
	  .help = "with --check, as in gpuproof check" },
	{ .name = "strict",
	  FLAG_AT(run_arguments, request.check.strict),
	  .help = "with --check, as in gpuproof check" },
	{ .name = "against",
	  TEXT_AT(run_arguments, request.against),
	  .value = "OTHER",
	  .help = "a config, or the path of another gpuproof: both in turns into DIR/a and DIR/b, "
		  "compared" },
	{ .name = "events",
	  TEXT_AT(run_arguments, request.events),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "what happens, as it happens, in lines of JSON (Open Compute Test & Validation "
		  "2.0), of several nodes at the end; see export ocp" },
	{ RUN_KEY("seed"), .value = "N", .help = "as [run] seed" },
	{ RUN_KEY("label"), .value = "TEXT", .help = "as [run] label" },
	{ RUN_KEY("tags"), .value = "TEXT", .help = "as [run] tags" },
	{ .name = "simulate-nodes",
	  COUNT_AT(run_arguments, places.simulated),
	  .value = "N",
	  .help = "on several nodes, as if this machine were N of them; GPUs are shared out, and "
		  "with fewer GPUs than nodes some nodes have the same one, whose figures are then "
		  "no node's" },
	{ .name = "hosts",
	  TEXT_AT(run_arguments, places.hosts),
	  .value = "FILE",
	  .file = OPTION_FILE_READ,
	  .help = "on several nodes: one host per line, reached by mpirun" },
	{ .name = "launch",
	  TEXT_AT(run_arguments, places.launch),
	  .value = "COMMAND",
	  .help = "on several nodes: COMMAND starts what follows it once on each, as in 'srun -N4 "
		  "--no-kill --container-image=IMAGE'" },
	{ .name = "quiet",
	  FLAG_AT(run_arguments, request.quiet),
	  .letter = 'q',
	  .help = "errors and the report's path only" },
	{ .name = "no-report",
	  FLAG_AT(run_arguments, request.no_report),
	  .help = "result.json only" },
	{ 0 },
};

/*
 * Without slashes at its end. An empty one, of a variable that is not set, would be the root of all
 * files.
 */
static int take_directory(struct run_arguments *a)
{
	const char *given = a->resume ? a->resume : a->output;
	size_t length = given ? strlen(given) : 0;
	struct error err = ERROR_NONE;

	a->request.resume = a->resume != NULL;
	if (!given)
		return EXIT_ACCEPTED;
	if (length == 0) {
		error_set(&err, STATUS_USAGE, "--%s: the directory's name is empty",
			  a->resume ? "resume" : "output");
		return command_fail(&err);
	}
	while (length > 1 && given[length - 1] == '/')
		length--;
	a->request.directory = a->owned[a->owned_count++] = xstrndup(given, length);
	return EXIT_ACCEPTED;
}

/* Options that exclude each other. */
static int refuse_arguments(const struct run_arguments *a, const struct options *o)
{
	const struct run_request *r = &a->request;

	if (o->operand_count > 1)
		return command_usage(&command_run, "one CONFIG at a time, not '%s' as well",
				     o->operands[1]);
	if (r->resume && (r->source || r->override_count || a->output || a->dry_run))
		return command_usage(&command_run, "--resume continues with the config and the "
						   "directory of the run");
	if (run_places_conflict(&a->places))
		return command_usage(&command_run, RUN_PLACES_CONFLICT);
	if (r->resume && (a->places.simulated || a->places.hosts))
		return command_usage(&command_run, "--resume continues on the nodes of the run");
	if (!r->check.wanted &&
	    (r->check.strict || r->check.limits_source || r->check.baseline.count))
		return command_usage(&command_run,
				     "--limits, --baseline and --strict go with --check");
	if (r->against && (r->check.wanted || r->resume || r->events))
		return command_usage(&command_run, "--against compares: neither --check nor "
						   "--resume nor --events goes with it");
	if (r->events && (!*r->events || strcmp(r->events, "-") == 0))
		return command_usage(&command_run, "--events needs a file: standard output has "
						   "results and verdicts");
	if (!r->resume && !r->source)
		return command_usage(&command_run,
				     "which CONFIG? A file, or the name of an embedded one: quick");
	return EXIT_ACCEPTED;
}

/* A run that continues knows its nodes. */
static void override_places(struct run_arguments *a)
{
	if (!a->resume)
		run_places_override(&a->places, take_override, a);
}

static int parse_arguments(struct run_arguments *a, int argc, char **argv)
{
	struct options o;
	int code;

	/* An option may override two keys. */
	a->request.overrides = xcalloc(2 * (size_t)argc, sizeof(*a->request.overrides));
	a->owned = xcalloc(2 * (size_t)argc, sizeof(*a->owned));
	code = options_parse(&o, &command_run, argc, argv, a);
	a->request.source = o.operand_count ? o.operands[0] : NULL;
	if (code == EXIT_ACCEPTED)
		code = take_directory(a);
	if (code == EXIT_ACCEPTED)
		code = refuse_arguments(a, &o);
	if (code == EXIT_ACCEPTED)
		override_places(a);
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

/* `setup` NULL: on several nodes. */
static int carry_out(struct run_arguments *a, const struct run_setup *setup,
		     const struct config *config, const char *command)
{
	char *directory = a->request.directory ? xstrdup(a->request.directory)
					       : run_new_directory(config->name);
	int code;

	a->request.directory = directory;
	a->request.command = command;
	code = setup ? run_carry_out(&a->request, setup)
		     : run_fleet(&a->request, config, a->places.launch);
	a->request.directory = NULL;
	free(directory);
	return code;
}

/* The config alone, without devices. */
static enum status load_config(const struct run_arguments *a, struct config *config,
			       struct text *errors, struct error *err)
{
	const struct run_request *r = &a->request;
	struct result header = { 0 };
	enum status status;

	if (!r->resume)
		return config_load(config, r->source, r->overrides, r->override_count, errors);
	if (conduct_resume_header(r->directory, &header, err) != STATUS_OK)
		return err->status;
	status = config_parse_written(config, header.config_name, header.config_text,
				      strlen(header.config_text), errors);
	result_release(&header);
	return status;
}

static int run_on_nodes(struct run_arguments *a, const struct config *config, const char *command)
{
	if (a->request.against)
		return command_usage(&command_run, "--against compares on one node only");
	return carry_out(a, NULL, config, command);
}

/* True if the config is one of several nodes: *code is how the run ended. */
static bool has_nodes(struct run_arguments *a, const char *command, int *code)
{
	struct error err = ERROR_NONE;
	struct text errors = TEXT_EMPTY;
	struct config config = { 0 };
	enum status status = load_config(a, &config, &errors, &err);
	bool nodes = status == STATUS_OK && config_section(&config, "fleet", "");

	/* Errors are told by who loads it for one node; a dry run shows one node's cases. */
	nodes = nodes && !a->dry_run;
	if (nodes && errors.data)
		fputs(errors.data, stderr);
	if (nodes)
		*code = run_on_nodes(a, &config, command);
	config_release(&config);
	text_release(&errors);
	return nodes;
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
	else if (a->dry_run) {
		run_print_plan(&setup.plan);
		run_print_nodes(&setup.plan, a->places.launch);
	} else
		code = carry_out(a, &setup, &setup.config, command);
	run_setup_release(&setup);
	return code;
}

static int run_run(int argc, char **argv)
{
	struct run_arguments arguments = { 0 };
	int code = parse_arguments(&arguments, argc, argv);

	if (code == EXIT_ACCEPTED) {
		char *command = command_line(argc, argv);

		if (run_is_copied())
			code = EXIT_USAGE;
		else if (!has_nodes(&arguments, command, &code))
			code = run_config(&arguments, command);
		free(command);
	}
	arguments_release(&arguments);
	return code;
}

const struct command command_run = {
	.name = "run",
	.summary = "measure what a config asks for, and report it",
	.forms = { "run CONFIG [OPTIONS]       CONFIG: a file, or an embedded config such as quick",
		   "run --resume DIR [--check ...]   continue a run that was interrupted" },
	.options = rows,
	.notes = "The report's path is the last line on standard output, all else than results and "
		 "verdicts goes\n"
		 "to standard error. Ctrl-C ends the run after the sample in flight, and writes "
		 "the report; a\n"
		 "second one ends it at once. Exit code: 0 done, 4 incomplete, 5 a wrong result; "
		 "with --check the\n"
		 "verdict's. More: gpuproof help results, gpuproof help exit-codes",
	.words = words_configs,
	.run = run_run,
};
