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
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input/population_file.h"
#include "cli/input/result_limits.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/output/print.h"
#include "judge/judge.h"
#include "report/acceptance/acceptance.h"

/*
 * --as nagios|npd: a verdict as the exit code and the one line that a monitoring program reads.
 *
 *	          accepted  with warnings  rejected  no verdict
 *	nagios    0 OK      1 WARNING      2 CRITICAL  3 UNKNOWN   plug-in API of Nagios, Icinga
 *	npd       0 OK      0 OK           1 NonOK     2 Unknown   node-problem-detector
 *
 * No verdict is one that is inconclusive, or a check that could not be made.
 */
enum monitoring { MONITORING_NONE, MONITORING_NAGIOS, MONITORING_NPD, MONITORING_COUNT };

#define MOST_REASONS 3 /* in a line for Nagios */
#define NPD_LONGEST 80 /* default length at which node-problem-detector cuts messages */

enum state { STATE_OK, STATE_WARNING, STATE_CRITICAL, STATE_UNKNOWN, STATE_COUNT };

static const struct {
	const char *name, *word;
	int codes[STATE_COUNT];
} programs[MONITORING_COUNT] = {
	[MONITORING_NAGIOS] = { "nagios", "GPUPROOF ", { 0, 1, 2, 3 } },
	[MONITORING_NPD] = { "npd", "", { 0, 0, 1, 2 } },
};

/* True for reasons that belong to the state. */
static bool cmd_check_monitoring_reason_explains(const struct verdict_reason *r, enum state state)
{
	if (state == STATE_CRITICAL)
		return r->verdict == VERDICT_FAIL || (r->verdict == VERDICT_WARN && !r->accepted);
	if (state == STATE_WARNING)
		return r->verdict == VERDICT_WARN;
	return state == STATE_UNKNOWN && !r->accepted;
}

/*
 * Nagios: "REJECTED: GPU cuda:3 is 10 % slower ... (gpu-slow-memory); ...". npd, which has less
 * room: "cuda:3 gpu-slow-memory; cuda:5 gpu-wrong-result". Without such a reason, the sentence.
 */
static char *cmd_check_nagios_reasons_in_a_line(const struct verdicts *v, enum state state,
						bool brief)
{
	struct text out = TEXT_EMPTY;
	size_t count = 0;

	for (size_t i = 0; i < v->reason_count; i++) {
		const struct verdict_reason *r = &v->reasons[i];
		const char *separator = out.length ? "; " : "";

		if (!cmd_check_monitoring_reason_explains(r, state) ||
		    (count++ >= MOST_REASONS && !brief))
			continue;
		if (brief)
			text_addf(&out, "%s%s%s%s", separator, r->devices, *r->devices ? " " : "",
				  cause_name(r->cause));
		else
			text_addf(&out, "%s%s (%s)", out.length ? "; " : "", r->headline,
				  cause_name(r->cause));
	}
	if (!out.length)
		return xstrdup(v->sentence);
	if (count > MOST_REASONS && !brief)
		text_addf(&out, "; and %zu more reasons", count - MOST_REASONS);
	if (!brief) {
		char *line = xasprintf("%s: %s", verdicts_word(v), out.data);

		text_release(&out);
		return line;
	}
	return text_detach(&out);
}

/*
 * Prints the line and returns the exit code. `v` NULL: the check could not be made, and `why` is
 * the reason. With verdicts, `why` is a reason not to accept an accepted result (it is too old);
 * NULL: none.
 */
static int cmd_check_monitoring_print(enum monitoring as, const struct verdicts *v, const char *why)
{
	static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
	enum state judged = !v ? STATE_UNKNOWN
			    : !verdicts_accepted(v)
				    ? (v->wrong || v->overall == VERDICT_FAIL ? STATE_CRITICAL
									      : STATE_UNKNOWN)
			    : v->counts[VERDICT_WARN] ? STATE_WARNING
						      : STATE_OK,
		   state = why && judged != STATE_CRITICAL ? STATE_UNKNOWN : judged;
	char *reasons = v ? cmd_check_nagios_reasons_in_a_line(v, judged, as == MONITORING_NPD)
			  : xstrdup(why);
	char *what = v && why ? xasprintf("%s; %s", why, reasons) : xstrdup(reasons);
	char *line = xasprintf("%s%s: %s", programs[as].word, words[state], what);

	/* One line of ASCII; '|' would start Nagios' performance data. */
	for (char *c = line; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '|')
			*c = '?';
	if (as == MONITORING_NPD && strlen(line) > NPD_LONGEST)
		snprintf(line + NPD_LONGEST - 3, 4, "...");
	fputs(line, stdout);
	if (as == MONITORING_NAGIOS && v)
		printf(" | passed=%zu warned=%zu failed=%zu undecided=%zu", v->counts[VERDICT_PASS],
		       v->counts[VERDICT_WARN], v->counts[VERDICT_FAIL],
		       v->counts[VERDICT_INCONCLUSIVE] + v->counts[VERDICT_ERROR] +
			       v->counts[VERDICT_SKIP]);
	putchar('\n');
	free(what);
	free(reasons);
	free(line);
	return programs[as].codes[state];
}

struct check_arguments {
	const char *limits; /* NULL: those of the results, or the shipped ones */
	const char *report; /* path of the acceptance page; NULL: none */
	const char *output; /* path of the result with its judgement; NULL: not written */
	bool strict, json, all, no_script;
	enum monitoring as;          /* program that defines output and exit code; none: gpuproof */
	double max_age;              /* maximum seconds since the newest result ended; 0: any */
	struct result_list *results; /* the operands */
	struct result_list baseline;
	struct limits_pool pool;
	const struct limits **limits_of; /* limits of results.items[i]; owned by the pool */
	struct population population;
	/* data of the delivery page of several machines; NULL: no such page */
	struct delivery *delivery;
};

static enum status cmd_check_take_monitoring(void *as, const char *name, const char *value,
					     struct error *err)
{
	for (int i = MONITORING_NAGIOS; i < MONITORING_COUNT; i++)
		if (strcmp(programs[i].name, value) == 0) {
			*(enum monitoring *)as = (enum monitoring)i;
			return STATUS_OK;
		}
	return error_set(err, STATUS_USAGE, "--%s %.60s: unknown program; use nagios or npd", name,
			 value);
}

static enum status cmd_check_take_age(void *age, const char *name, const char *value,
				      struct error *err)
{
	double *seconds = age;

	if (units_parse_duration(value, seconds, err) == STATUS_OK && !(*seconds > 0))
		error_set(err, STATUS_USAGE, "'%.60s' must be above 0", value);
	return error_prefix(err, "--%s", name);
}

static void cmd_check_words_monitoring(struct text *out)
{
	text_add(out, "nagios npd");
}

static const struct option_row rows[] = {
	LIMITS_ROW(check_arguments, limits),
	CALL_ROW("baseline", "RESULT", result_list_take, check_arguments, baseline),
	FLAG_ROW(0, "strict", check_arguments, strict),
	FLAG_ROW('a', "all", check_arguments, all),
	TEXT_ROW(0, "report", "FILE", check_arguments, report, .file = OPTION_FILE_WRITTEN),
	FLAG_ROW(0, "no-script", check_arguments, no_script),
	TEXT_ROW('o', "output", "FILE", check_arguments, output, .file = OPTION_FILE_WRITTEN),
	FLAG_ROW(0, "json", check_arguments, json),
	CALL_ROW("as", "PROGRAM", cmd_check_take_monitoring, check_arguments, as,
		 .words = cmd_check_words_monitoring),
	CALL_ROW("max-age", "TIME", cmd_check_take_age, check_arguments, max_age),
	{ 0 },
};

static bool cmd_check_same_limits(const struct limits *a, const struct limits *b)
{
	return a == b || strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0;
}

/*
 * Index to which results[i] moves: after the results of its machine with the same limits. If there
 * are none: before the others of its machine if it has limits, else after them.
 */
static size_t cmd_check_place_of(const struct check_arguments *a, size_t i)
{
	size_t first = i, last = i;

	for (size_t j = i; j-- > 0;) {
		if (!judge_same_machine(&a->results->items[j], &a->results->items[i]))
			continue;
		if (cmd_check_same_limits(a->limits_of[j], a->limits_of[i]))
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
static void cmd_check_sort(struct check_arguments *a)
{
	for (size_t i = 1; i < a->results->count; i++) {
		const struct result result = a->results->items[i];
		const struct limits *limits = a->limits_of[i];
		char *path = a->results->paths[i];
		size_t to = cmd_check_place_of(a, i), moved = i - to;

		memmove(&a->results->items[to + 1], &a->results->items[to], moved * sizeof(result));
		memmove(&a->results->paths[to + 1], &a->results->paths[to], moved * sizeof(path));
		memmove(&a->limits_of[to + 1], &a->limits_of[to], moved * sizeof(limits));
		a->results->items[to] = result;
		a->results->paths[to] = path;
		a->limits_of[to] = limits;
	}
}

/* Launches of one machine: results[first] and the following ones. */
struct judged_machine {
	const struct check_arguments *arguments;
	size_t first, count;
	struct verdicts verdicts;
};

/* Judges all launches of a machine with the same limits together. */
static void cmd_check_judge_range(void *machines, size_t begin, size_t stop)
{
	for (size_t i = begin; i < stop; i++) {
		struct judged_machine *machine = (struct judged_machine *)machines + i;
		const struct check_arguments *a = machine->arguments;
		size_t next = machine->first, end = machine->first + machine->count;

		machine->verdicts = (struct verdicts){ .strict = a->strict };
		while (next < end) {
			struct judge_input input = { .results = &a->results->items[next],
						     .baseline = a->baseline.items,
						     .baseline_count = a->baseline.count,
						     .limits = a->limits_of[next],
						     .population = &a->population };

			do
				input.count++;
			while (next + input.count < end &&
			       cmd_check_same_limits(input.limits,
						     a->limits_of[next + input.count]));
			judge_machine_results(&input, &machine->verdicts);
			next += input.count;
		}
		judge_aspects_merge_devices(&machine->verdicts, 0,
					    a->results->items[machine->first].device_count);
		if (a->delivery)
			verdicts_finish(&machine->verdicts);
	}
}

/* Uses all cores; the verdicts keep the order of the machines. */
static void cmd_check_judge_machines(struct check_arguments *a, struct verdicts *verdicts)
{
	struct judged_machine *machines = xcalloc(a->results->count, sizeof(*machines));
	const struct result *items = a->results->items;
	size_t count = 0;

	for (size_t i = 0; i < a->results->count; i++) {
		if (i == 0 || !judge_same_machine(&items[i - 1], &items[i]))
			machines[count++] = (struct judged_machine){ .arguments = a, .first = i };
		machines[count - 1].count++;
	}
	parallel_for(count, 1, cmd_check_judge_range, machines);
	for (size_t i = 0; i < count; i++) {
		const char *path = a->results->paths[machines[i].first];
		struct verdicts *v = &machines[i].verdicts;

		if (a->delivery)
			delivery_add(a->delivery, &items[machines[i].first], path, v);
		/* Devices of several machines have the same ids: their file tells them apart. */
		for (size_t k = 0; k < v->device_count && count > 1; k++) {
			free(v->devices[k].machine);
			v->devices[k].machine = xstrdup(path);
		}
		for (size_t k = 0; k < v->count && count > 1; k++) {
			free(v->checks[k].machine);
			v->checks[k].machine = xstrdup(path);
		}
		judge_machine_add_verdicts(verdicts, v);
	}
	free(machines);
}

static enum status cmd_check_judge_all(struct check_arguments *a)
{
	struct verdicts verdicts = { .strict = a->strict };
	const struct verdicts *stored;

	a->limits_of = xcalloc(a->results->count, sizeof(*a->limits_of));
	for (size_t i = 0; i < a->results->count; i++) {
		a->limits_of[i] =
			result_limits_pool_find(&a->pool, a->limits, true, &a->results->items[i]);
		if (!a->limits_of[i])
			return STATUS_USAGE;
	}
	cmd_check_sort(a);
	cmd_check_judge_machines(a, &verdicts);
	verdicts_finish(&verdicts);
	stored = a->results->items[0].judgement;
	if (stored && !a->json && !a->as)
		fprintf(stderr,
			"gpuproof: this verdict uses the limits %s. The verdict stored in the "
			"result, with the limits %s, is: %s\n",
			verdicts.limits, stored->limits, stored->sentence);
	result_judge(&a->results->items[0], &verdicts);
	verdicts_release(&verdicts);
	return STATUS_OK;
}

static bool cmd_check_to_stdout(const char *output)
{
	return output && strcmp(output, "-") == 0;
}

/* Rejects options and outputs that do not go together. */
static int cmd_check_refuse_arguments(struct call *call)
{
	const struct check_arguments *a = call->arguments;
	const struct command *command = call->command;

	if (a->as && (a->json || a->all))
		return cli_command_usage(command,
					 "--as prints one line and cannot be combined with "
					 "--json or --all");
	if (a->max_age > 0 && !a->as)
		return cli_command_usage(command, "--max-age needs --as nagios or --as npd");
	if (cmd_check_to_stdout(a->report) || cmd_check_to_stdout(a->output))
		return cli_command_usage(command,
					 "%s needs a file, because verdicts go to standard output",
					 cmd_check_to_stdout(a->report) ? "--report" : "--output");
	if (a->output && a->results->count > 1)
		return cli_command_usage(command, "--output writes the result of one machine, but "
						  "these results "
						  "are from several. Run check once per machine");
	input_refuse_output(a->report, &call->err);
	input_refuse_output(a->output, &call->err);
	return EXIT_ACCEPTED;
}

/*
 * Prints the verdicts. Writes the acceptance page of one machine, with the verdicts of all
 * launches, or the delivery page of several, and the result with its judgement.
 */
static void cmd_check_publish(const struct check_arguments *a, struct error *err)
{
	const struct result *result = &a->results->items[0];
	const struct acceptance acceptance = { .result = result };
	const struct report_options options = { .output = a->report, .no_script = a->no_script };
	bool prints = !a->json && !a->as;

	if (a->json) {
		char *json = verdict_fields_to_json(result->judgement);

		puts(json);
		free(json);
	} else if (prints) {
		print_verdicts(result->judgement, a->all);
	}
	if (a->report && a->delivery)
		delivery_write(a->delivery, &options, err);
	else if (a->report)
		acceptance_write(&acceptance, &options, err);
	if (a->report && prints && err->status == STATUS_OK)
		printf("%s\n", a->report);
	if (a->output && input_refuse_output(a->output, err) == STATUS_OK &&
	    result_write(result, a->output, err) == STATUS_OK && prints)
		printf("%s\n", a->output);
}

static int cmd_check_run(struct call *call)
{
	struct check_arguments *a = call->arguments;
	const struct result_judging judging = { .limits = a->limits,
						.strict = a->strict,
						.baseline = &a->baseline };
	int code;

	a->results = &call->results;
	if (cli_command_read_results(call, 0) != STATUS_OK)
		return EXIT_USAGE;
	code = cmd_check_refuse_arguments(call);
	if (code != EXIT_ACCEPTED || call->err.status != STATUS_OK)
		return code;
	if (population_file_open(&a->population, NULL) != STATUS_OK)
		return EXIT_USAGE;
	/* One machine gets an acceptance page, several a delivery page. */
	for (size_t i = 1; i < a->results->count && a->report && !a->delivery; i++)
		if (!judge_same_machine(&a->results->items[0], &a->results->items[i]))
			a->delivery = delivery_new();
	if (!(a->results->count == 1 &&
	      result_limits_judging_is_stored(&judging, a->results->items)) &&
	    cmd_check_judge_all(a) != STATUS_OK)
		return EXIT_USAGE;
	cmd_check_publish(a, &call->err);
	return verdicts_exit_code(a->results->items[0].judgement);
}

/* "the newest result is 30 h old, more than 26 h"; NULL: recent enough, or no maximum age. */
static char *cmd_check_stale(const struct check_arguments *a)
{
	double newest = -INFINITY, now = clock_unix_seconds();

	for (size_t i = 0; i < a->results->count; i++) {
		const struct result *r = &a->results->items[i];

		newest = fmax(newest, clock_parse_iso8601(r->finished && *r->finished ? r->finished
							  : r->started                ? r->started
										      : ""));
	}
	if (!(a->max_age > 0) || now - newest <= a->max_age)
		return NULL;
	if (!isfinite(newest))
		return xstrdup("the result contains no time of measurement");
	return xasprintf("the newest result is %.3g h old; --max-age allows %.3g h",
			 (now - newest) / 3600, a->max_age / 3600);
}

/*
 * With --as, also answers for a check that could not be made, because check's own exit codes mean
 * other things to these programs.
 */
static int cmd_check_end(struct call *call, int code)
{
	struct check_arguments *a = call->arguments;
	bool judged = code == EXIT_ACCEPTED || code == EXIT_GATE_FAILED ||
		      code == EXIT_INCOMPLETE || code == EXIT_WRONG_RESULT;
	const struct verdicts *verdicts =
		judged && call->results.count ? call->results.items[0].judgement : NULL;
	char *old;

	a->results = &call->results;
	if (a->as) {
		old = verdicts ? cmd_check_stale(a) : NULL;
		code = cmd_check_monitoring_print(
			a->as, verdicts,
			verdicts             ? old
			: code == EXIT_USAGE ? "no verdict: error in the command, the result or "
					       "the limits; see standard error"
					     : "no verdict: cannot read or write a file; see "
					       "standard error");
		free(old);
	}
	result_list_release(&a->baseline);
	population_release(&a->population);
	result_limits_pool_release(&a->pool);
	free(a->limits_of);
	delivery_free(a->delivery);
	return code;
}

const struct command command_check = {
	.name = "check",
	.options = rows,
	.arguments = sizeof(struct check_arguments),
	.least = 1,
	.most = ANY_NUMBER,
	.wrong_count = "no RESULT given",
	.run = cmd_check_run,
	.end = cmd_check_end,
};
