/* gpuproof population: manages the reference GPUs of a model, for comparison of whole nodes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/actions.h"
#include "cli/command.h"
#include "cli/input/population_file.h"
#include "cli/input/result_list.h"
#include "cli/output/table.h"
#include "judge/judge.h"
#include "judge/population/population_add.h"

extern const struct command command_population;

struct population_arguments {
	const char *output;
};

static const struct option_row rows[] = {
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(population_arguments, output),
	  .value = "FILE",
	  .file = OPTION_FILE_KEPT,
	  .help = "your file (default: GPUPROOF_POPULATION, else gpuproof-population.ini)" },
	{ 0 },
};

static bool population_are_launches(const struct result *a, const struct result *b)
{
	return judge_same_machine(a, b) && strcmp(a->config_text, b->config_text) == 0;
}

/* Adds launches of one config on one machine, which need not be consecutive in the list. */
static enum status population_add_machine(struct population *p, const struct result_list *list,
					  size_t first, bool *done, struct population_added *added,
					  struct error *err)
{
	struct result *launches = xcalloc(list->count, sizeof(*launches));
	size_t count = 0;

	for (size_t i = first; i < list->count; i++)
		if (!done[i] && population_are_launches(&list->items[first], &list->items[i])) {
			done[i] = true;
			launches[count++] = list->items[i];
		}
	if (population_add(p, launches, count, added, err) != STATUS_OK)
		error_prefix(err, "%s", list->paths[first]);
	free(launches);
	return err->status;
}

static enum status population_add_all(struct population *p, const struct result_list *list,
				      struct population_added *added, struct error *err)
{
	bool *done = xcalloc(list->count, sizeof(*done));

	for (size_t i = 0; i < list->count && err->status == STATUS_OK; i++)
		if (!done[i])
			population_add_machine(p, list, i, done, added, err);
	free(done);
	return err->status;
}

static enum status population_write_file(const struct population *p, const char *path,
					 struct error *err)
{
	char *text = population_to_text(p);

	file_write(path, text, strlen(text), err);
	free(text);
	return err->status;
}

static int population_add_action(const struct action_call *call)
{
	const struct population_arguments *a = call->arguments;
	const char *path = population_file(a->output);
	struct population_added added = { 0 };
	struct result_list results = { 0 };
	struct population p = { 0 };
	struct error err = ERROR_NONE;

	for (int i = 0; i < call->count && err.status == STATUS_OK; i++)
		result_list_add_launch(&results, call->operands[i], &err);
	if (err.status == STATUS_OK && input_refuse_output(path, &err) == STATUS_OK &&
	    population_load_own(&p, path, &err) == STATUS_OK &&
	    population_add_all(&p, &results, &added, &err) == STATUS_OK &&
	    population_write_file(&p, path, &err) == STATUS_OK)
		fprintf(stderr,
			"gpuproof: %zu GPU%s added, %zu updated, %zu values stored; %zu values "
			"were left out because they vary too much or were not verified; %s has "
			"%zu GPU%s\n",
			added.cards, added.cards == 1 ? "" : "s", added.again, added.values,
			added.unsteady, path, p.card_count, p.card_count == 1 ? "" : "s");
	population_release(&p);
	result_list_release(&results);
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}

/* "4.482 TB/s, 4.462 to 4.501 TB/s" */
static char *population_describe_values(const struct population_sample *s, const char *unit)
{
	double median = (s->values[(s->count - 1) / 2] + s->values[s->count / 2]) / 2;
	char middle[48], low[48], high[48];

	units_format(median, unit, middle, sizeof(middle));
	if (s->count == 1)
		return xstrdup(middle);
	return xasprintf("%s, %s to %s", middle, units_format(s->values[0], unit, low, sizeof(low)),
			 units_format(s->values[s->count - 1], unit, high, sizeof(high)));
}

static void population_add_row(struct output_table *table, const struct population *p,
			       const struct population_figure *f, const char *model)
{
	struct population_sample s =
		population_sample(p, model, f->point, f->preheat, f->metric, NULL);
	char *name = xasprintf("%s%s%s", f->point, *f->preheat ? " preheat " : "", f->preheat);
	char *values = s.count ? population_describe_values(&s, f->unit) : xstrdup("");
	char *days = xasprintf("%s%s%s", s.first, strcmp(s.first, s.last) == 0 ? "" : "..",
			       strcmp(s.first, s.last) == 0 ? "" : s.last);
	char cards[24];

	snprintf(cards, sizeof(cards), "%zu", s.cards);
	if (s.count)
		table_row(table, (const char *[]){ model, name, cards, values, days, s.driver }, 6);
	free(days);
	free(values);
	free(name);
	population_sample_release(&s);
}

/* Model of a value: that of its first GPU. */
static const char *population_model_of(const struct population *p, const struct population_value *v)
{
	char *id = xstrndup(v->cards, strcspn(v->cards, "+"));
	const struct population_card *card = population_card(p, id);

	free(id);
	return card ? card->model : "";
}

static bool population_is_first_of_model(const struct population *p,
					 const struct population_figure *f, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (strcmp(population_model_of(p, &f->values[i]),
			   population_model_of(p, &f->values[k])) == 0)
			return false;
	return true;
}

static int population_show(const struct action_call *call)
{
	const struct population_arguments *a = call->arguments;
	struct output_table table = TABLE_EMPTY;
	struct population p;

	if (population_open(&p, call->count ? call->operands[0] : a->output) != STATUS_OK)
		return EXIT_USAGE;
	table_row(&table,
		  (const char *[]){ "MODEL", "CASE", "CARDS", "VALUES", "MEASURED", "DRIVER" }, 6);
	for (size_t i = 0; i < p.figure_count; i++)
		for (size_t k = 0; k < p.figures[i].count; k++)
			if (population_is_first_of_model(&p, &p.figures[i], k))
				population_add_row(&table, &p, &p.figures[i],
						   population_model_of(&p,
								       &p.figures[i].values[k]));
	table_print(&table, stdout);
	table_release(&table);
	population_release(&p);
	return EXIT_ACCEPTED;
}

static const struct action actions[] = {
	{ .name = "add",
	  .form = "RESULT... [-o FILE]    add the GPUs of results that you consider good",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = population_add_action },
	{ .name = "show",
	  .form = "[FILE]           list the reference GPUs",
	  .most = 1,
	  .run = population_show },
	{ 0 },
};

static int population_run(int argc, char **argv)
{
	struct population_arguments a = { 0 };

	return command_act(&command_population, argc, argv, &a);
}

const struct command command_population = {
	.name = "population",
	.summary = "manage the reference GPUs of a model",
	.about = "A GPU counts once, by its UUID, with its newest values. Results of one "
		 "config on one machine, given together, count as launches. GPUs that violate "
		 "a limit of the model are rejected. `population = 3 %` in a [limit] compares "
		 "with the shipped reference GPUs and yours: gpuproof help good-cards",
	.actions = actions,
	.options = rows,
	.run = population_run,
};
