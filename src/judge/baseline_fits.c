/* Decides if a baseline is comparable: same GPU model, same measurement settings, another run. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judging.h"

/*
 * Sampling keys change how certain a value is, not the value. Lists are compared as case
 * parameters.
 */
static bool key_changes_certainty_only(const char *key)
{
	static const char *const keys[] = { "preheat", "warmup", "sustained_time" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

/*
 * Describes the first setting of the case's suite that differs between both results. A setting that
 * only one of them has does not count.
 */
static char *baseline_fits_other_setting(const struct result *now, const struct result *before,
					 const struct case_result *c)
{
	char *section = xasprintf("suite %s%s%s", c->suite, *c->label ? " " : "", c->label);
	char *found = NULL;

	for (size_t i = 0; i < now->setting_count && !found; i++) {
		const struct result_setting *s = &now->settings[i];
		const struct result_setting *there = result_setting(before, section, s->key);

		if (strcmp(s->section, section) != 0 || !key_changes_certainty_only(s->key))
			continue;
		if (there && s->value && strcmp(there->value, s->value) != 0)
			found = xasprintf("the baseline was measured with [%s] %s = %s, this "
					  "run with %s",
					  section, s->key, there->value, s->value);
	}
	free(section);
	return found;
}

static char *baseline_fits_other_parameter(const struct case_result *now,
					   const struct case_result *before)
{
	for (size_t i = 0; i < now->parameter_count; i++) {
		const struct case_parameter *p = &now->parameters[i];
		const struct case_parameter *there = case_parameter(before, p->name);

		if (there && strcmp(there->text, p->text) != 0)
			return xasprintf("the baseline was measured with %s = %s, this run "
					 "with %s",
					 p->name, there->text, p->text);
	}
	return NULL;
}

static char *baseline_fits_same_run(const struct judge_input *input)
{
	for (size_t i = 0; i < input->count; i++)
		for (size_t k = 0; k < input->baseline_count; k++) {
			const char *a = input->results[i].run_id, *b = input->baseline[k].run_id;

			if (a && b && *a && strcmp(a, b) == 0)
				return xasprintf("the baseline is the run itself (%s), so the "
						 "check could never fail",
						 a);
		}
	return NULL;
}

char *baseline_misfit(const struct judge_input *input, const struct subject *now,
		      const struct subject *before)
{
	char *reason = baseline_fits_same_run(input);

	if (!reason && now->device && before->device &&
	    strcmp(now->device->name, before->device->name) != 0)
		reason = xasprintf("the baseline was measured on '%.60s', this run on '%.60s'",
				   before->device->name, now->device->name);
	if (!reason)
		reason = baseline_fits_other_parameter(now->first, before->first);
	for (size_t k = 0; k < input->baseline_count && input->count && !reason; k++)
		reason = baseline_fits_other_setting(&input->results[0], &input->baseline[k],
						     now->first);
	return reason;
}
