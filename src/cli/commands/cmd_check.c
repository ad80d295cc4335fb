/* gpuproof check: checks results against limits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input/limits_pool.h"
#include "cli/input/population_file.h"
#include "cli/input/result_limits.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/output/monitoring.h"
#include "cli/output/print_verdicts.h"
#include "judge/judge.h"
#include "report/acceptance/acceptance.h"
#include "report/acceptance/delivery.h"

extern const struct command command_check;

struct check_arguments {
	const char *limits; /* NULL: those of the results, or the shipped ones */
	const char *report; /* path of the acceptance page; NULL: none */
	const char *output; /* path of the result with its judgement; NULL: not written */
	bool strict, json, all, no_script;
	enum monitoring as; /* program that defines output and exit code; none: gpuproof */
	double max_age;     /* maximum seconds since the newest result ended; 0: any */
	struct result_list results, baseline;
	struct limits_pool pool;
	const struct limits **limits_of; /* limits of results.items[i]; owned by the pool */
	struct population population;
	/* data of the delivery page of several machines; NULL: no such page */
	struct delivery *delivery;
};

static enum status take_monitoring(void *arguments, const char *name, const char *value,
				   struct error *err)
{
	struct check_arguments *a = arguments;

	if (monitoring_named(value, &a->as))
		return STATUS_OK;
	return error_set(err, STATUS_USAGE, "--%s %.60s: unknown program; use nagios or npd", name,
			 value);
}

static enum status take_age(void *age, const char *name, const char *value, struct error *err)
{
	double *seconds = age;

	if (units_parse_duration(value, seconds, err) == STATUS_OK && !(*seconds > 0))
		error_set(err, STATUS_USAGE, "'%.60s' is not above 0", value);
	return error_prefix(err, "--%s", name);
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
	  .help = "result that `baseline` in limits refers to; repeat it for more launches" },
	{ .name = "strict",
	  FLAG_AT(check_arguments, strict),
	  .help = "do not accept warnings or allowed skips" },
	{ .name = "all",
	  .letter = 'a',
	  FLAG_AT(check_arguments, all),
	  .help = "also print passed checks" },
	{ .name = "report",
	  TEXT_AT(check_arguments, report),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "also write the acceptance page: answer, verdicts per device, limits; with "
		  "several machines the delivery page, rejected machines first, then by serial "
		  "number" },
	{ .name = "no-script",
	  FLAG_AT(check_arguments, no_script),
	  .help = "with --report: omit the script that sorts, searches and copies tables" },
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(check_arguments, output),
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "also write the result with this judgement, for exports and pages" },
	{ .name = "json", FLAG_AT(check_arguments, json), .help = "print verdicts as JSON" },
	{ .name = "as",
	  .type = OPTION_CALL,
	  .take = take_monitoring,
	  .value = "PROGRAM",
	  .words = words_monitoring,
	  .help = "print one line, and exit as nagios or npd (Kubernetes node-problem-detector) "
		  "expects" },
	{ .name = "max-age",
	  .type = OPTION_CALL,
	  OPTION_AT(check_arguments, max_age),
	  .take = take_age,
	  .value = "TIME",
	  .help = "with --as: no verdict if the newest result ended longer ago than this, such as "
		  "26h" },
	{ 0 },
};

static int check_parse_arguments(struct check_arguments *a, int argc, char **argv)
{
	struct error err = ERROR_NONE;
	struct options o;
	int code = options_parse(&o, &command_check, argc, argv, a);

	if (code == EXIT_ACCEPTED &&
	    result_list_add_launches(&a->results, o.operands, (size_t)o.operand_count, &err) !=
		    STATUS_OK)
		code = command_fail(&err);
	if (code == EXIT_ACCEPTED && a->as && (a->json || a->all))
		code = command_usage(&command_check, "--as prints one line and cannot be combined "
						     "with --json or --all");
	if (code == EXIT_ACCEPTED && a->max_age > 0 && !a->as)
		code = command_usage(&command_check, "--max-age needs --as nagios or --as npd");
	if (code == EXIT_ACCEPTED && !a->results.count)
		code = command_usage(&command_check, "no RESULT given");
	options_end(&o);
	return code;
}

/*
 * With several machines, whose devices have the same ids, names the file of each check and device.
 */
static void check_name_machine(const char *path, struct verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->device_count; i++) {
		free(verdicts->devices[i].machine);
		verdicts->devices[i].machine = xstrdup(path);
	}
	for (size_t i = 0; i < verdicts->count; i++) {
		free(verdicts->checks[i].machine);
		verdicts->checks[i].machine = xstrdup(path);
	}
}

/* A result to judge, and the data that moves with it. */
struct judged_result {
	struct result result;
	char *path;
	const struct limits *limits;
};

static struct judged_result check_result_at(const struct check_arguments *a, size_t i)
{
	return (struct judged_result){ a->results.items[i], a->results.paths[i], a->limits_of[i] };
}

static void check_set_result(struct check_arguments *a, size_t i, const struct judged_result *r)
{
	a->results.items[i] = r->result;
	a->results.paths[i] = r->path;
	a->limits_of[i] = r->limits;
}

static bool check_same_limits(const struct limits *a, const struct limits *b)
{
	return a == b || strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0;
}

/*
 * Index to which results[i] moves: after the results of its machine with the same limits. If there
 * are none: before the others of its machine if it has limits, else after them.
 */
static size_t check_place_of(const struct check_arguments *a, size_t i)
{
	size_t first = i, last = i;

	for (size_t j = i; j-- > 0;) {
		if (!judge_same_machine(&a->results.items[j], &a->results.items[i]))
			continue;
		if (check_same_limits(a->limits_of[j], a->limits_of[i]))
			return j + 1;
		last = last == i ? j + 1 : last;
		first = j;
	}
	return a->limits_of[i]->count ? first : last;
}

/*
 * Sorts the results: launches of each machine are consecutive, and among these those with equal
 * limits.
 */
static void check_sort(struct check_arguments *a)
{
	for (size_t i = 1; i < a->results.count; i++) {
		struct judged_result moved = check_result_at(a, i);
		size_t to = check_place_of(a, i);

		for (size_t j = i; j > to; j--) {
			struct judged_result before = check_result_at(a, j - 1);

			check_set_result(a, j, &before);
		}
		check_set_result(a, to, &moved);
	}
}

/* Launches of one machine: results[first] and the following ones. */
struct judged_machine {
	const struct check_arguments *arguments;
	size_t first, count;
	struct verdicts verdicts;
};

/* Judges all launches with the same limits together. */
static void check_judge_machine(struct judged_machine *machine)
{
	const struct check_arguments *a = machine->arguments;
	size_t next = machine->first, end = machine->first + machine->count;

	machine->verdicts = (struct verdicts){ .strict = a->strict };
	while (next < end) {
		struct judge_input input = { .results = &a->results.items[next],
					     .baseline = a->baseline.items,
					     .baseline_count = a->baseline.count,
					     .limits = a->limits_of[next],
					     .population = &a->population };

		do
			input.count++;
		while (next + input.count < end &&
		       check_same_limits(input.limits, a->limits_of[next + input.count]));
		judge_results(&input, &machine->verdicts);
		next += input.count;
	}
	judge_merge_devices(&machine->verdicts, 0, a->results.items[machine->first].device_count);
	if (a->delivery)
		verdicts_finish(&machine->verdicts);
}

static void check_judge_range(void *machines, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		check_judge_machine((struct judged_machine *)machines + i);
}

/* Call after sorting; the caller frees the array. */
static struct judged_machine *check_find_machines(const struct check_arguments *a, size_t *count)
{
	struct judged_machine *machines = xcalloc(a->results.count, sizeof(*machines));
	const struct result *items = a->results.items;

	*count = 0;
	for (size_t i = 0; i < a->results.count; i++) {
		if (i == 0 || !judge_same_machine(&items[i - 1], &items[i]))
			machines[(*count)++] =
				(struct judged_machine){ .arguments = a, .first = i };
		machines[*count - 1].count++;
	}
	return machines;
}

/* Uses all cores; the verdicts keep the order of the machines. */
static void check_judge_machines(struct check_arguments *a, struct verdicts *verdicts)
{
	size_t count;
	struct judged_machine *machines = check_find_machines(a, &count);

	parallel_for(count, 1, check_judge_range, machines);
	for (size_t i = 0; i < count; i++) {
		const char *path = a->results.paths[machines[i].first];

		if (a->delivery)
			delivery_add(a->delivery, &a->results.items[machines[i].first], path,
				     &machines[i].verdicts);
		if (count > 1)
			check_name_machine(path, &machines[i].verdicts);
		judge_add_verdicts(verdicts, &machines[i].verdicts);
	}
	free(machines);
}

/* Reports which of two judgements of a result is printed. */
static void say_anew(const struct check_arguments *a, const struct verdicts *stored,
		     const struct verdicts *now)
{
	if (stored && !a->json && !a->as)
		fprintf(stderr,
			"gpuproof: judged again with %s; the stored verdict (with %s) is: %s\n",
			now->limits, stored->limits, stored->sentence);
}

static enum status check_find_limits(struct check_arguments *a)
{
	a->limits_of = xcalloc(a->results.count, sizeof(*a->limits_of));
	for (size_t i = 0; i < a->results.count; i++) {
		a->limits_of[i] = limits_pool_find(&a->pool, a->limits, &a->results.items[i]);
		if (!a->limits_of[i])
			return STATUS_USAGE;
	}
	return STATUS_OK;
}

static enum status check_judge_all(struct check_arguments *a)
{
	struct verdicts verdicts = { .strict = a->strict };

	if (check_find_limits(a) != STATUS_OK)
		return STATUS_USAGE;
	check_sort(a);
	check_judge_machines(a, &verdicts);
	verdicts_finish(&verdicts);
	say_anew(a, a->results.items[0].judgement, &verdicts);
	result_judge(&a->results.items[0], &verdicts);
	verdicts_release(&verdicts);
	return STATUS_OK;
}

static void check_print_answer(const struct check_arguments *a, const struct verdicts *verdicts)
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

/*
 * Writes the acceptance page of one machine, with the verdicts of all launches, or the delivery
 * page of several.
 */
static enum status check_write_page(const struct check_arguments *a, struct error *err)
{
	const struct acceptance acceptance = { .result = &a->results.items[0] };
	const struct report_options options = { .output = a->report, .no_script = a->no_script };

	if (a->report && (a->delivery ? delivery_write(a->delivery, &options, err)
				      : acceptance_write(&acceptance, &options, err)) != STATUS_OK)
		return err->status;
	if (a->report && !a->json && !a->as)
		printf("%s\n", a->report);
	return STATUS_OK;
}

static enum status check_write_result(const struct check_arguments *a, struct error *err)
{
	if (a->output && (input_refuse_output(a->output, err) != STATUS_OK ||
			  result_write(&a->results.items[0], a->output, err) != STATUS_OK))
		return err->status;
	if (a->output && !a->json && !a->as)
		printf("%s\n", a->output);
	return STATUS_OK;
}

/* One machine gets an acceptance page, several a delivery page. */
static bool check_one_machine(const struct result_list *list)
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

static int check_refuse_outputs(const struct check_arguments *a)
{
	struct error err = ERROR_NONE;

	if (to_stdout(a->report) || to_stdout(a->output))
		return command_usage(&command_check,
				     "%s needs a file, because verdicts go to standard output",
				     to_stdout(a->report) ? "--report" : "--output");
	if (a->output && a->results.count > 1)
		return command_usage(&command_check,
				     "--output takes the results of one machine, and these are "
				     "from several. Run check for each machine");
	if (input_refuse_output(a->report, &err) != STATUS_OK ||
	    input_refuse_output(a->output, &err) != STATUS_OK)
		return command_fail(&err);
	return EXIT_ACCEPTED;
}

static int check_results(struct check_arguments *a)
{
	struct error err = ERROR_NONE;
	int code = check_refuse_outputs(a);

	if (code != EXIT_ACCEPTED)
		return code;
	if (population_open(&a->population, NULL) != STATUS_OK)
		return EXIT_USAGE;
	if (a->report && !check_one_machine(&a->results))
		a->delivery = delivery_new();
	if (!(a->results.count == 1 && result_keeps_judgement(&a->results.items[0], a->limits,
							      a->baseline.count, a->strict)) &&
	    check_judge_all(a) != STATUS_OK)
		return EXIT_USAGE;
	check_print_answer(a, a->results.items[0].judgement);
	if (check_write_page(a, &err) != STATUS_OK || check_write_result(a, &err) != STATUS_OK)
		return command_fail(&err);
	return verdicts_exit_code(a->results.items[0].judgement);
}

/* "the newest result is 30 h old, more than 26 h"; NULL: recent enough, or no maximum age. */
static char *stale(const struct check_arguments *a)
{
	double newest = -INFINITY, now = clock_unix_seconds();

	for (size_t i = 0; i < a->results.count; i++) {
		const struct result *r = &a->results.items[i];

		newest = fmax(newest, clock_parse_iso8601(r->finished && *r->finished ? r->finished
							  : r->started                ? r->started
										      : ""));
	}
	if (!(a->max_age > 0) || now - newest <= a->max_age)
		return NULL;
	if (!isfinite(newest))
		return xstrdup("the result does not say when it was measured");
	return xasprintf("the newest result is %.3g h old, more than %.3g h", (now - newest) / 3600,
			 a->max_age / 3600);
}

/*
 * Also answers for a check that could not be made, because check's own exit codes mean other things
 * to these programs.
 */
static int check_answer_as(const struct check_arguments *a, int code)
{
	bool judged = code == EXIT_ACCEPTED || code == EXIT_GATE_FAILED ||
		      code == EXIT_INCOMPLETE || code == EXIT_WRONG_RESULT;
	const struct verdicts *verdicts =
		judged && a->results.count ? a->results.items[0].judgement : NULL;
	char *old = verdicts ? stale(a) : NULL;
	const char *why = verdicts ? old
			  : code == EXIT_USAGE
				  ? "no verdict: error in the command, the result or the limits; "
				    "see standard error"
				  : "no verdict: cannot read or write a file; see standard error";

	code = monitoring_print(a->as, verdicts, why);
	free(old);
	return code;
}

static int check_run(int argc, char **argv)
{
	struct check_arguments arguments = { 0 };
	int code = check_parse_arguments(&arguments, argc, argv);

	if (code == EXIT_ACCEPTED)
		code = check_results(&arguments);
	if (arguments.as)
		code = check_answer_as(&arguments, code);
	result_list_release(&arguments.results);
	result_list_release(&arguments.baseline);
	population_release(&arguments.population);
	limits_pool_release(&arguments.pool);
	free(arguments.limits_of);
	delivery_free(arguments.delivery);
	return code;
}

const struct command command_check = {
	.name = "check",
	.summary = "check results against limits: accepted or rejected",
	.forms = { "check RESULT... [OPTIONS]        RESULT: a result.json or a run directory" },
	.about = "Results of one machine count as launches of one measurement and are judged "
		 "together.\n\nWithout --limits, check prints the judgement that run --check "
		 "stored. If there is none, it uses the limits in the config of the run, or else "
		 "the limits shipped for the GPU model.\n\nLimits with `population` compare with "
		 "reference GPUs of the model, shipped ones and yours: gpuproof help good-cards",
	.options = rows,
	.notes = "Exit code: 0 accepted, 1 a limit is violated, 4 inconclusive or incomplete, 5 a "
		 "wrong result. With --as nagios: 0 accepted, 1 accepted with warnings, 2 "
		 "rejected, 3 no verdict. With --as npd: 0 accepted, 1 rejected, 2 no verdict. "
		 "Causes and remedies: gpuproof help causes",
	.run = check_run,
};
