/* gpuproof compare: compares two measurements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input/history_file.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/output/print_comparison.h"
#include "compare/compare.h"

extern const struct command command_compare;

struct compare_arguments {
	int fail_on; /* enum fail_on */
	bool all_metrics, json, all;
	double margin, launch_spread; /* margin 0: auto */
	const char *db;
	struct result_list a, b;
};

enum fail_on { FAIL_ON_NOTHING, FAIL_ON_REGRESSION, FAIL_ON_CERTAIN };
static const char *const fail_on[] = { "regression", "certain", NULL };

static enum status compare_take_margin(void *margin, const char *name, const char *value,
				       struct error *err)
{
	double *ratio = margin;

	*ratio = 0;
	if (strcmp(value, "auto") == 0)
		return STATUS_OK;
	if (units_parse_percent(value, ratio, err) == STATUS_OK && !(*ratio > 0 && *ratio < 1))
		error_set(err, STATUS_USAGE, "'%.60s' is not %s", value,
			  *ratio < 1 ? "above 0 %" : "below 100 %");
	return error_prefix(err, "--%s", name);
}

/* clang-format off: rows */
static const struct option_row rows[] = {
	{ .name = "margin",
	  .type = OPTION_CALL,
	  OPTION_AT(compare_arguments, margin),
	  .take = compare_take_margin,
	  .value = "MARGIN",
	  .help = "smallest change that counts, such as 2%; auto: 1%, and each figure is unchanged "
		  "within what sessions of its kind differ by (default)" },
	{ .name = "fail-on",
	  CHOICE_AT(compare_arguments, fail_on),
	  .choices = fail_on,
	  .help = "regression: exit 1 on a regression, 4 if one cannot be ruled out; certain: exit "
		  "1 on a certain regression, 4 if something could not be compared (for CI)" },
	{ .name = "launch-spread",
	  PERCENT_AT(compare_arguments, launch_spread),
	  .value = "0.5%",
	  .help = "variation between launches to assume if there are fewer than four (default: "
		  "typical of each kind of figure)" },
	{ .name = "all-metrics",
	  FLAG_AT(compare_arguments, all_metrics),
	  .help = "compare all metrics, not only the main one of each suite" },
	{ .name = "all",
	  .letter = 'a',
	  FLAG_AT(compare_arguments, all),
	  .help = "also print unchanged and inconclusive cases" },
	{ .name = "db",
	  .letter = 'd',
	  TEXT_AT(compare_arguments, db),
	  .value = "FILE",
	  .file = OPTION_FILE_KEPT,
	  .help = "history that holds baseline:NAME; its nights also show how much sessions vary "
		  "(else a default per kind of figure is used)" },
	{ .name = "json", FLAG_AT(compare_arguments, json), .help = "print JSON" },
	{ 0 },
};
/* clang-format on */

/*
 * Index of the first argument of B: after a "--", else the second of two operands. `argc` if there
 * is no "--".
 */
static int compare_separator_index(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return argc;
}

static enum status compare_read_sides(struct compare_arguments *c, const struct options *o,
				      int argc, char **argv, int split, struct error *err)
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

static int compare_parse_arguments(struct compare_arguments *c, int argc, char **argv)
{
	int split = compare_separator_index(argc, argv);
	struct error err = ERROR_NONE;
	struct options o;
	int code = options_parse(&o, &command_compare, split, argv, c);

	if (code == EXIT_ACCEPTED && split == argc && o.operand_count != 2)
		code = command_usage(&command_compare, "%s",
				     "name two results: A B, or several launches of each: A... -- "
				     "B...");
	else if (code == EXIT_ACCEPTED && split < argc && (!o.operand_count || split + 1 == argc))
		code = command_usage(&command_compare, "%s", "both sides of -- need a result");
	if (code == EXIT_ACCEPTED &&
	    compare_read_sides(c, &o, argc, argv, split, &err) != STATUS_OK)
		code = command_fail(&err);
	options_end(&o);
	return code;
}

/* True for two pooled results, or equally many launches per side, that were interleaved. */
static bool compare_in_turns(const struct compare_arguments *c)
{
	for (size_t i = 0; i < c->a.count && c->a.count == c->b.count; i++)
		if (!compare_taken_in_turns(&c->a.items[i], &c->b.items[i]))
			return false;
	return c->a.count == c->b.count;
}

/* "night-a" for runs/night-a/result.json and for night-a.json; the caller frees it. */
static char *compare_short_name(const char *path)
{
	static const char result[] = "/result.json";
	size_t length = strlen(path), from;

	if (text_ends_with(path, result))
		length -= strlen(result);
	else if (text_ends_with(path, ".json"))
		length -= strlen(".json");
	while (length && path[length - 1] == '/')
		length--;
	for (from = length; from && path[from - 1] != '/';)
		from--;
	return xasprintf("%.*s", (int)(length - from), path + from);
}

/* Names of both sides; whole paths if the short names are equal. */
static void compare_name_sides(const struct compare_arguments *c, char *names[2])
{
	const struct result_list *const lists[2] = { &c->a, &c->b };

	for (size_t i = 0; i < 2; i++)
		names[i] = compare_short_name(lists[i]->paths[0]);
	if (!*names[0] || !*names[1] || strcmp(names[0], names[1]) == 0)
		for (size_t i = 0; i < 2; i++) {
			free(names[i]);
			names[i] = xstrdup(lists[i]->paths[0]);
		}
}

static int compare_and_print(const struct compare_arguments *c, struct store *history)
{
	char *names[2];
	struct comparison_input input = {
		.a = c->a.items,
		.b = c->b.items,
		.a_count = c->a.count,
		.b_count = c->b.count,
		.margin = c->margin,
		.launch_spread = c->launch_spread,
		.all_metrics = c->all_metrics,
		.turns = compare_in_turns(c),
		.history = history,
	};
	struct comparison comparison;
	struct error err = ERROR_NONE;
	int code;

	compare_name_sides(c, names);
	input.name_a = names[0];
	input.name_b = names[1];
	compare_results(&input, &comparison, &err);
	free(names[0]);
	free(names[1]);
	if (err.status != STATUS_OK)
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
	/*
	 * Without --fail-on a comparison is information, except for a wrong result or an empty
	 * comparison.
	 */
	if (c->fail_on == FAIL_ON_NOTHING && code != EXIT_WRONG_RESULT)
		code = comparison_is_empty(&comparison) && !comparison.same_run ? EXIT_INCOMPLETE
										: EXIT_ACCEPTED;
	comparison_release(&comparison);
	return code;
}

static int compare_run(int argc, char **argv)
{
	struct compare_arguments arguments = { 0 };
	struct store *history = NULL;
	struct error err = ERROR_NONE;
	int code = compare_parse_arguments(&arguments, argc, argv);

	if (code == EXIT_ACCEPTED && arguments.db &&
	    store_open(&history, arguments.db, STORE_READ, &err) != STATUS_OK)
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
	.summary = "compare two measurements",
	.forms = { "compare A B [OPTIONS]",
		   "compare [OPTIONS] A... -- B...   several launches each" },
	.about =
		"A and B are result.json files or run directories. Each side needs at least four "
		"launches for a certain change: gpuproof run CONFIG --launches 5. With fewer, a "
		"change is \"possibly\" at most.\n\nFor each figure, compare prints the ratio of "
		"the two values with its 95 % interval. A ratio above 1 means that B is worse. The "
		"verdict is REGRESSED, IMPROVED, UNCHANGED or INCONCLUSIVE. At most one "
		"comparison in 20 reports a regression that is not real.\n\nIntervals include the "
		"variation between sessions. Figures that vary by more than 5 % between sessions, "
		"such as host calls, are counted in one line. To compare them, measure both sides "
		"in one session: gpuproof run A --against B\n\nIf A and B have no figure in "
		"common, the exit code is 4.",
	.options = rows,
	.run = compare_run,
};
