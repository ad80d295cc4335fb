/* gpuproof compare: did something change? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output/print_comparison.h"
#include "cli/input/result_list.h"
#include "judge/compare/compare.h"
#include "judge/estimate/launch_spread.h"

extern const struct command command_compare;

static const struct option_row rows[] = {
	{ 0, "fail-on", true },      { 0, "margin", true }, { 0, "launch-spread", true },
	{ 0, "all-metrics", false }, { 0, "json", false },  { 'a', "all", false },
	{ 'd', "db", true },         { 0, NULL, false },
};

struct compare_arguments {
	bool gate, certain, all_metrics, json, all;
	double margin, launch_spread;
	const char *db;
	struct result_list a, b;
};

static enum status take_option(void *arguments, const char *name, const char *value,
			       struct error *err)
{
	struct compare_arguments *c = arguments;

	if (strcmp(name, "margin") == 0 || strcmp(name, "launch-spread") == 0) {
		double *target = *name == 'm' ? &c->margin : &c->launch_spread;

		if (units_parse_percent(value, target, err) == STATUS_OK && *target >= 1)
			error_set(err, STATUS_USAGE, "'%.60s' is not below 100 %%", value);
		return error_prefix(err, "--%s", name);
	}
	if (strcmp(name, "db") == 0) {
		c->db = value;
	} else if (strcmp(name, "fail-on") == 0) {
		c->gate = true;
		c->certain = strcmp(value, "certain") == 0;
		if (!c->certain && strcmp(value, "regression") != 0)
			return error_set(err, STATUS_USAGE,
					 "--fail-on takes regression or certain, not '%.60s'", value);
	} else if (strcmp(name, "all-metrics") == 0) {
		c->all_metrics = true;
	} else if (strcmp(name, "json") == 0) {
		c->json = true;
	} else {
		c->all = true;
	}
	return STATUS_OK;
}

/* Where the arguments of B begin: behind a "--", else the second operand of two. `argc` when there is no "--". */
static int separator(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return argc;
}

static int usage(const char *what)
{
	return command_usage(&command_compare, "%s", what);
}

static enum status read_sides(struct compare_arguments *c, const struct options *o, int argc,
			      char **argv, int split, struct error *err)
{
	int first = split < argc ? o->operand_count : 1;

	for (int i = 0; i < first && err->status == STATUS_OK; i++)
		result_list_add_launch(&c->a, o->operands[i], err);
	for (int i = first; split == argc && i < o->operand_count && err->status == STATUS_OK; i++)
		result_list_add_launch(&c->b, o->operands[i], err);
	for (int i = split + 1; i < argc && err->status == STATUS_OK; i++)
		result_list_add_launch(&c->b, argv[i], err);
	return err->status;
}

static int parse_arguments(struct compare_arguments *c, int argc, char **argv)
{
	int split = separator(argc, argv);
	struct options o = options_begin(&command_compare, rows, split, argv);
	struct error err = ERROR_NONE;
	int code = options_take(&o, take_option, c);

	if (code == EXIT_ACCEPTED && split == argc && o.operand_count != 2)
		code = usage("which two? A B, or several launches each: A... -- B...");
	else if (code == EXIT_ACCEPTED && split < argc && (!o.operand_count || split + 1 == argc))
		code = usage("results belong on both sides of the --");
	if (code == EXIT_ACCEPTED && read_sides(c, &o, argc, argv, split, &err) != STATUS_OK)
		code = command_fail(&err);
	options_end(&o);
	return code;
}

/* Two pooled results, or as many launches on either side, each with its other. */
static bool in_turns(const struct compare_arguments *c)
{
	for (size_t i = 0; i < c->a.count && c->a.count == c->b.count; i++)
		if (!compare_taken_in_turns(&c->a.items[i], &c->b.items[i]))
			return false;
	return c->a.count == c->b.count;
}

static int compare_and_print(const struct compare_arguments *c, struct history *history)
{
	const struct comparison_input input = {
		.a = c->a.items,
		.b = c->b.items,
		.a_count = c->a.count,
		.b_count = c->b.count,
		.margin = c->margin,
		.launch_spread = c->launch_spread,
		.all_metrics = c->all_metrics,
		.turns = in_turns(c),
		.history = history,
	};
	struct comparison comparison;
	struct error err = ERROR_NONE;
	int code;

	if (compare_results(&input, &comparison, &err) != STATUS_OK)
		return command_fail(&err);
	if (c->json) {
		char *json = comparison_to_json(&comparison);

		puts(json);
		free(json);
	} else {
		print_comparison(&comparison, c->all);
	}
	code = c->certain ? comparison_gate_certain(&comparison) : comparison_gate(&comparison);
	comparison_release(&comparison);
	/* Without a gate a comparison is information; a wrong result is not. */
	return c->gate || code == EXIT_WRONG_RESULT ? code : EXIT_ACCEPTED;
}

static int compare_run(int argc, char **argv)
{
	struct compare_arguments arguments = { .margin = COMPARE_MARGIN,
					       .launch_spread = LAUNCH_SPREAD };
	struct history *history = NULL;
	struct error err = ERROR_NONE;
	int code = parse_arguments(&arguments, argc, argv);

	if (code == EXIT_ACCEPTED && arguments.db &&
	    history_open(&history, arguments.db, DB_READ, &err) != STATUS_OK)
		code = command_fail(&err);
	if (code == EXIT_ACCEPTED)
		code = compare_and_print(&arguments, history);
	history_close(history);
	result_list_release(&arguments.a);
	result_list_release(&arguments.b);
	return code;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "did something change between two measurements?",
	.usage = "compare A B [OPTIONS]\n"
		 "       gpuproof compare [OPTIONS] A... -- B...   several launches each\n\n"
		 "A and B are result.json files or directories of runs; `run --launches 5` makes "
		 "five\n"
		 "launches. The ratio is oriented so that above 1 is worse for B, with its 95 % "
		 "interval:\n"
		 "REGRESSED, IMPROVED, SAME, or INCONCLUSIVE; fewer than four launches: possible "
		 "at most. Of all\n"
		 "changes for the worse together at most one comparison in 20 has one that is none; "
		 "intervals hold\n"
		 "what visits differ by, and `run --against` measures both sides in one visit.\n\n"
		 "      --margin 1%            changes within are the same\n"
		 "      --fail-on regression   exit code 1 for a regression, 4 when none can be "
		 "ruled out\n"
		 "      --fail-on certain      1 for a certain one, 4 when something is not "
		 "compared; else 0\n"
		 "      --launch-spread 0.5%   taken for granted where there are fewer than four "
		 "launches\n"
		 "      --all-metrics          not only each suite's main figure\n"
		 "  -a, --all                  print what is the same or inconclusive, too\n"
		 "  -d, --db FILE              a history: its nights say what visits differ by, else "
		 "assumed by kind\n"
		 "      --json                 as JSON on standard output",
	.run = compare_run,
};
