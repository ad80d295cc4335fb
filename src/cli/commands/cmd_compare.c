/* gpuproof compare: compares two measurements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input/result_list.h"
#include "cli/options.h"
#include "cli/output/print.h"
#include "compare/compare.h"

struct compare_arguments {
	int fail_on; /* enum fail_on */
	bool all_metrics, json, all;
	double margin, launch_spread; /* margin 0: auto */
	const char *db;
	struct result_list a, b;
};

enum fail_on { FAIL_ON_NOTHING, FAIL_ON_REGRESSION, FAIL_ON_CERTAIN };
static const char *const fail_on[] = { "regression", "certain", NULL };

static enum status cmd_compare_take_margin(void *margin, const char *name, const char *value,
					   struct error *err)
{
	double *ratio = margin;

	*ratio = 0;
	if (strcmp(value, "auto") == 0)
		return STATUS_OK;
	if (units_parse_percent(value, ratio, err) == STATUS_OK && !(*ratio > 0 && *ratio < 1))
		error_set(err, STATUS_USAGE, "'%.60s': expected a percentage %s", value,
			  *ratio < 1 ? "above 0 %" : "below 100 %");
	return error_prefix(err, "--%s", name);
}

static const struct option_row rows[] = {
	CALL_ROW("margin", "MARGIN", cmd_compare_take_margin, compare_arguments, margin),
	CHOICE_ROW("fail-on", fail_on, compare_arguments, fail_on),
	PERCENT_ROW("launch-spread", "0.5%", compare_arguments, launch_spread),
	FLAG_ROW(0, "all-metrics", compare_arguments, all_metrics),
	FLAG_ROW('a', "all", compare_arguments, all),
	TEXT_ROW('d', "db", "FILE", compare_arguments, db, .file = OPTION_FILE_KEPT),
	FLAG_ROW(0, "json", compare_arguments, json),
	{ 0 },
};

/* True for two pooled results, or equally many launches per side, that were interleaved. */
static bool cmd_compare_in_turns(const struct compare_arguments *c)
{
	for (size_t i = 0; i < c->a.count && c->a.count == c->b.count; i++)
		if (!compare_taken_in_turns(&c->a.items[i], &c->b.items[i]))
			return false;
	return c->a.count == c->b.count;
}

/* Names of both sides; whole paths if the short names are equal. */
static void cmd_compare_name_sides(const struct compare_arguments *c, char *names[2])
{
	const struct result_list *const lists[2] = { &c->a, &c->b };

	for (size_t i = 0; i < 2; i++)
		names[i] = result_list_short_name(lists[i]->paths[0]);
	if (!*names[0] || !*names[1] || strcmp(names[0], names[1]) == 0)
		for (size_t i = 0; i < 2; i++) {
			free(names[i]);
			names[i] = xstrdup(lists[i]->paths[0]);
		}
}

static int cmd_compare_and_print(struct call *call)
{
	const struct compare_arguments *c = call->arguments;
	char *names[2];
	struct comparison_input input = {
		.a = c->a.items,
		.b = c->b.items,
		.a_count = c->a.count,
		.b_count = c->b.count,
		.margin = c->margin,
		.launch_spread = c->launch_spread,
		.all_metrics = c->all_metrics,
		.turns = cmd_compare_in_turns(c),
		.history = call->history,
	};
	struct comparison comparison;
	int code;

	cmd_compare_name_sides(c, names);
	input.name_a = names[0];
	input.name_b = names[1];
	compare_results(&input, &comparison, &call->err);
	free(names[0]);
	free(names[1]);
	if (call->err.status != STATUS_OK)
		return EXIT_ENVIRONMENT;
	if (c->json) {
		char *json = comparison_to_json(&comparison);

		puts(json);
		free(json);
	} else {
		print_comparison(&comparison, c->all);
	}
	code = c->fail_on == FAIL_ON_CERTAIN ? compare_whole_gate_certain(&comparison)
					     : compare_whole_gate(&comparison);
	/*
	 * Without --fail-on a comparison is information, except for a wrong result or an empty
	 * comparison.
	 */
	if (c->fail_on == FAIL_ON_NOTHING && code != EXIT_WRONG_RESULT)
		code = compare_whole_is_empty(&comparison) && !comparison.same_run ? EXIT_INCOMPLETE
										   : EXIT_ACCEPTED;
	compare_json_comparison_release(&comparison);
	return code;
}

static int cmd_compare_run(struct call *call)
{
	struct compare_arguments *c = call->arguments;
	/* A and B are two operands, or those before and after a "--". */
	int first = call->separator < 0 ? 1 : call->separator;

	if (call->separator < 0 && call->count != 2)
		return cli_command_usage(call->command,
					 "compare needs two results (A B) or several launches of "
					 "two sides (A... -- B...)");
	if (!first || first == call->count)
		return cli_command_usage(call->command, "a result is missing before or after --");
	for (int i = 0; i < call->count && call->err.status == STATUS_OK; i++)
		result_list_take(i < first ? &c->a : &c->b, NULL, call->operands[i], &call->err);
	if (call->err.status != STATUS_OK ||
	    (c->db && cli_command_open_history(call, c->db, STORE_READ) != STATUS_OK))
		return EXIT_ACCEPTED;
	return cmd_compare_and_print(call);
}

static int cmd_compare_end(struct call *call, int code)
{
	struct compare_arguments *c = call->arguments;

	result_list_release(&c->a);
	result_list_release(&c->b);
	return code;
}

const struct command command_compare = {
	.name = "compare",
	.options = rows,
	.arguments = sizeof(struct compare_arguments),
	.most = ANY_NUMBER,
	.run = cmd_compare_run,
	.end = cmd_compare_end,
};
