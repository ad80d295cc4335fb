/* gpuproof run: reads options and config; runs on one node (run_one_node.h) or several. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/nodes/run_dry.h"
#include "cli/run/nodes/run_fleet.h"
#include "cli/run/run_one_node.h"
#include "cli/words.h"

extern const struct command command_run;

struct run_arguments {
	struct run_request request;
	const char *output, *resume; /* directories as given; NULL: option not given */
	const char *node_name;       /* NULL: from the environment, or the host name */
	bool dry_run;
	struct run_places places;
	char **owned; /* texts of overrides allocated here */
	size_t owned_count;
};

static void run_add_override(struct run_arguments *a, char *text)
{
	a->owned[a->owned_count++] = text;
	a->request.overrides[a->request.override_count++].text = text;
}

static enum status run_take_override(void *arguments, const char *name, const char *value,
				     struct error *err)
{
	(void)name;
	run_add_override(arguments, xstrdup(value));
	return err->status;
}

/* Sets the key of [run] with the same name. */
static enum status take_run_key(void *arguments, const char *name, const char *value,
				struct error *err)
{
	run_add_override(arguments, xasprintf("run.%s=%s", name, value));
	return err->status;
}

/* Each --only adds a name to the override of [run] only. */
static enum status run_take_only(void *arguments, const char *name, const char *value,
				 struct error *err)
{
	struct run_arguments *a = arguments;

	if (!*value || strpbrk(value, " \t"))
		return error_set(err, STATUS_USAGE, "--%s: invalid case '%.60s'", name, value);
	for (size_t i = 0; i < a->request.override_count; i++)
		if (text_starts_with(a->request.overrides[i].text, "run.only=")) {
			a->owned[a->owned_count] =
				xasprintf("%s %s", a->request.overrides[i].text, value);
			a->request.overrides[i].text = a->owned[a->owned_count++];
			return STATUS_OK;
		}
	run_add_override(a, xasprintf("run.only=%s", value));
	return err->status;
}

#define LONG_SOAK 3600.0 /* s; beyond, slices of a minute would make the result large */

/* The keys of [suite burn] that a soak of that time has. */
static enum status run_take_soak(void *arguments, const char *name, const char *value,
				 struct error *err)
{
	double seconds;

	if (units_parse_duration(value, &seconds, err) != STATUS_OK)
		return error_prefix(err, "--%s", name);
	run_add_override(arguments, xasprintf("suite burn.duration=%s", value));
	run_add_override(arguments, xstrdup("suite burn.memory_most=1TiB"));
	if (seconds > LONG_SOAK)
		run_add_override(arguments, xstrdup("suite burn.slice=10min"));
	return STATUS_OK;
}

#define RUN_KEY(key) .name = key, .type = OPTION_CALL, .take = take_run_key

static const struct option_row rows[] = {
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(run_arguments, output),
	  .value = "DIR",
	  .help = "directory for the results (default: gpuproof-results/...)" },
	{ .name = "resume",
	  TEXT_AT(run_arguments, resume),
	  .value = "DIR",
	  .help = "continue the interrupted run in DIR" },
	{ .name = "dry-run",
	  FLAG_AT(run_arguments, dry_run),
	  .help = "print the cases with their memory and time; run nothing" },
	{ RUN_KEY("backend"), .value = "NAME", .words = words_backends,
	  .help = "auto, cuda, host, cuda13 or cuda11; same as [run] backend" },
	{ RUN_KEY("devices"), .value = "LIST",
	  .help = "all, or 0,1 or cuda:0,cuda:1; same as [run] devices" },
	{ RUN_KEY("suites"), .value = "LIST", .words = words_suites,
	  .help = "run only these suites of the config; same as [run] suites" },
	{ .name = "only",
	  .type = OPTION_CALL,
	  .take = run_take_only,
	  .value = "CASE",
	  .help = "run only this case, by its id from --dry-run; repeatable: transfer/h2d, "
		  "'matmul/*/fp16*'" },
	{ .name = "set",
	  .type = OPTION_CALL,
	  .take = run_take_override,
	  .value = "SECTION.KEY=VALUE",
	  .words = words_settings,
	  .help = "override a key; repeatable: run.seed=2, transfer.sizes=4KiB, 'suite transfer "
		  "cpu.sizes=4KiB' for the section labelled cpu" },
	{ RUN_KEY("launches"), .value = "N",
	  .help = "measure everything N times, in new processes; auto: as often as the variation "
		  "of each case requires; same as [run] launches" },
	{ .name = "check",
	  FLAG_AT(run_arguments, request.check.wanted),
	  .help = "check against the limits of the config, or else of the GPU model; repeat cases "
		  "that fail, are inconclusive or warn of an outlier" },
	{ .name = "soak",
	  .type = OPTION_CALL,
	  .take = run_take_soak,
	  .value = "TIME",
	  .help = "duration of the soak ([suite burn]), such as 2min, 24h or 72h; --resume "
		  "continues "
		  "an interrupted one" },
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
	  .help = "alternate with another config or gpuproof program and compare; results in DIR/a "
		  "and DIR/b" },
	{ .name = "events",
	  TEXT_AT(run_arguments, request.events),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "write events as JSON lines (OCP Test & Validation 2.0) while the run proceeds, "
		  "with several nodes at the end; see export ocp" },
	{ RUN_KEY("seed"), .value = "N", .help = "seed of the test data; same as [run] seed" },
	{ RUN_KEY("label"), .value = "TEXT",
	  .help = "name of the run in the report; same as [run] label" },
	{ RUN_KEY("tags"), .value = "TEXT",
	  .help = "words by which to select nights, like [run] tags" },
	{ .name = "simulate-nodes",
	  COUNT_AT(run_arguments, places.simulated),
	  .value = "N",
	  .help = "simulate N nodes on this machine; its GPUs are distributed. With fewer GPUs "
		  "than nodes, nodes share a GPU, and its figures describe no real node" },
	{ .name = "hosts",
	  TEXT_AT(run_arguments, places.hosts),
	  .value = "FILE",
	  .file = OPTION_FILE_READ,
	  .help = "run on several nodes through mpirun; one host per line" },
	{ .name = "launch",
	  TEXT_AT(run_arguments, places.launch),
	  .value = "COMMAND",
	  .help = "run on several nodes: COMMAND must start its arguments once per node, like "
		  "'srun -N4 --no-kill --container-image=IMAGE'" },
	{ .name = "node-name",
	  TEXT_AT(run_arguments, node_name),
	  .value = "NAME",
	  .help = "name of this node in results and in the history if the host name is that of "
		  "a container (default: $GPUPROOF_NODE, else the host name)" },
	{ .name = "quiet",
	  FLAG_AT(run_arguments, request.quiet),
	  .letter = 'q',
	  .help = "print only errors and the path of the report" },
	{ .name = "no-report",
	  FLAG_AT(run_arguments, request.no_report),
	  .help = "write result.json, but no report" },
	{ 0 },
};

/*
 * Removes trailing slashes. An empty name, from an unset variable, would become the root directory.
 */
static int run_take_directory(struct run_arguments *a)
{
	const char *given = a->resume ? a->resume : a->output;
	size_t length = given ? strlen(given) : 0;
	struct error err = ERROR_NONE;

	a->request.resume = a->resume != NULL;
	if (!given)
		return EXIT_ACCEPTED;
	if (length == 0) {
		error_set(&err, STATUS_USAGE, "--%s: empty directory name",
			  a->resume ? "resume" : "output");
		return command_fail(&err);
	}
	while (length > 1 && given[length - 1] == '/')
		length--;
	a->request.directory = a->owned[a->owned_count++] = xstrndup(given, length);
	return EXIT_ACCEPTED;
}

static bool is_node_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= 200 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") ==
		       length;
}

/* Rejects options that exclude each other. */
static int run_refuse_arguments(const struct run_arguments *a, const struct options *o)
{
	const struct run_request *r = &a->request;

	if (o->operand_count > 1)
		return command_usage(&command_run, "unexpected argument '%s'; run takes one CONFIG",
				     o->operands[1]);
	if (r->resume && (r->source || r->override_count || a->output || a->dry_run))
		return command_usage(&command_run, "--resume takes config and directory from the "
						   "run; omit CONFIG and --output");
	if (run_places_conflict(&a->places))
		return command_usage(&command_run, RUN_PLACES_CONFLICT);
	if (r->resume && (a->places.simulated || a->places.hosts))
		return command_usage(&command_run, "--resume uses the nodes of the run; omit "
						   "--simulate-nodes, --hosts and --launch");
	if (!r->check.wanted &&
	    (r->check.strict || r->check.limits_source || r->check.baseline.count))
		return command_usage(&command_run,
				     "--limits, --baseline and --strict need --check");
	if (r->against && (r->check.wanted || r->resume || r->events))
		return command_usage(&command_run, "--against cannot be combined with --check, "
						   "--resume or --events");
	if (r->events && (!*r->events || strcmp(r->events, "-") == 0))
		return command_usage(&command_run, "--events needs a file, because results and "
						   "verdicts go to standard output");
	if (a->node_name && (a->places.simulated || a->places.hosts))
		return command_usage(&command_run,
				     "--node-name names one node; set GPUPROOF_NODE on "
				     "each of several");
	if (a->node_name && !is_node_name(a->node_name))
		return command_usage(&command_run,
				     "--node-name '%.60s': use letters, digits, '.', "
				     "'_', ':' and '-', 200 at most",
				     a->node_name);
	if (!r->resume && !r->source)
		return command_usage(&command_run, "no CONFIG given; name a file or a shipped "
						   "config such as quick");
	return EXIT_ACCEPTED;
}

static int run_parse_arguments(struct run_arguments *a, int argc, char **argv)
{
	struct options o;
	int code;

	/* An option may override three keys. */
	a->request.overrides = xcalloc(3 * (size_t)argc, sizeof(*a->request.overrides));
	a->owned = xcalloc(3 * (size_t)argc, sizeof(*a->owned));
	code = options_parse(&o, &command_run, argc, argv, a);
	a->request.source = o.operand_count ? o.operands[0] : NULL;
	if (code == EXIT_ACCEPTED)
		code = run_take_directory(a);
	if (code == EXIT_ACCEPTED)
		code = run_refuse_arguments(a, &o);
	/* A resumed run knows its nodes. */
	if (code == EXIT_ACCEPTED && !a->resume)
		run_places_override(&a->places, run_take_override, a);
	options_end(&o);
	return code;
}

/* The command line in a form that can be pasted into a shell. */
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

/* In a multi-node run each node plans its own cases; a dry run shows the cases of this one. */
static int run_prepare(struct run_arguments *a, struct run_setup *setup, bool *nodes)
{
	struct run_request *r = &a->request;
	struct error err = ERROR_NONE;

	if (run_setup_config(setup, r->source, r->overrides, r->override_count,
			     r->resume ? r->directory : NULL, &err) != STATUS_OK)
		return err.message[0] ? command_fail(&err) : EXIT_USAGE;
	*nodes = config_section(&setup->config, "fleet", "") && !a->dry_run;
	if (*nodes && r->against)
		return command_usage(&command_run, "--against works on one node only");
	if (*nodes)
		return EXIT_ACCEPTED;
	if (run_setup_plan(setup, &err) != STATUS_OK ||
	    (r->check.wanted && run_setup_refuse_cpu(setup, &err) != STATUS_OK))
		return command_fail(&err);
	if (r->check.wanted && run_check_prepare(&r->check, &setup->plan) != STATUS_OK)
		return EXIT_USAGE;
	return EXIT_ACCEPTED;
}

static int run_run(int argc, char **argv)
{
	struct run_arguments a = { 0 };
	struct run_setup setup = { 0 };
	bool nodes = false;
	int code = run_parse_arguments(&a, argc, argv);
	char *command = command_line(argc, argv), *made = NULL;

	if (code == EXIT_ACCEPTED && run_is_copied())
		code = EXIT_USAGE;
	/* Workers and the programs of --against read it from there. */
	if (code == EXIT_ACCEPTED && a.node_name)
		setenv("GPUPROOF_NODE", a.node_name, 1);
	if (code == EXIT_ACCEPTED)
		code = run_prepare(&a, &setup, &nodes);
	if (code == EXIT_ACCEPTED && a.dry_run) {
		run_print_plan(&setup.plan);
		run_print_nodes(&setup.plan, a.places.launch);
	} else if (code == EXIT_ACCEPTED) {
		if (!a.request.directory)
			a.request.directory = made = run_new_directory(setup.config.name);
		a.request.command = command;
		code = nodes ? run_fleet(&a.request, &setup.config, a.places.launch)
			     : run_one_node(&a.request, &setup);
	}
	run_setup_release(&setup);
	free(made);
	free(command);
	run_check_release(&a.request.check);
	for (size_t i = 0; i < a.owned_count; i++)
		free(a.owned[i]);
	free(a.owned);
	free(a.request.overrides);
	return code;
}

const struct command command_run = {
	.name = "run",
	.summary = "run the benchmarks of a config and write the report",
	.forms = { "run CONFIG [OPTIONS]       CONFIG: a file or a shipped config such as quick",
		   "run --resume DIR [--check ...]   continue an interrupted run" },
	.options = rows,
	.notes = "Results, verdicts and, last, the path of the report go to standard output. "
		 "Everything else goes to standard error. Ctrl-C stops the run after the current "
		 "sample and writes the report; a second Ctrl-C stops at once.\n\nExit code: 0 "
		 "done, 4 incomplete, 5 a wrong result; with --check the verdict decides. More: "
		 "gpuproof help results, gpuproof help exit-codes",
	.words = words_configs,
	.run = run_run,
};
