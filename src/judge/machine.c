/* Judges the results of one machine and merges the verdicts of several. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"
#include "result/result.h"

/* Command that repeats run and judgement; "" for a result without a config. */
static char *machine_repeat_command(const struct judge_input *input)
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

bool judge_machine_by_trend(const struct result *result)
{
	const struct result_setting *verdict = result_setting(result, "run", "verdict");

	return verdict && strcmp(verdict->value, "trend") == 0;
}

/* Machines and launches may have different limits; each text is added once. */
static void machine_add_unless_there(char **texts, const char *separator, const char *text)
{
	char *both;

	if (!text || !*text || (*texts && strstr(*texts, text)))
		return;
	both = xasprintf("%s%s%s", *texts ? *texts : "", *texts && **texts ? separator : "", text);
	free(*texts);
	*texts = both;
}

void judge_machine_add_verdicts(struct verdicts *all, struct verdicts *own)
{
	/* If one of several machines is judged by limits, all are. */
	all->trend = (!all->limits || all->trend) && own->trend;
	if (!all->limits) {
		all->limits = xstrdup("");
		all->limits_text = xstrdup("");
	}
	machine_add_unless_there(&all->limits, ", ", own->limits);
	machine_add_unless_there(&all->limits_text, "\n", own->limits_text);
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

	observation_subjects_collect(&all, input->results, input->count);
	observation_subjects_collect(&baseline, input->baseline, input->baseline_count);
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
	population_standing_unknown(without_population.data ? without_population.data : "", own);
	text_release(&without_population);
	run_findings_errors(input, own);
	judge_impossible(input, own);
	judge_machine_skips(&all, input, own);
	health_disturbed(own);
	judge_aspects(input, own);
	observation_subjects_release(&all);
	observation_subjects_release(&baseline);
}

void judge_machine_results(const struct judge_input *input, struct verdicts *verdicts)
{
	struct verdicts own = { .trend = true, .repeat = machine_repeat_command(input) };

	for (size_t i = 0; i < input->count; i++)
		own.trend = own.trend && judge_machine_by_trend(&input->results[i]);
	own.limits = xstrdup(input->limits->source ? input->limits->source : "");
	own.limits_text = xstrdup(input->limits->text ? input->limits->text : "");
	judge_machine(input, &own);
	judge_machine_add_verdicts(verdicts, &own);
}

static const char *machine_host_of(const struct result *result)
{
	const char *name = result_fact(result, "hostname");

	return name ? name : "";
}

bool judge_same_machine(const struct result *a, const struct result *b)
{
	bool names_itself = a->device_count > 0;

	if (a->device_count != b->device_count)
		return false;
	for (size_t i = 0; i < a->device_count; i++)
		names_itself = names_itself && *a->devices[i].uuid;
	/* A device without an id of its own (a CPU) is identified by its host. */
	if (!names_itself && strcmp(machine_host_of(a), machine_host_of(b)) != 0)
		return false;
	for (size_t i = 0; i < a->device_count; i++)
		if (strcmp(a->devices[i].uuid, b->devices[i].uuid) != 0 ||
		    strcmp(a->devices[i].name, b->devices[i].name) != 0 ||
		    strcmp(a->devices[i].id, b->devices[i].id) != 0)
			return false;
	return true;
}

/* True if the device caused the skip, not a missing second device. */
static bool machine_is_skipped_by_device(const struct result *result, const struct subject *s)
{
	const struct suite *suite = suite_find(s->first->suite);
	const struct case_parameter *needed = case_parameter(s->first, PARAMETER_DEVICES);
	double count = 0;

	for (size_t i = 0; s->device && i < result->device_count; i++)
		count += strcmp(result->devices[i].backend, s->device->backend) == 0;
	return s->first->status == CASE_SKIPPED && s->first->end != CASE_END_INTERRUPTED &&
	       s->device && suite && suite->groups != SUITE_OF_PAIRS &&
	       !(needed && needed->number > count);
}

/*
 * The same case, measured on an identical device of the node; NULL: none. Cases are sorted by node.
 */
static const struct subject *machine_done_elsewhere(const struct subjects *all, size_t i)
{
	const struct subject *s = &all->items[i];
	size_t from = i, to = i + 1;

	while (from > 0 && outliers_subjects_on_one_node(s, &all->items[from - 1]))
		from--;
	while (to < all->count && outliers_subjects_on_one_node(s, &all->items[to]))
		to++;
	for (size_t k = from; k < to; k++)
		if (all->items[k].first->status == CASE_OK &&
		    outliers_subjects_alike(s, &all->items[k]))
			return &all->items[k];
	return NULL;
}

/*
 * Skipped cases that no limit covers; judge.c handles the others. A device that skips a case that
 * an identical one measures is at fault. A suite that no device measured makes the verdict
 * INCONCLUSIVE, and is reported once.
 */
void judge_machine_skips(const struct subjects *all, const struct judge_input *input,
			 struct verdicts *verdicts)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct case_result *c = all->items[i].first;
		const struct subject *other;
		bool told = !machine_is_skipped_by_device(&input->results[0], &all->items[i]);

		for (size_t k = 0; k < verdicts->count && !told; k++)
			told = strcmp(verdicts->checks[k].case_id, c->id) == 0;
		if (told)
			continue;
		other = machine_done_elsewhere(all, i);
		if (other)
			run_findings_add(verdicts, &input->results[0], c, NULL, ASPECT_NONE,
					 VERDICT_FAIL, CAUSE_NONE,
					 "skipped on this device, but measured on %s: %s",
					 other->first->device, c->reason);
		for (size_t k = 0; k < all->count && !other && !told; k++)
			told = strcmp(all->items[k].first->suite, c->suite) == 0 &&
			       (all->items[k].first->status != CASE_SKIPPED ||
				(k < i &&
				 machine_is_skipped_by_device(&input->results[0], &all->items[k])));
		if (!other && !told)
			run_findings_add(verdicts, &input->results[0], c, NULL, ASPECT_NONE,
					 VERDICT_SKIP, CAUSE_NONE,
					 "no case of suite %s was measured; the first case: %s",
					 c->suite, c->reason)
				->final = true;
	}
}
