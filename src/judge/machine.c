/* Judges the results of one machine and merges the verdicts of several. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/impossible.h"
#include "judge/judging.h"

/* Command that repeats run and judgement; "" for a result without a config. */
static char *repeat_command(const struct judge_input *input)
{
	const struct result *result = &input->results[0];
	struct text out = TEXT_EMPTY;

	if (!input->count || !result->config_name || !*result->config_name ||
	    !text_starts_with(result->command ? result->command : "", "gpuproof run"))
		return xstrdup("");
	text_add(&out, "gpuproof run ");
	text_add_shell_word(&out, result->config_name);
	text_add(&out, " --check");
	return text_detach(&out);
}

bool judge_by_trend(const struct result *result)
{
	const struct result_setting *verdict = result_setting(result, "run", "verdict");

	return verdict && strcmp(verdict->value, "trend") == 0;
}

/* Machines and launches may have different limits; each text is added once. */
static void add_unless_there(char **texts, const char *separator, const char *text)
{
	char *both;

	if (!text || !*text || (*texts && strstr(*texts, text)))
		return;
	both = xasprintf("%s%s%s", *texts ? *texts : "", *texts && **texts ? separator : "", text);
	free(*texts);
	*texts = both;
}

void judge_add_verdicts(struct verdicts *all, struct verdicts *own)
{
	/* If one of several machines is judged by limits, all are. */
	all->trend = (!all->limits || all->trend) && own->trend;
	if (!all->limits) {
		all->limits = xstrdup("");
		all->limits_text = xstrdup("");
	}
	add_unless_there(&all->limits, ", ", own->limits);
	add_unless_there(&all->limits_text, "\n", own->limits_text);
	if (!all->repeat)
		all->repeat = xstrdup(own->repeat);
	verdicts_move(all, own);
	verdicts_release(own);
}

/* Judges one machine alone, so that comparisons do not see cases of other machines. */
static void judge_machine(const struct judge_input *input, struct verdicts *own)
{
	struct text without_population = TEXT_EMPTY;
	struct subjects all, baseline;

	subjects_collect(&all, input->results, input->count);
	subjects_collect(&baseline, input->baseline, input->baseline_count);
	judge_run_findings(input, own);
	for (size_t i = 0; i < input->limits->count; i++) {
		const struct limit *limit = &input->limits->items[i];
		struct judging j = { .input = input,
				     .all = &all,
				     .baseline = &baseline,
				     .limit = limit,
				     .verdicts = own,
				     .without_population = &without_population };

		if (limit->suite)
			judge_limit(&j);
		else
			judge_node(input, limit, own);
	}
	judge_population_unknown(without_population.data ? without_population.data : "", own);
	text_release(&without_population);
	judge_errors(input, own);
	judge_impossible(input, own);
	judge_skips(&all, input, own);
	judge_disturbed(own);
	judge_aspects(input, own);
	subjects_release(&all);
	subjects_release(&baseline);
}

void judge_results(const struct judge_input *input, struct verdicts *verdicts)
{
	struct verdicts own = { .trend = true, .repeat = repeat_command(input) };

	for (size_t i = 0; i < input->count; i++)
		own.trend = own.trend && judge_by_trend(&input->results[i]);
	own.limits = xstrdup(input->limits->source ? input->limits->source : "");
	own.limits_text = xstrdup(input->limits->text ? input->limits->text : "");
	judge_machine(input, &own);
	judge_add_verdicts(verdicts, &own);
}

static const char *judge_host_of(const struct result *result)
{
	const char *name = result_fact(result, "hostname");

	return name ? name : "";
}

static bool names_itself(const struct result *result)
{
	for (size_t i = 0; i < result->device_count; i++)
		if (!*result->devices[i].uuid)
			return false;
	return result->device_count > 0;
}

bool judge_same_machine(const struct result *a, const struct result *b)
{
	if (a->device_count != b->device_count)
		return false;
	/* A device without an id of its own (a CPU) is identified by its host. */
	if (!names_itself(a) && strcmp(judge_host_of(a), judge_host_of(b)) != 0)
		return false;
	for (size_t i = 0; i < a->device_count; i++)
		if (strcmp(a->devices[i].uuid, b->devices[i].uuid) != 0 ||
		    strcmp(a->devices[i].name, b->devices[i].name) != 0 ||
		    strcmp(a->devices[i].id, b->devices[i].id) != 0)
			return false;
	return true;
}
