/* gpuproof population: manages the reference GPUs of a model, for comparison of whole nodes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/command.h"
#include "cli/input/population_file.h"
#include "cli/options.h"
#include "cli/output/table.h"
#include "judge/judge.h"
#include "judge/population/population_add.h"

struct population_arguments {
	const char *output;
};

static const struct option_row rows[] = {
	TEXT_ROW('o', "output", "FILE", population_arguments, output, .file = OPTION_FILE_KEPT),
	{ 0 },
};

/* Adds launches of one config on one machine, which need not be consecutive in the list. */
static enum status cmd_population_add_machine(struct population *p, const struct result_list *list,
					      size_t first, bool *done,
					      struct population_added *added, struct error *err)
{
	struct result *launches = xcalloc(list->count, sizeof(*launches));
	const struct result *one = &list->items[first];
	size_t count = 0;

	for (size_t i = first; i < list->count; i++)
		if (!done[i] && judge_same_machine(one, &list->items[i]) &&
		    strcmp(one->config_text, list->items[i].config_text) == 0) {
			done[i] = true;
			launches[count++] = list->items[i];
		}
	if (population_add(p, launches, count, added, err) != STATUS_OK)
		error_prefix(err, "%s", list->paths[first]);
	free(launches);
	return err->status;
}

static int cmd_population_add_action(struct call *call)
{
	const struct population_arguments *a = call->arguments;
	const struct result_list *results = &call->results;
	const char *path = population_file(a->output);
	struct population_added added = { 0 };
	struct population p = { 0 };
	struct error *err = &call->err;
	bool *done;
	char *text;

	if (cli_command_read_results(call, 0) != STATUS_OK ||
	    input_refuse_output(path, err) != STATUS_OK)
		return EXIT_USAGE;
	done = xcalloc(results->count, sizeof(*done));
	population_load_own(&p, path, err);
	for (size_t i = 0; i < results->count && err->status == STATUS_OK; i++)
		if (!done[i])
			cmd_population_add_machine(&p, results, i, done, &added, err);
	text = population_to_text(&p);
	if (err->status == STATUS_OK && file_write(path, text, strlen(text), err) == STATUS_OK)
		fprintf(stderr,
			"gpuproof: %zu GPU%s added, %zu updated, %zu values stored. %zu values "
			"were left out, because they vary too much or were not verified. %s now "
			"contains %zu GPU%s.\n",
			added.cards, text_plural(added.cards), added.again, added.values,
			added.unsteady, path, p.card_count, text_plural(p.card_count));
	free(text);
	free(done);
	population_release(&p);
	return EXIT_ACCEPTED;
}

static void cmd_population_add_row(struct output_table *table, const struct population *p,
				   const struct population_figure *f, const char *model)
{
	struct population_sample s =
		population_sample(p, model, f->point, f->preheat, f->metric, NULL);
	char *name = xasprintf("%s%s%s", f->point, *f->preheat ? " preheat " : "", f->preheat);
	char *days = xasprintf("%s%s%s", s.first, strcmp(s.first, s.last) == 0 ? "" : "..",
			       strcmp(s.first, s.last) == 0 ? "" : s.last);
	char cards[24], values[160], low[48], high[48];

	snprintf(cards, sizeof(cards), "%zu", s.cards);
	if (s.count) {
		units_format(median_of_sorted(s.values, s.count), f->unit, values, 48);
		/* "4.482 TB/s, 4.462 to 4.501 TB/s" */
		if (s.count > 1)
			snprintf(values + strlen(values), 112, ", %s to %s",
				 units_format(s.values[0], f->unit, low, sizeof(low)),
				 units_format(s.values[s.count - 1], f->unit, high, sizeof(high)));
		TABLE_ROW(table, model, name, cards, values, days, s.driver);
	}
	free(days);
	free(name);
	population_sample_release(&s);
}

/* Model of a value: that of its first GPU. */
static const char *cmd_population_model_of(const struct population *p,
					   const struct population_value *v)
{
	char *id = xstrndup(v->cards, strcspn(v->cards, "+"));
	const struct population_card *card = population_card(p, id);

	free(id);
	return card ? card->model : "";
}

static int cmd_population_show(struct call *call)
{
	const struct population_arguments *a = call->arguments;
	struct output_table table = TABLE_EMPTY;
	struct population p;

	if (population_file_open(&p, call->count ? call->operands[0] : a->output) != STATUS_OK)
		return EXIT_USAGE;
	TABLE_ROW(&table, "MODEL", "CASE", "CARDS", "VALUES", "MEASURED", "DRIVER");
	for (const struct population_figure *f = p.figures; f < p.figures + p.figure_count; f++)
		for (size_t k = 0; k < f->count; k++) {
			const char *model = cmd_population_model_of(&p, &f->values[k]);
			size_t i = 0;

			/* A row for the first value of each model. */
			while (strcmp(cmd_population_model_of(&p, &f->values[i]), model) != 0)
				i++;
			if (i == k)
				cmd_population_add_row(&table, &p, f, model);
		}
	table_finish(&table, stdout);
	population_release(&p);
	return EXIT_ACCEPTED;
}

static const struct action actions[] = {
	{ .name = "add", .least = 1, .most = ANY_NUMBER, .run = cmd_population_add_action },
	{ .name = "show", .most = 1, .run = cmd_population_show },
	{ 0 },
};

const struct command command_population = {
	.name = "population",
	.actions = actions,
	.options = rows,
	.arguments = sizeof(struct population_arguments),
};
