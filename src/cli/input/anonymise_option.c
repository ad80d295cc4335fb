#include "cli/input/anonymise_option.h"

enum status anonymise_list(const struct anonymise_option *option, struct result_list *results,
			   struct error *err)
{
	struct anonymiser anonymiser;

	if (!anonymise_wanted(option))
		return STATUS_OK;
	if (anonymiser_init(&anonymiser, option->key_file, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < results->count; i++)
		if (anonymise_result(&anonymiser, &results->items[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}
