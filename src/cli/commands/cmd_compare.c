/* gpuproof compare: did something change? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/input/history_file.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/output/print_comparison.h"
#include "judge/compare/compare.h"
#include "judge/estimate/launch_spread.h"

extern const struct command command_compare;

struct compare_arguments {
	int fail_on; /* enum fail_on */
	bool all_metrics, json, all;
	double margin, launch_spread;
	const char *db;
	struct result_list a, b;
};

enum fail_on { FAIL_ON_NOTHING, FAIL_ON_REGRESSION, FAIL_ON_CERTAIN };
static const char *const fail_on[] = { "regression", "certain", NULL };

/* clang-format off: rows */
static const struct option_row rows[] = {
	{ .name = "margin",
	  PERCENT_AT(compare_arguments, margin),
	  .value = "1%",
	  .help = "changes within are the same" },
	{ .name = "fail-on",
	  CHOICE_AT(compare_arguments, fail_on),
	  .choices = fail_on,
	  .help = "regression: exit code 1 for a regression, 4 when none can be ruled out; "
		  "certain: 1 for a certain one, 4 when something is not compared; else 0" },
	{ .name = "launch-spread",
	  PERCENT_AT(compare_arguments, launch_spread),
	  .value = "0.5%",
	  .help = "assumed where there are fewer than four launches" },
	{ .name = "all-metrics",
	  FLAG_AT(compare_arguments, all_metrics),
	  .help = "not only each suite's main figure" },
	{ .name = "all",
	  .letter = 'a',
	  FLAG_AT(compare_arguments, all),
	  .help = "print what is the same or inconclusive, too" },
	{ .name = "db",
	  .letter = 'd',
	  TEXT_AT(compare_arguments, db),
	  .value = "FILE",
	  .file = OPTION_FILE_KEPT,
	  .help = "the history of baseline:NAME; its nights say what visits differ by, else "
		  "assumed by kind" },
	{ .name = "json", FLAG_AT(compare_arguments, json), .help = "as JSON on standard output" },
	{ 0 },
};
/* clang-format on */

/*
 * Index of the first argument of B: after a "--", else the second operand of two. `argc` when there
 * is no "--".
 */
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

	c->a.db = c->b.db = c->db;
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
	struct error err = ERROR_NONE;
	struct options o;
	int code = options_parse(&o, &command_compare, split, argv, c);

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

static int compare_and_print(const struct compare_arguments *c, struct store *history)
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
	code = c->fail_on == FAIL_ON_CERTAIN ? comparison_gate_certain(&comparison)
					     : comparison_gate(&comparison);
	comparison_release(&comparison);
	/* Without a gate a comparison is information; a wrong result is not. */
	return c->fail_on != FAIL_ON_NOTHING || code == EXIT_WRONG_RESULT ? code : EXIT_ACCEPTED;
}

static int compare_run(int argc, char **argv)
{
	struct compare_arguments arguments = { .margin = COMPARE_MARGIN,
					       .launch_spread = LAUNCH_SPREAD };
	struct store *history = NULL;
	struct error err = ERROR_NONE;
	int code = parse_arguments(&arguments, argc, argv);

	if (code == EXIT_ACCEPTED && arguments.db &&
	    history_file_open(&history, arguments.db, STORE_READ, &err) != STATUS_OK)
		code = command_fail(&err);
	if (code == EXIT_ACCEPTED)
		code = compare_and_print(&arguments, history);
	store_close(history);
	result_list_release(&arguments.a);
	result_list_release(&arguments.b);
	return code;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "did something change between two measurements?",
	.forms = { "compare A B [OPTIONS]",
		   "compare [OPTIONS] A... -- B...   several launches each" },
	.about = "A and B are result.json files or directories of runs; `run --launches 5` makes "
		 "five\n"
		 "launches. The ratio is oriented so that above 1 is worse for B, with its 95 % "
		 "interval:\n"
		 "REGRESSED, IMPROVED, SAME, or INCONCLUSIVE; fewer than four launches: possible "
		 "at most. Of all\n"
		 "changes for the worse together at most one comparison in 20 has one that is "
		 "none; intervals hold\n"
		 "what visits differ by, and `run --against` measures both sides in one visit.",
	.options = rows,
	.run = compare_run,
};
