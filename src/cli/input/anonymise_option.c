#include "cli/input/anonymise_option.h"

enum status anonymise_list(struct anonymise_option *option, struct result_list *results,
			   struct error *err)
{
	if (!option->wanted && !option->key_file)
		return STATUS_OK;
	if (anonymiser_new(&option->anonymiser, option->key_file, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < results->count; i++)
		anonymiser_learn_result(option->anonymiser, &results->items[i]);
	for (size_t i = 0; i < results->count; i++)
		if (anonymise_result(option->anonymiser, &results->items[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

void anonymise_option_release(struct anonymise_option *option)
{
	anonymiser_free(option->anonymiser);
	option->anonymiser = NULL;
}
