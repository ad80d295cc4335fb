#include "cli/input/anonymise_option.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum status anonymise_lists(struct anonymise_option *option, struct result_list *a,
			    struct result_list *b, struct error *err)
{
	struct result_list *lists[] = { a, b };

	if (!option->wanted && !option->key_file)
		return STATUS_OK;
	if (anonymiser_new(&option->anonymiser, option->key_file, err) != STATUS_OK)
		return err->status;
	for (size_t l = 0; l < ARRAY_SIZE(lists); l++)
		for (size_t i = 0; lists[l] && i < lists[l]->count; i++)
			anonymiser_learn_result(option->anonymiser, &lists[l]->items[i]);
	for (size_t l = 0; l < ARRAY_SIZE(lists); l++)
		for (size_t i = 0; lists[l] && i < lists[l]->count; i++)
			if (anonymise_result(option->anonymiser, &lists[l]->items[i], err) !=
			    STATUS_OK)
				return err->status;
	return STATUS_OK;
}

void anonymise_learn_limits(const struct anonymise_option *option, const struct limits *limits)
{
	for (size_t i = 0; option->anonymiser && i < limits->count; i++) {
		const struct limit *limit = &limits->items[i];
		char *file = xstrndup(limit->place, strcspn(limit->place, ":"));

		if (!text_starts_with(file, "limits/")) {
			anonymiser_learn(option->anonymiser, "file", file);
			anonymiser_learn(option->anonymiser, "limit", limit->name);
			anonymiser_learn(option->anonymiser, "origin", limit->origin);
		}
		free(file);
	}
}

static void anonymise_member(const struct anonymiser *a, char **member)
{
	char *text = *member ? anonymise_text(a, *member) : NULL;

	free(*member);
	*member = text;
}

void anonymise_verdicts(const struct anonymise_option *option, struct verdicts *verdicts)
{
	const struct anonymiser *a = option->anonymiser;
	char **own[] = { &verdicts->limits, &verdicts->limits_text, &verdicts->sentence };

	for (size_t i = 0; a && i < ARRAY_SIZE(own); i++)
		anonymise_member(a, own[i]);
	for (size_t i = 0; a && i < verdicts->count; i++) {
		struct verdict_check *check = &verdicts->checks[i];
		char **texts[] = { &check->limit, &check->place, &check->reason,
				   &check->bound_origin };

		for (size_t t = 0; t < ARRAY_SIZE(texts); t++)
			anonymise_member(a, texts[t]);
	}
	for (size_t i = 0; a && i < verdicts->device_count; i++)
		for (size_t k = 0; k < verdicts->devices[i].aspect_count; k++)
			anonymise_member(a, &verdicts->devices[i].aspects[k].reason);
}

void anonymise_option_release(struct anonymise_option *option)
{
	anonymiser_free(option->anonymiser);
	option->anonymiser = NULL;
}
