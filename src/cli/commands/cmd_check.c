/* gpuproof check: results against limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/input/population_file.h"
#include "cli/input/result_limits.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/output/monitoring.h"
#include "cli/output/print_verdicts.h"
#include "judge/judge.h"
#include "report/acceptance/acceptance.h"

extern const struct command command_check;

struct check_arguments {
	const char *limits; /* NULL: the results' own, or the shipped ones */
	const char *report; /* the acceptance page; NULL: none */
	const char *output; /* the result with its judgement; NULL: not written */
	bool strict, json, all, no_script;
	enum monitoring as; /* whose exit code and line; none: gpuproof's own */
	struct result_list results, baseline;
	struct population population;
};

static enum status take_monitoring(void *arguments, const char *name, const char *value,
				   struct error *err)
{
	struct check_arguments *a = arguments;

	if (monitoring_named(value, &a->as))
		return STATUS_OK;
	return error_set(err, STATUS_USAGE, "--%s %.60s: there are nagios and npd", name, value);
}

static void words_monitoring(struct text *out)
{
	text_add(out, "nagios npd");
}

static const struct option_row rows[] = {
	LIMITS_OPTION(check_arguments, limits),
	{ .name = "baseline",
	  .type = OPTION_CALL,
	  OPTION_AT(check_arguments, baseline),
	  .take = result_list_take,
	  .value = "RESULT",
	  .help = "what `* baseline` refers to; repeatable: launches of it" },
	{ .name = "strict",
	  FLAG_AT(check_arguments, strict),
	  .help = "warnings and allowed skips are not accepted" },
	{ .name = "all",
	  .letter = 'a',
	  FLAG_AT(check_arguments, all),
	  .help = "also print the checks that passed" },
	{ .name = "report",
	  TEXT_AT(check_arguments, report),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "also write the acceptance page: answer, verdicts by device, limits" },
	{ .name = "no-script",
	  FLAG_AT(check_arguments, no_script),
	  .help = "with --report: leave out the script that sorts, searches and copies tables" },
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(check_arguments, output),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "also write the result with this judgement: exports and pages show it" },
	{ .name = "json",
	  FLAG_AT(check_arguments, json),
	  .help = "verdicts as JSON on standard output" },
	{ .name = "as",
	  .type = OPTION_CALL,
	  .take = take_monitoring,
	  .value = "PROGRAM",
	  .words = words_monitoring,
	  .help = "one line and the exit code for nagios or npd (Kubernetes' "
		  "node-problem-detector)" },
	{ 0 },
};

static int parse_arguments(struct check_arguments *a, int argc, char **argv)
{
	struct error err = ERROR_NONE;
	struct options o;
	int code = options_parse(&o, &command_check, argc, argv, a);

	for (int i = 0; i < o.operand_count && code == EXIT_ACCEPTED; i++)
		if (result_list_add_launch(&a->results, o.operands[i], &err) != STATUS_OK)
			code = command_fail(&err);
	if (code == EXIT_ACCEPTED && a->as && (a->json || a->all))
		code = command_usage(&command_check,
				     "--as prints one line: neither --json nor --all goes with it");
	if (code == EXIT_ACCEPTED && !a->results.count)
		code = command_usage(&command_check, "which RESULT?");
	options_end(&o);
	return code;
}

/*
 * With several machines, a check that did not pass and names no device is printed with its file:
 * "node7/result.json: ..."; so do the devices, which have the same ids on each.
 */
static void name_machine(const char *path, struct verdicts *verdicts, size_t from,
			 size_t from_device)
{
	for (size_t i = from_device; i < verdicts->device_count; i++) {
		struct device_judgement *d = &verdicts->devices[i];
		char *named = xasprintf("%s %s", path, d->device);

		free(d->device);
		d->device = named;
	}
	for (size_t i = from; i < verdicts->count; i++) {
		struct verdict_check *check = &verdicts->checks[i];
		char *reason;

		if (*check->uuid || check->verdict == VERDICT_PASS)
			continue;
		reason = xasprintf("%s%s%s", path, *check->reason ? ": " : "", check->reason);
		free(check->reason);
		check->reason = reason;
	}
}

/* Puts the results of each machine next to each other, in the order of the command line. */
static void sort_by_machine(struct result_list *list)
{
	for (size_t i = 1; i < list->count; i++) {
		size_t to = i;
		struct result moved = list->items[i];
		char *path = list->paths[i];

		for (size_t j = 0; j < i; j++)
			if (judge_same_machine(&list->items[j], &moved))
				to = j + 1;
		memmove(&list->items[to + 1], &list->items[to], (i - to) * sizeof(moved));
		memmove(&list->paths[to + 1], &list->paths[to], (i - to) * sizeof(path));
		list->items[to] = moved;
		list->paths[to] = path;
	}
}

/*
 * Judges the launches of one machine, which are results[first] and those that follow from the same
 * one.
 */
static enum status judge_machine(struct check_arguments *a, size_t first, size_t count,
				 struct verdicts *verdicts)
{
	struct judge_input input = { .results = &a->results.items[first],
				     .count = count,
				     .baseline = a->baseline.items,
				     .baseline_count = a->baseline.count,
				     .population = &a->population };
	size_t before = verdicts->count, devices_before = verdicts->device_count;
	struct limits limits;

	if (result_limits(a->limits, input.results, true, &limits) != STATUS_OK)
		return STATUS_USAGE;
	input.limits = &limits;
	judge(&input, verdicts);
	if (count < a->results.count)
		name_machine(a->results.paths[first], verdicts, before, devices_before);
	limits_release(&limits);
	return STATUS_OK;
}

/* Two answers about one result: the reader must know which is which. */
static void say_anew(const struct check_arguments *a, const struct verdicts *stored,
		     const struct verdicts *now)
{
	if (stored && !a->json && !a->as)
		fprintf(stderr,
			"gpuproof: judged anew by %s; the result holds a judgement by %s: %s\n",
			now->limits, stored->limits, stored->sentence);
}

static enum status judge_all(struct check_arguments *a)
{
	struct verdicts verdicts = { .strict = a->strict };
	enum status status = STATUS_OK;

	sort_by_machine(&a->results);
	for (size_t first = 0, next; first < a->results.count && status == STATUS_OK;
	     first = next) {
		for (next = first + 1; next < a->results.count; next++)
			if (!judge_same_machine(&a->results.items[first], &a->results.items[next]))
				break;
		status = judge_machine(a, first, next - first, &verdicts);
	}
	if (status == STATUS_OK) {
		verdicts_finish(&verdicts);
		say_anew(a, a->results.items[0].judgement, &verdicts);
		result_judge(&a->results.items[0], &verdicts);
	}
	verdicts_release(&verdicts);
	return status;
}

static void print_answer(const struct check_arguments *a, const struct verdicts *verdicts)
{
	char *json;

	if (a->as)
		return;
	if (a->json) {
		json = verdicts_to_json(verdicts);
		puts(json);
		free(json);
	} else {
		print_verdicts(verdicts, a->all);
	}
}

/* The acceptance page, of the first launch and the verdicts of all. */
static enum status write_page(const struct check_arguments *a, struct error *err)
{
	const struct acceptance acceptance = { .result = &a->results.items[0] };
	const struct report_options options = { .output = a->report, .no_script = a->no_script };

	if (a->report && acceptance_write(&acceptance, &options, err) != STATUS_OK)
		return err->status;
	if (a->report && !a->json && !a->as)
		printf("%s\n", a->report);
	return STATUS_OK;
}

static enum status write_result(const struct check_arguments *a, struct error *err)
{
	if (a->output && (input_refuse_output(a->output, err) != STATUS_OK ||
			  result_write(&a->results.items[0], a->output, err) != STATUS_OK))
		return err->status;
	if (a->output && !a->json && !a->as)
		printf("%s\n", a->output);
	return STATUS_OK;
}

/* A page is about one machine. */
static bool one_machine(const struct result_list *list)
{
	for (size_t i = 1; i < list->count; i++)
		if (!judge_same_machine(&list->items[0], &list->items[i]))
			return false;
	return true;
}

static bool to_stdout(const char *output)
{
	return output && strcmp(output, "-") == 0;
}

static int refuse_outputs(const struct check_arguments *a)
{
	struct error err = ERROR_NONE;

	if (to_stdout(a->report) || to_stdout(a->output))
		return command_usage(&command_check,
				     "%s needs a file: the verdicts go to standard output",
				     to_stdout(a->report) ? "--report" : "--output");
	if (a->report && !one_machine(&a->results))
		return command_usage(&command_check,
				     "--report is about one machine: these are several");
	if (a->output && a->results.count > 1)
		return command_usage(&command_check,
				     "--output keeps one result: these are several");
	if (input_refuse_output(a->report, &err) != STATUS_OK ||
	    input_refuse_output(a->output, &err) != STATUS_OK)
		return command_fail(&err);
	return EXIT_ACCEPTED;
}

static int check_results(struct check_arguments *a)
{
	struct error err = ERROR_NONE;
	int code = refuse_outputs(a);

	if (code != EXIT_ACCEPTED)
		return code;
	if (population_open(&a->population, NULL) != STATUS_OK)
		return EXIT_USAGE;
	if (!(a->results.count == 1 && result_keeps_judgement(&a->results.items[0], a->limits,
							      a->baseline.count, a->strict)) &&
	    judge_all(a) != STATUS_OK)
		return EXIT_USAGE;
	print_answer(a, a->results.items[0].judgement);
	if (write_page(a, &err) != STATUS_OK || write_result(a, &err) != STATUS_OK)
		return command_fail(&err);
	return verdicts_exit_code(a->results.items[0].judgement);
}

/* Also of a check that could not be made: its own exit codes mean other things there. */
static int answer_as(const struct check_arguments *a, int code)
{
	bool judged = code == EXIT_ACCEPTED || code == EXIT_GATE_FAILED ||
		      code == EXIT_INCOMPLETE || code == EXIT_WRONG_RESULT;
	const struct verdicts *verdicts =
		judged && a->results.count ? a->results.items[0].judgement : NULL;

	return monitoring_print(a->as, verdicts,
				code == EXIT_USAGE ? "no verdict: wrong command, result or limits "
						     "(standard error says which)"
						   : "no verdict: a file cannot be read or written "
						     "(standard error says which)");
}

static int check_run(int argc, char **argv)
{
	struct check_arguments arguments = { 0 };
	int code = parse_arguments(&arguments, argc, argv);

	if (code == EXIT_ACCEPTED)
		code = check_results(&arguments);
	if (arguments.as)
		code = answer_as(&arguments, code);
	result_list_release(&arguments.results);
	result_list_release(&arguments.baseline);
	population_release(&arguments.population);
	return code;
}

const struct command command_check = {
	.name = "check",
	.summary = "judge results by limits: accepted or not",
	.forms = { "check RESULT... [OPTIONS]        RESULT: a result.json, or the directory of a "
		   "run" },
	.about =
		"Results of the same machine are launches of one measurement and judged together.\n"
		"Without --limits: the judgement that a run with --check left in the result; else "
		"by the limits of\n"
		"the run's own config, else by those shipped for the GPU model. Limits with "
		"`population` compare with good\n"
		"cards of the model, those that are shipped and yours: gpuproof help good-cards",
	.options = rows,
	.notes = "Exit code: 0 accepted, 1 a limit was violated, 4 inconclusive or incomplete, 5 a "
		 "wrong result.\n"
		 "With --as nagios: 0 accepted, 1 accepted with warnings, 2 rejected, 3 no "
		 "verdict; with --as npd: 0\n"
		 "accepted, 1 rejected, 2 no verdict. Why, and what to do: gpuproof help causes",
	.run = check_run,
};
